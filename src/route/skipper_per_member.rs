//! Ingresses of Skipper, one a member, each with a `TrafficSegment`.
//!
//! Several objects cannot change at once, so the order of writes must leave no part of [0, 1) uncovered. The members
//! stand in one order for good, kept in each object's mark, and each boundary between two neighbours moves one way:
//! the one that grows over it is written before the one that shrinks. The pairs are a chain, so such an order always
//! exists, also from a state in which only some of the objects were written.

use kube::ResourceExt;
use kube::core::{ApiResource, DynamicObject};
use serde_json::{Value, json};

use super::capability::{Applied, Capability, Leads, Matching, Mirroring, Shape, Split, Verified};
use super::json::items;
use super::owner::Owner;
use super::provider::{Objects, Provider};
use super::refusal::{other_sni, refuse};
use super::segments::{self, Segment};
use super::skipper_ingress::{draft, ingress, lead, service_of};
use super::trial::Wanted;
use super::{Context, RouteError, describe, mark, weights};
use crate::api::service::SkipperRoute;
use crate::api::{Backend, Distribution, ORIGINAL_ANNOTATION, WRITE_ANNOTATION};
use crate::backend::{self, Reach};
use crate::rollout::input::Problem;

const PREDICATE: &str = "zalando.org/skipper-predicate";
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Places that a mark may name: the 64 members of a rollout, and those that left it.
const MAX_PLACES: usize = 1024;

/// What this form can do.
pub(super) const CAPABILITY: Capability = Capability {
    route: "skipper, form IngressPerMember",
    object: "Ingress of Skipper per member, each with a `TrafficSegment`",
    split: Split::Weights { members: None, parts: None },
    external_name: Leads::Yes,
    cluster_ip: Leads::Yes,
    endpoint_slice: Leads::Yes,
    own_host: true,
    own_tls: true,
    matches: Matching::NONE,
    mirrors: Mirroring::No,
    shape: Shape::ObjectPerMember,
    applied: Applied::ReadBack,
    verified: Verified::Traffic,
    note: "Where Skipper has no RouteGroups. The Ingresses are written in an order that leaves no part of the traffic without one.",
};

/// Form `IngressPerMember`.
pub(super) struct IngressPerMember<'r>(pub &'r SkipperRoute);

