//! `cutover validate`: every mistake in files at once, with its line.

mod sarif;

use std::{
    fmt::Write,
    io::{self, ErrorKind},
    path::PathBuf,
};

use clap::ValueEnum;
use serde_json::{Value, json};

use super::{
    CliError, Exit, Output, files,
    text::{WIDTH, wrap},
};
use crate::validate::{self, Found, Problem, Report, Severity};

/// What follows the first line of a problem is indented by so much.
const INDENT: usize = 4;

/// Check files offline: schema, rules and PromQL syntax; all mistakes at once, with their lines.
///
/// Unknown fields are refused with a suggestion, and so is every null, because an API server drops both. Members,
/// templates and rollouts that a rollout refers to are looked up in these files. Objects of other kinds are ignored, and
/// named at the end.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  cutover validate examples/first-rollout       a folder: its .yaml, .yml and .json files, and those below
  cutover validate rollout.yaml -o json
  cutover validate deploy -o sarif > cutover.sarif     for code hosts, which show it in a review
  kustomize build . | cutover validate -

Exit status: 0 no errors (warnings and hints are allowed), 1 errors, or no object of cutover in any file.")]
pub(super) struct Validate {
    /// Files or folders; `-` is the standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Output format.
    #[arg(short, long, value_enum, default_value_t)]
    output: Shape,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Shape {
    /// For people.
    #[default]
    Text,
    /// For programs.
    Json,
    /// SARIF 2.1.0, for code hosts.
    Sarif,
}

/// The reports of all files, each with its name.
type Reports = [(String, Report)];

impl Validate {
    pub(super) fn run(&self, out: &mut Output) -> Result<Exit, CliError> {
        let reports = reports(files::read(&self.files));
        match self.output {
            Shape::Text => out.text(&text(&reports, out.width().min(WIDTH)))?,
            Shape::Json => out.json(&as_json(&reports))?,
            Shape::Sarif => out.json(&sarif::sarif(&reports))?,
        }
        Ok(if checked(&reports) > 0 && count(&reports, Severity::Error) == 0 { Exit::Done } else { Exit::Error })
    }
}

/// What is wrong with each file. One that cannot be read hides no other.
fn reports(sources: Vec<files::Source>) -> Vec<(String, Report)> {
    let texts = sources.iter().map(|source| (source.name.as_str(), source.text.as_deref().unwrap_or_default()));
    let read = validate::files(texts);
    let with_errors = sources.iter().zip(read).map(|(source, report)| match &source.text {
        Ok(_) => report,
        Err(error) => Report { problems: vec![Found::new(1, missing(error))], ..Report::default() },
    });
    let reports: Vec<Report> = with_errors.collect();
    sources.into_iter().map(|source| source.name).zip(reports).collect()
}

fn missing(error: &io::Error) -> Problem {
    let (found, remedy) = match error.kind() {
        ErrorKind::NotFound if error.get_ref().is_none() => ("does not exist".to_owned(), "correct the name"),
        ErrorKind::NotFound => (error.to_string(), "name another folder"),
        ErrorKind::PermissionDenied => ("may not be read by you".to_owned(), "change its permissions"),
        ErrorKind::InvalidData => ("is not UTF-8".to_owned(), "save it as UTF-8"),
        _ => (format!("cannot be read: {error}"), "read it from another place"),
    };
    Problem::error("file", found, remedy)
}

fn checked(reports: &Reports) -> usize {
    reports.iter().map(|(_, report)| report.checked).sum()
}

/// Problems and hints, by file and line.
fn all(reports: &Reports) -> Vec<(&str, &Found)> {
    let mut all: Vec<(&str, &Found)> = Vec::new();
    for (file, report) in reports {
        let mut found: Vec<&Found> = report.problems.iter().chain(&report.hints).collect();
        found.sort_by_key(|found| found.line);
        all.extend(found.into_iter().map(|found| (file.as_str(), found)));
    }
    all
}

fn count(reports: &Reports, severity: Severity) -> usize {
    all(reports).iter().filter(|(_, found)| found.problem.severity == severity).count()
}

/// What was not checked, in words.
fn unchecked(reports: &Reports) -> Vec<String> {
    let passed_over: Vec<&str> =
        reports.iter().flat_map(|(_, report)| &report.passed_over).map(String::as_str).collect();
    let mut members: Vec<&str> = reports.iter().flat_map(|(_, report)| &report.members).map(String::as_str).collect();
    members.sort_unstable();
    members.dedup();
    let kinds = (!passed_over.is_empty()).then(|| passed_over.join(", "));
    let members = (!members.is_empty())
        .then(|| format!("whether members {} exist: no MemberCluster is in these files", members.join(", ")));
    kinds.into_iter().chain(members).collect()
}

/// In lines of at most `width`, but for what is shown of a file, and for words that are wider.
fn text(reports: &Reports, width: usize) -> String {
    let mut text: String = all(reports).into_iter().map(|(file, found)| one(file, found, width)).collect();
    for what in unchecked(reports) {
        line(&mut text, &format!("not checked: {what}"), width);
    }
    let objects = |n: usize| if n == 1 { "1 object".to_owned() } else { format!("{n} objects") };
    match (checked(reports), count(reports, Severity::Error), count(reports, Severity::Warning)) {
        (0, 0, _) => line(&mut text, "nothing was checked: no object of cutover.dev is in these files", width),
        (checked, 0, 0) => line(&mut text, &format!("{} checked, no mistakes", objects(checked)), width),
        _ => {}
    }
    text
}

fn line(text: &mut String, line: &str, width: usize) {
    text.push_str(&wrap(line, width, INDENT));
    text.push('\n');
}

/// A problem with the line of the file that cannot be read, or an example of what is missing.
fn one(file: &str, found: &Found, width: usize) -> String {
    let column = found.column.map(|column| format!(":{column}")).unwrap_or_default();
    let mut text = String::new();
    line(&mut text, &format!("{file}:{}{column}: {}", found.line, found.problem), width);
    if let Some(source) = &found.source {
        let number = found.line.to_string();
        let _ = writeln!(text, "    {number} | {source}");
        if let Some(column) = found.column.and_then(|column| usize::try_from(column).ok()) {
            let before = number.len() + " | ".len() + column.saturating_sub(1).min(source.chars().count());
            let _ = writeln!(text, "    {}^", " ".repeat(before));
        }
    }
    if let Some(example) = found.problem.example {
        text.push_str("    such as:\n");
        example.lines().for_each(|line| {
            let _ = writeln!(text, "      {line}");
        });
    }
    text
}

fn as_json(reports: &Reports) -> Value {
    let problems: Vec<Value> = all(reports)
        .into_iter()
        .map(|(file, found)| {
            let mut value = json!(found);
            value["file"] = json!(file);
            value
        })
        .collect();
    json!({ "checked": checked(reports), "notChecked": unchecked(reports), "problems": problems })
}
