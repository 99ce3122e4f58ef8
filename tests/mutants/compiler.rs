//! Builds the copy, and reads what the compiler says.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::places::Bytes;

/// An error, and where it is: the places that it names first come first.
#[derive(Debug)]
pub struct Complaint {
    pub message: String,
    pub rendered: String,
    pub spans: Vec<(String, Bytes)>,
    /// Not all cases are covered: the spans are of what is matched.
    pub not_exhaustive: bool,
}

/// Its code.
const NOT_EXHAUSTIVE: &str = "E0004";

/// Either what was built or why not.
pub enum Built {
    Programs(Vec<PathBuf>),
    Refused(Vec<Complaint>),
}

#[derive(Deserialize)]
struct Line {
    executable: Option<PathBuf>,
    message: Option<Message>,
    #[serde(default)]
    profile: Profile,
}

#[derive(Default, Deserialize)]
struct Profile {
    test: bool,
}

#[derive(Deserialize)]
struct Message {
    level: String,
    #[serde(rename = "message")]
    text: String,
    rendered: Option<String>,
    code: Option<Code>,
    spans: Vec<Span>,
}

#[derive(Deserialize)]
struct Code {
    code: String,
}

#[derive(Deserialize)]
struct Span {
    file_name: String,
    byte_start: usize,
    byte_end: usize,
    is_primary: bool,
    expansion: Option<Expansion>,
}

#[derive(Deserialize)]
struct Expansion {
    span: Box<Span>,
}

/// The mutants make the sources larger: what they take longer to compile, optimised, no test gives back.
const UNOPTIMISED: &str = "profile.test.package.cutover.opt-level=0";

/// Builds these targets of the copy in `root`; does not run them.
pub fn build(root: &Path, targets: &[&str]) -> Result<Built> {
    let mut command = Command::new(env!("CARGO"));
    command
        .args(["test", "--no-run", "--quiet", "--message-format=json", "--config", UNOPTIMISED])
        .args(targets)
        .current_dir(root);
    let output = command.stderr(std::process::Stdio::inherit()).output().context("starting cargo")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<Line> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    if output.status.success() {
        let tests = lines.into_iter().filter(|line| line.profile.test);
        return Ok(Built::Programs(tests.filter_map(|line| line.executable).collect()));
    }
    let messages = lines.into_iter().filter_map(|line| line.message);
    Ok(Built::Refused(messages.filter(|message| message.level == "error").map(Message::complaint).collect()))
}

impl Message {
    fn complaint(mut self) -> Complaint {
        self.spans.sort_by_key(|span| !span.is_primary);
        let not_exhaustive = self.code.is_some_and(|code| code.code == NOT_EXHAUSTIVE);
        let spans = self.spans.into_iter().flat_map(Span::all).collect();
        Complaint { message: self.text, rendered: self.rendered.unwrap_or_default(), spans, not_exhaustive }
    }
}

impl Span {
    /// Itself, and the calls of macros that it comes from.
    fn all(self) -> Vec<(String, Bytes)> {
        let mut all = vec![(self.file_name, self.byte_start..self.byte_end)];
        all.extend(self.expansion.map(|expansion| expansion.span.all()).unwrap_or_default());
        all
    }
}
