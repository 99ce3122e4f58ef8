//! docs/scenarios.md names tests for every case, and says what kind of proof they are.

use std::{collections::BTreeSet, fs, path::Path};

use crate::command::root;

/// What tests can prove, by where they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Proof {
    Lab,
    Core,
    Objects,
    Simulator,
}

impl Proof {
    const fn word(self) -> &'static str {
        match self {
            Self::Lab => "lab",
            Self::Core => "core",
            Self::Objects => "objects",
            Self::Simulator => "simulator",
        }
    }
}

/// Every test of the repository, as the text of the sources that may declare it.
struct Sources {
    lab: String,
    core: String,
    objects: String,
}

impl Sources {
    fn read() -> Self {
        let core = root().join("tests/it/core");
        let others = fs::read_dir(root().join("tests/it")).unwrap().map(|entry| entry.unwrap().path());
        let others: String = others.filter(|path| *path != core).map(|path| sources(&path)).collect();
        let objects = sources(&root().join("src")) + &others;
        Self { lab: sources(&root().join("tests/lab")), core: sources(&core), objects }
    }

    /// What the test of this name proves, in this notation; none where there is no such test.
    fn proof(&self, mark: char, name: &str) -> Option<Proof> {
        let function = format!("fn {name}(");
        match mark {
            '*' => self.lab.contains(&format!("name: \"{name}\"")).then_some(Proof::Lab),
            _ if self.core.contains(&function) => Some(Proof::Core),
            _ => self.objects.contains(&function).then_some(Proof::Objects),
        }
    }
}

/// Every Rust source at or below a path, in one text.
fn sources(path: &Path) -> String {
    if path.is_dir() {
        return fs::read_dir(path).unwrap().map(|entry| sources(&entry.unwrap().path())).collect();
    }
    let is_rust = path.extension().is_some_and(|end| end == "rs");
    if is_rust { fs::read_to_string(path).unwrap() } else { String::new() }
}

/// Names that stand between these marks.
fn named(cell: &str, mark: char) -> impl Iterator<Item = &str> {
    cell.split(mark).skip(1).step_by(2)
}

/// The cells of a row: case, what happens, proof, tests. Those at the end never contain a bar.
fn cells(line: &str) -> [&str; 4] {
    let cells: Vec<&str> = line.trim_matches('|').rsplitn(3, " | ").collect();
    let [tests, proof, rest] = cells.try_into().unwrap();
    let (case, what) = rest.split_once(" | ").unwrap();
    [case, what, proof, tests].map(str::trim)
}

#[test]
fn every_case_names_tests_that_are_there_and_what_kind_they_are() {
    let page = fs::read_to_string(root().join("docs/scenarios.md")).unwrap();
    let sources = Sources::read();
    let rows: Vec<[&str; 4]> = page.lines().filter(|line| line.starts_with('|')).skip(2).map(cells).collect();
    assert!(rows.len() > 60, "{}", rows.len());
    for [case, what, said, tests] in rows {
        assert!(!case.is_empty() && !what.is_empty());
        let mut proofs = BTreeSet::new();
        for mark in ['`', '*'] {
            for name in named(tests, mark) {
                let proof = sources.proof(mark, name);
                proofs.insert(proof.unwrap_or_else(|| panic!("{case}: there is no test {name}")));
            }
        }
        if tests.contains("reliability.md") {
            proofs.insert(Proof::Simulator);
        }
        let words: Vec<&str> = proofs.into_iter().map(Proof::word).collect();
        assert_eq!(said, words.join(", "), "{case}: the proof");
    }
}
