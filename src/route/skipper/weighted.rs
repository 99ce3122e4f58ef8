//! Ingress of Skipper with the annotation `zalando.org/backend-weights`: for Services with addresses in the cluster.
//!
//! Requests that are chosen have a second one, with weights of its own.

use std::borrow::Cow;
use std::sync::Arc;

use kube::ResourceExt;
use kube::core::{ApiResource, DynamicObject};
use serde_json::{Map, Value, json};

use super::backend_weights::{annotated, put_annotated, raw};
use super::conditions::{MATCHING, alternatives};
use super::matched::{self, WEIGHTS, are_equivalent, copy_of, matched_name, predicates, put_predicates, updated};
use super::paths::{check_ours, is_ours, lead_to, paths, place, put_paths};
use super::{APPLIED, OBEYED};
use crate::api::service::SkipperRoute;
use crate::api::{Backend, Distribution, Matched, PRIMARY, Split, Steering};
use crate::backend;
use crate::object::Reach;
use crate::object::{Context, describe};
use crate::rollout::input::Problem;
use crate::route::RouteError;
use crate::route::capability::{
    AffinitySupport, BackendSupport, Capability, Extent, ISTIO_ONLY, Matching, Mirroring, Shape, Verified, Weighting,
};
use crate::route::ingress::{self, draft, pointing_to, service_of};
use crate::route::json::items;
use crate::route::provider::{Objects, Provider, only};
use crate::route::refusal::{no_host, no_tls, refuse};
use crate::route::weights;

/// What this form can do.
pub(in crate::route) const CAPABILITY: Capability = Capability {
    route: "skipper, form Ingress",
    object: "Ingress of Skipper, with `zalando.org/backend-weights`",
    weighting: Weighting::Weights { members: None, parts: None },
    external_name: BackendSupport::No {
        why: "skipper Ingress weights are ignored for ExternalName members (all traffic would go to one of them)",
        remedy: "use the RouteGroup form or backend kind EndpointSlice",
    },
    cluster_ip: BackendSupport::Yes,
    endpoint_slice: BackendSupport::Yes,
    service_entry: ISTIO_ONLY,
    subset: ISTIO_ONLY,
    own_host: false,
    own_tls: false,
    matches: Matching { extent: Extent::OneMatch, ..MATCHING },
    mirrors: Mirroring::No,
    affinity: AffinitySupport::No,
    shape: Shape::OneObject,
    applied: APPLIED,
    obeyed: OBEYED,
    verified: Verified::Traffic,
    note: "For Services with addresses in the hub cluster. During a step with `matches` there is a second Ingress, \
           `<ingress>.matched`, which the hub creates and removes.",
};

/// The place of the Ingress for requests that are chosen.
const MATCHED: usize = 1;

/// Form `Ingress`.
pub(in crate::route) struct WeightedIngress<'r>(pub &'r SkipperRoute);

