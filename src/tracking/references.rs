//! Which ConfigMaps and Secrets a pod template names. Pure.

use std::{collections::BTreeMap, fmt};

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::core::ApiResource;
use serde_json::Value;

use crate::{api::PRIMARY, object::Target};

/// What a pod can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    ConfigMap,
    Secret,
}

/// A ConfigMap or Secret by name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Reference {
    pub(super) kind: Kind,
    pub(super) name: String,
}

/// What is named, and whether a pod needs it to start.
pub(super) type References = BTreeMap<Reference, bool>;

impl Kind {
    /// Its resource, as in a path of the API.
    const fn plural(self) -> &'static str {
        match self {
            Self::ConfigMap => "configmaps",
            Self::Secret => "secrets",
        }
    }
}

impl Reference {
    /// Reads what [`Display`](fmt::Display) writes.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (kind, name) = text.split_once('/')?;
        let kind = [Kind::ConfigMap, Kind::Secret].into_iter().find(|known| format!("{known:?}") == kind)?;
        is_name(name).then(|| Self { kind, name: name.to_owned() })
    }

    /// Its copy for the primary.
    pub(super) fn copy(&self) -> Self {
        Self { kind: self.kind, name: format!("{}-{PRIMARY}", self.name) }
    }

    /// Its kind.
    pub(super) fn resource(&self) -> ApiResource {
        match self.kind {
            Kind::ConfigMap => ApiResource::erase::<ConfigMap>(&()),
            Kind::Secret => ApiResource::erase::<Secret>(&()),
        }
    }

    /// The object.
    pub(super) fn target(self, namespace: &str) -> Target {
        Target { resource: self.resource(), namespace: namespace.to_owned(), name: self.name }
    }

    /// Its path in the API.
    pub(super) fn path(&self, namespace: &str) -> String {
        format!("/api/v1/namespaces/{namespace}/{}/{}", self.kind.plural(), self.name)
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}/{}", self.kind, self.name)
    }
}

/// All that volumes, `env` and `envFrom` of a pod name, those of its init containers too. The Secrets with which images are
/// pulled do not belong to what runs.
pub(super) fn references(pod: &Value) -> References {
    let mut all = References::new();
    let volumes = items(&pod["volumes"]).flat_map(of_volume);
    let containers = items(&pod["initContainers"]).chain(items(&pod["containers"])).flat_map(of_container);
    for (reference, is_required) in volumes.chain(containers) {
        add(&mut all, reference, is_required);
    }
    all
}

/// Adds those of another pod: what one of them needs is needed.
pub(super) fn merge(all: &mut References, others: References) {
    for (reference, is_required) in others {
        add(all, reference, is_required);
    }
}

fn add(all: &mut References, reference: Reference, is_required: bool) {
    *all.entry(reference).or_default() |= is_required;
}

fn of_volume(volume: &Value) -> Vec<(Reference, bool)> {
    let own = [(Kind::ConfigMap, &volume["configMap"], "name"), (Kind::Secret, &volume["secret"], "secretName")];
    let projected = items(&volume["projected"]["sources"]).flat_map(|source| {
        [(Kind::ConfigMap, &source["configMap"], "name"), (Kind::Secret, &source["secret"], "name")]
    });
    own.into_iter().chain(projected).filter_map(|(kind, by, key)| reference(kind, by, key)).collect()
}

fn of_container(container: &Value) -> Vec<(Reference, bool)> {
    let from = items(&container["envFrom"])
        .flat_map(|source| [(Kind::ConfigMap, &source["configMapRef"]), (Kind::Secret, &source["secretRef"])]);
    let one = items(&container["env"]).map(|variable| &variable["valueFrom"]);
    let one = one.flat_map(|by| [(Kind::ConfigMap, &by["configMapKeyRef"]), (Kind::Secret, &by["secretKeyRef"])]);
    from.chain(one).filter_map(|(kind, by)| reference(kind, by, "name")).collect()
}

