//! Which reasons the core gives, by its own source.

use std::{fs, path::Path};

use cutover::api::Reason;

/// The sources below a folder, without their tests.
fn sources(folder: &Path) -> String {
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| !["tests", "fixtures"].iter().any(|name| path.file_stem().is_some_and(|stem| stem == *name)));
    paths.sort();
    paths.iter().map(|path| if path.is_dir() { sources(path) } else { without_tests(path) }).collect()
}

fn without_tests(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap().replace("#[cfg(test)]\nmod tests;\n", "");
    text.split("#[cfg(test)]").next().unwrap().to_owned()
}

fn names(text: &str, reason: Reason) -> bool {
    let name = format!("Reason::{reason}");
    text.match_indices(&name).any(|(at, _)| !text[at + name.len()..].starts_with(|next: char| next.is_alphanumeric()))
}

/// Every reason that src/rollout names. All others are given to it, or are not about rollouts.
pub fn of_the_core() -> Vec<Reason> {
    let text = sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/rollout"));
    Reason::ALL.iter().copied().filter(|reason| names(&text, *reason)).collect()
}

#[test]
fn every_reason_is_given_by_somebody() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let folders = ["rollout", "backend", "hub", "member", "metric", "prometheus", "route"];
    let text: String = folders.map(|folder| sources(&src.join(folder))).concat();
    let unused: Vec<_> = Reason::ALL.iter().filter(|reason| !names(&text, **reason)).collect();
    assert!(unused.is_empty(), "nobody gives {unused:?}");
}

#[test]
fn a_reason_is_not_named_by_a_longer_one() {
    assert!(names("Reason::Conflict,", Reason::Conflict) && !names("Reason::Confirming", Reason::Conflict));
    assert!(!names("Reason::MetricsUnknownYet", Reason::MetricsUnknown));
}
