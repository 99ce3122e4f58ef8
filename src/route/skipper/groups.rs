//! The routes of a RouteGroup, in groups of those that are alike.

use std::collections::BTreeMap;

use kube::core::DynamicObject;
use serde_json::{Value, json};

use super::segments::{self, Segment};
use crate::api::member::HostHeader;
use crate::api::{Distribution, PRIMARY};
use crate::backend;
use crate::object::{Context, describe};
use crate::route::RouteError;
use crate::route::json::{items, put};
use crate::route::weights::{self, Raw};

/// Routes that share everything but their place in [0, 1).
pub(super) struct Group {
    pub template: Value,
    pub routes: Vec<Value>,
    /// Backend, weight and segment of each route's backends.
    shares: Vec<(String, u64, Option<Segment>)>,
}

impl Group {
    pub(super) const fn new(template: Value) -> Self {
        Self { template, routes: Vec::new(), shares: Vec::new() }
    }

    pub(super) fn is_ours(&self, context: &Context<'_>) -> bool {
        self.shares.iter().any(|(backend, ..)| backend::is_of_service(context, backend))
    }

    /// A backend of no member keeps its traffic: its routes are not cut anew.
    pub(super) fn check_known(&self, context: &Context<'_>, title: &str) -> Result<(), RouteError> {
        let carries =
            |weight: u64, segment: Option<Segment>| segment.map_or(weight > 0, |segment| segment.start < segment.end);
        let is_unknown = |backend: &str| backend::member(context, backend).is_none();
        match self.shares.iter().find(|(backend, weight, segment)| is_unknown(backend) && carries(*weight, *segment)) {
            Some((backend, ..)) => Err(weights::unknown(context, title, backend)),
            None => Ok(()),
        }
    }

    pub(super) fn read(&self, context: &Context<'_>, title: &str) -> Result<Distribution, RouteError> {
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
        // A member may have several segments.
        let mut raw: BTreeMap<String, u64> = BTreeMap::new();
        for (backend, units) in segments::weights(title, placed, context.total)? {
            *raw.entry(backend).or_default() += units;
        }
        weights::distribution(context, title, &raw.into_iter().collect::<Vec<Raw>>())
    }

    /// A route for each member with a weight.
    pub(crate) fn cut(&self, context: &Context<'_>, weights: &Distribution) -> Vec<Value> {
        let units: Vec<u32> = weights.carrying().map(|(_, units)| units).collect();
        let segments = Segment::cut(&units, context.total);
        let carrying = weights.carrying().zip(segments);
        carrying.map(|((member, _), segment)| self.route(context, member, Some(segment))).collect()
    }

    /// The group for those of its requests that have these predicates.
    pub(super) fn narrowed(&self, predicates: Vec<String>) -> Self {
        let mut template = self.template.clone();
        append(&mut template, "predicates", predicates);
        Self::new(template)
    }

    /// The route of a member: for the requests in this segment, or for all.
    pub(super) fn route(&self, context: &Context<'_>, member: &str, segment: Option<Segment>) -> Value {
        let mut route = self.template.clone();
        append(&mut route, "predicates", segment.map(|segment| segment.to_string()));
        if let Some(filter) = host_filter(context, member) {
            append(&mut route, "filters", [filter]);
        }
        put(&mut route, "backends", json!([{"backendName": backend::name(context.service, member)}]));
        route
    }
}

/// All of an object's routes; one of the groups at least is the service's.
pub(super) fn groups(context: &Context<'_>, object: &DynamicObject) -> Result<Vec<Group>, RouteError> {
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
        groups[at].shares.extend(shares(context, object, route)?);
        groups[at].routes.push(route.clone());
    }
    if groups.iter().any(|group| group.is_ours(context)) {
        return Ok(groups);
    }
    let backend = groups.iter().flat_map(|group| &group.shares).next().map_or("none", |(backend, ..)| backend);
    Err(weights::unknown(context, &describe(object), backend))
}

/// Adds to a list; nothing makes no list.
pub(super) fn append(route: &mut Value, key: &str, values: impl IntoIterator<Item = String>) {
    let list: Vec<Value> = items(route.get(key)).iter().cloned().chain(values.into_iter().map(Value::from)).collect();
    if !list.is_empty() {
        put(route, key, list);
    }
}

/// A route without what tells the members' routes apart.
pub(super) fn template(context: &Context<'_>, route: &Value) -> Value {
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
fn shares(
    context: &Context<'_>,
    object: &DynamicObject,
    route: &Value,
) -> Result<Vec<(String, u64, Option<Segment>)>, RouteError> {
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
        Ok((resolved_backend(context, object, text(backend, "backendName")), weight, segment))
    };
    backends.iter().map(share).collect()
}

/// The backend that a name means: in service mode the user's own Service, whatever it is called here, is the primary.
fn resolved_backend(context: &Context<'_>, object: &DynamicObject, name: &str) -> String {
    let is_own = |backend: &Value| {
        text(backend, "name") == name
            && text(backend, "serviceName") == context.service.name
            && backend.get("servicePort").is_some_and(|port| *port == context.service.port)
    };
    let is_own = !context.copies.is_empty() && items(object.data.pointer("/spec/backends")).iter().any(is_own);
    if is_own { backend::name(context.service, PRIMARY) } else { name.to_owned() }
}

/// Skipper passes the client's Host on unless a filter says otherwise.
fn host_filter(context: &Context<'_>, member: &str) -> Option<String> {
    let reach = context.endpoints.get(member).filter(|reach| reach.host_header == HostHeader::Endpoint)?;
    Some(format!("setRequestHeader(\"Host\", \"{}\")", reach.host))
}

pub(super) fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}
