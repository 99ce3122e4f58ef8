//! Metric templates: their variables, and what their queries come to.

use std::collections::BTreeMap;

use super::{
    analysis::{measured, queries},
    problem::{Problem, made, not_one, quoted},
    suggestion::did_you_mean,
};
use crate::{
    api::{
        MetricTemplateSpec,
        analysis::MetricKind,
        metric_template::{Variable, VariableType},
    },
    metric::variables::{Misfit, filled},
};

/// Everything that is wrong or doubtful about a template's spec; paths begin with `spec`.
pub fn template(spec: &MetricTemplateSpec) -> Vec<Problem> {
    let given =
        [("ratio", spec.ratio.is_some()), ("histogram", spec.histogram.is_some()), ("query", spec.query.is_some())];
    let remedy = "give exactly one of ratio, histogram, query";
    if let Some(problem) = not_one("spec", &made(given), "nothing is measured", "are given", remedy) {
        return vec![problem];
    }
    let mut problems = names(spec);
    if problems.is_empty() {
        problems.extend(match filled(spec, &samples(spec)) {
            Ok(plain) => {
                measured("spec", kind(&plain)).into_iter().filter(|problem| !is_varied(spec, problem)).collect()
            }
            Err(misfit) => vec![misfits("spec.variables", &misfit)],
        });
    }
    problems
}

/// What is measured; the first key counts.
pub(super) fn kind(spec: &MetricTemplateSpec) -> MetricKind<'_> {
    match (&spec.ratio, &spec.histogram, &spec.query) {
        (Some(ratio), _, _) => MetricKind::Ratio(ratio),
        (None, Some(histogram), _) => MetricKind::Histogram(histogram),
        (None, None, query) => MetricKind::Query(query.as_deref().unwrap_or_default()),
    }
}

/// What does not fit, as a problem.
pub(super) fn misfits(path: &str, misfit: &Misfit) -> Problem {
    let text = misfit.to_string();
    let (found, allowed) = text.split_once("; ").unwrap_or((&text, "correct it"));
    Problem::error(path, found, allowed)
}

/// Variables that are used and not declared, or declared and not used.
fn names(spec: &MetricTemplateSpec) -> Vec<Problem> {
    let texts = queries("spec", kind(spec));
    let known = || spec.variables.iter().map(|variable| variable.name.as_str());
    let mut problems: Vec<Problem> = texts
        .iter()
        .flat_map(|(path, text)| used(text).into_iter().map(move |name| (path, name)))
        .filter(|(_, name)| !known().any(|known| known == *name))
        .map(|(path, name)| {
            let found = format!("variable {} is not declared in spec.variables", quoted(name));
            let remedy = if spec.variables.is_empty() {
                "declare it".to_owned()
            } else {
                did_you_mean(name, known().collect::<Vec<_>>())
            };
            Problem::error(path, found, remedy)
        })
        .collect();
    let unused = |name: &str| !texts.iter().any(|(_, text)| used(text).contains(&name));
    problems.extend(known().enumerate().filter(|(_, name)| unused(name)).map(|(i, name)| {
        let found = format!("{} is not used in any query", quoted(name));
        Problem::warning(format!("spec.variables[{i}].name"), found, "leave it out, or use {{ variables.NAME }}")
    }));
    problems
}

/// The names in `{{ variables.NAME }}`.
fn used(text: &str) -> Vec<&str> {
    let parts = text.split("{{").skip(1).filter_map(|rest| rest.split_once("}}"));
    parts.filter_map(|(name, _)| name.trim().strip_prefix("variables.")).collect()
}

/// A value for each variable without a default.
fn samples(spec: &MetricTemplateSpec) -> BTreeMap<String, String> {
    let sample = |variable: &Variable| {
        let value = match variable.type_ {
            VariableType::Text => "text",
            VariableType::Number => "1",
            VariableType::Duration => "1m",
        };
        (variable.name.clone(), value.to_owned())
    };
    spec.variables.iter().filter(|variable| variable.default.is_none()).map(sample).collect()
}

/// A range that a variable gives is no fixed one, although it looks so with a sample in its place.
fn is_varied(spec: &MetricTemplateSpec, problem: &Problem) -> bool {
    let by_variable = spec.variables.iter().any(|variable| variable.type_ == VariableType::Duration);
    by_variable && problem.allowed == super::analysis::USE_WINDOW
}
