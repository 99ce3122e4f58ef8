//! The kinds that the server knows from the start, as far as cutover and people who look on need them.

use std::sync::Arc;

use k8s_openapi::{
    api::{
        coordination::v1::Lease,
        core::v1::{ConfigMap, Event, Namespace, Secret, Service},
        discovery::v1::EndpointSlice,
        events::v1::Event as NewEvent,
        networking::v1::Ingress,
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::{
    completion, crd, events,
    json::ensure,
    kind::{BuiltIn, Column, Kind, Nature, Version},
    schema::{Schema, with_metadata},
};

const AGE: (&str, &str) = ("Age", ".metadata.creationTimestamp");

const PLAIN: BuiltIn = BuiltIn {
    group: "",
    plural: "",
    kind: "",
    short_names: &[],
    namespaced: true,
    status: false,
    generation: false,
    overwrites: true,
    created_by_put: false,
    returns_deleted: false,
    columns: &[AGE],
    typed: Ok,
    complete: |_| {},
    merging: || json!({}),
    blank: || json!({}),
};

/// Group of the definitions of other kinds.
pub(super) const DEFINITIONS: (&str, &str) = ("apiextensions.k8s.io", "customresourcedefinitions");
/// The other group of the events of a cluster, which are stored once, in the core group.
pub(super) const EVENTS: &str = "events.k8s.io";

#[rustfmt::skip] // One kind, one paragraph.
static ALL: &[BuiltIn] = &[
    BuiltIn { plural: "configmaps", kind: "ConfigMap", typed: typed::<ConfigMap>, short_names: &["cm"], ..PLAIN },
    BuiltIn {
        plural: "events", kind: "Event", typed: typed::<Event>, short_names: &["ev"], created_by_put: true, complete: events::event,
        columns: &[("Last Seen", ".eventTime"), ("Type", ".type"), ("Reason", ".reason"), ("Object", ".involvedObject.name"), ("Message", ".message")],
        merging: || json!({"properties": {"involvedObject": {"x-kubernetes-map-type": "atomic"}}}),
        blank: || json!({"involvedObject": {}, "source": {}, "eventTime": null, "firstTimestamp": null, "lastTimestamp": null,
            "reportingComponent": "", "reportingInstance": ""}),
        ..PLAIN
    },
    BuiltIn {
        plural: "namespaces", kind: "Namespace", typed: typed::<Namespace>, short_names: &["ns"], namespaced: false, status: true, complete: completion::namespace,
        columns: &[("Status", ".status.phase"), AGE],
        blank: || json!({"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}), ..PLAIN
    },
    BuiltIn {
        plural: "secrets", kind: "Secret", typed: typed::<Secret>, complete: completion::secret, ..PLAIN
    },
    BuiltIn {
        plural: "services", kind: "Service", typed: typed::<Service>, short_names: &["svc"], status: true, created_by_put: true, returns_deleted: true,
        columns: &[("Type", ".spec.type"), ("Cluster-IP", ".spec.clusterIP"), ("External-Name", ".spec.externalName"), AGE],
        complete: completion::service, merging: service_merging, blank: || json!({"spec": {}, "status": {"loadBalancer": {}}}), ..PLAIN
    },
    BuiltIn {
        group: "apiextensions.k8s.io", plural: "customresourcedefinitions", kind: "CustomResourceDefinition", typed: typed::<CustomResourceDefinition>, short_names: &["crd", "crds"],
        namespaced: false, status: true, generation: true, overwrites: false, complete: crd::complete, ..PLAIN
    },
    BuiltIn {
        group: "coordination.k8s.io", plural: "leases", kind: "Lease", typed: typed::<Lease>, overwrites: false, created_by_put: true,
        columns: &[("Holder", ".spec.holderIdentity"), AGE],
        complete: |lease| ensure(lease, "spec", &json!({})), blank: || json!({"spec": {}}), ..PLAIN
    },
    BuiltIn {
        group: "discovery.k8s.io", plural: "endpointslices", kind: "EndpointSlice", typed: typed::<EndpointSlice>, generation: true, complete: completion::endpoint_slice, ..PLAIN
    },
    BuiltIn {
        group: EVENTS, plural: "events", kind: "Event", typed: typed::<NewEvent>, short_names: &["ev"], created_by_put: true, complete: events::new_event,
        columns: &[("Last Seen", ".eventTime"), ("Type", ".type"), ("Reason", ".reason"), ("Object", ".regarding.name"), ("Message", ".note")],
        merging: || json!({"properties": {"regarding": {"x-kubernetes-map-type": "atomic"}}}),
        blank: || json!({"regarding": {}, "deprecatedSource": {}, "eventTime": null, "deprecatedFirstTimestamp": null,
            "deprecatedLastTimestamp": null}),
        ..PLAIN
    },
    BuiltIn {
        group: "networking.k8s.io", plural: "ingresses", kind: "Ingress", typed: typed::<Ingress>, short_names: &["ing"], status: true, generation: true,
        complete: |ingress| { ensure(ingress, "spec", &json!({})); ensure(ingress, "status", &json!({"loadBalancer": {}})); },
        blank: || json!({"spec": {}, "status": {"loadBalancer": {}}}), ..PLAIN
    },
];

/// Every kind of the table.
pub(super) fn kinds() -> impl Iterator<Item = Kind> {
    ALL.iter().map(|built_in| {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let version = Version {
            name: "v1".to_owned(),
            status: built_in.status,
            schema: Arc::new(Schema::merging(with_metadata((built_in.merging)()))),
            columns: built_in.columns.iter().map(column).collect(),
        };
        Kind {
            group: built_in.group.to_owned(),
            plural: built_in.plural.to_owned(),
            singular: built_in.kind.to_lowercase(),
            kind: built_in.kind.to_owned(),
            list: format!("{}List", built_in.kind),
            short_names: owned(built_in.short_names),
            categories: Vec::new(),
            namespaced: built_in.namespaced,
            versions: vec![version],
            nature: Nature::BuiltIn(built_in),
        }
    })
}

fn column((name, path): &(&str, &str)) -> Column {
    let is_time = path.ends_with("Timestamp") || path.ends_with("Time");
    Column {
        name: (*name).to_owned(),
        r#type: if is_time { "date" } else { "string" }.to_owned(),
        path: (*path).to_owned(),
        ..Column::default()
    }
}

fn typed<K: DeserializeOwned + Serialize>(object: Value) -> serde_json::Result<Value> {
    serde_json::from_value::<K>(object).and_then(serde_json::to_value)
}

fn service_merging() -> Value {
    let ports = json!({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"]});
    json!({"properties": {"spec": {"properties": {"ports": ports, "selector": {"x-kubernetes-map-type": "atomic"}}}}})
}
