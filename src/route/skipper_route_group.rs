//! RouteGroup of Skipper: one route per member with a `TrafficSegment`, all in one object.
//!
//! Routes that differ only in their segment, backend and the Host filter of an endpoint are one group; a RouteGroup
//! with weights in `backends` or `defaultBackends` is read as it is and becomes segments with the first write.

use kube::core::{ApiResource, DynamicObject};
use serde_json::{Value, json};

use super::capability::{Applied, Capability, Leads, Matching, Mirroring, Shape, Split, Verified};
use super::json::{items, put};
use super::provider::{Objects, Provider, only, resource};
use super::refusal::{no_tls, other_sni, refuse};
use super::segments::{self, Segment};
use super::trial::Wanted;
use super::weights::{self, Raw};
use super::{Context, RouteError, describe};
use crate::api::member::HostHeader;
use crate::api::service::SkipperRoute;
use crate::api::{Backend, Distribution};
use crate::backend;
use crate::rollout::input::Problem;

/// What this form can do.
pub(super) const CAPABILITY: Capability = Capability {
    route: "skipper, form RouteGroup",
    object: "RouteGroup of Skipper, with a `TrafficSegment` route per member",
    split: Split::Weights { members: None, parts: None },
    external_name: Leads::Yes,
    cluster_ip: Leads::Yes,
    endpoint_slice: Leads::Yes,
    own_host: true,
    own_tls: true,
    matches: Matching::NONE,
    mirrors: Mirroring::No,
    shape: Shape::OneObject,
    applied: Applied::ReadBack,
    verified: Verified::Traffic,
    note: "A member behind an ExternalName Service is a `network` backend of the RouteGroup, with its own address and Host.",
};

/// Form `RouteGroup`.
pub(super) struct RouteGroup<'r>(pub &'r SkipperRoute);

/// Routes that share everything but their place in [0, 1).
struct Group {
    template: Value,
    routes: Vec<Value>,
    /// Backend, weight and segment of each route's backends.
    shares: Vec<(String, u64, Option<Segment>)>,
}

impl Provider for RouteGroup<'_> {
    fn resource(&self) -> ApiResource {
        resource("zalando.org", "v1", "RouteGroup", "routegroups")
    }

    fn title(&self, service: &str) -> String {
        self.0.name.as_deref().unwrap_or(service).to_owned()
    }

    fn capability(&self) -> &'static Capability {
        &CAPABILITY
    }

    fn creates(&self, _index: usize) -> bool {
        self.0.name.is_none()
    }

    fn fields(&self) -> &'static [&'static [&'static str]] {
        &[&["spec", "routes"], &["spec", "backends"], &["spec", "defaultBackends"]]
    }

    /// A network backend's address is its SNI; a Service's addresses have none.
    fn problems(&self, context: &Context<'_>) -> Vec<Problem> {
        match context.service.backend {
            Backend::ExternalName(_) => refuse(context, other_sni),
            Backend::EndpointSlice(_) => refuse(context, |reach| no_tls(reach, "Skipper sends no SNI to addresses")),
            Backend::ClusterIp(_) => Vec::new(),
        }
    }

    fn claims(&self, context: &Context<'_>, _objects: Objects<'_>, _index: usize) -> Result<Vec<String>, RouteError> {
        Ok(vec![context.service.name.clone()])
    }

    fn read(&self, context: &Context<'_>, objects: Objects<'_>) -> Result<Distribution, RouteError> {
        let Some(object) = only(objects) else { return Ok(Distribution::new()) };
        let title = describe(object);
        let shown = groups(context, object)?
            .iter()
            .filter(|group| group.is_ours(context))
            .map(|group| group.read(context, &title))
            .collect::<Result<Vec<_>, _>>()?;
        weights::agreed(&title, shown)
    }

    fn set(
        &self,
        context: &Context<'_>,
        objects: Objects<'_>,
        wanted: Wanted<'_>,
    ) -> Result<Vec<Option<DynamicObject>>, RouteError> {
        let weights = wanted.weights;
        let (mut object, groups) = match (only(objects), &self.0.create) {
            (Some(object), _) => (object.clone(), groups(context, object)?),
            (None, Some(create)) => {
                let spec = json!({"hosts": create.hosts, "backends": [], "routes": []});
                let object = DynamicObject::new(&context.service.name, &self.resource())
                    .within(context.namespace)
                    .data(json!({"spec": spec}));
                (object, vec![Group::new(json!({"pathSubtree": "/"}))])
            }
            (None, None) => return Ok(vec![None]),
        };
        let creating = only(objects).is_none();
        groups
            .iter()
            .filter(|group| group.is_ours(context))
            .try_for_each(|group| group.check_known(context, &describe(&object)))?;
        let cut =
            |group: Group| if creating || group.is_ours(context) { group.cut(context, weights) } else { group.routes };
        let routes: Vec<Value> = groups.into_iter().flat_map(cut).collect();
        let backends = backends(context, &object, weights)?;
        put_spec(&mut object, routes, backends);
        Ok(vec![Some(object)])
    }

    fn held(&self, context: &Context<'_>, object: &DynamicObject) -> Result<Value, RouteError> {
        let groups = groups(context, object)?.into_iter().filter(|group| group.is_ours(context));
        let routes: Vec<Vec<Value>> = groups.map(|group| group.routes).collect();
        Ok(json!({"routes": routes, "backends": object.data.pointer("/spec/backends")}))
    }

    fn restore(&self, context: &Context<'_>, object: &mut DynamicObject, held: &Value) {
        let Ok(mut groups) = groups(context, object) else { return };
        for routes in items(held.get("routes")) {
            let template = items(Some(routes)).first().map(|route| template(context, route));
            if let Some(group) = groups.iter_mut().find(|group| Some(&group.template) == template.as_ref()) {
                group.routes = items(Some(routes)).to_vec();
            }
        }
        let was_there =
            |backend: &&Value| items(held.get("backends")).iter().any(|held| held.get("name") == backend.get("name"));
        let is_foreign = |backend: &&Value| backend::member(context, text(backend, "name")).is_none();
        let kept: Vec<Value> = items(object.data.pointer("/spec/backends"))
            .iter()
            .filter(|backend| was_there(backend) || is_foreign(backend))
            .cloned()
            .collect();
        put_spec(object, groups.into_iter().flat_map(|group| group.routes).collect(), kept);
    }
}

