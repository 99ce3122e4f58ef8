//! One mutant and the tests that reach it.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use anyhow::Result;

use crate::{
    listed::Mutant,
    process::{self, Ended},
    reach::{SEARCH, Test},
};

/// What the tests made of a mutant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// By this test, or by the time that some took.
    Noticed(String),
    Missed,
    /// No test reaches it.
    Unreached,
}

/// What the runs of all mutants share.
pub struct Runner<'a> {
    pub root: &'a Path,
    pub tests: &'a [Test],
    /// The binary that has the search, if that is to run too.
    pub search: Option<PathBuf>,
    /// How often a test noticed something in a file: it comes first for the next mutant there.
    noticed: Mutex<HashMap<(String, usize), usize>>,
}

/// Seconds of the first round of tests; each round takes twice the time of the one before it.
const FIRST_ROUND: f64 = 0.3;

/// Seconds of the search when nothing is noticed, many times over.
const SEARCH_SECONDS: f64 = 900.0;

impl<'a> Runner<'a> {
    pub fn new(root: &'a Path, tests: &'a [Test], search: Option<PathBuf>) -> Self {
        Self { root, tests, search, noticed: Mutex::default() }
    }

    /// Runs the likeliest tests first, and no more of them when one noticed it.
    pub fn run(&self, number: u32, mutant: &Mutant) -> Result<Verdict> {
        let tests = self.in_order(number, &mutant.file);
        let unreached = tests.is_empty();
        for round in rounds(&tests, self.tests) {
            if let Some(by) = self.round(number, &round)? {
                if let Some(test) = round.iter().find(|test| self.tests[**test].name == by) {
                    let mut noticed = self.noticed.lock().unwrap_or_else(PoisonError::into_inner);
                    *noticed.entry((mutant.file.clone(), *test)).or_default() += 1;
                }
                return Ok(Verdict::Noticed(by));
            }
        }
        let searched = self.search.as_deref().filter(|_| mutant.folder() == "src/rollout");
        if let Some(by) = searched.map(|binary| self.searched(number, binary)).transpose()?.flatten() {
            return Ok(Verdict::Noticed(by));
        }
        Ok(if unreached { Verdict::Unreached } else { Verdict::Missed })
    }

    /// Those that noticed most in this file, then those that reach the least besides.
    fn in_order(&self, number: u32, file: &str) -> Vec<usize> {
        let noticed = self.noticed.lock().unwrap_or_else(PoisonError::into_inner);
        let reaching = |test: &usize| self.tests[*test].reached.contains(&number);
        let mut tests: Vec<usize> = (0..self.tests.len()).filter(reaching).collect();
        tests.sort_by_key(|test| {
            let before = noticed.get(&(file.to_owned(), *test)).copied().unwrap_or_default();
            (self.tests[*test].seconds > 2.0, std::cmp::Reverse(before), self.tests[*test].reached.len())
        });
        tests
    }

    fn round(&self, number: u32, round: &[usize]) -> Result<Option<String>> {
        let mut binaries: Vec<&Path> = round.iter().map(|test| self.tests[*test].binary.as_path()).collect();
        binaries.sort_unstable();
        binaries.dedup();
        for binary in binaries {
            let tests = round.iter().map(|test| &self.tests[*test]).filter(|test| test.binary == binary);
            let seconds = 3.0 + 4.0 * tests.clone().map(|test| test.seconds).sum::<f64>();
            let arguments: Vec<&str> =
                ["--test-threads=1", "--exact"].into_iter().chain(tests.map(|test| test.name.as_str())).collect();
            let ended = self.with(number, binary, &arguments, seconds)?;
            if let Some(by) = noticed(&ended) {
                return Ok(Some(by));
            }
        }
        Ok(None)
    }

    fn searched(&self, number: u32, binary: &Path) -> Result<Option<String>> {
        Ok(noticed(&self.with(number, binary, &["--test-threads=1", SEARCH], SEARCH_SECONDS)?))
    }

    fn with(&self, number: u32, binary: &Path, arguments: &[&str], seconds: f64) -> Result<Ended> {
        process::run(binary, self.root, arguments, &[("MUTANT", &number.to_string())], seconds)
    }
}

/// The tests in rounds that take longer and longer.
fn rounds(tests: &[usize], all: &[Test]) -> Vec<Vec<usize>> {
    let (mut rounds, mut round, mut seconds, mut most) = (Vec::new(), Vec::new(), 0.0, FIRST_ROUND);
    for test in tests {
        round.push(*test);
        seconds += all[*test].seconds;
        if seconds >= most {
            rounds.push(std::mem::take(&mut round));
            (seconds, most) = (0.0, most * 2.0);
        }
    }
    rounds.extend((!round.is_empty()).then_some(round));
    rounds
}

/// Who noticed it: the first test that failed, or the end of the time or the memory that the tests may use.
fn noticed(ended: &Ended) -> Option<String> {
    let failed = |line: &str| Some(line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?.to_owned());
    match ended.status {
        Some(status) if status.success() => None,
        Some(status) => Some(ended.output.lines().find_map(failed).unwrap_or_else(|| status.to_string())),
        None => Some("too slow".to_owned()),
    }
}
