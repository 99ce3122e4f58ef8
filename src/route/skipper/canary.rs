//! The Ingress `<name>-canary` of Skipper, which the hub makes beside the user's own Ingress, the apex.
//!
//! The apex is read and never written. The canary has its paths and predicates, and Skipper tries it first: so it divides
//! the requests, whatever the apex leads to. Where all requests go to the one backend that the apex names, `False()`
//! switches it off, and they go through the apex. An apex that names the user's own Service leads to what is not proven
//! yet, so beside it the canary is never off.

use std::sync::Arc;

use kube::ResourceExt;
use kube::core::{ApiResource, DynamicObject};
use serde_json::{Value, json};

use super::backend_weights::put_annotated;
use super::conditions::MATCHING;
use super::matched::{
    self, PREDICATE, WEIGHTS, are_equivalent, copy_of, is_own_annotation, matched_name, predicates, put_predicates,
};
use super::paths::{check_ours, lead_to, paths, put_paths};
use super::predicates::{Switch, has_first, of_canary, switch_of};
use super::weighted::{self, matched_ingress, shown, with_primary};
use super::{APPLIED, OBEYED};
use crate::api::service::SkipperRoute;
use crate::api::{CANARY as CANARY_SLOT, Distribution, PRIMARY, Split, Steering};
use crate::backend;
use crate::object::{Context, describe, field_manager};
use crate::rollout::input::Problem;
use crate::route::RouteError;
use crate::route::capability::{Capability, Extent, Matching, Shape};
use crate::route::ingress::{self, has_own_service};
use crate::route::json::put;
use crate::route::provider::{Objects, Provider, only};

const APEX: usize = 0;
const CANARY: usize = 1;
/// The place of the Ingress for requests that are chosen.
const MATCHED: usize = 2;

/// What this form can do.
pub(in crate::route) const CAPABILITY: Capability = Capability {
    route: "skipper, form CanaryIngress",
    object: "Ingress `<name>-canary` of Skipper, with `zalando.org/backend-weights`, beside the user's own Ingress `<name>`",
    matches: Matching { extent: Extent::OneMatch, ..MATCHING },
    shape: Shape::StableAndCanary,
    applied: APPLIED,
    obeyed: OBEYED,
    note: "For Services with addresses in the hub cluster. The user's own Ingress `<name>` (the apex) is read and never \
           written. The hub makes and owns `<name>-canary`: it has the paths of the apex that lead to the service, and \
           `Weight(100)` among its predicates, so Skipper tries it first. Let the apex name the backend that has all \
           traffic at rest: in service mode `<service>-primary`, in member mode the backend of a member. Then the canary \
           is switched off by `False()` while all traffic goes there. If the apex names the user's own Service, which \
           leads to the new version as soon as it is declared, the canary is never switched off, and after \
           `deletionPolicy: Retain` it stays in force; `Revert` removes it. During a step with `matches` there is a third \
           Ingress, `<name>-canary.matched`.",
    ..weighted::CAPABILITY
};

/// Form `CanaryIngress`.
pub(in crate::route) struct ApexAndCanary<'r>(pub &'r SkipperRoute);

impl Provider for ApexAndCanary<'_> {
    fn resource(&self) -> ApiResource {
        ingress::ingress()
    }

    fn names(&self, context: &Context<'_>) -> Vec<String> {
        let apex = self.title(&context.service.name);
        let canary = canary_name(&apex);
        let matched = matched_name(&canary);
        vec![apex, canary, matched]
    }

    fn title(&self, service: &str) -> String {
        self.0.name.as_deref().unwrap_or(service).to_owned()
    }

    fn capability(&self) -> &'static Capability {
        &CAPABILITY
    }

    fn creates(&self, _context: &Context<'_>, index: usize) -> bool {
        index != APEX
    }

    fn only_reads(&self, index: usize) -> bool {
        index == APEX
    }

    fn fields(&self) -> &'static [&'static [&'static str]] {
        &[]
    }

    fn problems(&self, context: &Context<'_>) -> Vec<Problem> {
        weighted::problems(context)
    }

    fn claims(&self, context: &Context<'_>, _objects: Objects<'_>, _index: usize) -> Result<Vec<String>, RouteError> {
        Ok(vec![context.service.name.clone()])
    }

    fn read(&self, context: &Context<'_>, objects: Objects<'_>) -> Result<Distribution, RouteError> {
        let Some(apex) = only(objects) else { return Ok(Distribution::new()) };
        check_ours(context, apex)?;
        match at(objects, CANARY).filter(|canary| switch_of(predicates(canary)) == Switch::On) {
            Some(canary) => shown(context, canary),
            None if leads_to_unproven(context, apex) => Ok([(CANARY_SLOT.to_owned(), context.total)].into()),
            None => of_apex(context, objects),
        }
    }

    fn set(
        &self,
        context: &Context<'_>,
        objects: Objects<'_>,
        wanted: &Split,
    ) -> Result<Vec<Option<Arc<DynamicObject>>>, RouteError> {
        let Some(apex) = only(objects) else { return Ok(objects.to_vec()) };
        check_ours(context, apex)?;
        check_place(apex)?;
        let switch = switch_for(context, objects, wanted);
        let canary = canary(context, apex, at(objects, CANARY), &wanted.weights, switch);
        let matched = wanted.matched();
        let matched = matched.and_then(|matched| matched_ingress(context, &canary, at(objects, MATCHED), matched));
        Ok(vec![objects[APEX].clone(), Some(canary.into()), matched.map(Arc::new)])
    }

    fn applies_steering(&self, context: &Context<'_>, objects: Objects<'_>, steering: &Steering) -> bool {
        let (Some(canary), Some(matched)) = (at(objects, CANARY), steering.matched()) else { return false };
        let wanted = matched_ingress(context, canary, at(objects, MATCHED), matched);
        are_equivalent(objects.get(MATCHED..).unwrap_or_default(), &[wanted.map(Arc::new)])
    }

    fn order(&self, _context: &Context<'_>, _before: Objects<'_>, after: Objects<'_>) -> Vec<usize> {
        matched::order(vec![APEX, CANARY], after)
    }

    /// Nothing of the user's own is changed.
    fn original_rules(&self, _context: &Context<'_>, _object: &DynamicObject) -> Result<Value, RouteError> {
        Ok(Value::Null)
    }

    fn restore(&self, _context: &Context<'_>, _object: &mut DynamicObject, _original: &Value) {}

    /// The canary is for the same requests as the apex is now, and off where it may be. Its weights are judged elsewhere.
    fn is_placed(&self, context: &Context<'_>, objects: Objects<'_>) -> bool {
        let (Some(apex), Some(live)) = (only(objects), at(objects, CANARY)) else { return true };
        let Ok(weights) = shown(context, live) else { return true };
        let is_steering = at(objects, MATCHED).is_some();
        let switch = if is_steering { Switch::On } else { switch_for(context, objects, &Split::from(&weights)) };
        outline(&canary(context, apex, Some(live), &weights, switch)) == outline(live)
    }
}