impl Group {
    const fn new(template: Value) -> Self {
        Self { template, routes: Vec::new(), shares: Vec::new() }
    }

    fn is_ours(&self, context: &Context<'_>) -> bool {
        self.shares.iter().any(|(backend, ..)| backend::is_of_service(context, backend))
    }

    /// A backend of no member keeps its traffic: its routes are not cut anew.
    fn check_known(&self, context: &Context<'_>, title: &str) -> Result<(), RouteError> {
        let carries =
            |weight: u64, segment: Option<Segment>| segment.map_or(weight > 0, |segment| segment.start < segment.end);
        let is_unknown = |backend: &str| backend::member(context, backend).is_none();
        match self.shares.iter().find(|(backend, weight, segment)| is_unknown(backend) && carries(*weight, *segment)) {
            Some((backend, ..)) => Err(weights::unknown(context, title, backend)),
            None => Ok(()),
        }
    }

    fn read(&self, context: &Context<'_>, title: &str) -> Result<Distribution, RouteError> {
        let placed: Vec<(String, Segment)> =
            self.shares.iter().filter_map(|(backend, _, segment)| Some((backend.clone(), (*segment)?))).collect();
        if placed.is_empty() {
            let raw: Vec<Raw> = self.shares.iter().map(|(backend, weight, _)| (backend.clone(), *weight)).collect();
            return weights::distribution(context, title, &raw);
        }
        if placed.len() != self.shares.len() {
            return Err(RouteError::Unreadable(format!(
                "{title}: of routes that are alike some have a TrafficSegment and some have none: give each one"
            )));
        }
        weights::distribution(context, title, &segments::weights(title, placed, context.total)?)
    }

    fn cut(self, context: &Context<'_>, weights: &Distribution) -> Vec<Value> {
        let weights = weights::nonzero(weights);
        let units: Vec<u32> = weights.values().copied().collect();
        let segments = Segment::cut(&units, context.total);
        weights.keys().zip(segments).map(|(member, segment)| self.route(context, member, segment)).collect()
    }

    fn route(&self, context: &Context<'_>, member: &str, segment: Segment) -> Value {
        let mut route = self.template.clone();
        let mut add = |key: &str, value: String| {
            let list: Vec<Value> = items(route.get(key)).iter().cloned().chain([value.into()]).collect();
            put(&mut route, key, list);
        };
        add("predicates", segment.to_string());
        if let Some(filter) = host_filter(context, member) {
            add("filters", filter);
        }
        put(&mut route, "backends", json!([{"backendName": backend::name(context.service, member)}]));
        route
    }
}

fn groups(context: &Context<'_>, object: &DynamicObject) -> Result<Vec<Group>, RouteError> {
    let everything = [json!({"pathSubtree": "/"})];
    let routes = match items(object.data.pointer("/spec/routes")) {
        [] => &everything[..],
        routes => routes,
    };
    let mut groups: Vec<Group> = Vec::new();
    for route in routes {
        let template = template(context, route);
        let at = groups.iter().position(|group| group.template == template).unwrap_or_else(|| {
            groups.push(Group::new(template));
            groups.len() - 1
        });
        groups[at].shares.extend(shares(object, route)?);
        groups[at].routes.push(route.clone());
    }
    if groups.iter().any(|group| group.is_ours(context)) {
        return Ok(groups);
    }
    let backend = groups.iter().flat_map(|group| &group.shares).next().map_or("none", |(backend, ..)| backend);
    Err(weights::unknown(context, &describe(object), backend))
}

