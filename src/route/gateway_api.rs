//! HTTPRoute of Gateway API.

use kube::ResourceExt;
use kube::core::{ApiResource, DynamicObject};
use serde_json::{Value, json};

use super::accepted::{combined, condition};
use super::capability::{
    AffinitySupport, Applied, BackendSupport, Capability, Extent, Matching, Mirroring, Shape, Values, Verified,
    Weighting,
};
use super::json::{items, put};
use super::listed::ListKind;
use super::lists::{Lists, Mirrors};
use super::provider::resource;
use super::refusal::{no_host, no_tls, refuse};
use crate::api::matches::{FieldMatch, Value as Chosen};
use crate::api::service::GatewayApiRoute;
use crate::api::{Backend, RequestMatch};
use crate::backend;
use crate::object::Context;
use crate::rollout::input::{Accepted, Problem};

mod cookies;

const NO_HOST: &str = "an HTTPRoute has no portable Host header per backend";
const NO_TLS: &str = "an HTTPRoute speaks TLS to a backend only by a BackendTLSPolicy, which cutover does not write";

impl ListKind for GatewayApiRoute {
    /// The specification allows 16 backends a rule, and counts a backend without weight as 1.
    const LISTS: Lists = Lists {
        rules: "rules",
        services: "backendRefs",
        max: 16,
        unset: 1,
        narrowed,
        conditions: rule_conditions,
        mirrors: Mirrors { list: "filters", entry: request_mirror, service: mirrored, single: false },
        cookies: Some(cookies::COOKIES),
        fields,
    };
    const FIELDS: &'static [&'static [&'static str]] = &[&["spec", "rules"]];
    const CAPABILITY: &'static Capability = &Capability {
        route: "gatewayAPI",
        object: "HTTPRoute of Gateway API",
        weighting: Weighting::Weights { members: Some(Self::LISTS.max), parts: None },
        external_name: BackendSupport::Yes,
        cluster_ip: BackendSupport::Yes,
        endpoint_slice: BackendSupport::Yes,
        own_host: false,
        own_tls: false,
        matches: Matching {
            headers: Values::EXACT_OR_REGEX,
            cookies: Values::NONE,
            query: Values::EXACT_OR_REGEX,
            extent: Extent::Alternatives,
        },
        mirrors: Mirroring::Yes { members: None, parts: false },
        affinity: AffinitySupport::Yes { bins: Self::LISTS.max },
        shape: Shape::OneObject,
        applied: Applied::Accepted,
        verified: Verified::Traffic,
        note: "The Gateway must support RequestMirror; under Contour the Host of a copy ends in `-shadow`. The \
               specification discourages ExternalName Services: Contour supports them if configured to, Envoy Gateway \
               does not (use backend kind EndpointSlice there).",
    };

    fn resource(&self) -> ApiResource {
        resource("gateway.networking.k8s.io", "v1", "HTTPRoute", "httproutes")
    }

    fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    fn rules(&self) -> &[String] {
        &self.rules
    }

    fn draft(&self) -> Option<Value> {
        let create = self.create.as_ref()?;
        let parents = create.gateways.iter().filter_map(|gateway| gateway.split_once('/'));
        let parents: Vec<Value> =
            parents.map(|(namespace, name)| json!({"namespace": namespace, "name": name})).collect();
        Some(json!({"parentRefs": parents, "hostnames": create.hosts, "rules": [{"backendRefs": []}]}))
    }

    /// Host and SNI of one backend have no portable place in an HTTPRoute.
    fn problems(&self, context: &Context<'_>) -> Vec<Problem> {
        match context.service.backend {
            Backend::ClusterIp(_) => refuse(context, |reach| no_host(reach, NO_HOST)),
            Backend::ExternalName(_) | Backend::EndpointSlice(_) => {
                refuse(context, |reach| no_tls(reach, NO_TLS).or_else(|| no_host(reach, NO_HOST)))
            }
        }
    }

