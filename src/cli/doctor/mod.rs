//! `cutover doctor`: what a new installation gets wrong, line by line, each with its remedy.
//!
//! A section is a file: a small read, and a pure function from what was read to checks. What cannot be read hides nothing else.

mod admission;
mod check;
mod difference;
mod hub;
mod kinds;
mod read;
mod render;
mod right;
mod rights;
mod shipped;

use jiff::Timestamp;
use serde_json::json;

use self::{check::Check, read::Read, rights::Wanted};
use super::{
    CliError, Exit, Format, Output,
    cluster::{Cluster, Connection},
    hub_liveness,
};

/// Calls of one section that are under way at a time.
const AT_ONCE: usize = 16;

/// Check an installation line by line: kinds, rights, hub, admission policies.
///
/// Each line is `ok`, `BAD`, or `?` where something could not be looked at or only you can judge it; below it stands what to do.
/// It reads and reviews; it changes nothing. Each call has its deadline, and what cannot be read hides nothing else.
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
    #[arg(long, default_value = hub_liveness::NAMESPACE, value_name = "NAME")]
    hub_namespace: String,
    /// Output format.
    #[arg(short, long, value_enum, default_value_t)]
    output: Format,
    #[command(flatten)]
    connection: Connection,
}

impl Doctor {
    pub(super) fn run(self, out: &mut Output) -> Result<Exit, CliError> {
        let Self { all_namespaces, hub_namespace, output, connection } = self;
        let checks = connection.run(async |cluster| examine(&cluster, all_namespaces, &hub_namespace).await)?;
        let bad = checks.iter().filter(|check| check.is_bad()).count();
        match output {
            Format::Text => out.text(&render::render(&checks, out.page().width))?,
            Format::Json => {
                let not_known = checks.iter().filter(|check| check.is_not_known()).count();
                out.json(&json!({"bad": bad, "notKnown": not_known, "checks": checks}))?;
            }
        }
        Ok(if bad == 0 { Exit::Done } else { Exit::Error })
    }
}

/// Every check, in the order of the sections.
async fn examine(cluster: &Cluster, everywhere: bool, hub: &str) -> Result<Vec<Check>, CliError> {
    let version = cluster.call(&[], cluster.client.apiserver_version()).await?;
    let now = Timestamp::now();
    let read = Read::new(cluster, everywhere).await;
    let wanted =
        Wanted { hub, rollouts: (!everywhere).then_some(cluster.namespace.as_str()), routes: read.routes().collect() };
    let (kinds, rights, hub, admission) = tokio::join!(
        kinds::checks(cluster, &version.git_version, &version.minor),
        rights::checks(cluster, &wanted),
        hub::checks(cluster, &read.lease, hub, now),
        admission::checks(cluster, hub),
    );
    Ok([kinds, rights, hub, admission, read.unreadable()].concat())
}
