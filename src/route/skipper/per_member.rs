//! Ingresses of Skipper, one a member, each with a `TrafficSegment`.
//!
//! Requests that are chosen have Ingresses of their own, one for each member that gets any of them.

use std::sync::Arc;

use kube::ResourceExt;
use kube::core::{ApiResource, DynamicObject};
use serde_json::{Value, json};

use super::chain::{order, place, places, segment, without_overlaps, writes};
use super::conditions::{MATCHING, alternatives};
use super::matched::{self, PREDICATE, are_equivalent, copy_of, matched_name, predicates, put_predicates, updated};
use super::segments::{self, Segment};
use super::{APPLIED, OBEYED};
use crate::api::service::SkipperRoute;
use crate::api::{Backend, Distribution, Matched, Split, Steering};
use crate::backend;
use crate::object::Owner;
use crate::object::Reach;
use crate::object::{Context, describe};
use crate::rollout::input::Problem;
use crate::route::capability::{
    AffinitySupport, BackendSupport, Capability, Extent, ISTIO_ONLY, Matching, Mirroring, Shape, Verified, Weighting,
};
use crate::route::ingress::{self, draft, has_own_service, paths, paths_mut, point_to, service_of, with_primary};
use crate::route::provider::{Objects, Provider};
use crate::route::refusal::{no_tls, other_sni, refuse};
use crate::route::{RouteError, weights};

/// What this form can do.
pub(in crate::route) const CAPABILITY: Capability = Capability {
    route: "skipper, form IngressPerMember",
    object: "Ingress of Skipper per member, each with a `TrafficSegment`",
    weighting: Weighting::Weights { members: None, parts: None },
    external_name: BackendSupport::Yes,
    cluster_ip: BackendSupport::Yes,
    endpoint_slice: BackendSupport::Yes,
    service_entry: ISTIO_ONLY,
    subset: ISTIO_ONLY,
    own_host: true,
    own_tls: true,
    matches: Matching { extent: Extent::OneMatch, ..MATCHING },
    mirrors: Mirroring::No,
    affinity: AffinitySupport::No,
    shape: Shape::ObjectPerMember,
    applied: APPLIED,
    obeyed: OBEYED,
    verified: Verified::Traffic,
    note: "For installations of Skipper without RouteGroups. The Ingresses are written in an order that always covers \
           all traffic. During a step with `matches`, each member that gets matched requests has a second Ingress, \
           `<ingress>.matched`, which the hub creates and removes.",
};

/// Form `IngressPerMember`.
pub(in crate::route) struct IngressPerMember<'r>(pub &'r SkipperRoute);

