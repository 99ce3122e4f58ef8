//! The fast tests, and which mutants each of them reaches.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use crate::{process, workers};

/// The tests that take minutes together; they run last, and only for some.
pub const SEARCH: &str = "core::search::";

/// Tests on the clock of the machine, many programs each: they are too slow to run once for every mutant.
const DEMO: &str = "demo::";

/// A processor's seconds that one unchanged test may take; a busy machine needs more than an idle one.
const LIMIT: f64 = 60.0;

/// One test that passes on the unchanged sources.
#[derive(Debug, Deserialize, Serialize)]
pub struct Test {
    pub binary: PathBuf,
    pub name: String,
    pub seconds: f64,
    pub reached: BTreeSet<u32>,
}

/// All fast tests of these binaries.
#[derive(Deserialize, Serialize)]
pub struct Traced {
    built: Vec<(PathBuf, SystemTime)>,
    pub tests: Vec<Test>,
    /// These do not pass in the copy, mostly because they judge the text of the sources.
    pub failed: Vec<String>,
}

/// What an earlier run of the same binaries traced, or a new trace, which `file` then holds.
pub fn traced(root: &Path, binaries: &[PathBuf], file: &Path) -> Result<Traced> {
    let built = binaries.iter().map(|binary| Ok((binary.clone(), fs::metadata(binary)?.modified()?)));
    let built: Vec<(PathBuf, SystemTime)> = built.collect::<Result<_>>()?;
    let before = fs::read(file).ok().and_then(|text| serde_json::from_slice::<Traced>(&text).ok());
    if let Some(before) = before.filter(|before| before.built == built) {
        return Ok(before);
    }
    let (tests, failed) = trace(root, binaries)?;
    let traced = Traced { built, tests, failed };
    fs::write(file, serde_json::to_vec(&traced)?)?;
    Ok(traced)
}

/// Runs every test by itself, so that all that it reaches is its own, be it in threads or in programs that it starts.
fn trace(root: &Path, binaries: &[PathBuf]) -> Result<(Vec<Test>, Vec<String>)> {
    let mut wanted = Vec::new();
    for binary in binaries {
        wanted.extend(names(root, binary)?.into_iter().map(|name| (binary.clone(), name)));
    }
    let folder = tempfile::tempdir()?;
    let traced = workers::all(&wanted, |index, (binary, name)| {
        let file = folder.path().join(index.to_string());
        one(root, binary, name, &file)
    })?;
    let (passed, failed): (Vec<_>, Vec<_>) = traced.into_iter().partition(Result::is_ok);
    Ok((passed.into_iter().filter_map(Result::ok).collect(), failed.into_iter().filter_map(Result::err).collect()))
}

fn names(root: &Path, binary: &Path) -> Result<Vec<String>> {
    let listed = process::run(binary, root, &["--list", "--format", "terse"], &[], LIMIT)?;
    let names = listed.output.lines().filter_map(|line| line.strip_suffix(": test"));
    let names: Vec<String> =
        names.filter(|name| !name.starts_with(SEARCH) && !name.starts_with(DEMO)).map(str::to_owned).collect();
    ensure!(!names.is_empty(), "{} lists no tests: {}", binary.display(), listed.output);
    Ok(names)
}

fn one(root: &Path, binary: &Path, name: &str, file: &Path) -> Result<Result<Test, String>> {
    let reached = file.to_string_lossy();
    let ended = process::run(binary, root, &["--exact", name], &[("MUTANTS_REACHED", reached.as_ref())], LIMIT)?;
    if !ended.status.is_some_and(|status| status.success()) {
        return Ok(Err(name.to_owned()));
    }
    let numbers = fs::read(file).unwrap_or_default();
    let reached = numbers.chunks_exact(4).filter_map(|number| number.try_into().ok().map(u32::from_le_bytes));
    let (binary, name) = (binary.to_owned(), name.to_owned());
    Ok(Ok(Test { binary, name, seconds: ended.seconds, reached: reached.collect() }))
}
