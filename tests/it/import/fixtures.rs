//! The fixtures: foreign YAML, and what is made of it.

use std::{fs, path::PathBuf};

use cutover::{
    import::{self, FlaggerOptions, Imported},
    yaml,
};
use serde_json::{Value, json};

use crate::command::{cutover, printed, root};

/// One file of foreign YAML.
pub(crate) struct Fixture {
    tool: String,
    path: PathBuf,
}

/// Those of one tool, by name.
pub(crate) fn of(tool: &str) -> Vec<Fixture> {
    let folder = root().join("tests/it/import").join(tool);
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.ends_with(".yaml") && !name.ends_with(".out.yaml")
    });
    paths.sort();
    paths.into_iter().map(|path| Fixture { tool: tool.to_owned(), path }).collect()
}

impl Fixture {
    pub(crate) fn name(&self) -> String {
        format!("{}/{}", self.tool, self.path.file_stem().unwrap().to_string_lossy())
    }

    pub(crate) fn text(&self) -> String {
        fs::read_to_string(&self.path).unwrap()
    }

    /// What is made of such a text by the fixture's tool.
    pub(super) fn imported(&self, text: &str) -> Imported {
        let files = [("fixture.yaml", text)];
        match self.tool.as_str() {
            "argo-rollouts" => import::argo_rollouts(&files),
            "kruise" => import::kruise(&files),
            _ => import::flagger(&files, FlaggerOptions::default()),
        }
    }

    /// The same with a field more in each mapping of a spec that is translated, and the paths of those fields.
    pub(super) fn with_unknown_fields(&self) -> (String, Vec<String>) {
        let mut places = Vec::new();
        let documents = yaml::documents(&self.text()).unwrap().into_iter().map(|document| {
            let mut object = document.value;
            if KINDS.iter().any(|kind| object["kind"] == *kind) {
                add_unknown(&mut object["spec"], "spec", &mut places);
            }
            object.to_string()
        });
        (documents.collect::<Vec<_>>().join("\n---\n"), places)
    }

    /// The same with an odd value in the place of each value, one at a time.
    pub(super) fn with_odd_values(&self) -> Vec<String> {
        let objects: Vec<Value> =
            yaml::documents(&self.text()).unwrap().into_iter().map(|document| document.value).collect();
        let odd =
            [json!(-1), json!(1e300), json!("{{ \u{202e}#: [\n- x"), json!([[], null, "a"]), json!({"a": {"": []}})];
        let mut texts = Vec::new();
        for (place, object) in objects.iter().enumerate() {
            let mut pointers = Vec::new();
            add_pointers(object, String::new(), &mut pointers);
            for (number, pointer) in pointers.iter().enumerate() {
                let mut changed = objects.clone();
                *changed[place].pointer_mut(pointer).unwrap() = odd[number % odd.len()].clone();
                let documents: Vec<String> = changed.iter().map(Value::to_string).collect();
                texts.push(documents.join("\n---\n"));
            }
        }
        texts
    }

    /// Exit status, what is printed, and what is said on the error stream.
    pub(super) fn import(&self) -> (Option<i32>, String, String) {
        let text = self.text();
        let options = text.lines().next().and_then(|line| line.strip_prefix("# cutover import "));
        let options: Vec<&str> = options.into_iter().flat_map(str::split_whitespace).skip(1).collect();
        let path = self.path.strip_prefix(root()).unwrap().to_str().unwrap();
        printed(&cutover(&[&["import", self.tool.as_str()], options.as_slice(), &[path]].concat()))
    }

    /// What was approved; nothing where there is no such file.
    pub(super) fn expected(&self, kind: &str) -> String {
        fs::read_to_string(self.path.with_extension(kind)).unwrap_or_default()
    }

    /// Writes what is made, if that is wanted.
    pub(super) fn update(&self, kind: &str, found: &str) {
        if std::env::var_os("UPDATE").is_some() && !found.is_empty() {
            fs::write(self.path.with_extension(kind), found).unwrap();
        }
    }
}

/// Kinds that are translated.
const KINDS: [&str; 5] = ["Canary", "MetricTemplate", "Rollout", "AnalysisTemplate", "ClusterAnalysisTemplate"];

/// Mappings with names of their users' choice, and those that are named, or kept in a route, as a whole.
const WHOLE: [&str; 24] = [
    "metadata",
    "templateVariables",
    "headers",
    "queryParams",
    "providerRef",
    "secretRef",
    "autoscalerRef",
    "service",
    "template",
    "selector",
    "workloadRef",
    "experiment",
    "plugin",
    "setCanaryScale",
    "replicaProgressThreshold",
    "additionalIngressAnnotations",
    "valueFrom",
    "dryRun",
    "measurementRetention",
    "analysisRunMetadata",
    "managedRoutes",
    "patchPodTemplateMetadata",
    "requestHeaderModifier",
    "objectRef",
];

/// Where the values within a value are.
fn add_pointers(value: &Value, at: String, pointers: &mut Vec<String>) {
    let below = |key: &str| format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, field)| add_pointers(field, below(key), pointers)),
        Value::Array(entries) => {
            entries.iter().enumerate().for_each(|(key, entry)| add_pointers(entry, below(&key.to_string()), pointers));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    if !at.is_empty() {
        pointers.push(at);
    }
}

fn add_unknown(value: &mut Value, path: &str, places: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, field) in fields.iter_mut().filter(|(key, _)| !WHOLE.contains(&key.as_str())) {
                let place = if key.contains('/') { format!("{path}[{key:?}]") } else { format!("{path}.{key}") };
                add_unknown(field, &place, places);
            }
            // The keys of plugins are their names, and an Argo Rollouts mirror's match is named as a whole.
            if !path.ends_with(".plugins") && !path.contains("setMirrorRoute.match") {
                fields.insert("odd".to_owned(), 1.into());
                places.push(format!("{path}.odd"));
            }
        }
        Value::Array(entries) => {
            for (place, entry) in entries.iter_mut().enumerate() {
                add_unknown(entry, &format!("{path}[{place}]"), places);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