impl Provider for WeightedIngress<'_> {
    fn resource(&self) -> ApiResource {
        ingress::ingress()
    }

    fn names(&self, context: &Context<'_>) -> Vec<String> {
        let name = self.title(&context.service.name);
        vec![name.clone(), matched_name(&name)]
    }

    fn title(&self, service: &str) -> String {
        self.0.name.as_deref().unwrap_or(service).to_owned()
    }

    fn capability(&self) -> &'static Capability {
        &CAPABILITY
    }

    fn creates(&self, _context: &Context<'_>, index: usize) -> bool {
        self.0.name.is_none() || index == MATCHED
    }

    fn fields(&self) -> &'static [&'static [&'static str]] {
        &[&["spec", "rules"], &["metadata", "annotations", WEIGHTS]]
    }

    fn problems(&self, context: &Context<'_>) -> Vec<Problem> {
        problems(context)
    }

    fn claims(&self, context: &Context<'_>, _objects: Objects<'_>, _index: usize) -> Result<Vec<String>, RouteError> {
        Ok(vec![context.service.name.clone()])
    }

    fn read(&self, context: &Context<'_>, objects: Objects<'_>) -> Result<Distribution, RouteError> {
        let objects = &*with_primary(context, objects);
        only(objects).map_or_else(|| Ok(Distribution::new()), |object| shown(context, object))
    }

    fn set(
        &self,
        context: &Context<'_>,
        objects: Objects<'_>,
        wanted: &Split,
    ) -> Result<Vec<Option<Arc<DynamicObject>>>, RouteError> {
        let (weights, objects) = (&wanted.weights, &*with_primary(context, objects));
        let Some(mut object) = only(objects).cloned().or_else(|| self.draft(context, weights)) else {
            return Ok(vec![None, None]);
        };
        let mut annotated = annotated(&object)?;
        for (index, groups) in paths(&object) {
            let weighted =
                |group: Vec<Value>| if is_ours(context, &group) { weighted(context, group, weights) } else { group };
            put_paths(&mut object, index, groups.into_iter().flat_map(weighted).collect());
        }
        annotated.retain(|name, _| backend::member(context, name).is_none());
        for name in paths(&object).iter().flat_map(|(_, groups)| groups).flatten().map(service_of) {
            if let Some(member) = backend::member(context, name) {
                annotated.insert(name.to_owned(), weights.weight(member).into());
            }
        }
        put_annotated(&mut object, &annotated);
        let beside = objects.get(MATCHED).and_then(Option::as_deref);
        let matched_ingress = wanted.matched().and_then(|matched| matched_ingress(context, &object, beside, matched));
        Ok(vec![Some(object.into()), matched_ingress.map(Arc::new)])
    }

    fn applies_steering(&self, context: &Context<'_>, objects: Objects<'_>, steering: &Steering) -> bool {
        let Some(matched) = steering.matched() else { return false };
        let beside = objects.get(MATCHED).and_then(Option::as_deref);
        let wanted = only(objects).and_then(|object| matched_ingress(context, object, beside, matched));
        are_equivalent(objects.get(MATCHED..).unwrap_or_default(), &[wanted.map(Arc::new)])
    }

    fn order(&self, _context: &Context<'_>, _before: Objects<'_>, after: Objects<'_>) -> Vec<usize> {
        matched::order(vec![0], after)
    }

    fn original_rules(&self, context: &Context<'_>, object: &DynamicObject) -> Result<Value, RouteError> {
        let ours =
            |groups: Vec<Vec<Value>>| groups.into_iter().filter(|group| is_ours(context, group)).collect::<Vec<_>>();
        let paths: Map<String, Value> =
            paths(object).into_iter().map(|(index, groups)| (index.to_string(), json!(ours(groups)))).collect();
        let mut weights = annotated(object)?;
        let is_own = |name: &String| !context.copies.is_empty() && *name == context.service.name;
        weights.retain(|name, _| backend::member(context, name).is_some() || is_own(name));
        Ok(json!({"paths": paths, "weights": weights}))
    }

    fn restore(&self, context: &Context<'_>, object: &mut DynamicObject, original: &Value) {
        for (index, mut groups) in paths(object) {
            let kept = items(original.get("paths").and_then(|paths| paths.get(index.to_string())));
            for group in &mut groups {
                let same = |other: &&Value| items(Some(other)).first().map(place) == group.first().map(place);
                if let (true, Some(original)) = (is_ours(context, group), kept.iter().find(same)) {
                    *group = items(Some(original)).to_vec();
                }
            }
            put_paths(object, index, groups.into_iter().flatten().collect());
        }
        let mut weights = annotated(object).unwrap_or_default();
        weights.retain(|name, _| backend::member(context, name).is_none());
        weights.extend(original.get("weights").and_then(Value::as_object).cloned().unwrap_or_default());
        put_annotated(object, &weights);
    }
}

