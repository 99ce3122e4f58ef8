//! What the command line requests.

use std::{
    env,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

use crate::listed::{self, Mutant};

/// Which mutants, and how far to go for each.
pub struct Wishes {
    pub target: PathBuf,
    pub search: bool,
    /// How long mutants are tried.
    pub minutes: Option<u64>,
    program: PathBuf,
    sample: Option<usize>,
    names: Vec<String>,
    choosing: Vec<String>,
}

impl Wishes {
    /// Nothing where `cargo test` began this with all other tests: `tests/mutants/run` names the program.
    pub fn read() -> Result<Option<Self>> {
        let Some(program) = env::var_os("CARGO_MUTANTS") else { return Ok(None) };
        let target = env::var_os("CARGO_TARGET_DIR").context("CARGO_TARGET_DIR is not set")?;
        let (target, program) = (target.into(), program.into());
        let mut wishes = Self {
            target,
            search: false,
            minutes: None,
            program,
            sample: None,
            names: Vec::new(),
            choosing: Vec::new(),
        };
        let mut arguments = env::args().skip(1);
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().with_context(|| format!("{argument} needs a value"));
            match argument.as_str() {
                "--search" => wishes.search = true,
                "--sample" => wishes.sample = Some(value()?.parse().context("--sample takes a number")?),
                "--minutes" => wishes.minutes = Some(value()?.parse().context("--minutes takes a number")?),
                "--name" => wishes.names.push(value()?),
                _ => wishes.choosing.push(argument),
            }
        }
        Ok(Some(wishes))
    }

    /// The mutants of the sources in `root` that were requested.
    pub fn choose(&self, root: &Path) -> Result<Vec<Mutant>> {
        let mut mutants = listed::list(&self.program, root, &self.choosing)?;
        let has = |mutant: &Mutant, name: &String| mutant.name.contains(name) || mutant.lasting_name().contains(name);
        mutants.retain(|mutant| self.names.is_empty() || self.names.iter().any(|name| has(mutant, name)));
        Ok(match self.sample {
            Some(count) => listed::sample(mutants, count),
            None => mutants,
        })
    }
}
