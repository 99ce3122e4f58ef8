//! All rollouts as a table. Pure.

use std::error::Error;

use jiff::Timestamp;
use kube::{ResourceExt, core::DynamicObject};

use crate::{
    api::FleetRollout,
    cli::text::{age, columns, cut, escape},
};

/// A row for each rollout, then a line for each that cannot be read: it hides no other.
pub(super) fn render(objects: &[DynamicObject], with_namespace: bool, wide: bool, now: Timestamp) -> String {
    if objects.is_empty() {
        return "no rollouts\n".to_owned();
    }
    let (mut readable, mut unreadable) = (Vec::new(), String::new());
    for object in objects {
        match object.clone().try_parse::<FleetRollout>() {
            Ok(rollout) => readable.push(rollout),
            Err(error) => unreadable += &cannot_be_read(object, error.source().unwrap_or(&error)),
        }
    }
    let table = if readable.is_empty() { String::new() } else { table(&readable, with_namespace, wide, now) };
    table + &unreadable
}

/// Characters of why an object cannot be read.
const WHY: usize = 200;

fn cannot_be_read(object: &DynamicObject, why: &dyn Error) -> String {
    let namespace = escape(&object.namespace().unwrap_or_default());
    let name = cut(&escape(&object.name_any()), 30);
    format!("{namespace}/{name} cannot be read by this version of cutover: {}\n", cut(&escape(&why.to_string()), WHY))
}

fn table(rollouts: &[FleetRollout], with_namespace: bool, wide: bool, now: Timestamp) -> String {
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
