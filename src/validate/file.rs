//! Whole files: every document's shape and rules, each problem with its line.

use serde::Serialize;
use serde_json::Value;

use super::{
    document::{declared, namespace, spec},
    member,
    problem::{Problem, quoted},
    references::Known,
    request, schema, section,
    suggestion::did_you_mean,
    template,
};
use crate::{
    api::{FleetRolloutSpec, GROUP, MemberClusterSpec, MetricTemplateSpec, RolloutRequestSpec, crd},
    yaml::{self, Document, YamlError},
};

/// A problem and the line on which it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Found {
    /// From 1.
    pub line: u64,
    /// What is wrong.
    #[serde(flatten)]
    pub problem: Problem,
}

/// What was read of a file and what is wrong with it.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// By document, and in it by line.
    pub problems: Vec<Found>,
    /// Specs of the rollouts, with their names, as far as they can be read.
    pub rollouts: Vec<(String, FleetRolloutSpec)>,
    /// How many objects were of a kind that is known here.
    pub checked: usize,
    /// Other objects, which are passed over: `Secret/eu-1`.
    pub passed_over: Vec<String>,
}

/// Validates every document of a YAML text by itself.
pub fn file(text: &str) -> Report {
    file_among(text, &Known::of([text]))
}

/// Validates every document of a YAML text, and what it refers to as far as that is `known`.
pub fn file_among(text: &str, known: &Known) -> Report {
    let mut report = Report::default();
    match yaml::documents(text) {
        Ok(documents) if documents.is_empty() => {
            let problem = Problem::error("file", "is empty", "write at least one object");
            report.problems.push(Found { line: 1, problem });
        }
        Ok(documents) => documents.iter().for_each(|document| report.add(document, known)),
        Err(error) => report.problems.push(unreadable(&error)),
    }
    report
}

fn unreadable(error: &YamlError) -> Found {
    let (line, remedy) = match error {
        YamlError::Duplicate { line, key } => (*line, format!("{} may occur once", quoted(key))),
        YamlError::TooComplex { line } => (*line, "write it out, or split it into several files".to_owned()),
        YamlError::Unreadable { line } => (*line, "correct it at or just before this line".to_owned()),
        YamlError::TooLarge(_) | YamlError::Unwritable => (1, "split it into several files".to_owned()),
    };
    Found { line, problem: Problem::error("file", error.to_string(), remedy) }
}

impl Report {
    fn add(&mut self, document: &Document, known: &Known) {
        let text = |path: &str| document.value.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let (version, kind, name) = (text("/apiVersion"), text("/kind"), text("/metadata/name"));
        if !version.is_empty() && version.split('/').next() != Some(GROUP) && !kind.is_empty() {
            self.passed_over.push(format!("{kind}/{name}"));
            return;
        }
        self.checked += 1;
        let mut problems = match definition(version, kind) {
            Ok(definition) => {
                let mut problems = shape(document, &definition);
                problems.extend(super::metadata::metadata(kind, &document.value["metadata"]));
                problems
            }
            Err(problem) => vec![problem],
        };
        let rules = self.rules(kind, name, document, known);
        let known: Vec<String> = problems.iter().map(|problem| problem.path.clone()).collect();
        let said = |rule: &Problem| known.iter().any(|path| within(&rule.path, path));
        problems.extend(rules.into_iter().filter(|rule| !said(rule) && !lacks(document, &rule.path)));
        let mut found: Vec<Found> =
            problems.into_iter().map(|problem| Found { line: document.line(&problem.path), problem }).collect();
        found.sort_by_key(|found| found.line);
        self.problems.extend(found);
    }

    /// The rules about a spec, if its shape lets it be read at all.
    fn rules(&mut self, kind: &str, name: &str, document: &Document, known: &Known) -> Vec<Problem> {
        match kind {
            "FleetRollout" => {
                let Some((spec, unread)) = section::readable(&declared(document)) else { return Vec::new() };
                let mut problems = section::rules(&spec, &unread);
                problems.extend(known.problems(&namespace(document), name, &spec));
                if unread.is_empty() {
                    self.rollouts.push((name.to_owned(), spec));
                }
                problems
            }
            "MemberCluster" => spec::<MemberClusterSpec>(document).map(|spec| member(&spec)).unwrap_or_default(),
            "MetricTemplate" => spec::<MetricTemplateSpec>(document).map(|spec| template(&spec)).unwrap_or_default(),
            "RolloutRequest" => spec::<RolloutRequestSpec>(document).map(|spec| request(&spec)).unwrap_or_default(),
            _ => Vec::new(),
        }
    }
}

/// Whether something at or below a path could not be read, so that a rule about it may only miss that.
fn lacks(document: &Document, path: &str) -> bool {
    document.nulls.iter().chain(&document.not_finite).any(|unread| within(unread, path))
}

/// Whether a path is another one or lies below it.
fn within(path: &str, above: &str) -> bool {
    path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// The definition of a kind and version.
fn definition(version: &str, kind: &str) -> Result<Value, Problem> {
    let definitions =
        crd::definitions().map_err(|error| Problem::error("file", error.to_string(), "report this as a bug"))?;
    let kinds: Vec<&str> = definitions.iter().filter_map(|known| known["spec"]["names"]["kind"].as_str()).collect();
    if kind.is_empty() {
        return Err(Problem::error("kind", "missing", format!("give one of {}", kinds.join(", "))));
    }
    let Some(found) = definitions.iter().find(|known| known["spec"]["names"]["kind"] == kind) else {
        return Err(Problem::error("kind", format!("{} is not known", quoted(kind)), did_you_mean(kind, kinds)));
    };
    let known = format!("{GROUP}/v1alpha1");
    if version == known {
        Ok(found.clone())
    } else {
        Err(Problem::error("apiVersion", format!("{} is not known", quoted(version)), format!("write {known}")))
    }
}

fn shape(document: &Document, definition: &Value) -> Vec<Problem> {
    let declared = |path: &&String| !path.starts_with("status");
    let nulls = document.nulls.iter().filter(declared);
    let mut problems: Vec<Problem> = nulls
        .map(|path| {
            Problem::error(
                path,
                "is null, which an API server drops silently",
                "give it a value, or leave it out if it is optional",
            )
        })
        .collect();
    problems.extend(
        document
            .not_finite
            .iter()
            .filter(declared)
            .map(|path| Problem::error(path, "is not a finite number", "write a plain number")),
    );
    let root = crd::schema(definition);
    let known = ["apiVersion", "kind", "metadata", "spec", "status"];
    for key in document.value.as_object().into_iter().flat_map(|fields| fields.keys()) {
        if !known.contains(&key.as_str()) {
            problems.push(Problem::error(yaml::below("", key), "unknown field", did_you_mean(key, known)));
        }
    }
    match &document.value["spec"] {
        Value::Null if document.nulls.iter().any(|path| path == "spec") => {}
        Value::Null => problems.push(Problem::error("spec", "missing", "declare the spec")),
        spec => problems.extend(schema::shape(&root["properties"]["spec"], spec, "spec")),
    }
    problems
}