impl Provider for IngressPerMember<'_> {
    fn resource(&self) -> ApiResource {
        ingress()
    }

    fn names(&self, context: &Context<'_>) -> Vec<String> {
        let name = self.0.name.as_deref().unwrap_or(&context.service.name);
        context.endpoints.keys().map(|member| format!("{name}-{member}")).collect()
    }

    fn title(&self, service: &str) -> String {
        format!("{}-*", self.0.name.as_deref().unwrap_or(service))
    }

    fn capability(&self) -> &'static Capability {
        &CAPABILITY
    }

    fn creates(&self, _index: usize) -> bool {
        self.0.name.is_none()
    }

    fn fields(&self) -> &'static [&'static [&'static str]] {
        &[&["metadata", "annotations", PREDICATE]]
    }

    /// Skipper reads the scheme from an ExternalName Service's target port. Its Host is the external name unless Skipper
    /// runs with `-kubernetes-external-name-preserve-host`, so there both values of `hostHeader` are taken.
    fn problems(&self, context: &Context<'_>) -> Vec<Problem> {
        match context.service.backend {
            Backend::ExternalName(_) => refuse(context, |reach| other_sni(reach).or_else(|| other_scheme(reach))),
            Backend::EndpointSlice(_) => {
                refuse(context, |reach| super::refusal::no_tls(reach, "Skipper sends no SNI to addresses"))
            }
            Backend::ClusterIp(_) => Vec::new(),
        }
    }

    /// The service, and the member's place in the order.
    fn claims(&self, context: &Context<'_>, objects: Objects<'_>, index: usize) -> Result<Vec<String>, RouteError> {
        let place = places(context, objects).into_iter().position(|other| other == Some(index)).unwrap_or(index);
        Ok(vec![context.service.name.clone(), format!("#{place}")])
    }

    fn read(&self, context: &Context<'_>, objects: Objects<'_>) -> Result<Distribution, RouteError> {
        let title = self.title(&context.service.name);
        let placed = |object: &DynamicObject| Ok((leads_to(context, object)?, segment(object)?));
        let mut placed = objects.iter().flatten().map(placed).collect::<Result<Vec<_>, RouteError>>()?;
        if objects.iter().flatten().any(|object| place(context, object).is_some()) {
            placed = without_overlaps(placed);
        }
        weights::distribution(context, &title, &segments::weights(&title, placed, context.total)?)
    }

    fn set(
        &self,
        context: &Context<'_>,
        objects: Objects<'_>,
        wanted: Wanted<'_>,
    ) -> Result<Vec<Option<DynamicObject>>, RouteError> {
        let weights = wanted.weights;
        let members: Vec<&String> = context.endpoints.keys().collect();
        let order = order(context, objects);
        let in_order: Vec<u32> = order
            .iter()
            .map(|index| members.get(*index).and_then(|member| weights.get(*member)).copied().unwrap_or_default())
            .collect();
        let mut after = vec![None; members.len()];
        for ((index, segment), weight) in order.into_iter().zip(Segment::cut(&in_order, context.total)).zip(in_order) {
            let live = objects.get(index).and_then(Option::as_ref);
            if let (Some(member), true) = (members.get(index), live.is_some() || weight > 0) {
                let mut object = live.cloned().unwrap_or_else(|| self.made(context, objects, member));
                if Owner::of(&object, context) == Owner::This {
                    lead_all(&mut object, context, member);
                }
                put(&mut object, segment);
                after[index] = Some(object);
            }
        }
        Ok(after)
    }

    fn held(&self, _context: &Context<'_>, object: &DynamicObject) -> Result<Value, RouteError> {
        Ok(json!(object.annotations().get(PREDICATE)))
    }

    fn restore(&self, _context: &Context<'_>, object: &mut DynamicObject, held: &Value) {
        match held.as_str() {
            Some(predicates) => object.annotations_mut().insert(PREDICATE.to_owned(), predicates.to_owned()),
            None => object.annotations_mut().remove(PREDICATE),
        };
    }

    fn order(&self, context: &Context<'_>, before: Objects<'_>, after: Objects<'_>) -> Vec<usize> {
        let order = order(context, before);
        let (before, after) = (chain(&order, before), chain(&order, after));
        let mut writes = Vec::new();
        let mut held_back = Vec::new();
        for (place, index) in order.into_iter().enumerate() {
            held_back.push(index);
            let next_grows_over =
                before.get(place + 1).zip(after.get(place)).is_some_and(|(next, this)| this.end < next.start);
            if !next_grows_over {
                writes.extend(held_back.drain(..).rev());
            }
        }
        writes.extend(held_back.into_iter().rev());
        writes
    }
}

impl IngressPerMember<'_> {
    /// A member's new Ingress: like the first one that is there, but leading to this member; else as it was declared.
    fn made(&self, context: &Context<'_>, objects: Objects<'_>, member: &String) -> DynamicObject {
        let name = format!("{}-{member}", self.0.name.as_deref().unwrap_or(&context.service.name));
        let Some(model) = objects.iter().flatten().next() else {
            let hosts = self.0.create.as_ref().map_or(&[][..], |create| &create.hosts);
            return draft(&name, context, hosts, &[member]);
        };
        let mut object = DynamicObject::new(&name, &ingress())
            .within(context.namespace)
            .data(json!({"spec": model.data.get("spec")}));
        let is_its_own = |key: &str| [WRITE_ANNOTATION, ORIGINAL_ANNOTATION, LAST_APPLIED].contains(&key);
        object.metadata.labels.clone_from(&model.metadata.labels);
        object.metadata.annotations.clone_from(&model.metadata.annotations);
        object.annotations_mut().retain(|key, _| !is_its_own(key));
        lead_all(&mut object, context, member);
        object
    }
}

fn other_scheme(reach: &Reach) -> Option<String> {
    let is_https = reach.port == 443;
    (is_https != reach.server_name.is_some()).then(|| {
        let port = reach.port;
        format!("port: {port}: Skipper speaks TLS to an ExternalName Service on port 443 and nowhere else: give tls with port 443 only, or say form: RouteGroup")
    })
}

/// Indices of the members in the order of their segments.
fn order(context: &Context<'_>, objects: Objects<'_>) -> Vec<usize> {
    places(context, objects).into_iter().flatten().collect()
}