fn reference(kind: Kind, by: &Value, key: &str) -> Option<(Reference, bool)> {
    // It becomes part of a path and of a status, and a member may mean ill.
    let name = by[key].as_str().filter(|name| is_name(name))?;
    Some((Reference { kind, name: name.to_owned() }, by["optional"] != true))
}

fn is_name(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
    (1..=253).contains(&text.len()) && text.bytes().all(fits) && !text.starts_with('.') && !text.ends_with('.')
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn named(pod: &Value) -> Vec<(String, bool)> {
        references(pod).into_iter().map(|(reference, is_required)| (reference.to_string(), is_required)).collect()
    }

    #[test]
    fn everything_that_a_pod_uses_is_named_once_wherever_it_stands() {
        let pod = json!({
            "imagePullSecrets": [{"name": "registry"}],
            "volumes": [
                {"name": "a", "configMap": {"name": "volume"}},
                {"name": "b", "secret": {"secretName": "volume"}},
                {"name": "c", "projected": {"sources": [
                    {"configMap": {"name": "projected"}}, {"secret": {"name": "projected", "optional": true}},
                    {"serviceAccountToken": {"path": "token"}}]}},
                {"name": "d", "emptyDir": {}}],
            "initContainers": [{"envFrom": [{"configMapRef": {"name": "init"}}]}],
            "containers": [
                {"env": [
                    {"name": "A", "value": "plain"},
                    {"name": "B", "valueFrom": {"configMapKeyRef": {"name": "env", "key": "b"}}},
                    {"name": "C", "valueFrom": {"secretKeyRef": {"name": "env", "key": "c", "optional": true}}}],
                 "envFrom": [{"secretRef": {"name": "from"}}, {"configMapRef": {"name": "volume"}}]}]});
        let all = [
            ("ConfigMap/env", true),
            ("ConfigMap/init", true),
            ("ConfigMap/projected", true),
            ("ConfigMap/volume", true),
            ("Secret/env", false),
            ("Secret/from", true),
            ("Secret/projected", false),
            ("Secret/volume", true),
        ];
        assert_eq!(named(&pod), all.map(|(name, is_required)| (name.to_owned(), is_required)));
    }

    #[test]
    fn what_one_use_of_it_needs_is_needed_in_whatever_order_they_stand() {
        for optional in [[true, false], [false, true]] {
            let from = optional.map(|optional| json!({"configMapRef": {"name": "shop", "optional": optional}}));
            assert_eq!(named(&json!({"containers": [{"envFrom": from}]})), [("ConfigMap/shop".to_owned(), true)]);
        }
        let mut all =
            references(&json!({"containers": [{"envFrom": [{"secretRef": {"name": "s", "optional": true}}]}]}));
        merge(&mut all, references(&json!({"volumes": [{"secret": {"secretName": "s"}}]})));
        assert_eq!(all.into_values().collect::<Vec<_>>(), [true]);
    }

    #[test]
    fn a_name_is_read_as_it_is_written() {
        let reference = Reference { kind: Kind::Secret, name: "token".to_owned() };
        assert_eq!(Reference::parse(&reference.to_string()), Some(reference.clone()));
        assert_eq!(reference.copy().path("shop"), "/api/v1/namespaces/shop/secrets/token-primary");
        for text in ["token", "Pod/token", "Secret/", "Secret/../nodes", "eu-3/Secret/token"] {
            assert_eq!(Reference::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_pod_of_any_shape_names_what_can_be_understood() {
        for pod in [
            json!(null),
            json!({"volumes": 7}),
            json!({"containers": [{"env": [{"valueFrom": "x"}]}, 3]}),
            json!({"volumes": [{"configMap": {"name": "../../nodes"}}, {"configMap": {"name": ""}}, {"configMap": {"name": ".."}}]}),
        ] {
            assert!(references(&pod).is_empty(), "{pod}");
        }
    }
}
