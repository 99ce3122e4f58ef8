//! docs/reliability.md: the figures that it gives, and the plans that it says catch each mistake.

use std::{collections::BTreeMap, fmt::Write as _, path::PathBuf};

use crate::{
    drive::Outcome,
    plan::{Fault, Kind, Plan, Run},
    wish,
};

const BEGIN: &str = "<!-- figures: `make sim-figures` writes them -->\n";
const END: &str = "<!-- end of figures -->\n";

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/reliability.md")
}

fn text() -> String {
    std::fs::read_to_string(path()).expect("docs/reliability.md")
}

/// How many plans of each pattern ran, in how many of them the fault struck, how many missed it, and how many failed.
pub fn figures(outcomes: &[Outcome]) -> String {
    let mut counts: BTreeMap<u8, [usize; 4]> = BTreeMap::new();
    let mut of: Vec<(String, Group, [usize; 4])> = groups();
    for outcome in outcomes {
        let one = [true, outcome.struck, !outcome.struck, !outcome.broken.is_empty()].map(usize::from);
        let add = |count: &mut [usize; 4]| count.iter_mut().zip(one).for_each(|(count, one)| *count += one);
        add(counts.entry(outcome.plan.fault.number()).or_default());
        of.iter_mut().filter(|(_, group, _)| group(&outcome.plan)).for_each(|(.., count)| add(count));
    }
    let mut table = "| pattern | plans | struck | missed | failed |\n|---|---|---|---|---|\n".to_owned();
    let mut row = |name: &str, [plans, struck, missed, failed]: [usize; 4]| {
        let _ = writeln!(table, "| {name} | {plans} | {struck} | {missed} | {failed} |");
    };
    for (pattern, count) in &counts {
        row(&format!("P{pattern}"), *count);
    }
    let total = |place: usize| counts.values().map(|count| count[place]).sum();
    row("all", [total(0), total(1), total(2), total(3)]);
    for (name, _, count) in of {
        row(&format!("of these {name}"), count);
    }
    table
}

/// Whether a plan belongs to a group that has its own figures.
type Group = Box<dyn Fn(&Plan) -> bool>;

fn groups() -> Vec<(String, Group, [usize; 4])> {
    let of_services: Group = Box::new(|plan| plan.run == Run::Service);
    let of_kind = |kind: Kind| -> (String, Group, [usize; 4]) {
        (format!("on {}", kind.title()), Box::new(move |plan| plan.kind == kind), [0; 4])
    };
    let services = ("in service mode".to_owned(), of_services, [0; 4]);
    std::iter::once(services).chain(Kind::OTHERS.map(of_kind)).collect()
}

/// Faults of which no plan met anything: their patterns prove nothing.
pub fn never_struck(outcomes: &[Outcome]) -> Vec<String> {
    let mut struck: BTreeMap<Fault, (usize, bool)> = BTreeMap::new();
    for outcome in outcomes {
        let found = struck.entry(outcome.plan.fault).or_default();
        *found = (found.0 + 1, found.1 || outcome.struck);
    }
    let missed = struck.into_iter().filter(|(_, (_, struck))| !struck);
    let line = |(fault, (plans, _)): (Fault, (usize, bool))| {
        format!("P{} {}: none of its {plans} plans struck", fault.number(), fault.word().unwrap_or_default())
    };
    missed.map(line).collect()
}

/// Whether the page gives these figures; writes them there where the environment asks for it.
pub fn gives(figures: &str) -> bool {
    let text = text();
    let around = text.split_once(BEGIN).and_then(|(before, rest)| Some((before, rest.split_once(END)?)));
    let (before, (given, after)) = around.expect("docs/reliability.md has a place for figures");
    if wish("FIGURES").is_some() {
        let page = format!("{before}{BEGIN}{figures}{END}{after}");
        std::fs::write(path(), page).expect("docs/reliability.md can be written");
        return true;
    }
    given == figures
}

/// The plan that catches a mistake, and the invariant by which it does.
pub fn catch(mistake: &str) -> Option<(String, String)> {
    let text = text();
    let row = text.lines().find(|line| line.contains(&format!("(`{mistake}`)")))?;
    let mut cells = row.split('|').map(|cell| cell.trim().trim_matches('`').to_owned()).skip(2);
    Some((cells.next()?, cells.next()?))
}