impl Provider for IngressPerMember<'_> {
    fn resource(&self) -> ApiResource {
        ingress::ingress()
    }

    fn names(&self, context: &Context<'_>) -> Vec<String> {
        let plain = || context.endpoints.keys().map(|member| self.name_of(context, member));
        plain().chain(plain().map(|name| matched_name(&name))).collect()
    }

    fn title(&self, service: &str) -> String {
        format!("{}-*", self.0.name.as_deref().unwrap_or(service))
    }

    fn capability(&self) -> &'static Capability {
        &CAPABILITY
    }

    fn creates(&self, context: &Context<'_>, index: usize) -> bool {
        self.0.name.is_none() || index >= context.endpoints.len()
    }

    fn fields(&self) -> &'static [&'static [&'static str]] {
        &[&["metadata", "annotations", PREDICATE]]
    }

    /// Skipper reads the scheme from an ExternalName Service's target port. Its Host is the external name unless Skipper
    /// runs with `-kubernetes-external-name-preserve-host`, so there both values of `hostHeader` are taken.
    fn problems(&self, context: &Context<'_>) -> Vec<Problem> {
        match context.service.backend {
            Backend::ExternalName(_) => refuse(context, |reach| other_sni(reach).or_else(|| other_scheme(reach))),
            Backend::EndpointSlice(_) => refuse(context, |reach| no_tls(reach, "Skipper sends no SNI to addresses")),
            Backend::ClusterIp(_) | Backend::ServiceEntry(_) | Backend::Subset(_) => Vec::new(),
        }
    }

    /// The service, and the member's place in the order.
    fn claims(&self, context: &Context<'_>, objects: Objects<'_>, index: usize) -> Result<Vec<String>, RouteError> {
        let (plain, _) = members_and_matched(context, objects);
        let place = places(context, plain).into_iter().position(|other| other == Some(index));
        let service = context.service.name.clone();
        Ok([service].into_iter().chain(place.map(|place| format!("#{place}"))).collect())
    }

    fn read(&self, context: &Context<'_>, objects: Objects<'_>) -> Result<Distribution, RouteError> {
        let title = self.title(&context.service.name);
        let placed = |object: &DynamicObject| Ok((target_backend(context, object)?, segment(object)?));
        let objects = &*with_primary(context, objects);
        let (plain, _) = members_and_matched(context, objects);
        let mut placed = plain.iter().flatten().map(|object| placed(object)).collect::<Result<Vec<_>, RouteError>>()?;
        if plain.iter().flatten().any(|object| place(context, object).is_some()) {
            placed = without_overlaps(placed);
        }
        weights::distribution(context, &title, &segments::weights(&title, placed, context.total)?)
    }

    fn set(
        &self,
        context: &Context<'_>,
        objects: Objects<'_>,
        wanted: &Split,
    ) -> Result<Vec<Option<Arc<DynamicObject>>>, RouteError> {
        let objects = &*with_primary(context, objects);
        let (plain, tried) = members_and_matched(context, objects);
        let mut after = self.weighted(context, plain, &wanted.weights);
        let matched = self.matched_ingresses(context, &after, tried, wanted.matched());
        after.extend(matched);
        Ok(after)
    }

    fn applies_steering(&self, context: &Context<'_>, objects: Objects<'_>, steering: &Steering) -> bool {
        let objects = &*with_primary(context, objects);
        let (plain, tried) = members_and_matched(context, objects);
        let wanted = self.matched_ingresses(context, plain, tried, steering.matched());
        are_equivalent(tried, &wanted)
    }

    /// The predicates; and where they lead only of paths that are led elsewhere.
    fn original_rules(&self, context: &Context<'_>, object: &DynamicObject) -> Result<Value, RouteError> {
        let predicates = json!(object.annotations().get(PREDICATE));
        let paths = || ingress::original_paths(context, object);
        Ok(if has_own_service(context, object) {
            json!({"predicates": predicates, "paths": paths()})
        } else {
            predicates
        })
    }

    fn restore(&self, context: &Context<'_>, object: &mut DynamicObject, original: &Value) {
        if let Some(paths) = original.get("paths") {
            ingress::restore_paths(context, object, paths);
        }
        match original.get("predicates").unwrap_or(original).as_str() {
            Some(predicates) => object.annotations_mut().insert(PREDICATE.to_owned(), predicates.to_owned()),
            None => object.annotations_mut().remove(PREDICATE),
        };
    }

    fn order(&self, context: &Context<'_>, before: Objects<'_>, after: Objects<'_>) -> Vec<usize> {
        let ((plain, _), (plain_after, _)) =
            (members_and_matched(context, before), members_and_matched(context, after));
        matched::order(writes(context, plain, plain_after), after)
    }
}

