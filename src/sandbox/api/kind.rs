//! The kinds that the server serves: those it knows from the start, and those that definitions add.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value;

use super::{builtin::BuiltIn, schema::Schema};

/// One kind of object.
#[derive(Debug, Default)]
#[expect(clippy::struct_field_names, reason = "Kubernetes calls the name of a kind its kind")]
pub(super) struct Kind {
    /// Empty for the core group.
    pub(super) group: String,
    pub(super) plural: String,
    pub(super) singular: String,
    pub(super) kind: String,
    pub(super) list: String,
    pub(super) short_names: Vec<String>,
    pub(super) categories: Vec<String>,
    pub(super) namespaced: bool,
    pub(super) versions: Vec<Version>,
    pub(super) nature: Nature,
}

/// Where a kind's rules come from.
#[derive(Debug, Default)]
pub(super) enum Nature {
    /// Known from the start.
    BuiltIn(&'static BuiltIn),
    /// Added by a custom resource definition.
    #[default]
    Custom,
}

/// One version that a kind is served in.
#[derive(Debug)]
pub(super) struct Version {
    pub(super) name: String,
    /// Whether status is written through a door of its own.
    pub(super) status: bool,
    pub(super) schema: Arc<Schema>,
    pub(super) columns: Vec<Column>,
}

/// One column that `kubectl get` prints.
#[derive(Clone, Debug, Default)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) r#type: String,
    pub(super) format: String,
    pub(super) description: String,
    pub(super) priority: i64,
    pub(super) path: String,
}

impl Kind {
    /// As messages name the resource: `fleetrollouts.cutover.dev`, `services`.
    pub(super) fn resource(&self) -> String {
        qualified(&self.plural, &self.group)
    }

    /// As messages name the kind: `FleetRollout.cutover.dev`, `Service`.
    pub(super) fn qualified(&self) -> String {
        qualified(&self.kind, &self.group)
    }

    /// `apiVersion` of its objects in one version.
    pub(super) fn api_version(&self, version: &Version) -> String {
        api_version(&self.group, &version.name)
    }

    pub(super) fn version(&self, name: &str) -> Option<&Version> {
        self.versions.iter().find(|version| version.name == name)
    }

    pub(super) fn built_in(&self) -> Option<&'static BuiltIn> {
        match self.nature {
            Nature::BuiltIn(built_in) => Some(built_in),
            Nature::Custom => None,
        }
    }

    pub(super) fn is_custom(&self) -> bool {
        self.built_in().is_none()
    }

    /// Whether changes of what is wanted are counted.
    pub(super) fn has_generation(&self) -> bool {
        self.built_in().is_none_or(|built_in| built_in.generation)
    }

    /// Whether a change of labels counts as well.
    pub(super) fn counts_labels(&self) -> bool {
        self.built_in().is_some() && self.plural == "endpointslices"
    }

    /// Whether a PUT without resourceVersion overwrites.
    pub(super) fn overwrites(&self) -> bool {
        self.built_in().is_some_and(|built_in| built_in.overwrites)
    }

    /// Whether a PUT of what is not there makes it.
    pub(super) fn created_by_put(&self) -> bool {
        self.built_in().is_some_and(|built_in| built_in.created_by_put)
    }

    /// Whether a deletion answers with what was deleted.
    pub(super) fn returns_deleted(&self) -> bool {
        self.built_in().is_some_and(|built_in| built_in.returns_deleted)
    }
}

fn qualified(name: &str, group: &str) -> String {
    if group.is_empty() { name.to_owned() } else { format!("{name}.{group}") }
}

/// `v1` in the core group, `group/version` elsewhere.
pub(super) fn api_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

/// Every kind, by group and plural.
#[derive(Debug, Default)]
pub(super) struct Kinds {
    known: BTreeMap<(String, String), Arc<Kind>>,
}

impl Kinds {
    pub(super) fn get(&self, group: &str, plural: &str) -> Option<Arc<Kind>> {
        self.known.get(&(group.to_owned(), plural.to_owned())).cloned()
    }

    pub(super) fn add(&mut self, kind: Kind) {
        self.known.insert((kind.group.clone(), kind.plural.clone()), Arc::new(kind));
    }

    pub(super) fn remove(&mut self, group: &str, plural: &str) {
        self.known.remove(&(group.to_owned(), plural.to_owned()));
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Kind> {
        self.known.values().map(Arc::as_ref)
    }

    /// Names of the versions of a group, each once; the preferred one comes first.
    pub(super) fn versions(&self, group: &str) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for version in self.iter().filter(|kind| kind.group == group).flat_map(|kind| &kind.versions) {
            if !names.contains(&version.name) {
                names.push(version.name.clone());
            }
        }
        names.sort_by_key(|name| (name.contains("alpha"), name.contains("beta"), std::cmp::Reverse(name.clone())));
        names
    }
}

/// A text inside an object, empty where there is none.
pub(super) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}
