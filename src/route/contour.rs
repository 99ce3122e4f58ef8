//! HTTPProxy of Contour.

use kube::core::{ApiResource, DynamicObject};
use serde_json::{Value, json};

use super::accepted::{MAX_WORDS, condition};
use super::capability::{
    AffinitySupport, Applied, BackendSupport, Capability, Extent, ISTIO_ONLY, Matching, Mirroring, Parts, Regexes,
    Shape, Values, Verified, Weighting,
};
use super::cookie_pattern::cookie_pattern;
use super::json::{items, put};
use super::listed::ListKind;
use super::lists::{Lists, Mirrors, is_mirror, service_name, set_service_name};
use super::provider::resource;
use super::refusal::{other_sni, refuse};
use crate::api::matches::{FieldMatch, Value as Chosen};
use crate::api::member::HostHeader;
use crate::api::service::ContourRoute;
use crate::api::{Backend, RequestMatch};
use crate::backend;
use crate::object::Context;
use crate::rollout::input::{Accepted, Problem};
use crate::text::one_line;

mod made;

pub(super) const CAPABILITY: Capability = Capability {
    route: "contour",
    object: "HTTPProxy of Contour",
    weighting: Weighting::Weights { members: None, parts: None },
    external_name: BackendSupport::Yes,
    cluster_ip: BackendSupport::Yes,
    endpoint_slice: BackendSupport::Yes,
    service_entry: ISTIO_ONLY,
    subset: ISTIO_ONLY,
    own_host: true,
    own_tls: true,
    matches: Matching {
        headers: Values::EXACT_OR_REGEX,
        cookies: Values { regex: Regexes::Readable, ..Values::ANY },
        query: Values::ANY,
        extent: Extent::Alternatives,
    },
    mirrors: Mirroring::Yes { members: Some(1), parts: Parts::Any },
    affinity: AffinitySupport::No,
    shape: Shape::OneObject,
    applied: Applied::Accepted,
    obeyed: "the condition `Valid`, for the generation that was written",
    verified: Verified::Traffic,
    note: "Contour supports ExternalName Services with `enableExternalNameService: true`. The Host of a copy is \
           the one that clients use with `-shadow` appended, whatever the member's own Host: the member's gateway \
           must accept it. A made route takes timeouts, retries, headers to set and remove, and CORS.",
};

impl ListKind for ContourRoute {
    /// A service without weight gets nothing beside one that has a weight. Contour sets no bound; the rollout's own is 64 members.
    const LISTS: Lists = Lists {
        rules: &["routes"],
        nouns: "routes",
        field: "rules",
        ordered: false,
        services: "services",
        max: 128,
        counts,
        name: service_name,
        set_name: set_service_name,
        narrowed: |route, sorts| Ok(narrowed(route, sorts)),
        conditions,
        mirrors: Mirrors { list: "services", entry: mirror, service: mirrored, single: true, obstacle: |_| None },
        cookies: None,
        fields,
    };
    const FIELDS: &'static [&'static [&'static str]] = &[&["spec", "routes"]];

    fn capability(&self) -> &'static Capability {
        &CAPABILITY
    }

    fn resource(&self) -> ApiResource {
        resource("projectcontour.io", "v1", "HTTPProxy", "httpproxies")
    }

    fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    fn rules(&self) -> &[String] {
        &self.rules
    }

    fn draft(&self) -> Option<Value> {
        self.create.as_ref().map(made::spec)
    }

    /// The SNI is the Host that is set for the service, else the external name; both are the endpoint's host.
    fn problems(&self, context: &Context<'_>) -> Vec<Problem> {
        refuse(context, |reach| {
            let sends_host = reach.host_header == HostHeader::Endpoint
                || matches!(context.service.backend, Backend::ExternalName(_));
            match (&reach.server_name, context.service.backend.clone()) {
                (None, _) | (_, Backend::ClusterIp(_)) => None,
                (Some(name), _) if !sends_host => Some(format!(
                    "tls.serverName: {name}: an HTTPProxy sends no SNI to addresses: say hostHeader: Endpoint, or backend: {{externalName: {{}}}}"
                )),
                (Some(_), _) => other_sni(reach),
            }
        })
    }