fn canary_name(apex: &str) -> String {
    format!("{apex}-canary")
}

fn at(objects: Objects<'_>, index: usize) -> Option<&DynamicObject> {
    objects.get(index).and_then(Option::as_deref)
}

/// The weights of the apex, with the primary in the place of the user's own Service.
fn of_apex(context: &Context<'_>, objects: Objects<'_>) -> Result<Distribution, RouteError> {
    let apex = with_primary(context, objects.get(..CANARY).unwrap_or_default());
    only(&apex).map_or_else(|| Ok(Distribution::new()), |apex| shown(context, apex))
}

/// The apex names the user's own Service, and that is not what the primary is.
fn leads_to_unproven(context: &Context<'_>, apex: &DynamicObject) -> bool {
    has_own_service(context, apex) && context.copies.get(PRIMARY) != context.copies.get(CANARY_SLOT)
}

/// Off where the apex alone does what is wanted: one backend has all requests, and it names that one itself.
fn switch_for(context: &Context<'_>, objects: Objects<'_>, wanted: &Split) -> Switch {
    let is_by_apex = wanted.steering.is_none()
        && wanted.weights.carrying().count() == 1
        && only(objects).is_some_and(|apex| !has_own_service(context, apex))
        && of_apex(context, objects).is_ok_and(|apex| apex.same_as(&wanted.weights));
    if is_by_apex { Switch::Off } else { Switch::On }
}

fn check_place(apex: &DynamicObject) -> Result<(), RouteError> {
    if !has_first(predicates(apex)) {
        return Ok(());
    }
    Err(RouteError::CannotCarry(format!(
        "{}: its predicate Weight(100) gives it the same place as its canary: give it another weight",
        describe(apex)
    )))
}

/// The canary: like the apex, but for the service alone, with these weights, and tried first.
fn canary(
    context: &Context<'_>,
    apex: &DynamicObject,
    live: Option<&DynamicObject>,
    weights: &Distribution,
    switch: Switch,
) -> DynamicObject {
    let mut canary = copy_of(apex, &canary_name(&apex.name_any()));
    let members: Vec<&str> = if context.copies.is_empty() {
        weights.carrying().map(|(member, _)| member).collect()
    } else {
        vec![PRIMARY, CANARY_SLOT]
    };
    lead_to(context, &mut canary, &members);
    put_predicates(&mut canary, of_canary(predicates(apex), switch));
    let weight = |member: &&str| (backend::name(context.service, member), json!(weights.weight(member)));
    put_annotated(&mut canary, &members.iter().map(weight).collect());
    match live {
        Some(live) => following(live, canary),
        None => canary,
    }
}

/// The live canary with this content. What others have noted on it stays; what the hub has and the apex has no more goes.
fn following(live: &DynamicObject, content: DynamicObject) -> DynamicObject {
    let mut object = live.clone();
    put(&mut object.data, "spec", content.data.get("spec").cloned());
    let declared = content.metadata.annotations.unwrap_or_default();
    let is_others = |key: &str| !field_manager::is_own(live, &["metadata", "annotations", key]);
    object.annotations_mut().retain(|key, _| is_own_annotation(key) || declared.contains_key(key) || is_others(key));
    object.annotations_mut().extend(declared);
    object
}

/// All that says which requests an Ingress is for and what is done with them, without where they go.
fn outline(object: &DynamicObject) -> Value {
    let mut outline = object.clone();
    for (index, groups) in paths(object) {
        let place = |path: &Value| json!({"path": path.get("path"), "pathType": path.get("pathType")});
        put_paths(&mut outline, index, groups.iter().filter_map(|group| group.first()).map(place).collect());
    }
    outline.annotations_mut().retain(|key, _| *key == PREDICATE || (*key != WEIGHTS && !is_own_annotation(key)));
    json!({"spec": outline.data.get("spec"), "annotations": outline.metadata.annotations})
}
