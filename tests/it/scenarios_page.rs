//! docs/scenarios.md names a test for every case: each of them is there.

use std::{collections::BTreeSet, fs, path::Path};

use crate::command::root;

/// Names that stand between these marks in the last column of a table.
fn named(page: &str, mark: char) -> BTreeSet<&str> {
    let cells = page.lines().filter(|line| line.starts_with('|')).skip(2);
    let last = cells.filter_map(|line| line.trim_end_matches('|').rsplit('|').next());
    last.flat_map(|cell| cell.split(mark).skip(1).step_by(2)).collect()
}

/// Every Rust source below a folder, in one text.
fn sources(folder: &Path) -> String {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let texts = entries.map(|path| match path.is_dir() {
        true => sources(&path),
        false if path.extension().is_some_and(|end| end == "rs") => fs::read_to_string(&path).unwrap(),
        false => String::new(),
    });
    texts.collect()
}

#[test]
fn every_case_names_tests_that_are_there() {
    let page = fs::read_to_string(root().join("docs/scenarios.md")).unwrap();
    let fast = sources(&root().join("src")) + &sources(&root().join("tests/it"));
    let lab = sources(&root().join("tests/lab"));
    let (tests, lab_tests) = (named(&page, '`'), named(&page, '*'));
    assert!(tests.len() > 30 && lab_tests.len() > 5, "{tests:?} {lab_tests:?}");
    let missing: Vec<&str> = tests.into_iter().filter(|name| !fast.contains(&format!("fn {name}("))).collect();
    assert_eq!(missing, [""; 0]);
    let missing: Vec<&str> = lab_tests.into_iter().filter(|name| !lab.contains(&format!("name: \"{name}\""))).collect();
    assert_eq!(missing, [""; 0]);
}
