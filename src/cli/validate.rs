//! `cutover validate`: every mistake in a file at once, with its line.

use std::path::PathBuf;

use serde_json::json;

use super::{
    CliError, Exit, Format, Output, files,
    text::{WIDTH, wrap},
};
use crate::validate::{Found, Known, Report, Severity, file_among};

/// What follows the first line of a problem is indented by so much.
const INDENT: usize = 4;

/// Check files offline: schema, rules and PromQL syntax; all mistakes at once, with their lines.
///
/// Unknown fields are refused with a suggestion, and so is every null, because an API server drops both. Templates and
/// rollouts that a rollout refers to are looked up in these files. Objects of other kinds are ignored. Exit status 0: no
/// errors (warnings allowed); 1: errors.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  cutover validate examples/first-rollout       a folder: its .yaml, .yml and .json files
  cutover validate rollout.yaml -o json
  kustomize build . | cutover validate -")]
pub(super) struct Validate {
    /// Files or folders; `-` is the standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Output format.
    #[arg(short, long, value_enum, default_value_t)]
    output: Format,
}

impl Validate {
    pub(super) fn run(&self, out: &mut Output) -> Result<Exit, CliError> {
        let sources = files::read(&self.files)?;
        let known = Known::of(sources.iter().map(|source| source.text.as_str()));
        let reports: Vec<(String, Report)> =
            sources.into_iter().map(|source| (source.name, file_among(&source.text, &known))).collect();
        match self.output {
            Format::Text => text(&reports, out)?,
            Format::Json => out.json(&as_json(&reports))?,
        }
        let problems = reports.iter().flat_map(|(_, report)| &report.problems);
        Ok(if problems.clone().any(|found| found.problem.severity == Severity::Error) {
            Exit::Error
        } else {
            Exit::Done
        })
    }
}

fn text(reports: &[(String, Report)], out: &mut Output) -> Result<(), CliError> {
    for (file, report) in reports {
        for Found { line, problem } in &report.problems {
            out.line(wrap(&format!("{file}:{line}: {problem}"), WIDTH, INDENT))?;
        }
    }
    let passed_over: Vec<&str> =
        reports.iter().flat_map(|(_, report)| &report.passed_over).map(String::as_str).collect();
    if !passed_over.is_empty() {
        out.line(wrap(&format!("not checked: {}", passed_over.join(", ")), WIDTH, INDENT))?;
    }
    if reports.iter().all(|(_, report)| report.problems.is_empty()) {
        let checked: usize = reports.iter().map(|(_, report)| report.checked).sum();
        let objects = if checked == 1 { "object" } else { "objects" };
        out.line(format!("{checked} {objects} checked, no mistakes"))?;
    }
    Ok(())
}

fn as_json(reports: &[(String, Report)]) -> serde_json::Value {
    let problems = reports.iter().flat_map(|(file, report)| report.problems.iter().map(move |found| (file, found)));
    let problems: Vec<_> = problems
        .map(|(file, Found { line, problem })| {
            json!({
                "file": file, "line": line, "severity": problem.severity, "path": problem.path,
                "found": problem.found, "allowed": problem.allowed,
            })
        })
        .collect();
    json!({ "problems": problems })
}
