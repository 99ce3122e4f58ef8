//! Kinds of route as their users write them and their data planes read them: nothing here calls the code under test.

mod canary_ingress;
mod http_proxy;
mod http_route;
mod route_group;
mod stored;
mod virtual_service;

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::plan::Kind;
pub use stored::Stored;

/// Weights by name. What requests that match get stands under the name with [`MATCHED`] behind it, and the part of all
/// requests of which it gets copies, in percent, under the name with [`COPIED`].
pub type Weights = BTreeMap<String, u32>;

/// Behind a name: its weight among the requests that match.
pub const MATCHED: char = '*';
/// Behind a name: what it gets copies of.
pub const COPIED: char = '+';

/// The name with nothing behind it.
pub fn plain(name: &str) -> &str {
    name.trim_end_matches([MATCHED, COPIED])
}

/// The objects of one route, in the order of their names; null where one is not there.
pub type Objects<'o> = &'o [&'o Value];

/// What a data plane says of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Words {
    Accepted,
    Refused,
    /// One of its parents accepts it, and another one does not.
    AcceptedByOne,
    /// It is accepted, and a backend that it names is not found.
    Unresolved,
    /// What was said of it is taken back.
    Nothing,
}

/// From when on a route shows what is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shows {
    /// When its status says so.
    Accepted,
    /// When the data plane has taken it, of which nothing is said: the hub waits for as long as that takes.
    Taken,
    /// At once: for how long the data plane takes nothing is promised.
    Stored,
}

/// What a kind of route can do.
#[derive(Clone, Copy, Debug)]
pub struct Can {
    pub copy: bool,
    pub keep_users: bool,
    /// Members with traffic, at most.
    pub members: usize,
}

/// One kind of route.
pub trait Form: Sync {
    /// Its group and version, as a path.
    fn api(&self) -> &'static str;

    fn plural(&self) -> &'static str;

    /// Its definition; none where every API server has the kind.
    fn definition(&self) -> Option<&'static Value>;

    /// What else a cluster has that serves it, each with the place where it is created.
    fn beside(&self) -> Vec<(String, Value)> {
        Vec::new()
    }

    fn can(&self) -> Can;

    /// What a rollout says of observed shares, where nothing else tells that the data plane has stopped.
    fn share(&self) -> Option<Value> {
        None
    }

    /// How a rollout declares the route of this name.
    fn declared(&self, name: &str) -> Value;

    /// The route as its user wrote it, with these weights by backend.
    fn written(&self, name: &str, backends: &[(String, u32)]) -> Value;

    /// The names of its objects: first the one that its user wrote, then what the hub makes beside it.
    fn names(&self, route: &str) -> Vec<String> {
        vec![route.to_owned()]
    }

    /// The route to which an object belongs.
    fn route_of<'n>(&self, object: &'n str) -> &'n str {
        object
    }

    /// The weights by backend that its objects give together.
    fn weights(&self, objects: Objects<'_>) -> Weights;

    /// The weights by which the data plane divides requests, where they are not those that are written.
    fn served(&self, objects: Objects<'_>) -> Weights {
        self.weights(objects)
    }

    /// The backends to which requests with a cookie are led.
    fn keeping(&self, objects: Objects<'_>) -> BTreeSet<String>;

    /// The host to which it leads a backend itself; none where the Service of that name does.
    fn host_of(&self, _objects: Objects<'_>, _backend: &str) -> Option<String> {
        None
    }

    /// Gives these weights by hand, as far as one object can.
    fn put(&self, object: &mut Value, weights: &Weights);

    fn put_host(&self, object: &mut Value, host: &str);

    fn put_timeout(&self, object: &mut Value);

    /// Takes out of an object what the hub may change.
    fn mask(&self, object: &mut Value);

    fn shows(&self) -> Shows;

    /// Its status says that the present generation is accepted.
    fn is_accepted(&self, _object: &Value) -> bool {
        false
    }

    /// As long as there is such an object, the data plane takes no route.
    fn freezes(&self, _object: &Value) -> bool {
        false
    }

    /// When the data plane takes what was written at this time.
    fn due(&self, written: Timestamp) -> Timestamp {
        written + DELAY
    }

    /// The status in which a data plane says this; none if it has no such words.
    fn status(&self, _object: &Value, _words: Words) -> Option<Value> {
        None
    }
}

/// From a write to its taking.
const DELAY: SignedDuration = SignedDuration::from_millis(400);

impl Kind {
    /// What the world knows of it.
    pub fn form(self) -> &'static dyn Form {
        match self {
            Self::GatewayApi => &http_route::HttpRoute,
            Self::Contour => &http_proxy::HttpProxy,
            Self::Skipper => &route_group::RouteGroup,
            Self::Nginx => &canary_ingress::CanaryIngress,
            Self::Istio => &virtual_service::VirtualService,
        }
    }
}

impl dyn Form {
    /// Where its objects are in a namespace.
    pub fn collection(&self, namespace: &str) -> String {
        format!("{}/namespaces/{namespace}/{}", self.api(), self.plural())
    }

    /// Where one of its objects is in the rollout's namespace.
    pub fn path(&self, object: &str) -> String {
        format!("{}/{object}", self.collection("shop"))
    }
}

/// Whether a Service has a name of the sort that the hub gives.
pub fn is_made(service: &str) -> bool {
    ["-eu-", "-primary", "-canary"].iter().any(|part| service.contains(part))
}

/// A field that is a list.
fn items<'v>(value: &'v Value, field: &str) -> impl Iterator<Item = &'v Value> {
    value[field].as_array().into_iter().flatten()
}

fn items_mut<'v>(value: &'v mut Value, field: &str) -> impl Iterator<Item = &'v mut Value> {
    value.get_mut(field).and_then(Value::as_array_mut).into_iter().flatten()
}

/// A definition whose objects may hold anything.
fn definition(group: &str, version: &str, kind: &str, plural: &str) -> Value {
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let name = format!("{plural}.{group}");
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": name,
                     "annotations": {"api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/gateway-api/pull/3328"}},
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": {"kind": kind, "listKind": format!("{kind}List"), "plural": plural, "singular": kind.to_lowercase()},
            "versions": [{"name": version, "served": true, "storage": true, "subresources": {"status": {}},
                          "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": open, "status": open}}}}],
        },
    })
}

/// What a data plane says in one condition of this generation of an object.
fn condition(object: &Value, kind: &str, otherwise: Option<&str>) -> Value {
    let status = if otherwise.is_none() { "True" } else { "False" };
    json!({"type": kind, "status": status, "reason": otherwise.unwrap_or(kind), "message": "",
           "observedGeneration": object["metadata"]["generation"], "lastTransitionTime": "2026-11-21T12:00:00Z"})
}

/// All of these conditions are true of the present generation, and there is one.
fn all_true(object: &Value, conditions: &Value) -> bool {
    let generation = &object["metadata"]["generation"];
    conditions.as_array().is_some_and(|conditions| {
        !conditions.is_empty()
            && conditions.iter().all(|one| one["status"] == "True" && one["observedGeneration"] == *generation)
    })
}