    fn accepted(&self, object: &DynamicObject) -> Accepted {
        let conditions = items(object.data.pointer("/status/conditions"));
        let valid = conditions.iter().find(|one| one.get("type").and_then(Value::as_str) == Some("Valid"));
        let said = valid.map_or(Accepted::Pending, |valid| condition(valid, object.metadata.generation));
        let first_error = valid.and_then(|valid| valid.pointer("/errors/0/message")).and_then(Value::as_str);
        match (said, first_error) {
            (Accepted::No(_), Some(error)) => Accepted::No(one_line(error, MAX_WORDS)),
            (said, _) => said,
        }
    }
}

/// The weight of a mirror is the part of all requests that is copied.
fn mirror(mut service: Value, percent: u32) -> Value {
    put(&mut service, "mirror", true);
    put(&mut service, "weight", percent);
    service
}

fn mirrored(service: &Value) -> Option<&Value> {
    Some(service).filter(|service| is_mirror(service))
}

/// A route for each sort, with the route's own conditions and those of the sort. Envoy tries routes with more conditions
/// on headers and parameters first, wherever they stand.
fn narrowed(route: &Value, sorts: &[RequestMatch]) -> Vec<Value> {
    let narrow = |sort: &RequestMatch| {
        let headers = sort.headers.iter().map(|field| condition_on("header", field));
        let cookies = sort.cookies.iter().map(cookie);
        let query = sort.query.iter().map(|field| condition_on("queryParameter", field));
        let conditions = items(route.get("conditions")).iter().cloned();
        let conditions: Vec<Value> = conditions.chain(headers).chain(cookies).chain(query).collect();
        let mut narrowed = route.clone();
        put(&mut narrowed, "conditions", conditions);
        narrowed
    };
    sorts.iter().map(narrow).collect()
}

/// Where no service has a weight all get the same.
fn counts(weights: &[Option<u64>]) -> Vec<u64> {
    let unset = u64::from(weights.iter().all(Option::is_none));
    weights.iter().map(|weight| weight.unwrap_or(unset)).collect()
}

/// A condition on the header `Cookie` as a whole; a route may have several.
fn cookie(cookie: &FieldMatch) -> Value {
    json!({"header": {"name": "Cookie", "regex": cookie_pattern(cookie)}})
}

fn condition_on(kind: &str, field: &FieldMatch) -> Value {
    let (how, value) = match field.value() {
        Some(Chosen::Regex(text)) => ("regex", text),
        Some(Chosen::Prefix(text)) => ("prefix", text),
        Some(Chosen::Exact(text)) => ("exact", text),
        None => ("exact", ""),
    };
    json!({ kind: {"name": field.name, how: value} })
}

fn conditions(route: &Value) -> Vec<Vec<Value>> {
    vec![items(route.get("conditions")).to_vec()]
}

fn fields(context: &Context<'_>, member: &str, live: &Value) -> Value {
    let mut fields = json!({"port": backend::port(context, member)});
    let Some(reach) = context.endpoints.get(member) else { return fields };
    if !matches!(context.service.backend, Backend::ClusterIp(_)) {
        match (&reach.server_name, live.get("protocol").and_then(Value::as_str)) {
            (Some(_), _) => fields["protocol"] = "tls".into(),
            (None, Some("tls")) => fields["protocol"] = Value::Null,
            (None, _) => {}
        }
    }
    if reach.host_header == HostHeader::Endpoint {
        let is_other = |header: &&Value| {
            !header.get("name").and_then(Value::as_str).is_some_and(|name| name.eq_ignore_ascii_case("host"))
        };
        let mut set: Vec<Value> =
            items(live.pointer("/requestHeadersPolicy/set")).iter().filter(is_other).cloned().collect();
        set.push(json!({"name": "Host", "value": reach.host}));
        fields["requestHeadersPolicy"] = json!({"set": set});
    }
    fields
}
