//! The mutants that an error of the compiler is about.

use std::collections::BTreeMap;

use crate::{compiler::Complaint, laid::LaidFile, places::Places};

/// Their numbers, and whether the error is surely the mutant's own.
pub fn blamed(complaint: &Complaint, files: &BTreeMap<String, LaidFile>) -> Vec<(u32, bool)> {
    if complaint.not_exhaustive {
        return uncovered(complaint, files);
    }
    complaint.spans.iter().find_map(|(file, bytes)| files.get(file)?.blamed(bytes)).unwrap_or_default()
}

/// An arm with a switch covers nothing: the error shows the arm that is the last; else it is any other of the match.
fn uncovered(complaint: &Complaint, files: &BTreeMap<String, LaidFile>) -> Vec<(u32, bool)> {
    let shown = switches(&complaint.rendered);
    if let [alone] = shown[..] {
        return vec![(alone, true)];
    }
    let all = if shown.is_empty() { of_match(complaint, files).unwrap_or_default() } else { shown };
    all.into_iter().map(|number| (number, false)).collect()
}

fn of_match(complaint: &Complaint, files: &BTreeMap<String, LaidFile>) -> Option<Vec<u32>> {
    let (name, bytes) = complaint.spans.first()?;
    let text = &files.get(name)?.text;
    let matches = Places::of(text).ok()?.matches;
    let (_, guards) = matches.into_iter().find(|(matched, _)| matched == bytes)?;
    Some(guards.into_iter().flat_map(|guard| switches(&text[guard])).collect())
}

fn switches(text: &str) -> Vec<u32> {
    let numbers = text.split("mutants::on(").skip(1).filter_map(|text| text.split(')').next()?.parse().ok());
    let mut numbers: Vec<u32> = numbers.collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}
