//! The copy of the sources, in which the mutants stand.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail, ensure};

use crate::{
    compiler::{Built, build},
    plan::Plan,
};

const SWITCH: &str = "#[doc(hidden)]\npub mod mutants;\n";

/// Where the sources come from, where they are changed, and where they are built.
pub struct Copy {
    repository: PathBuf,
    fresh: tempfile::TempDir,
    pub root: PathBuf,
}

impl Copy {
    pub fn new(target: &Path) -> Result<Self> {
        let repository = env::current_dir()?;
        let (fresh, root) = (tempfile::tempdir()?, target.join("mutants"));
        let copy = Self { repository, fresh, root };
        copy.script("copy_sources \"$2\" && set_version \"$2\" 0.0.0-mutants && single_settings \"$2\" \"$3\"")?;
        let (library, switch) = (copy.fresh.path().join("src/lib.rs"), copy.fresh.path().join("src/mutants.rs"));
        let text = fs::read_to_string(&library)?;
        fs::write(&library, text + SWITCH)?;
        fs::copy(copy.repository.join("tests/mutants/switch.rs"), switch)?;
        Ok(copy)
    }

    /// Lays the mutants, without those that do not compile, and builds the fast tests once.
    pub fn build(&self, plan: &mut Plan, remembered: &Path) -> Result<Vec<PathBuf>> {
        // An error of the library stops `it` early, and comes once instead of twice.
        for targets in [&["--test", "it"][..], &["--lib", "--test", "it"][..]] {
            loop {
                let files = plan.write(self.fresh.path())?;
                self.script("update \"$2\" \"$3\"")?;
                let complaints = match build(&self.root, targets)? {
                    Built::Programs(programs) if targets.len() > 2 => return Ok(programs),
                    Built::Programs(_) => break,
                    Built::Refused(complaints) => complaints,
                };
                let taken = plan.take_out(&complaints, &files);
                plan.known().write(remembered)?;
                eprintln!("mutants: {} errors, {taken} mutants taken out", complaints.len());
                let texts = complaints.iter().map(|complaint| complaint.rendered.as_str());
                ensure!(taken > 0, "the copy does not compile:\n{}", texts.collect::<String>());
            }
        }
        bail!("nothing was built")
    }

    /// A script with the functions of tests/copy.sh; $2 is the folder that is changed and $3 the one that is built.
    fn script(&self, script: &str) -> Result<()> {
        let script = format!("set -euo pipefail; . tests/copy.sh; {script}");
        let mut command = Command::new("bash");
        command.args(["-c", &script, "bash"]).arg("").arg(self.fresh.path()).arg(&self.root);
        let status = command.current_dir(&self.repository).status().context("starting bash")?;
        ensure!(status.success(), "tests/copy.sh: {status}");
        Ok(())
    }
}
