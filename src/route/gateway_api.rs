//! HTTPRoute of Gateway API.

use kube::ResourceExt;
use kube::core::{ApiResource, DynamicObject};
use serde_json::{Value, json};

use super::accepted::{combined, condition};
use super::capability::{
    AffinitySupport, Applied, BackendSupport, Capability, Extent, ISTIO_ONLY, Matching, Mirroring, Parts, Shape,
    Values, Verified, Weighting,
};
use super::json::{items, put};
use super::listed::ListKind;
use super::lists::{Lists, Mirrors, service_name, set_service_name};
use super::provider::resource;
use super::refusal::{no_host, no_tls, refuse};
use crate::api::matches::{FieldMatch, Value as Chosen};
use crate::api::service::GatewayApiRoute;
use crate::api::steering::ALL_REQUESTS;
use crate::api::{Backend, RequestMatch, Steering};
use crate::backend;
use crate::object::{Context, entry_host, entry_of};
use crate::rollout::input::{Accepted, Problem};
use crate::text::one_line;

mod cookies;
mod made;

/// The controller that is known to copy the part of all requests that a mirror says: istiod, under which 212 of 1,000 were
/// copied at 20 %. Contour's copied all of them.
const OBEYS_PERCENT: &str = "istio.io/gateway-controller";

/// Backends that the specification allows in a rule.
const MAX: usize = 16;
/// Longest name of a controller that a message repeats.
const QUOTED: usize = 120;
const NO_HOST: &str = "an HTTPRoute has no portable Host header per backend";
const NO_TLS: &str = "an HTTPRoute speaks TLS to a backend only by a BackendTLSPolicy, which cutover does not write";

pub(super) const CAPABILITY: Capability = Capability {
    route: "gatewayAPI",
    object: "HTTPRoute of Gateway API",
    weighting: Weighting::Weights { members: Some(MAX), parts: None },
    external_name: BackendSupport::Yes,
    cluster_ip: BackendSupport::Yes,
    endpoint_slice: BackendSupport::Yes,
    service_entry: BackendSupport::Yes,
    subset: ISTIO_ONLY,
    own_host: false,
    own_tls: false,
    matches: Matching {
        headers: Values::EXACT_OR_REGEX,
        cookies: Values::NONE,
        query: Values::EXACT_OR_REGEX,
        extent: Extent::EachNameOnce,
    },
    mirrors: Mirroring::Yes { members: None, parts: Parts::AnyUnder(OBEYS_PERCENT) },
    affinity: AffinitySupport::Yes { bins: MAX },
    shape: Shape::OneObject,
    applied: Applied::Accepted,
    obeyed: "the conditions `Accepted` and `ResolvedRefs` of each parent, for the generation that was written; under istiod Envoy \
             obeys up to 0.1 s after them",
    verified: Verified::Traffic,
    note: "The Gateway must support RequestMirror; under Contour the Host of a copy ends in `-shadow`. A part of all requests is \
           copied where the controller of the route's status is known to obey `percent`: `istio.io/gateway-controller`, under which \
           eu-3 got 30 % in the lab; of 2,010 requests at 20 % Contour copied 2,007, so that there and elsewhere it is refused. The \
           specification discourages ExternalName Services: Contour supports them if configured to, Envoy Gateway \
           does not (use backend kind EndpointSlice there). A made route takes timeouts, headers to set, add and remove, and, where \
           the Gateway supports the filter, CORS; the standard channel has no retries. Under istiod (GatewayClass `istio`) an            ExternalName Service is an alias, whose target needs a ServiceEntry; backend `serviceEntry` is named as a            `Hostname` of `networking.istio.io`. Other controllers refuse such a name, so that nothing moves. istiod accepts a            route 0.1 s before Envoy obeys: with that backend a write counts as applied 3 s after it was accepted.",
};

