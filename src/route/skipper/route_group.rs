//! RouteGroup of Skipper: one route per member with a `TrafficSegment`, all in one object.
//!
//! Routes that differ only in their segment, backend and the Host filter of an endpoint are one group; a RouteGroup
//! with weights in `backends` or `defaultBackends` is read as it is and becomes segments with the first write. Requests
//! that go elsewhere have routes of their own behind the others, with their conditions beside everything else.

use std::sync::Arc;

use kube::core::{ApiResource, DynamicObject};
use serde_json::{Value, json};

use super::affinity;
use super::conditions::{MATCHING, alternatives};
use super::groups::{Group, groups, template, text};
use super::{APPLIED, OBEYED};
use crate::api::service::SkipperRoute;
use crate::api::{Affinity, Backend, Distribution, Matched, Split, Steering};
use crate::backend;
use crate::object::{Context, describe};
use crate::rollout::input::Problem;
use crate::route::capability::{
    AffinitySupport, BackendSupport, Capability, ISTIO_ONLY, Mirroring, Shape, Verified, Weighting,
};
use crate::route::desired::Stored;
use crate::route::json::{contains, items, put};
use crate::route::provider::{Objects, Provider, only, resource};
use crate::route::refusal::{no_tls, other_sni, refuse};
use crate::route::{RouteError, weights};

/// What this form can do.
pub(in crate::route) const CAPABILITY: Capability = Capability {
    route: "skipper, form RouteGroup",
    object: "RouteGroup of Skipper, with a `TrafficSegment` route per member",
    weighting: Weighting::Weights { members: None, parts: None },
    external_name: BackendSupport::Yes,
    cluster_ip: BackendSupport::Yes,
    endpoint_slice: BackendSupport::Yes,
    service_entry: ISTIO_ONLY,
    subset: ISTIO_ONLY,
    own_host: true,
    own_tls: true,
    matches: MATCHING,
    mirrors: Mirroring::No,
    affinity: AffinitySupport::Yes { bins: 64 },
    shape: Shape::OneObject,
    applied: APPLIED,
    obeyed: OBEYED,
    verified: Verified::Traffic,
    note: "A member behind an ExternalName Service is a `network` backend of the RouteGroup, with its own address and Host.",
};

/// Form `RouteGroup`.
pub(in crate::route) struct RouteGroup<'r>(pub &'r SkipperRoute);

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

    fn creates(&self, _context: &Context<'_>, _index: usize) -> bool {
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
            Backend::ClusterIp(_) | Backend::ServiceEntry(_) | Backend::Subset(_) => Vec::new(),
        }
    }

    fn claims(&self, context: &Context<'_>, _objects: Objects<'_>, _index: usize) -> Result<Vec<String>, RouteError> {
        Ok(vec![context.service.name.clone()])
    }

    fn read(&self, context: &Context<'_>, objects: Objects<'_>) -> Result<Distribution, RouteError> {
        let Some(object) = only(objects) else { return Ok(Distribution::new()) };
        let title = describe(object);
        let shown = groups(context, &weights_only(context, object))?
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
        wanted: &Split,
    ) -> Result<Vec<Option<Arc<DynamicObject>>>, RouteError> {
        let creating = only(objects).is_none();
        let (mut object, groups) = match (only(objects), &self.0.create) {
            (Some(object), _) => {
                let object = weights_only(context, object);
                let groups = groups(context, &object)?;
                (object, groups)
            }
            (None, Some(create)) => {
                let spec = json!({"hosts": create.hosts, "backends": [], "routes": []});
                let object = DynamicObject::new(&context.service.name, &self.resource())
                    .within(context.namespace)
                    .data(json!({"spec": spec}));
                (object, vec![Group::new(json!({"pathSubtree": "/"}))])
            }
            (None, None) => return Ok(vec![None]),
        };
        let is_ours = |group: &&Group| creating || group.is_ours(context);
        groups.iter().filter(is_ours).try_for_each(|group| group.check_known(context, &describe(&object)))?;
        let cut = |group: &Group| match wanted.affinity.as_ref() {
            _ if !is_ours(&group) => group.routes.clone(),
            Some(affinity) => group.bin_routes(context, affinity),
            None => group.cut(context, &wanted.weights),
        };
        let keeping = |affinity| {
            groups.iter().filter(is_ours).flat_map(|group| group.cookie_routes(context, affinity)).collect::<Vec<_>>()
        };
        let steered = wanted
            .matched()
            .map(|matched| matched_routes(context, groups.iter().filter(is_ours), matched))
            .unwrap_or_default();
        let keeping = wanted.affinity.as_ref().map(keeping).unwrap_or_default();
        let routes = groups.iter().flat_map(cut).chain(steered).chain(keeping).collect();
        let backends = backends(context, &object, &wanted.reached())?;
        put_spec(&mut object, routes, backends);
        Ok(vec![Some(object.into())])
    }

    fn applies_steering(&self, context: &Context<'_>, objects: Objects<'_>, steering: &Steering) -> bool {
        let Some(matched) = steering.matched() else { return false };
        let Some(object) = only(objects) else { return false };
        let Ok(groups) = groups(context, &weights_only(context, object)) else { return false };
        let wanted = matched_routes(context, groups.iter().filter(|group| group.is_ours(context)), matched);
        let is_matched = |route: &&Value| is_matched(context, route, &alternatives(matched));
        let found: Vec<&Value> = routes(object).iter().filter(is_matched).collect();
        found.len() == wanted.len() && found.iter().zip(&wanted).all(|(found, wanted)| contains(found, wanted))
    }

    fn applies_affinity(&self, context: &Context<'_>, objects: Objects<'_>, affinity: &Affinity) -> bool {
        let Some(object) = only(objects) else { return false };
        let Ok(groups) = groups(context, &weights_only(context, object)) else { return false };
        let ours = || groups.iter().filter(|group| group.is_ours(context));
        let binned = ours().flat_map(|group| group.bin_routes(context, affinity));
        let wanted: Vec<Value> =
            binned.chain(ours().flat_map(|group| group.cookie_routes(context, affinity))).collect();
        let found: Vec<&Value> =
            routes(object).iter().filter(|route| affinity::has_affinity(route, affinity)).collect();
        found.len() == wanted.len() && wanted.iter().all(|wanted| found.iter().any(|found| contains(found, wanted)))
    }

    fn original_rules(&self, context: &Context<'_>, object: &DynamicObject) -> Result<Value, RouteError> {
        let object = weights_only(context, object);
        let groups = groups(context, &object)?.into_iter().filter(|group| group.is_ours(context));
        let routes: Vec<Vec<Value>> = groups.map(|group| group.routes).collect();
        Ok(json!({"routes": routes, "backends": object.data.pointer("/spec/backends")}))
    }

    fn restore(&self, context: &Context<'_>, object: &mut DynamicObject, original: &Value) {
        *object = weights_only(context, object);
        let Ok(mut groups) = groups(context, object) else { return };
        for routes in items(original.get("routes")) {
            let template = items(Some(routes)).first().map(|route| template(context, route));
            if let Some(group) = groups.iter_mut().find(|group| Some(&group.template) == template.as_ref()) {
                group.routes = items(Some(routes)).to_vec();
            }
        }
        let was_there = |backend: &&Value| {
            items(original.get("backends")).iter().any(|original| original.get("name") == backend.get("name"))
        };
        let is_foreign = |backend: &&Value| backend::member(context, text(backend, "name")).is_none();
        let kept: Vec<Value> = items(object.data.pointer("/spec/backends"))
            .iter()
            .filter(|backend| was_there(backend) || is_foreign(backend))
            .cloned()
            .collect();
        put_spec(object, groups.into_iter().flat_map(|group| group.routes).collect(), kept);
    }
}