impl IngressPerMember<'_> {
    fn name_of(&self, context: &Context<'_>, member: &str) -> String {
        format!("{}-{member}", self.0.name.as_deref().unwrap_or(&context.service.name))
    }

    /// Every member's Ingress with its segment; none for one without weight that has none yet.
    fn weighted(
        &self,
        context: &Context<'_>,
        plain: Objects<'_>,
        weights: &Distribution,
    ) -> Vec<Option<Arc<DynamicObject>>> {
        let members: Vec<&String> = context.endpoints.keys().collect();
        let order = order(context, plain);
        let in_order: Vec<u32> =
            order.iter().map(|index| members.get(*index).map_or(0, |member| weights.weight(member))).collect();
        let model = plain.iter().find_map(Option::as_deref);
        let mut after = vec![None; members.len()];
        for ((index, segment), weight) in order.into_iter().zip(Segment::cut(&in_order, context.total)).zip(in_order) {
            let live = plain.get(index).and_then(Option::as_deref);
            if let (Some(member), true) = (members.get(index), live.is_some() || weight > 0) {
                let new = || self.new_ingress(context, &self.name_of(context, member), member, model);
                let mut object = live.cloned().unwrap_or_else(new);
                if Owner::of(&object, context) == Owner::This {
                    point_all_to(&mut object, context, member);
                }
                let predicates = segment.put(predicates(&object));
                put_predicates(&mut object, predicates);
                after[index] = Some(object.into());
            }
        }
        after
    }

    /// An Ingress for each member that gets requests which are chosen: like the member's own, or any other one.
    fn matched_ingresses(
        &self,
        context: &Context<'_>,
        plain: Objects<'_>,
        live: Objects<'_>,
        matched: Option<&Matched>,
    ) -> Vec<Option<Arc<DynamicObject>>> {
        let conditions = matched.and_then(|matched| alternatives(matched).into_iter().next());
        let weight = |member: &String| matched.map_or(0, |matched| matched.weights.weight(member));
        let weights: Vec<u32> = context.endpoints.keys().map(weight).collect();
        let members = context.endpoints.keys().enumerate();
        let ingress = |((index, member), segment): ((usize, &String), Segment)| {
            let conditions = conditions.as_ref().filter(|_| segment.start < segment.end)?;
            let model = plain.get(index).and_then(Option::as_deref).or_else(|| plain.iter().find_map(Option::as_deref));
            let mut object = self.new_ingress(context, &matched_name(&self.name_of(context, member)), member, model);
            let all = format!("{} && {}", segment.put(predicates(&object)), conditions.join(" && "));
            put_predicates(&mut object, all);
            Some(updated(live.get(index).and_then(Option::as_deref), object).into())
        };
        members.zip(Segment::cut(&weights, context.total)).map(ingress).collect()
    }

    /// A new Ingress for a member: like the model, but leading to this member; else as it was declared.
    fn new_ingress(
        &self,
        context: &Context<'_>,
        name: &str,
        member: &str,
        model: Option<&DynamicObject>,
    ) -> DynamicObject {
        let Some(model) = model else {
            let hosts = self.0.create.as_ref().map_or(&[][..], |create| &create.hosts);
            return draft(name, context, hosts, &[member]);
        };
        let mut object = copy_of(model, name);
        point_all_to(&mut object, context, member);
        object
    }
}

/// The Ingresses of the members, and those for requests that are chosen.
fn members_and_matched<'o>(context: &Context<'_>, objects: Objects<'o>) -> (Objects<'o>, Objects<'o>) {
    objects.split_at_checked(context.endpoints.len()).unwrap_or((objects, &[]))
}

fn other_scheme(reach: &Reach) -> Option<String> {
    let is_https = reach.port == 443;
    (is_https != reach.server_name.is_some()).then(|| {
        let port = reach.port;
        format!("port: {port}: Skipper speaks TLS to an ExternalName Service on port 443 and nowhere else: give tls with port 443 only, or say form: RouteGroup")
    })
}

/// The one backend of the service that an Ingress points to.
fn target_backend(context: &Context<'_>, object: &DynamicObject) -> Result<String, RouteError> {
    let mut names: Vec<&str> = paths(object).map(|(_, path)| service_of(path)).collect();
    names.dedup();
    match names.as_slice() {
        [one] if backend::is_of_service(context, one) => Ok((*one).to_owned()),
        [one] => Err(ingress::unknown(context, object, one)),
        _ => Err(RouteError::Unreadable(format!(
            "{}: its paths lead to {} Services: give each its own Ingress",
            describe(object),
            names.len()
        ))),
    }
}

/// Points every path of the service to a member's backend.
fn point_all_to(object: &mut DynamicObject, context: &Context<'_>, member: &str) {
    for (_, path) in paths_mut(object).filter(|(_, path)| backend::is_of_service(context, service_of(path))) {
        point_to(path, context, member);
    }
}
