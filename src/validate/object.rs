//! One object: its kind, its shape, and the YAML that could stand where a block is missing.

use serde_json::Value;

use super::{
    example, metadata,
    problem::{Problem, quoted},
    schema,
    suggestion::{did_you_mean, nearest},
    unknown,
};
use crate::{
    api::{GROUP, crd},
    yaml::{self, Document},
};

/// Kinds of these names are not cutover's.
const FLAGGER: [(&str, &str); 2] = [("flagger.app", "MetricTemplate"), ("flagger.app", "AlertProvider")];

/// What an object says it is.
pub(super) struct Identity<'d> {
    version: &'d str,
    pub(super) kind: &'d str,
    pub(super) name: &'d str,
}

impl<'d> Identity<'d> {
    pub(super) fn of(document: &'d Document) -> Self {
        let text = |path: &str| document.value.pointer(path).and_then(Value::as_str).unwrap_or_default();
        Self { version: text("/apiVersion"), kind: text("/kind"), name: text("/metadata/name") }
    }

    fn group(&self) -> &str {
        self.version.split_once('/').map_or(self.version, |(group, _)| group)
    }

    /// An object of another tool. A kind of cutover under a wrong group is none, or a mistake in it would not be seen.
    pub(super) fn is_foreign(&self, kinds: &[&str]) -> bool {
        if self.version.is_empty() || self.kind.is_empty() || self.group() == GROUP {
            return false;
        }
        let is_ours = kinds.contains(&self.kind) && !FLAGGER.contains(&(self.group(), self.kind));
        let is_near = nearest(self.group(), [GROUP]).is_some() && nearest(self.kind, kinds.iter().copied()).is_some();
        !is_ours && !is_near
    }

    /// The definition of this kind and version.
    pub(super) fn definition<'v>(&self, definitions: &'v [Value]) -> Result<&'v Value, Problem> {
        let kinds = kinds(definitions);
        if self.kind.is_empty() {
            return Err(Problem::error("kind", "missing", format!("give one of {}", kinds.join(", "))));
        }
        let Some(place) = kinds.iter().position(|kind| *kind == self.kind) else {
            return Err(Problem::error(
                "kind",
                format!("{} is not known", quoted(self.kind)),
                did_you_mean(self.kind, kinds),
            ));
        };
        let known = format!("{GROUP}/v1alpha1");
        match self.version {
            version if version == known => Ok(&definitions[place]),
            "" => Err(Problem::error("apiVersion", "missing", format!("write {known}"))),
            version => {
                Err(Problem::error("apiVersion", format!("{} is not known", quoted(version)), format!("write {known}")))
            }
        }
    }
}

/// The kinds that are known, in the order of their definitions.
pub(super) fn kinds(definitions: &[Value]) -> Vec<&str> {
    definitions.iter().filter_map(|known| known["spec"]["names"]["kind"].as_str()).collect()
}

/// What is wrong with an object's fields and metadata, each missing block with an example.
pub(super) fn shape(document: &Document, kind: &str, definition: &Value) -> Vec<Problem> {
    let fields = fields(document, definition);
    let is_glued = |path: &str| fields.iter().any(|problem| problem.path == path && problem.found == unknown::GLUED);
    let unusable = unusable(document).into_iter().filter(|problem| !is_glued(&problem.path));
    let mut problems: Vec<Problem> = unusable.chain(fields.clone()).collect();
    for problem in &mut problems {
        let is_block = ["missing", "0 entries given", "nothing is chosen"].contains(&problem.found.as_str());
        if is_block || problem.found.ends_with("is not allowed") {
            problem.example = example::of(kind, &problem.path);
        }
    }
    problems.extend(metadata::metadata(kind, &document.value["metadata"]));
    problems
}

/// Values that an API server drops or cannot store.
fn unusable(document: &Document) -> Vec<Problem> {
    let declared = |path: &&String| !path.starts_with("status");
    let nulls = document.nulls.iter().filter(declared).map(|path| {
        let remedy = "give it a value, or leave it out if it is optional";
        Problem::error(path, "is null, which an API server drops silently", remedy)
    });
    let not_finite = document.not_finite.iter().filter(declared);
    let not_finite = not_finite.map(|path| Problem::error(path, "is not a finite number", "write a plain number"));
    nulls.chain(not_finite).collect()
}

fn fields(document: &Document, definition: &Value) -> Vec<Problem> {
    let known = ["apiVersion", "kind", "metadata", "spec", "status"];
    let keys = document.value.as_object().into_iter().flat_map(|fields| fields.keys());
    let unknown = keys.filter(|key| !known.contains(&key.as_str()));
    let mut problems: Vec<Problem> =
        unknown.map(|key| Problem::error(yaml::below("", key), "unknown field", did_you_mean(key, known))).collect();
    match &document.value["spec"] {
        Value::Null if document.nulls.iter().any(|path| path == "spec") => {}
        Value::Null => problems.push(Problem::error("spec", "missing", "declare the spec")),
        spec => problems.extend(schema::shape(&crd::schema(definition)["properties"]["spec"], spec, "spec")),
    }
    problems
}