/// Routes of their own for the requests that go elsewhere, like those of the groups.
fn matched_routes<'g>(context: &Context<'_>, groups: impl Iterator<Item = &'g Group>, matched: &Matched) -> Vec<Value> {
    let alternatives = alternatives(matched);
    let narrowed = groups.flat_map(|group| alternatives.iter().map(|predicates| group.narrowed(predicates.clone())));
    narrowed.flat_map(|group| group.cut(context, &matched.weights)).collect()
}

/// The object without what was desired besides its weights.
fn weights_only(context: &Context<'_>, object: &DynamicObject) -> DynamicObject {
    let kept = Affinity::stored(object, context.uid);
    let mut plain = kept.map_or_else(|| object.clone(), |kept| affinity::without(object, &kept));
    let Some(steering) = Steering::stored(object, context.uid) else { return plain };
    let alternatives = steering.matched().map(alternatives).unwrap_or_default();
    if let Some(routes) = plain.data.pointer_mut("/spec/routes").and_then(Value::as_array_mut) {
        routes.retain(|route| !is_matched(context, route, &alternatives));
    }
    plain
}

/// A route of the user's own that chooses the same requests does not say that it comes before the others.
fn is_matched(context: &Context<'_>, route: &Value, alternatives: &[Vec<String>]) -> bool {
    let found = items(route.get("predicates"));
    let is_chosen = |predicates: &Vec<String>| predicates.iter().all(|wanted| found.iter().any(|one| one == wanted));
    let mut backends = items(route.get("backends")).iter();
    alternatives.iter().any(is_chosen)
        && backends.all(|backend| backend::is_of_service(context, text(backend, "backendName")))
}

fn routes(object: &DynamicObject) -> &[Value] {
    items(object.data.pointer("/spec/routes"))
}

/// The object's backends with those of these members. What the user named must be there and stays as it is.
fn backends(context: &Context<'_>, object: &DynamicObject, members: &Distribution) -> Result<Vec<Value>, RouteError> {
    let mut backends = items(object.data.pointer("/spec/backends")).to_vec();
    for member in members.members() {
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
        (
            Backend::ExternalName(_)
            | Backend::ClusterIp(_)
            | Backend::EndpointSlice(_)
            | Backend::ServiceEntry(_)
            | Backend::Subset(_),
            _,
        ) => {
            json!({"type": "service", "serviceName": backend::name(context.service, member), "servicePort": context.service.port})
        }
    }
}
