//! The other tenant of P26: Services, a route and a rollout in a namespace of its own, on the same members.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    super::plan::{Kind, Run},
    Scenario,
    objects::backend,
};

/// Its namespace.
pub const NAMESPACE: &str = "other";
/// Its services, each with a route and a rollout of that name.
pub const THEIRS: [&str; 3] = ["theirs", "theirs-2", "theirs-3"];
/// Its rollout in the namespace of the first one.
pub const INTRUDER: &str = "intruder";

/// Each has a query of its own.
const METRICS: usize = 8;

/// Where objects of `group`, such as `/api/v1`, are in a namespace.
pub fn collection(group: &str, namespace: &str, plural: &str) -> String {
    format!("{group}/namespaces/{namespace}/{plural}")
}

pub fn rollouts(namespace: &str) -> String {
    collection("/apis/cutover.dev/v1alpha1", namespace, "fleetrollouts")
}

/// It moves all traffic to eu-3, and waits for nobody.
fn scenario(kind: Kind, service: &'static str, route: &'static str) -> Scenario {
    Scenario { routes: BTreeMap::from([(route, service)]), ..Scenario::of(Run::Rollback, kind) }
}

/// The backends of one of its services.
pub fn backends(kind: Kind, service: &'static str) -> Vec<Value> {
    let backend = |member: &String| in_its_namespace(backend(service, member));
    scenario(kind, service, service).start.keys().map(backend).collect()
}

pub fn route(kind: Kind, service: &'static str) -> Value {
    in_its_namespace(scenario(kind, service, service).route(service, service))
}

/// It has so many queries that they could keep a member's Prometheus busy.
pub fn rollout(kind: Kind, service: &'static str) -> Value {
    let mut spec = scenario(kind, service, service).spec();
    let errors = spec["analysis"]["metrics"][0].clone();
    let named = |place: usize| {
        let mut metric = errors.clone();
        metric["name"] = format!("errors-{place}").into();
        // A query that several metrics share is sent once.
        let failed =
            metric["ratio"]["numerator"].as_str().unwrap_or_default().replace("5..", &format!("5..|42{place}"));
        metric["ratio"]["numerator"] = failed.into();
        metric
    };
    spec["analysis"]["metrics"] = (0..METRICS).map(named).collect();
    // Shorter than an answer may take.
    spec["analysis"]["interval"] = "2s".into();
    rollout_of(service, NAMESPACE, &spec)
}

/// A rollout in the namespace of the first one.
pub fn intruder(kind: Kind, service: &'static str, route: &'static str) -> Value {
    rollout_of(INTRUDER, "shop", &scenario(kind, service, route).spec())
}

fn rollout_of(name: &str, namespace: &str, spec: &Value) -> Value {
    json!({"apiVersion": "cutover.dev/v1alpha1", "kind": "FleetRollout",
           "metadata": {"name": name, "namespace": namespace}, "spec": spec})
}

fn in_its_namespace(mut object: Value) -> Value {
    object["metadata"]["namespace"] = NAMESPACE.into();
    object
}
