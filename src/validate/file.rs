//! Whole files: every document's shape and rules, each problem with its line.

use serde::Serialize;
use serde_json::Value;

use super::{
    alert_provider,
    document::{declared, namespace, spec},
    hints::hints,
    member, object,
    object::Identity,
    problem::{Problem, Severity},
    references::{Known, Place},
    request, section, template,
    unreadable::unreadable,
};
use crate::{
    api::{AlertProviderSpec, FleetRolloutSpec, GROUP, MemberClusterSpec, MetricTemplateSpec, RolloutRequestSpec, crd},
    yaml::{self, Document},
};

/// A problem and the line on which it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Found {
    /// From 1.
    pub line: u64,
    /// From 1; of what cannot be read as YAML.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u64>,
    /// The line itself, where it cannot be read as YAML.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// What is wrong.
    #[serde(flatten)]
    pub problem: Problem,
}

impl Found {
    /// A problem of a line that can be read.
    pub fn new(line: u64, problem: Problem) -> Self {
        Self { line, column: None, source: None, problem }
    }
}

/// What was read of a file and what is wrong with it.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// By document, and in it by line.
    pub problems: Vec<Found>,
    /// What is legal and seldom wise.
    pub hints: Vec<Found>,
    /// Specs of the rollouts, with their names, as far as they can be read.
    pub rollouts: Vec<(String, FleetRolloutSpec)>,
    /// How many objects were of a kind that is known here.
    pub checked: usize,
    /// Other objects, which are passed over: `Secret/eu-1`.
    pub passed_over: Vec<String>,
    /// Members that could not be looked up, because no `MemberCluster` is declared at all.
    pub members: Vec<String>,
}

/// Validates every document of a YAML text by itself.
pub fn file(text: &str) -> Report {
    files([("this file", text)]).pop().unwrap_or_default()
}

/// Validates the documents of some texts, each with its name: what one declares, another may refer to.
pub fn files<'t>(texts: impl IntoIterator<Item = (&'t str, &'t str)>) -> Vec<Report> {
    let definitions = match crd::definitions() {
        Ok(definitions) => definitions,
        Err(error) => {
            let problem = Problem::error("file", error.to_string(), "report this as a bug");
            return vec![Report { problems: vec![Found::new(1, problem)], ..Report::default() }];
        }
    };
    let read: Vec<(&str, Vec<Document>, Vec<Found>)> = texts
        .into_iter()
        .map(|(name, text)| {
            let (documents, errors) = yaml::readable(text);
            let mut problems: Vec<Found> = errors.iter().map(|error| unreadable(error, text)).collect();
            if documents.is_empty() && problems.is_empty() {
                problems.push(Found::new(1, Problem::error("file", "is empty", "write at least one object")));
            }
            (name, documents.into_iter().flat_map(objects).collect(), problems)
        })
        .collect();
    let known = Known::of(read.iter().flat_map(|(name, documents, _)| documents.iter().map(move |one| (*name, one))));
    let reports = read.iter().map(|(name, documents, problems)| {
        let mut report = Report { problems: problems.clone(), ..Report::default() };
        for document in documents {
            report.add(name, document, &definitions, &known);
        }
        report
    });
    reports.collect()
}

/// The objects of a Kubernetes list, or else this document. The entries of another API's own list name no kinds.
fn objects(document: Document) -> Vec<Document> {
    let text = |key: &str| document.value[key].as_str().unwrap_or_default();
    let is_ours = text("apiVersion").starts_with(GROUP) && text("kind").ends_with("List");
    if document.value["items"].is_array() && (text("kind") == "List" || is_ours) {
        return document.entries("items");
    }
    vec![document]
}

impl Report {
    fn add(&mut self, file: &str, document: &Document, definitions: &[Value], known: &Known) {
        let identity = Identity::of(document);
        if identity.is_foreign(&object::kinds(definitions)) {
            self.passed_over.push(format!("{}/{}", identity.kind, identity.name));
            return;
        }
        self.checked += 1;
        let (mut problems, rules) = match identity.definition(definitions) {
            Ok(definition) => {
                let problems = object::shape(document, identity.kind, definition);
                let spec = &crd::schema(definition)["properties"]["spec"];
                (problems, self.rules(&identity, document, known, spec))
            }
            Err(problem) => (vec![problem], Vec::new()),
        };
        let is_said = |rule: &Problem| problems.iter().any(|problem| explains(problem, rule));
        let rules: Vec<Problem> =
            rules.into_iter().filter(|rule| !is_said(rule) && !lacks(document, &rule.path)).collect();
        problems.extend(rules);
        problems.extend(known.declared_twice(&Place::of(document), file, document.line("")));
        // What is wrong is corrected first, and may be what a hint is about.
        let is_right = problems.iter().all(|problem| problem.severity != Severity::Error);
        if let Some((_, spec)) = self.rollouts.last().filter(|_| is_right && identity.kind == "FleetRollout") {
            self.hints.extend(by_line(document, hints(spec)));
        }
        self.problems.extend(by_line(document, problems));
    }

    /// The rules about a spec, as far as its shape lets it be read.
    fn rules(&mut self, identity: &Identity<'_>, document: &Document, known: &Known, shape: &Value) -> Vec<Problem> {
        match identity.kind {
            "FleetRollout" => self.rollout(identity.name, document, known, shape),
            "MemberCluster" => spec::<MemberClusterSpec>(document).map(|spec| member(&spec)).unwrap_or_default(),
            "MetricTemplate" => spec::<MetricTemplateSpec>(document).map(|spec| template(&spec)).unwrap_or_default(),
            "AlertProvider" => {
                spec::<AlertProviderSpec>(document).map(|spec| alert_provider(&spec)).unwrap_or_default()
            }
            "RolloutRequest" => spec::<RolloutRequestSpec>(document).map(|spec| request(&spec)).unwrap_or_default(),
            _ => Vec::new(),
        }
    }

    fn rollout(&mut self, name: &str, document: &Document, known: &Known, shape: &Value) -> Vec<Problem> {
        let Some(readable) = section::readable(&declared(document), shape) else { return Vec::new() };
        let mut problems = readable.problems();
        problems.extend(known.problems(&namespace(document), name, &readable.spec));
        if known.has_members() {
            problems.extend(known.members(&namespace(document), &readable.spec));
        } else {
            self.members.extend(readable.spec.members.iter().map(|member| member.name.clone()));
        }
        if readable.is_whole() {
            self.rollouts.push((name.to_owned(), readable.spec));
        }
        problems
    }
}

fn by_line(document: &Document, problems: Vec<Problem>) -> Vec<Found> {
    let mut found: Vec<Found> =
        problems.into_iter().map(|problem| Found::new(document.line(&problem.path), problem)).collect();
    found.sort_by_key(|found| found.line);
    found
}

/// Whether a problem of the shape is the cause of what a rule says: at or above it, or of a part that the rule then misses.
fn explains(shape: &Problem, rule: &Problem) -> bool {
    let is_parent = || shape.path.rsplit_once('.').is_some_and(|(parent, _)| parent == rule.path);
    let is_dropped = || shape.found.ends_with("is not allowed") && within(&shape.path, &rule.path);
    within(&rule.path, &shape.path) || is_parent() || is_dropped()
}

/// Whether something at or below a path could not be read, so that a rule about it may only miss that.
fn lacks(document: &Document, path: &str) -> bool {
    document.nulls.iter().chain(&document.not_finite).any(|unread| within(unread, path))
}

/// Whether a path is another one or lies below it.
fn within(path: &str, above: &str) -> bool {
    path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}
