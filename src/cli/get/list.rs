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
    let row = |namespace: String, cells: [String; 7], message: String| -> Vec<String> {
        with_namespace.then_some(namespace).into_iter().chain(cells).chain(wide.then_some(message)).collect()
    };
    let mut rows = vec![row("NAMESPACE".to_owned(), HEADER.map(str::to_owned), "MESSAGE".to_owned())];
    rows.extend(
        rollouts.iter().map(|rollout| {
            row(escape(&rollout.namespace().unwrap_or_default()), cells(rollout, now), message(rollout))
        }),
    );
    columns(&rows)
}

const HEADER: [&str; 7] = ["NAME", "PHASE", "STEP", "WEIGHTS", "VERDICT", "REASON", "SINCE"];

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