impl ListKind for GatewayApiRoute {
    /// The specification counts a backend without weight as 1.
    const LISTS: Lists = Lists {
        rules: &["rules"],
        nouns: "rules",
        field: "rules",
        ordered: false,
        services: "backendRefs",
        max: MAX,
        counts: |weights| weights.iter().map(|weight| weight.unwrap_or(1)).collect(),
        name: backend_name,
        set_name: set_backend_name,
        narrowed,
        conditions: rule_conditions,
        mirrors: Mirrors {
            list: "filters",
            entry: request_mirror,
            service: mirrored,
            single: false,
            obstacle: |_| None,
        },
        cookies: Some(cookies::COOKIES),
        fields,
    };
    const FIELDS: &'static [&'static [&'static str]] = &[&["spec", "rules"]];

    fn capability(&self) -> &'static Capability {
        &CAPABILITY
    }

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
        Some(json!({"parentRefs": parents, "hostnames": create.hosts, "rules": [made::rule(create)]}))
    }

    /// Host and SNI of one backend have no portable place in an HTTPRoute.
    fn problems(&self, context: &Context<'_>) -> Vec<Problem> {
        match context.service.backend {
            Backend::ClusterIp(_) | Backend::ServiceEntry(_) | Backend::Subset(_) => {
                refuse(context, |reach| no_host(reach, NO_HOST))
            }
            Backend::ExternalName(_) | Backend::EndpointSlice(_) => {
                refuse(context, |reach| no_tls(reach, NO_TLS).or_else(|| no_host(reach, NO_HOST)))
            }
        }
    }

    /// A controller that does not obey a percentage copies all requests. Before one has said anything, none serves the route.
    fn cannot_steer(&self, object: &DynamicObject, steering: &Steering) -> Option<String> {
        let percent =
            steering.mirrored().map(|mirrored| mirrored.percent).filter(|percent| *percent != ALL_REQUESTS)?;
        let said = items(object.data.pointer("/status/parents")).iter();
        let mut others = said.filter_map(|parent| parent.get("controllerName")?.as_str());
        let other = others.find(|controller| *controller != OBEYS_PERCENT)?;
        Some(format!(
            "a step mirrors {percent}% of all requests, and controller {} is not known to obey that: leave percent out",
            one_line(other, QUOTED)
        ))
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
    let port = backend::port(context, member);
    match context.service.backend {
        Backend::ServiceEntry(_) => json!({"group": HOSTNAME.0, "kind": HOSTNAME.1, "port": port}),
        Backend::ExternalName(_) | Backend::ClusterIp(_) | Backend::EndpointSlice(_) | Backend::Subset(_) => {
            json!({"kind": "Service", "port": port})
        }
    }
}

/// What names the host of a ServiceEntry: group and kind.
const HOSTNAME: (&str, &str) = ("networking.istio.io", "Hostname");

/// The host of an entry stands for its backend. One that the hub made has the backend's name in it.
fn backend_name(context: &Context<'_>, reference: &Value) -> String {
    let is = |key: &str, text: &str| reference.get(key).and_then(Value::as_str) == Some(text);
    if !matches!(context.service.backend, Backend::ServiceEntry(_)) {
        return service_name(context, reference);
    }
    if !(is("group", HOSTNAME.0) && is("kind", HOSTNAME.1)) {
        return format!("Service/{}", service_name(context, reference));
    }
    let host = reference.get("name").and_then(Value::as_str).unwrap_or_default();
    entry_of(host, context.namespace).unwrap_or(host).to_owned()
}

fn set_backend_name(context: &Context<'_>, reference: &mut Value, member: &str) {
    let name = backend::name(context.service, member);
    let is_made = backend::existing(context.service, member).is_none();
    if matches!(context.service.backend, Backend::ServiceEntry(_)) && is_made {
        put(reference, "name", entry_host(&name, context.namespace));
    } else {
        set_service_name(context, reference, member);
    }
}

/// A mirror's backend has neither weight nor filters.
fn request_mirror(mut service: Value, percent: u32) -> Value {
    if let Some(fields) = service.as_object_mut() {
        fields.retain(|key, _| ["group", "kind", "name", "namespace", "port"].contains(&key.as_str()));
    }
    let mut mirror = json!({"backendRef": service});
    if percent != ALL_REQUESTS {
        mirror["percent"] = percent.into();
    }
    json!({"type": "RequestMirror", "requestMirror": mirror})
}

fn mirrored(filter: &Value) -> Option<&Value> {
    filter.pointer("/requestMirror/backendRef")
}

/// One rule for all sorts: each of the rule's own matches, with each sort's conditions. The more headers a match names
/// the earlier it is tried, wherever it stands.
fn narrowed(rule: &Value, sorts: &[RequestMatch]) -> Result<Vec<Value>, String> {
    let any = [json!({})];
    let own = Some(items(rule.get("matches"))).filter(|own| !own.is_empty()).unwrap_or(&any);
    let matches = own.iter().flat_map(|own| sorts.iter().map(move |sort| narrow(own, sort)));
    let matches = matches.collect::<Result<Vec<Value>, String>>()?;
    let mut narrowed = rule.clone();
    put(&mut narrowed, "matches", matches);
    narrowed.as_object_mut().into_iter().for_each(|fields| drop(fields.remove("name")));
    Ok(vec![narrowed])
}

/// Of two conditions on one header or parameter only the first counts.
fn narrow(own: &Value, sort: &RequestMatch) -> Result<Value, String> {
    let mut narrowed = own.clone();
    for (key, what, fields) in [("headers", "header", &sort.headers), ("queryParams", "query parameter", &sort.query)] {
        let own = items(own.get(key));
        let is_named = |field: &&FieldMatch| own.iter().any(|own| names_same(key, own, &field.name));
        if let Some(twice) = fields.iter().find(is_named) {
            return Err(format!("a rule looks at the {what} {} already, and looks at each once", twice.name));
        }
        let list: Vec<Value> = own.iter().cloned().chain(fields.iter().map(field)).collect();
        if !list.is_empty() {
            put(&mut narrowed, key, list);
        }
    }
    Ok(narrowed)
}

fn names_same(key: &str, own: &Value, name: &str) -> bool {
    let own = own.get("name").and_then(Value::as_str).unwrap_or_default();
    if key == "headers" { own.eq_ignore_ascii_case(name) } else { own == name }
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
