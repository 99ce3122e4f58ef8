//! `cutover doctor`: what a new installation gets wrong, line by line, each with its remedy.
//!
//! A section is a file: a small read, and a pure function from what was read to checks. What cannot be read hides nothing else.

mod admission;
mod check;
mod difference;
mod endpoints;
mod fleet;
mod hub;
mod kinds;
mod members;
mod metrics;
mod read;
mod render;
mod right;
mod rights;
mod routes;
mod shipped;

use std::{net::IpAddr, sync::Arc};

use ipnet::IpNet;
use jiff::Timestamp;
use serde_json::json;

use self::{check::Check, fleet::Fleet, read::Read, rights::Roles};
use super::{
    CliError, Exit, Format, Output,
    cluster::{Cluster, Connection},
    hub::alias,
    hub_liveness,
};
use crate::http::{AddressRules, Aliases, Network};

/// Calls of one section that are under way at a time.
const AT_ONCE: usize = 16;

/// Check an installation line by line: kinds, rights, hub, admission policies, members, routes, metrics.
///
/// Each line is `ok`, `BAD`, or `?` where something could not be looked at or only you can judge it; below it stands what to do.
/// It reads and reviews; it changes nothing. What the hub last saw of a member is `from the hub`; what is seen on this machine,
/// whose network may be another one, is `from here`. A call to the hub cluster ends within --request-timeout, one to a member
/// within 10 s; sixteen members, and sixteen rollouts, are looked at at a time.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  cutover doctor -A
  cutover doctor -n shop
  cutover doctor -A -o json
  kubectl exec -n cutover-system deploy/cutover-hub -- /cutover doctor -A    as the hub itself

Exit status: 0 nothing is bad, also where something is not known (`?`); 1 something is bad, or an error.")]
pub(super) struct Doctor {
    /// The rollouts of all namespaces.
    #[arg(long, short = 'A', conflicts_with = "namespace")]
    all_namespaces: bool,
    /// The namespace of the hub and of the members' Secrets.
    #[arg(long, env = "POD_NAMESPACE", hide_env = true, default_value = hub_liveness::NAMESPACE, value_name = "NAME")]
    hub_namespace: String,
    /// Allow members to have these addresses even if they are loopback or link-local, as the hub's flag; repeatable.
    #[arg(long, value_name = "CIDR")]
    allow_addresses: Vec<IpNet>,
    /// Resolve a name to this address without DNS, as the hub's flag; repeatable.
    #[arg(long, value_name = "NAME=ADDRESS", value_parser = alias)]
    host_alias: Vec<(String, IpAddr)>,
    /// Output format.
    #[arg(short, long, value_enum, default_value_t)]
    output: Format,
    #[command(flatten)]
    connection: Connection,
}

impl Doctor {
    pub(super) fn run(self, out: &mut Output) -> Result<Exit, CliError> {
        let Self { all_namespaces, hub_namespace, allow_addresses, host_alias, output, connection } = self;
        let names = Arc::new(Aliases::new(host_alias));
        let network = Network::new(AddressRules::new(allow_addresses, Vec::new())).with_names(names);
        let wanted = Wanted { everywhere: all_namespaces, hub: hub_namespace, network };
        let checks = connection.run(async |cluster| examine(&cluster, &wanted).await)?;
        let bad = checks.iter().filter(|check| check.is_bad()).count();
        match output {
            Format::Text => out.screen(&render::render(&checks, out.page().width))?,
            Format::Json => {
                let not_known = checks.iter().filter(|check| check.is_not_known()).count();
                out.json(&json!({"bad": bad, "notKnown": not_known, "checks": checks}))?;
            }
        }
        Ok(if bad == 0 { Exit::Done } else { Exit::Error })
    }
}

/// What is looked at.
struct Wanted {
    /// The rollouts of all namespaces.
    everywhere: bool,
    /// The namespace of the hub.
    hub: String,
    network: Network,
}

/// Every check, in the order of the sections.
async fn examine(cluster: &Cluster, wanted: &Wanted) -> Result<Vec<Check>, CliError> {
    let Wanted { everywhere, hub, network } = wanted;
    let version = cluster.call(&[], cluster.client.apiserver_version()).await?;
    let now = Timestamp::now();
    let read = Read::new(cluster, *everywhere).await;
    let (rollouts, namespace) = (read.placed(now), (!everywhere).then_some(cluster.namespace.as_str()));
    let fleet = Fleet::new(cluster, &read, hub, network, now).await;
    let used = read.routes();
    let of_roles = Roles { hub, rollouts: namespace, routes: used.iter().collect() };
    let (kinds, rights, of_hub, admission, members, routes, metrics) = tokio::join!(
        kinds::checks(cluster, &version.git_version, &version.minor),
        rights::checks(cluster, &of_roles),
        hub::checks(cluster, &read.lease, hub, now),
        admission::checks(cluster, hub),
        members::checks(&read, &rollouts, &fleet, hub, now),
        routes::checks(cluster, &rollouts),
        metrics::checks(cluster, &rollouts, &fleet, now),
    );
    let mut checks = [kinds, rights, of_hub, admission, read.unreadable(), members, routes, metrics].concat();
    checks.sort_by_key(|check| check.section);
    Ok(checks)
}
