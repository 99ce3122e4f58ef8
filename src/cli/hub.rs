//! `cutover hub`: the process that moves traffic.

use std::{
    net::{IpAddr, SocketAddr},
    path::PathBuf,
};

use ipnet::IpNet;

use super::{CliError, Exit, Output};
use crate::{
    http,
    hub::{self, HostPattern},
    telemetry::{self, LogFormat},
};

/// Run the hub, the process that moves traffic. SIGTERM and SIGINT end it gracefully.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  cutover hub                                           in the hub cluster, with its service account
  cutover hub --kubeconfig hub.kubeconfig --leader-election=false
  cutover hub --allow-addresses 127.0.0.0/8             members on this machine, to try things out
  cutover hub --allow-external-names '*.partner.net'    Services of users may lead there

RUST_LOG=cutover=debug logs more.

Exit status: 0 after SIGTERM or SIGINT, 1 an error.")]
pub(super) struct Hub {
    /// The kubeconfig of the hub cluster; default: KUBECONFIG, else the pod's service account.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The hub's own namespace: the Secrets of members.
    #[arg(long, env = "POD_NAMESPACE", default_value = "cutover-system", value_name = "NAME")]
    namespace: String,
    /// Acquire the Lease kube-system/cutover-hub before acting; required wherever a second hub process may start.
    #[arg(long, default_value_t = true, action = clap::ArgAction::Set, value_name = "true|false")]
    leader_election: bool,
    /// Allow members to have these addresses even if they are loopback, link-local, the hub's own or those of Services of
    /// the hub cluster; repeatable.
    #[arg(long, value_name = "CIDR")]
    allow_addresses: Vec<IpNet>,
    /// A range of the hub cluster's Services, where its API server reports none (before Kubernetes 1.33); repeatable.
    #[arg(long, value_name = "CIDR")]
    service_cidr: Vec<IpNet>,
    /// Allow users' Services of type ExternalName to lead to these hosts, beside the endpoints of members: NAME, or *.NAME
    /// for all below it; separated by commas, or repeated.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    allow_external_names: Vec<HostPattern>,
    /// Resolve a name to this address without DNS, like a Pod's hostAliases; repeatable.
    #[arg(long, value_name = "NAME=ADDRESS", value_parser = alias)]
    host_alias: Vec<(String, IpAddr)>,
    /// Address of /healthz, /readyz and /metrics.
    #[arg(long, default_value = "0.0.0.0:8080", value_name = "ADDRESS")]
    listen: SocketAddr,
    /// Format of log lines.
    #[arg(long, value_enum, default_value_t)]
    log_format: LogFormat,
}

impl Hub {
    pub(super) fn run(self, _: &mut Output) -> Result<Exit, CliError> {
        let Self {
            kubeconfig,
            namespace,
            leader_election,
            allow_addresses,
            allow_external_names,
            host_alias,
            service_cidr,
            listen,
            log_format,
        } = self;
        telemetry::init(log_format);
        http::install_crypto();
        let options = hub::Options {
            kubeconfig,
            namespace,
            leader_election,
            allow_addresses,
            allow_external_names,
            service_cidrs: service_cidr,
            host_aliases: host_alias,
            listen,
        };
        let runtime = tokio::runtime::Runtime::new().map_err(CliError::said)?;
        let ended = runtime.block_on(hub::run(options));
        // Background work waits for nothing: its deadlines are longer than a stop may take.
        runtime.shutdown_background();
        ended.map(|()| Exit::Done).map_err(CliError::said)
    }
}

pub(super) fn alias(text: &str) -> Result<(String, IpAddr), String> {
    let (name, address) = text.split_once('=').ok_or("write NAME=ADDRESS")?;
    let address = address.parse().map_err(|_| format!("{address} is no IP address"))?;
    Ok((name.to_owned(), address))
}
