//! All rollouts as a table, those that need a person first. Pure.

use std::error::Error;

use jiff::Timestamp;
use kube::{ResourceExt, core::DynamicObject};

use crate::{
    api::FleetRollout,
    cli::{
        Exit,
        hub_liveness::LeaseSeen,
        table::{Align, Column, Line, Table},
        text::{Page, age, cut, cut_after_word, day_and_clock, escape, wrap},
        view::View,
    },
};

/// All that was read for the list, and the time at which it is shown.
#[derive(Clone)]
pub(in crate::cli) struct Rollouts {
    pub(in crate::cli) objects: Vec<DynamicObject>,
    pub(in crate::cli) lease: LeaseSeen,
    /// Of all namespaces.
    pub(in crate::cli) everywhere: bool,
    pub(in crate::cli) now: Timestamp,
}

/// How many there are and whether the hub runs; a row for each rollout; a line for each that cannot be read: it hides no
/// other.
pub(in crate::cli) fn render(rollouts: &Rollouts, page: Page) -> String {
    let (mut readable, mut unreadable) = (Vec::new(), String::new());
    for object in &rollouts.objects {
        match object.clone().try_parse::<FleetRollout>() {
            Ok(rollout) => readable.push(View::new(rollout, rollouts.lease.clone(), rollouts.now)),
            Err(error) => unreadable += &cannot_be_read(object, error.source().unwrap_or(&error), page),
        }
    }
    // The sort is stable, so the API server's order stays within each group.
    readable.sort_by_key(|view| urgency(view.exit()));
    let head = wrap(&headline(rollouts, &readable), page.width, 4);
    let table = if readable.is_empty() { String::new() } else { table(&readable, rollouts.everywhere, page) };
    format!("{head}\n{table}{unreadable}")
}

/// The time, whether the hub runs, and `40 rollouts: 2 failed or rolled back, 38 done`.
fn headline(rollouts: &Rollouts, views: &[View]) -> String {
    let hub = rollouts.lease.at(rollouts.now);
    let at = day_and_clock(rollouts.now);
    let number = match rollouts.objects.len() {
        0 => "no rollouts".to_owned(),
        1 => "1 rollout".to_owned(),
        more => format!("{more} rollouts"),
    };
    let groups = [
        (Exit::Failed, "failed or rolled back"),
        (Exit::Held, "held or waiting for a person"),
        (Exit::Progressing, "in progress"),
        (Exit::Done, "done"),
    ];
    let count = |exit| views.iter().filter(|view| view.exit() == exit).count();
    let counted = groups.iter().map(|(exit, words)| (count(*exit), words)).filter(|(number, _)| *number > 0);
    let counted: Vec<String> = counted.map(|(number, words)| format!("{number} {words}")).collect();
    let number = if counted.is_empty() { number } else { format!("{number}: {}", counted.join(", ")) };
    match hub.alarm() {
        Some(alarm) => format!("{alarm}   {at}   {number}; last known:"),
        None => format!("{at}, {hub}   {number}"),
    }
}

/// Who needs a person comes first.
const fn urgency(exit: Exit) -> u8 {
    match exit {
        Exit::Failed | Exit::Error => 0,
        Exit::Held => 1,
        Exit::Progressing => 2,
        Exit::Done => 3,
    }
}

/// Characters of why an object cannot be read.
const WHY: usize = 200;

fn cannot_be_read(object: &DynamicObject, why: &dyn Error, page: Page) -> String {
    let namespace = escape(&object.namespace().unwrap_or_default());
    let name = cut(&escape(&object.name_any()), 30);
    let why = cut(&escape(&why.to_string()), WHY);
    let said = format!("{namespace}/{name} cannot be read by this version of cutover: {why}");
    format!("{}\n", wrap(&said, page.width, 4))
}

fn table(views: &[View], with_namespace: bool, page: Page) -> String {
    let left = |title: &str, rank| Column::new(title, "", Align::Left, rank);
    let namespace = with_namespace.then(|| left("NAMESPACE", 0));
    let known = [left("NAME", 0), left("PHASE", 0), left("STEP", 2), left("WEIGHTS", 4), left("VERDICT", 5)];
    let why = [left("REASON", 3), left("SINCE", 1)];
    let message = page.wide.then(|| left("MESSAGE", 6));
    let columns = namespace.into_iter().chain(known).chain(why).chain(message).collect();
    let lines = views.iter().map(|view| Line::Cells(cells(view, with_namespace, page.wide))).collect();
    Table { columns, lines }.fit(page.table()).text
}

fn cells(view: &View, with_namespace: bool, wide: bool) -> Vec<String> {
    let status = &view.status;
    let seen = status.since.is_some();
    let known = [
        cut(&escape(&view.name()), 30),
        format!("{:?}", status.phase),
        escape(&status.summary.step),
        cut_after_word(&escape(&status.summary.weights), 40),
        escape(&status.summary.verdict),
        if seen { status.reason.to_string() } else { String::new() },
        status.since.map(|since| age(since, view.now)).unwrap_or_default(),
    ];
    let namespace = with_namespace.then(|| escape(&view.namespace()));
    namespace.into_iter().chain(known).chain(wide.then(|| escape(&status.message))).collect()
}
