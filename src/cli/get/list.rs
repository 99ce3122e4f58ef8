//! All rollouts as a table. Pure.

use jiff::Timestamp;
use kube::ResourceExt;

use crate::{
    api::FleetRollout,
    cli::text::{age, columns, cut, escape},
};

pub(super) fn render(rollouts: &[FleetRollout], with_namespace: bool, wide: bool, now: Timestamp) -> String {
    if rollouts.is_empty() {
        return "no rollouts\n".to_owned();
    }
    let mut rows = vec![row(with_namespace, wide, || "NAMESPACE".to_owned(), HEADER.map(str::to_owned), || "MESSAGE".to_owned())];
    rows.extend(rollouts.iter().map(|rollout| {
        let namespace = || escape(&rollout.namespace().unwrap_or_default());
        row(with_namespace, wide, namespace, cells(rollout, now), || message(rollout))
    }));
    columns(&rows)
}

const HEADER: [&str; 7] = ["NAME", "PHASE", "STEP", "WEIGHTS", "VERDICT", "REASON", "SINCE"];

fn row(
    with_namespace: bool,
    wide: bool,
    namespace: impl FnOnce() -> String,
    cells: [String; 7],
    message: impl FnOnce() -> String,
) -> Vec<String> {
    with_namespace.then(namespace).into_iter().chain(cells).chain(wide.then(message)).collect()
}

fn cells(rollout: &FleetRollout, now: Timestamp) -> [String; 7] {
    let status = rollout.status.clone().unwrap_or_default();
    let seen = status.since.is_some();
    let since = status.since.map(|since| age(since, now)).unwrap_or_default();
    let reason = if seen { status.reason.to_string() } else { String::new() };
    [
        cut(&escape(&rollout.name_any()), 30),
        format!("{:?}", status.phase),
        escape(&status.summary.step),
        cut(&escape(&status.summary.weights), 40),
        escape(&status.summary.verdict),
        reason,
        since,
    ]
}

fn message(rollout: &FleetRollout) -> String {
    escape(&rollout.status.as_ref().map(|status| status.message.clone()).unwrap_or_default())
}
