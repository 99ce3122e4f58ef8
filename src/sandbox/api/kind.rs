//! The kinds that the server serves: those it knows from the start, and those that definitions add.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value;

use super::schema::Schema;

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

/// How a kind differs from others.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "a row of a table")]
pub(super) struct BuiltIn {
    pub(super) group: &'static str,
    pub(super) plural: &'static str,
    pub(super) kind: &'static str,
    pub(super) short_names: &'static [&'static str],
    pub(super) namespaced: bool,
    pub(super) status: bool,
    /// See `Kind::has_generation` and its neighbours.
    pub(super) generation: bool,
    pub(super) overwrites: bool,
    pub(super) created_by_put: bool,
    pub(super) returns_deleted: bool,
    /// What `kubectl get` prints: names and paths.
    pub(super) columns: &'static [(&'static str, &'static str)],
    /// The object without what its type does not know, or words about what does not fit the type.
    pub(super) typed: fn(Value) -> serde_json::Result<Value>,
    /// Fills in what the real server does.
    pub(super) complete: fn(&mut Value),
    /// How its lists and maps are merged, as a definition would say it.
    pub(super) merging: fn() -> Value,
    /// What an object is taken to have been before it was made: the real server compares typed objects.
    pub(super) blank: fn() -> Value,
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

    /// Whether changes of what is declared are counted.
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
