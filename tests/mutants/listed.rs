//! The mutants as cargo-mutants lists them.

use std::{collections::BTreeMap, path::Path, process::Command};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

/// One change of one place, as cargo-mutants would make it.
#[derive(Clone, Debug, Deserialize)]
pub struct Mutant {
    pub file: String,
    pub genre: Genre,
    pub name: String,
    pub replacement: String,
    pub span: Span,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
pub enum Genre {
    FnValue,
    BinaryOperator,
    UnaryOperator,
    MatchArm,
    MatchArmGuard,
    StructField,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Span {
    pub start: Position,
    pub end: Position,
}

/// Both count from one; columns are characters.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Position {
    pub line: usize,
    pub column: usize,
}

impl Mutant {
    /// The name without its line, which other changes of the file move.
    pub fn lasting_name(&self) -> String {
        let place = format!(":{}:{}", self.span.start.line, self.span.start.column);
        self.name.replacen(&place, "", 1)
    }

    /// The folder that a figure is for: `src/hub`.
    pub fn folder(&self) -> String {
        self.file.split('/').take(2).collect::<Vec<_>>().join("/")
    }
}

/// What cargo-mutants lists for the sources in `root`; `choosing` are its own arguments.
pub fn list(program: &Path, root: &Path, choosing: &[String]) -> Result<Vec<Mutant>> {
    let mut command = Command::new(program);
    command.args(["mutants", "--list", "--json", "--config", "tests/mutants/config.toml"]).args(choosing);
    let output = command.current_dir(root).output().with_context(|| format!("starting {}", program.display()))?;
    ensure!(output.status.success(), "cargo-mutants: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).context("the list of cargo-mutants")
}

/// A number for each of these mutants, the same as long as its name is: a sample is those with the smallest.
pub fn ranks(mutants: &[Mutant]) -> Vec<u64> {
    let mut alike = BTreeMap::<String, usize>::new();
    let rank = |mutant: &Mutant| {
        let name = mutant.lasting_name();
        let nth = alike.entry(name.clone()).or_default();
        *nth += 1;
        hash(&format!("{name} {nth}"))
    };
    mutants.iter().map(rank).collect()
}

/// `count` of these mutants.
pub fn sample(mutants: Vec<Mutant>, count: usize) -> Vec<Mutant> {
    let mut ranked: Vec<(u64, Mutant)> = ranks(&mutants).into_iter().zip(mutants).collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().take(count).map(|(_, mutant)| mutant).collect()
}

/// FNV-1a and a final mix: unlike the standard library's, the same with every compiler.
pub fn hash(text: &str) -> u64 {
    let fnv = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    (fnv ^ (fnv >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
