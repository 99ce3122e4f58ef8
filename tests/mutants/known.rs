//! Mutants that did not compile before, as long as their file is the same: each round of the compiler takes a while.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::Result;

use crate::{
    listed::{Mutant, hash},
    plan::Fate,
};

/// What became of mutants, by their names and the contents of their files.
#[derive(Default)]
pub struct Known(BTreeMap<String, Fate>);

impl Known {
    /// What an earlier run wrote; nothing where there was none.
    pub fn read(path: &Path) -> Self {
        let text = fs::read(path).unwrap_or_default();
        Self(serde_json::from_slice(&text).unwrap_or_default())
    }

    pub fn of<'a>(all: impl Iterator<Item = (&'a str, &'a Mutant, &'a Fate)>) -> Self {
        let taken_out = all.filter(|(_, _, fate)| **fate != Fate::Laid);
        Self(taken_out.map(|(text, mutant, fate)| (key(text, mutant), fate.clone())).collect())
    }

    /// Adds these to what the file holds.
    pub fn write(self, path: &Path) -> Result<()> {
        let mut all = Self::read(path).0;
        all.extend(self.0);
        Ok(fs::write(path, serde_json::to_vec(&all)?)?)
    }

    pub fn get(&self, text: &str, mutant: &Mutant) -> Fate {
        self.0.get(&key(text, mutant)).cloned().unwrap_or(Fate::Laid)
    }
}

fn key(text: &str, mutant: &Mutant) -> String {
    format!("{:x} {}", hash(text), mutant.name)
}
