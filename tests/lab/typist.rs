//! Types the commands of the documents as a reader does: line by line in a shell, in a copy of what the repository's root has.

use crate::{
    fleet::source,
    parts::Parts,
    wait::{eventually, seconds},
};
use anyhow::{Context, Result, ensure};
use std::{ffi::OsString, fs, os::unix::fs::symlink, path::PathBuf, process::Stdio, time::Duration};
use tokio::process::Command;

/// A reader tries again what needs a moment.
const PATIENCE: Duration = seconds(150);
/// Exit statuses of what shows a state: each of them is one.
const STATES: [i32; 4] = [0, 2, 3, 4];
/// How long a picture that is drawn again and again is looked at.
const LOOK: &str = "3";

/// A line that a document tells its reader to type.
#[derive(Debug, Clone)]
pub struct Line {
    pub document: String,
    /// The number in the headline above it, where that begins with one.
    pub part: Option<char>,
    pub text: String,
}

/// The lines of a document's `sh` blocks. What is not to be typed is marked as `text`, or as what else it is.
pub fn lines(document: &str) -> Result<Vec<Line>> {
    let text = fs::read_to_string(source(document)).with_context(|| document.to_owned())?;
    let (mut lines, mut block, mut part) = (Vec::new(), None::<&str>, None);
    for line in text.lines() {
        match (line.strip_prefix("```"), block) {
            (Some(kind), None) => {
                ensure!(
                    !kind.is_empty(),
                    "{document}: a block without its kind; write sh where it can be typed, else text"
                );
                block = Some(kind);
            }
            (Some(_), Some(_)) => block = None,
            (None, Some("sh")) => lines.push(Line { document: document.to_owned(), part, text: line.to_owned() }),
            (None, None) => {
                if let Some(headline) = line.strip_prefix("## ") {
                    part = headline.chars().next().filter(char::is_ascii_digit);
                }
            }
            (None, Some(_)) => {}
        }
    }
    Ok(lines)
}

/// The documents that tell people what to type.
pub fn documents() -> Result<Vec<String>> {
    let mut documents = vec!["README.md".to_owned()];
    for entry in fs::read_dir(source("docs"))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        documents.extend(path.extension().is_some_and(|end| end == "md").then(|| format!("docs/{name}")));
    }
    for entry in fs::read_dir(source("examples"))? {
        documents.push(format!("examples/{}/README.md", entry?.file_name().to_string_lossy()));
    }
    documents.sort();
    Ok(documents)
}

/// One who types.
pub struct Typist {
    folder: PathBuf,
    kubeconfig: PathBuf,
    path: OsString,
    variables: Vec<(&'static str, String)>,
}

impl Typist {
    /// Works in this new folder, with a kubeconfig and values of shell variables.
    pub fn new(
        folder: PathBuf,
        kubeconfig: PathBuf,
        parts: &Parts,
        variables: Vec<(&'static str, String)>,
    ) -> Result<Self> {
        let commands = folder.join("bin");
        fs::create_dir_all(&commands)?;
        for name in ["cutover", "kubectl-cutover"] {
            symlink(env!("CARGO_BIN_EXE_cutover"), commands.join(name))?;
        }
        symlink(&parts.kubectl, commands.join("kubectl"))?;
        for name in ["examples", "config", "tests"] {
            symlink(source(name), folder.join(name))?;
        }
        let inherited = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(std::iter::once(commands).chain(std::env::split_paths(&inherited)))?;
        Ok(Self { folder, kubeconfig, path, variables })
    }

    /// Types a line until it does what it should; what it printed.
    pub async fn types(&self, line: &str) -> Result<String> {
        eventually(&format!("$ {line}"), PATIENCE, async || self.once(line).await).await
    }

    async fn once(&self, line: &str) -> Result<String> {
        let watches = line.contains("--watch");
        let mut command = if watches { Command::new("timeout") } else { Command::new("bash") };
        command.args(if watches { &[LOOK, "bash"][..] } else { &[] }).args(["-o", "pipefail", "-c", line]);
        command.current_dir(&self.folder).env("KUBECONFIG", &self.kubeconfig).env("PATH", &self.path);
        command.env("HOME", &self.folder).envs(self.variables.iter().cloned());
        let output = command.stdin(Stdio::null()).kill_on_drop(true).output().await?;
        let status = output.status.code().context("it was killed")?;
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        let shows = ["cutover get ", "cutover why "].iter().any(|verb| line.contains(verb));
        // 124 is what timeout makes of a command that it ended.
        let good =
            if watches { status == 124 && !said.is_empty() } else { status == 0 || shows && STATES.contains(&status) };
        ensure!(good, "{status}: {said}");
        Ok(said)
    }
}
