//! The objects in some files.

use serde_json::Value;

use super::{
    Source,
    fields::Fields,
    remarks::{Refusal, Remarks, shown},
};
use crate::yaml::{self, Document, YamlError};

/// Where an object stands: the file and its line.
pub(super) type Place = (String, u64);

/// An object that is not cutover's.
#[derive(Clone, Debug)]
pub(super) struct Foreign {
    pub(super) file: String,
    pub(super) document: Document,
}

/// The objects of all files, and what cannot be read.
pub(super) fn read(files: &[Source<'_>]) -> (Vec<Foreign>, Vec<Refusal>) {
    let (mut objects, mut refusals) = (Vec::new(), Vec::new());
    for (file, text) in files {
        let (documents, errors) = yaml::readable(text);
        let documents = documents.into_iter().flat_map(listed);
        objects.extend(documents.map(|document| Foreign { file: (*file).to_owned(), document }));
        refusals.extend(errors.iter().map(|error| unreadable(file, error)));
    }
    (objects, refusals)
}

/// The objects of a Kubernetes list, or else this document.
fn listed(document: Document) -> Vec<Document> {
    let is_list = document.value["kind"].as_str().is_some_and(|kind| kind.ends_with("List"));
    if is_list && document.value["items"].is_array() { document.entries("items") } else { vec![document] }
}

fn unreadable(file: &str, error: &YamlError) -> Refusal {
    let line = match error {
        YamlError::TooComplex { line } | YamlError::Duplicate { line, .. } | YamlError::Unreadable { line, .. } => {
            *line
        }
        YamlError::TooLarge(_) | YamlError::Unwritable => 1,
    };
    let remedy = format!("correct it; cutover validate {file} says more");
    Refusal { file: file.to_owned(), line, path: "file".to_owned(), found: error.to_string(), remedy }
}

impl Foreign {
    /// Its API group without the version; empty for the core group.
    pub(super) fn group(&self) -> &str {
        self.text("/apiVersion").split_once('/').map_or("", |(group, _)| group)
    }

    pub(super) fn kind(&self) -> &str {
        self.text("/kind")
    }

    pub(super) fn name(&self) -> &str {
        self.text("/metadata/name")
    }

    /// Its namespace, if it names one.
    pub(super) fn namespace(&self) -> Option<&str> {
        Some(self.text("/metadata/namespace")).filter(|namespace| !namespace.is_empty())
    }

    /// Whether a reference from this namespace means it; one without a namespace is in that of who refers to it.
    pub(super) fn is_referred_to(&self, namespace: Option<&str>, name: &str) -> bool {
        self.name() == name && self.namespace().is_none_or(|own| Some(own) == namespace)
    }

    /// Where it stands.
    pub(super) fn place(&self) -> Place {
        (self.file.clone(), self.document.line(""))
    }

    /// `Canary shop`.
    pub(super) fn title(&self) -> String {
        format!("{} {}", shown(self.kind()), shown(self.name()))
    }

    fn text(&self, pointer: &str) -> &str {
        self.document.value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    /// Remarks that begin with what the manifest is made of; `extent` says how far the object is understood.
    pub(super) fn remarks(&self, tool: &str, extent: &str) -> Remarks {
        let mut remarks = Remarks::default();
        let file = self.file.rsplit('/').next().unwrap_or_default();
        remarks.note("", format!("Made of {} of {tool} ({}){extent}.", self.title(), shown(file)));
        remarks
    }

    /// The fields of `spec`; one that has none is refused.
    pub(super) fn spec(&self, remarks: &mut Remarks) -> Fields<'_> {
        let spec = self.document.value.get("spec");
        if !spec.is_some_and(Value::is_object) {
            remarks.refusals.push(self.refusal("spec", "missing, or not a mapping", "correct it"));
        }
        Fields::new(self, "spec", spec)
    }

    /// Something that is refused at a path of it.
    pub(super) fn refusal(&self, path: &str, found: impl Into<String>, remedy: impl Into<String>) -> Refusal {
        Refusal {
            file: self.file.clone(),
            line: self.document.line(path),
            path: path.to_owned(),
            found: found.into(),
            remedy: remedy.into(),
        }
    }
}