impl WeightedIngress<'_> {
    fn draft(&self, context: &Context<'_>, weights: &Distribution) -> Option<DynamicObject> {
        let members: Vec<&str> = weights.carrying().map(|(member, _)| member).collect();
        let hosts = &self.0.create.as_ref()?.hosts;
        Some(draft(&context.service.name, context, hosts, &members))
    }
}

/// Endpoints that an Ingress with Services cannot reach.
pub(super) fn problems(context: &Context<'_>) -> Vec<Problem> {
    let host = |reach: &Reach| no_host(reach, "an Ingress has one Host for all its backends");
    match context.service.backend {
        Backend::ExternalName(_) | Backend::EndpointSlice(_) => {
            refuse(context, |reach| no_tls(reach, "Skipper sends no SNI to addresses").or_else(|| host(reach)))
        }
        Backend::ClusterIp(_) | Backend::ServiceEntry(_) | Backend::Subset(_) => refuse(context, host),
    }
}

/// The weights that an Ingress shows.
pub(super) fn shown(context: &Context<'_>, object: &DynamicObject) -> Result<Distribution, RouteError> {
    let (title, annotated) = (describe(object), annotated(object)?);
    let ours = paths(object).into_iter().flat_map(|(_, groups)| groups).filter(|group| is_ours(context, group));
    let shown = ours
        .map(|group| weights::distribution(context, &title, &raw(&group, &annotated)))
        .collect::<Result<Vec<_>, _>>()?;
    check_ours(context, object)?;
    weights::agreed(&title, shown)
}

/// The Ingress for requests that are chosen: the paths of the service, for the members that get any of them.
pub(super) fn matched_ingress(
    context: &Context<'_>,
    object: &DynamicObject,
    live: Option<&DynamicObject>,
    matched: &Matched,
) -> Option<DynamicObject> {
    let conditions = alternatives(matched).into_iter().next()?.join(" && ");
    let weights = matched.weights.nonzero();
    let members: Vec<&str> = weights.members().collect();
    let mut matched_ingress = copy_of(object, &matched_name(&object.name_any()));
    lead_to(context, &mut matched_ingress, &members);
    let own = predicates(&matched_ingress);
    let own = if own.trim().is_empty() { String::new() } else { format!("{own} && ") };
    put_predicates(&mut matched_ingress, format!("{own}{conditions}"));
    let weights = weights.iter().map(|(member, weight)| (backend::name(context.service, member), json!(weight)));
    put_annotated(&mut matched_ingress, &weights.collect());
    Some(updated(live, matched_ingress))
}

/// The Ingresses with the primary in the place of the user's own Service, in paths and weights.
pub(super) fn with_primary<'o>(context: &Context<'_>, objects: Objects<'o>) -> Cow<'o, [Option<Arc<DynamicObject>>]> {
    let mut led = ingress::with_primary(context, objects);
    if let Cow::Owned(led) = &mut led {
        led.iter_mut().flatten().for_each(|object| rename_weight(context, Arc::make_mut(object)));
    }
    led
}

fn rename_weight(context: &Context<'_>, object: &mut DynamicObject) {
    let Ok(mut annotated) = annotated(object) else { return };
    if let Some(weight) = annotated.remove(&context.service.name) {
        annotated.insert(backend::name(context.service, PRIMARY), weight);
        put_annotated(object, &annotated);
    }
}

/// The paths of a group, with one for each member that has a weight.
fn weighted(context: &Context<'_>, mut group: Vec<Value>, weights: &Distribution) -> Vec<Value> {
    let is_missing =
        |member: &&str| group.iter().all(|path| backend::member(context, service_of(path)) != Some(*member));
    let missing: Vec<&str> = weights.carrying().map(|(member, _)| member).filter(is_missing).collect();
    let new = group.first().map_or_else(Vec::new, |path| pointing_to(context, path, &missing));
    group.extend(new);
    group
}