/// The member in each place: as the marks say, and the others by where they stand now, in the places that are free. A
/// place never changes once it is in a mark, so that half a write tells the same order as the whole.
fn places(context: &Context<'_>, objects: Objects<'_>) -> Vec<Option<usize>> {
    let mut places: Vec<Option<usize>> = vec![None; MAX_PLACES];
    let mut unplaced = Vec::new();
    for index in 0..context.endpoints.len() {
        let object = objects.get(index).and_then(Option::as_ref);
        match object.and_then(|object| place(context, object)).and_then(|place| places.get_mut(place)) {
            Some(free @ None) => *free = Some(index),
            Some(Some(_)) | None => unplaced.push((object.and_then(|object| segment(object).ok()), index)),
        }
    }
    let key = |segment: Option<Segment>| segment.map_or((1.0, 1.0), |segment| (segment.start, segment.end));
    unplaced.sort_by(|(one, _), (other, _)| {
        let (one, other) = (key(*one), key(*other));
        one.0.total_cmp(&other.0).then(one.1.total_cmp(&other.1))
    });
    let free = places.iter_mut().filter(|place| place.is_none());
    free.zip(unplaced).for_each(|(free, (_, index))| *free = Some(index));
    places
}

fn place(context: &Context<'_>, object: &DynamicObject) -> Option<usize> {
    let entries = mark::entries(object).ok()?;
    let entry = entries.iter().find(|entry| entry.mark.rollout == context.uid)?;
    entry.rules.iter().find_map(|rule| rule.strip_prefix('#'))?.parse().ok()
}

/// Segments in order; one that is absent is empty where its predecessor ends.
fn chain(order: &[usize], objects: Objects<'_>) -> Vec<Segment> {
    let mut reached = 0.0;
    let segment = |index: &usize| {
        let segment = objects.get(*index).and_then(Option::as_ref).and_then(|object| segment(object).ok());
        let segment = segment.unwrap_or(Segment { start: reached, end: reached });
        reached = segment.end.max(reached);
        segment
    };
    order.iter().map(segment).collect()
}

/// Between two writes of one change segments overlap; what lies under two of them counts once, for the first.
fn without_overlaps(mut placed: Vec<(String, Segment)>) -> Vec<(String, Segment)> {
    placed.sort_by(|(_, one), (_, other)| one.start.total_cmp(&other.start));
    let mut reached: f64 = 0.0;
    let cut = |(backend, segment): (String, Segment)| {
        let start = segment.start.max(reached);
        reached = reached.max(segment.end);
        (backend, Segment { start, end: reached.max(start) })
    };
    placed.into_iter().map(cut).collect()
}

fn segment(object: &DynamicObject) -> Result<Segment, RouteError> {
    match object.annotations().get(PREDICATE) {
        Some(predicates) if segments::is_in(predicates) => Segment::find(predicates).ok_or_else(|| {
            RouteError::Unreadable(format!(
                "{}: annotation {PREDICATE} has no single segment of [0, 1]: correct it",
                describe(object)
            ))
        }),
        Some(_) | None => Ok(Segment::WHOLE),
    }
}

fn put(object: &mut DynamicObject, segment: Segment) {
    let predicates = object.annotations().get(PREDICATE).map_or("", String::as_str);
    let predicates = segment.put(predicates);
    object.annotations_mut().insert(PREDICATE.to_owned(), predicates);
}

/// The one backend of the service to which an Ingress leads.
fn leads_to(context: &Context<'_>, object: &DynamicObject) -> Result<String, RouteError> {
    let mut names: Vec<&str> = items(object.data.pointer("/spec/rules"))
        .iter()
        .flat_map(|rule| items(rule.pointer("/http/paths")))
        .map(service_of)
        .collect();
    names.dedup();
    match names.as_slice() {
        [one] if backend::is_of_service(context, one) => Ok((*one).to_owned()),
        [one] => Err(weights::unknown(context, &describe(object), one)),
        _ => Err(RouteError::Unreadable(format!(
            "{}: its paths lead to {} Services: give each its own Ingress",
            describe(object),
            names.len()
        ))),
    }
}

/// Leads every path of the service to a member's backend.
fn lead_all(object: &mut DynamicObject, context: &Context<'_>, member: &str) {
    for path in paths_mut(object).filter(|path| backend::is_of_service(context, service_of(path))) {
        lead(path, context, member);
    }
}

fn paths_mut(object: &mut DynamicObject) -> impl Iterator<Item = &mut Value> {
    let rules = object.data.pointer_mut("/spec/rules").and_then(Value::as_array_mut);
    rules.into_iter().flatten().filter_map(|rule| rule.pointer_mut("/http/paths")?.as_array_mut()).flatten()
}
