//! All figures of one bench.

use super::{
    phase::{overload::Overload, run::Run},
    size::Size,
};
use anyhow::{Context, Result};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::{fs, path::PathBuf};

#[derive(Debug, Serialize, Deserialize)]
pub struct Results {
    pub cutover: String,
    pub date: String,
    pub cores: usize,
    pub sizes: Vec<Size>,
    /// Fifty rollouts in one namespace.
    pub crowded: Option<Run>,
    pub overload: Option<Overload>,
}

impl Results {
    pub fn begin() -> Self {
        Self {
            cutover: env!("CARGO_PKG_VERSION").to_owned(),
            date: Timestamp::now().strftime("%F").to_string(),
            cores: std::thread::available_parallelism().map_or(0, Into::into),
            sizes: Vec::new(),
            crowded: None,
            overload: None,
        }
    }

    /// Those of the last bench.
    pub fn load() -> Result<Self> {
        let text = fs::read_to_string(file()).with_context(|| file().display().to_string())?;
        Ok(serde_json::from_str(&text)?)
    }

    /// Writes `target/bench/results.json`.
    pub fn save(&self) -> Result<()> {
        fs::create_dir_all(file().with_file_name(""))?;
        fs::write(file(), serde_json::to_string_pretty(self)? + "\n")?;
        Ok(())
    }
}

pub fn file() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).with_file_name("bench").join("results.json")
}