/// A route without what tells the members' routes apart.
fn template(context: &Context<'_>, route: &Value) -> Value {
    let mut template = route.clone();
    let filters: Vec<String> = context.endpoints.keys().filter_map(|member| host_filter(context, member)).collect();
    let is_own = |key: &str, value: &Value| match key {
        "predicates" => value.as_str().is_some_and(segments::is_in),
        _ => value.as_str().is_some_and(|filter| filters.iter().any(|own| own == filter)),
    };
    if let Some(fields) = template.as_object_mut() {
        fields.remove("backends");
        for key in ["predicates", "filters"] {
            let kept: Vec<Value> = items(fields.get(key)).iter().filter(|value| !is_own(key, value)).cloned().collect();
            if kept.is_empty() {
                fields.remove(key);
            } else {
                fields.insert(key.to_owned(), kept.into());
            }
        }
    }
    template
}

/// A backend without weight gets nothing beside one that has a weight.
fn shares(object: &DynamicObject, route: &Value) -> Result<Vec<(String, u64, Option<Segment>)>, RouteError> {
    let refuse = |what: &str| RouteError::Unreadable(format!("{}: {what}", describe(object)));
    let predicates: Vec<&str> =
        items(route.get("predicates")).iter().filter_map(Value::as_str).filter(|text| segments::is_in(text)).collect();
    let segment = match predicates.as_slice() {
        [] => None,
        [one] => Some(Segment::find(one).ok_or_else(|| refuse(&format!("{one} is no segment of [0, 1]: correct it")))?),
        _ => return Err(refuse("a route has several TrafficSegment predicates: leave one")),
    };
    let backends = match items(route.get("backends")) {
        [] => items(object.data.pointer("/spec/defaultBackends")),
        backends => backends,
    };
    if segment.is_some() && backends.len() != 1 {
        return Err(refuse("a route with a TrafficSegment has several backends: give each its own route"));
    }
    let unset = u64::from(backends.iter().all(|backend| backend.get("weight").is_none()));
    let share = |backend: &Value| {
        let weight = backend.get("weight").map_or(Some(unset), Value::as_u64);
        let weight = weight.ok_or_else(|| {
            refuse(&format!(
                "the weight of backend {} is not a whole number of 0 or more",
                text(backend, "backendName")
            ))
        })?;
        Ok((text(backend, "backendName").to_owned(), weight, segment))
    };
    backends.iter().map(share).collect()
}

/// The object's backends with those that these weights need. What the user named must be there and stays as it is.
fn backends(context: &Context<'_>, object: &DynamicObject, weights: &Distribution) -> Result<Vec<Value>, RouteError> {
    let mut backends = items(object.data.pointer("/spec/backends")).to_vec();
    for member in weights::nonzero(weights).keys() {
        let name = backend::name(context.service, member);
        let is_named = backend::existing(context.service, member).is_some();
        match backends.iter_mut().find(|backend| text(backend, "name") == name) {
            Some(_) if is_named => {}
            Some(backend) => json_patch::merge(backend, &backend_fields(context, member)),
            None if is_named && matches!(context.service.backend, Backend::ExternalName(_)) => {
                return Err(RouteError::Unreadable(format!(
                    "{}: it has no backend {name}: correct spec.services[].backend",
                    describe(object)
                )));
            }
            None => {
                let mut backend = json!({"name": name});
                json_patch::merge(&mut backend, &backend_fields(context, member));
                backends.push(backend);
            }
        }
    }
    Ok(backends)
}

fn put_spec(object: &mut DynamicObject, routes: Vec<Value>, backends: Vec<Value>) {
    if let Some(spec) = object.data.get_mut("spec") {
        put(spec, "routes", routes);
        put(spec, "backends", backends);
    }
}

fn backend_fields(context: &Context<'_>, member: &str) -> Value {
    match (&context.service.backend, context.endpoints.get(member)) {
        (Backend::ExternalName(_), Some(reach)) => {
            let scheme = if reach.server_name.is_some() { "https" } else { "http" };
            json!({"type": "network", "address": format!("{scheme}://{}:{}", reach.host, reach.port)})
        }
        (Backend::ExternalName(_) | Backend::ClusterIp(_) | Backend::EndpointSlice(_), _) => {
            json!({"type": "service", "serviceName": backend::name(context.service, member), "servicePort": context.service.port})
        }
    }
}

/// Skipper passes the client's Host on unless a filter says otherwise.
fn host_filter(context: &Context<'_>, member: &str) -> Option<String> {
    let reach = context.endpoints.get(member).filter(|reach| reach.host_header == HostHeader::Endpoint)?;
    Some(format!("setRequestHeader(\"Host\", \"{}\")", reach.host))
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}