    /// Every Gateway that the route names must have taken this generation.
    fn accepted(&self, object: &DynamicObject) -> Accepted {
        let said = items(object.data.pointer("/status/parents"));
        let says = |parent| match said.iter().find(|status| is_about(status, parent, object)) {
            Some(status) => conditions(status, object.metadata.generation),
            None => Accepted::Pending,
        };
        items(object.data.pointer("/spec/parentRefs")).iter().map(says).reduce(combined).unwrap_or(Accepted::Pending)
    }
}

fn fields(context: &Context<'_>, member: &str, _live: &Value) -> Value {
    json!({"kind": "Service", "port": backend::port(context, member)})
}

/// A mirror's backend has neither weight nor filters. Without `percent`: there are Gateways that ignore it and copy all.
fn request_mirror(mut service: Value, _percent: u32) -> Value {
    if let Some(fields) = service.as_object_mut() {
        fields.retain(|key, _| ["group", "kind", "name", "namespace", "port"].contains(&key.as_str()));
    }
    json!({"type": "RequestMirror", "requestMirror": {"backendRef": service}})
}

fn mirrored(filter: &Value) -> Option<&Value> {
    filter.pointer("/requestMirror/backendRef")
}

/// One rule for all sorts: each of the rule's own matches, with each sort's conditions. The more headers a match names
/// the earlier it is tried, wherever it stands.
fn narrowed(rule: &Value, sorts: &[RequestMatch]) -> Vec<Value> {
    let any = [json!({})];
    let own = Some(items(rule.get("matches"))).filter(|own| !own.is_empty()).unwrap_or(&any);
    let matches = own.iter().flat_map(|own| sorts.iter().map(move |sort| narrow(own, sort))).collect::<Vec<_>>();
    let mut narrowed = rule.clone();
    put(&mut narrowed, "matches", matches);
    narrowed.as_object_mut().into_iter().for_each(|fields| drop(fields.remove("name")));
    vec![narrowed]
}

fn narrow(own: &Value, sort: &RequestMatch) -> Value {
    let mut narrowed = own.clone();
    for (key, fields) in [("headers", &sort.headers), ("queryParams", &sort.query)] {
        let list: Vec<Value> = items(own.get(key)).iter().cloned().chain(fields.iter().map(field)).collect();
        if !list.is_empty() {
            put(&mut narrowed, key, list);
        }
    }
    narrowed
}

fn field(field: &FieldMatch) -> Value {
    let (kind, value) = match field.value() {
        Some(Chosen::Regex(text)) => ("RegularExpression", text),
        Some(Chosen::Exact(text) | Chosen::Prefix(text)) => ("Exact", text),
        None => ("Exact", ""),
    };
    json!({"type": kind, "name": field.name, "value": value})
}

fn rule_conditions(rule: &Value) -> Vec<Vec<Value>> {
    let all = |of: &Value| {
        ["headers", "queryParams"]
            .into_iter()
            .flat_map(|key| items(of.get(key)).iter().map(move |one| json!({ key: one })))
            .collect()
    };
    items(rule.get("matches")).iter().map(all).collect()
}

/// Controllers fill in defaults, so only what tells one parent from another is compared.
fn is_about(status: &Value, parent: &Value, object: &DynamicObject) -> bool {
    let home = object.namespace().unwrap_or_default();
    let said = status.get("parentRef").unwrap_or(&Value::Null);
    let namespace = |of: &Value| of.get("namespace").and_then(Value::as_str).unwrap_or(&home).to_owned();
    let same = |key: &str| said.get(key) == parent.get(key);
    same("name") && same("sectionName") && same("port") && namespace(said) == namespace(parent)
}

fn conditions(status: &Value, generation: Option<i64>) -> Accepted {
    let found =
        |kind| items(status.get("conditions")).iter().find(|one| one.get("type").and_then(Value::as_str) == Some(kind));
    let says = |kind| found(kind).map_or(Accepted::Pending, |one| condition(one, generation));
    combined(says("Accepted"), says("ResolvedRefs"))
}
