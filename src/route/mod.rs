//! Routes: the objects of a mesh or ingress in which the weights live.
//!
//! Everything here is pure: objects in, objects out. A kind of route is one `Provider` in a file of its own; what is
//! the same for all of them (marks, claims, originals, owners, the order of writes) is done here, once.

mod accepted;
mod aliyun_alb;
mod canary_ingress;
pub mod capability;
#[cfg(test)]
mod conformance;
mod context;
mod contour;
pub mod editor;
mod error;
mod gateway_api;
mod ingress;
mod json;
mod kubernetes;
mod listed;
mod lists;
pub mod mark;
mod nginx;
mod order;
mod original;
pub(crate) mod owner;
mod provider;
mod refusal;
mod skipper;
mod wanted;
mod weights;

use aliyun_alb::AliyunAlb;
use canary_ingress::CanaryIngress;
use capability::{Capability, Leads};
pub use context::{Context, NO_COPIES, Target, Write};
pub use error::RouteError;
use kube::ResourceExt;
use kube::core::{ApiResource, DynamicObject};
use kubernetes::SwitchedService;
use listed::{ListKind, Listed};
use nginx::Nginx;
use provider::{Objects, Provider};
use serde_json::Value;

use crate::api::service::{ContourRoute, GatewayApiRoute, SkipperForm};
use crate::api::{Affinity, DeletionPolicy, Distribution, Reason, Route, ServiceSpec, Trial};
use crate::rollout::RouteKey;
use crate::rollout::input::{Accepted, LiveRoute, Mark, Problem, RouteSeen};
use owner::Owner;
use skipper::per_member::IngressPerMember;
use skipper::route_group::RouteGroup;
use skipper::weighted::WeightedIngress;
use wanted::Kept;
pub use wanted::Wanted;

fn provider(route: &Route) -> Box<dyn Provider + '_> {
    match route {
        Route::GatewayApi(route) => Box::new(Listed(route)),
        Route::Contour(route) => Box::new(Listed(route)),
        Route::Skipper(route) => match route.form {
            SkipperForm::RouteGroup => Box::new(RouteGroup(route)),
            SkipperForm::Ingress => Box::new(WeightedIngress(route)),
            SkipperForm::IngressPerMember => Box::new(IngressPerMember(route)),
        },
        Route::Nginx(route) => Box::new(CanaryIngress(Nginx(route))),
        Route::AliyunAlb(route) => Box::new(CanaryIngress(AliyunAlb(route))),
        Route::Kubernetes(route) => Box::new(SwitchedService(route)),
    }
}

/// Every kind of route, for people.
#[must_use]
pub const fn capabilities() -> [&'static Capability; 8] {
    [
        GatewayApiRoute::CAPABILITY,
        ContourRoute::CAPABILITY,
        &skipper::route_group::CAPABILITY,
        &skipper::weighted::CAPABILITY,
        &skipper::per_member::CAPABILITY,
        &nginx::CAPABILITY,
        &aliyun_alb::CAPABILITY,
        &kubernetes::CAPABILITY,
    ]
}

/// What a kind of route can do.
#[must_use]
pub fn capability(route: &Route) -> &'static Capability {
    provider(route).capability()
}

/// The route's name for people, and its key in status: `HTTPRoute/public#main`.
#[must_use]
pub fn key(service: &ServiceSpec, route: &Route) -> RouteKey {
    let provider = provider(route);
    let route = format!("{}/{}", provider.resource().kind, provider.title(&service.name));
    RouteKey { service: service.name.clone(), route }
}

/// The objects to fetch. Their order is that of the objects which the other functions take.
#[must_use]
pub fn targets(context: &Context<'_>, route: &Route) -> Vec<Target> {
    let provider = provider(route);
    let target = |name| Target { resource: provider.resource(), namespace: context.namespace.to_owned(), name };
    provider.names(context).into_iter().map(target).collect()
}

/// The kind of which every object in the cluster counts, because they share one row of numbers.
#[must_use]
pub fn neighbours(route: &Route) -> Option<ApiResource> {
    match route {
        Route::AliyunAlb(_) => Some(provider(route).resource()),
        Route::GatewayApi(_) | Route::Contour(_) | Route::Skipper(_) | Route::Nginx(_) | Route::Kubernetes(_) => None,
    }
}

/// Combinations of route, backend and endpoint that would lie about weights or could not reach a member.
#[must_use]
pub fn problems(context: &Context<'_>, route: &Route) -> Vec<Problem> {
    let provider = provider(route);
    let mut problems = crate::backend::problems(context);
    match provider.capability().leads(&context.service.backend) {
        Leads::Yes => problems.extend(provider.problems(context)),
        Leads::No { why, remedy } => {
            let message = format!("service {}: {why}: {remedy}", context.service.name);
            problems.push(Problem::new(Reason::CannotCarryWeights, message));
        }
    }
    problems
}

/// What live objects show.
#[must_use]
pub fn read(context: &Context<'_>, route: &Route, objects: &[Option<DynamicObject>]) -> RouteSeen {
    live(context, provider(route).as_ref(), objects).unwrap_or_else(|error| RouteSeen::Unusable(error.into()))
}

/// The writes that bring the route to these weights and leave the mark, in an order that never uncovers traffic.
/// Nothing where it is so already.
pub fn render<'w>(
    context: &Context<'_>,
    route: &Route,
    objects: &[Option<DynamicObject>],
    wanted: impl Into<Wanted<'w>>,
    mark: &Mark,
) -> Result<Vec<Write>, RouteError> {
    let (provider, wanted) = (provider(route), wanted.into());
    check_present(context, provider.as_ref(), objects)?;
    check_able(provider.as_ref(), wanted)?;
    let mut after = provider.set(context, objects, wanted)?;
    for object in after.iter_mut().flatten() {
        Trial::keep(object, context.uid, wanted.trial);
        Affinity::keep(object, context.uid, wanted.affinity);
    }
    sign(context, provider.as_ref(), objects, &mut after, mark)?;
    check_shown(context, provider.as_ref(), &after, wanted.weights)?;
    Ok(writes(context, route, objects, after))
}

/// What must be done before members that have no weight yet get one.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// Nothing: the data plane knows them all.
    Done,
    /// It has not accepted the route that names them yet.
    Pending,
    /// These writes name them, at weight 0.
    Missing(Vec<Write>),
}

/// A data plane may learn of a route's new backend later than of the route, and refuse requests until then. So a
/// backend is named at weight 0 first, and that must be accepted, where the kind can name one without weight.
pub fn entry<'w>(
    context: &Context<'_>,
    route: &Route,
    objects: &[Option<DynamicObject>],
    wanted: impl Into<Wanted<'w>>,
    mark: &Mark,
) -> Result<Entry, RouteError> {
    let (provider, wanted) = (provider(route), wanted.into());
    if objects.iter().all(Option::is_none) {
        return Ok(Entry::Done);
    }
    let shown = provider.read(context, objects)?;
    let stood_for = provider.stands_for(context, objects);
    let has = |member: &String| shown.get(member).is_some_and(|weight| *weight > 0) && stood_for != Some(member);
    let entering: Vec<String> = wanted.receiving().into_keys().filter(|member| !has(member)).collect();
    let mut after = provider.name(context, objects, &entering)?;
    if after != objects {
        // The weights are those of before, so the mark is as well.
        let mark = Mark { sequence: mark.sequence.saturating_sub(1), ..mark.clone() };
        sign(context, provider.as_ref(), objects, &mut after, &mark)?;
        return Ok(Entry::Missing(writes(context, route, objects, after)));
    }
    let accepted =
        objects.iter().flatten().map(|object| provider.accepted(object)).fold(Accepted::Unsaid, accepted::together);
    Ok(if !entering.is_empty() && accepted == Accepted::Pending { Entry::Pending } else { Entry::Done })
}

/// Leaves the mark, and what belongs to a first write: the owner, or what an adopted route held.
fn sign(
    context: &Context<'_>,
    provider: &dyn Provider,
    objects: Objects<'_>,
    after: &mut [Option<DynamicObject>],
    mark: &Mark,
) -> Result<(), RouteError> {
    for (index, object) in after.iter_mut().enumerate() {
        let Some(object) = object else { continue };
        let rules = provider.claims(context, objects, index)?;
        match objects.get(index).and_then(Option::as_ref) {
            Some(before) if provider.creates(context, index) => {
                check_owner(context, before)?;
                owner::take(object, context);
            }
            Some(before) if mark::entries(before)?.iter().any(|entry| entry.mark.rollout == context.uid) => {}
            Some(before) => original::keep(object, context.uid, provider.held(context, before)?)?,
            None => owner::take(object, context),
        }
        mark::set(object, mark, &rules)?;
    }
    Ok(())
}

/// Gives the route back. `Retain` leaves the weights; `Revert` puts adopted rules back and removes what the hub made.
/// An object whose rules another hub or rollout wrote last is left alone.
pub fn release(
    context: &Context<'_>,
    route: &Route,
    objects: &[Option<DynamicObject>],
    policy: DeletionPolicy,
) -> Result<Vec<Write>, RouteError> {
    let provider = provider(route);
    let mut after = objects.to_vec();
    for (index, slot) in after.iter_mut().enumerate() {
        let Some(before) = slot.take() else { continue };
        let rules = provider.claims(context, objects, index).unwrap_or_default();
        let entries = mark::entries(&before)?;
        let ours = mark::claimant(&entries, context.uid, &rules)
            .is_some_and(|entry| entry.mark.rollout == context.uid && entry.mark.hub == context.hub);
        *slot = if ours { released(context, provider.as_ref(), before, policy)? } else { Some(before) };
    }
    Ok(writes(context, route, objects, after))
}

/// True if any of the objects still names this backend, in whatever place.
#[must_use]
pub fn names(objects: &[Option<DynamicObject>], backend: &str) -> bool {
    fn within(value: &Value, name: &str) -> bool {
        match value {
            Value::String(text) => text == name,
            Value::Array(items) => items.iter().any(|item| within(item, name)),
            Value::Object(fields) => fields.values().any(|field| within(field, name)),
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }
    objects.iter().flatten().any(|object| object.data.get("spec").is_some_and(|spec| within(spec, backend)))
}

fn live(context: &Context<'_>, provider: &dyn Provider, objects: Objects<'_>) -> Result<RouteSeen, RouteError> {
    let present: Vec<&DynamicObject> = objects.iter().flatten().collect();
    if present.is_empty() && creates_all(context, provider, objects) {
        return Ok(RouteSeen::ToCreate);
    }
    check_present(context, provider, objects)?;
    let mark = last_mark(context, provider, objects)?;
    for (index, object) in objects.iter().enumerate() {
        match object {
            Some(object) if provider.creates(context, index) => check_owner(context, object)?,
            Some(object) if mark.is_none() => check_applier(provider, object)?,
            Some(_) | None => {}
        }
    }
    let weights = match provider.read(context, objects) {
        Err(RouteError::Uncovered(_)) if creates_all(context, provider, objects) => return Ok(RouteSeen::ToCreate),
        weights => weights?,
    };
    let accepted = present.iter().map(|object| provider.accepted(object)).fold(Accepted::Unsaid, accepted::together);
    let trial = present.iter().find_map(|object| Trial::kept(object, context.uid));
    let trial = trial.filter(|trial| provider.shows(context, objects, trial));
    let affinity = present.iter().find_map(|object| Affinity::kept(object, context.uid));
    let affinity = affinity.filter(|affinity| provider.keeps(context, objects, affinity));
    let editor = editor::last(&present);
    let live = LiveRoute { weights, trial, affinity, mark, accepted, editor, failed: None };
    Ok(RouteSeen::Live(Box::new(live)))
}

/// Of several objects the least recent mark counts: until the last one is written, the write is not done. Nor is it
/// while an object must move out of another's place.
fn last_mark(context: &Context<'_>, provider: &dyn Provider, objects: Objects<'_>) -> Result<Option<Mark>, RouteError> {
    let mut marks = Vec::new();
    for (index, object) in objects.iter().enumerate() {
        let Some(object) = object else { continue };
        let rules = provider.claims(context, objects, index)?;
        marks.push(mark::claimant(&mark::entries(object)?, context.uid, &rules).map(|entry| entry.mark.clone()));
    }
    let oldest = marks
        .into_iter()
        .min_by_key(|mark| mark.as_ref().map(|mark| (mark.rollout == context.uid, mark.sequence)))
        .flatten();
    let not_done = |mark: Mark| Mark { sequence: mark.sequence.saturating_sub(1), ..mark };
    Ok(if provider.is_placed(context, objects) { oldest } else { oldest.map(not_done) })
}

fn released(
    context: &Context<'_>,
    provider: &dyn Provider,
    mut object: DynamicObject,
    policy: DeletionPolicy,
) -> Result<Option<DynamicObject>, RouteError> {
    match policy {
        DeletionPolicy::Revert if Owner::of(&object, context) == Owner::This => return Ok(None),
        DeletionPolicy::Revert => {
            if let Some(held) = original::kept(&object, context.uid)? {
                provider.restore(context, &mut object, &held);
            }
        }
        DeletionPolicy::Retain => owner::give_back(&mut object),
    }
    original::forget(&mut object, context.uid)?;
    Trial::keep(&mut object, context.uid, None);
    Affinity::keep(&mut object, context.uid, None);
    mark::remove(&mut object, context.uid)?;
    Ok(Some(object))
}

fn writes(
    context: &Context<'_>,
    route: &Route,
    before: Objects<'_>,
    mut after: Vec<Option<DynamicObject>>,
) -> Vec<Write> {
    let targets = targets(context, route);
    let order = provider(route).order(context, before, &after);
    let write = |index: usize| {
        Write::between(targets.get(index)?.clone(), before.get(index)?.as_ref(), after.get_mut(index)?.take())
    };
    order.into_iter().filter_map(write).collect()
}

fn check_present(context: &Context<'_>, provider: &dyn Provider, objects: Objects<'_>) -> Result<(), RouteError> {
    let is_there = |index: usize| !provider.creates(context, index) && objects.get(index).is_some_and(Option::is_some);
    if creates_all(context, provider, objects) || (0..objects.len()).any(is_there) {
        return Ok(());
    }
    let (kind, namespace) = (provider.resource().kind, context.namespace);
    let names: Vec<String> = provider
        .names(context)
        .into_iter()
        .enumerate()
        .filter(|(index, _)| !provider.creates(context, *index))
        .map(|(_, name)| name)
        .collect();
    Err(RouteError::NotFound(format!("{kind} {} in namespace {namespace}", names.join(", "))))
}

fn creates_all(context: &Context<'_>, provider: &dyn Provider, objects: Objects<'_>) -> bool {
    (0..objects.len()).all(|index| provider.creates(context, index))
}

/// The kind can hold this at all.
fn check_able(provider: &dyn Provider, wanted: Wanted<'_>) -> Result<(), RouteError> {
    match provider.capability().refusal(wanted) {
        Some((found, remedy)) => Err(RouteError::CannotCarry(format!("{found}: {remedy}"))),
        None => Ok(()),
    }
}

/// What is about to be written reads back as what was asked for.
fn check_shown(
    context: &Context<'_>,
    provider: &dyn Provider,
    after: Objects<'_>,
    asked: &Distribution,
) -> Result<(), RouteError> {
    let shown = provider.read(context, after)?;
    if weights::nonzero(&shown) == weights::nonzero(asked) {
        return Ok(());
    }
    let (kind, names) = (provider.resource().kind, provider.names(context).join(", "));
    let (shown, asked) = (weights::words(&shown), weights::words(asked));
    Err(RouteError::CannotCarry(format!(
        "{kind} {names} would show {shown} instead of {asked}: declare every member, and let the weights sum to weightTotal"
    )))
}

fn check_owner(context: &Context<'_>, object: &DynamicObject) -> Result<(), RouteError> {
    let owner = match Owner::of(object, context) {
        Owner::This | Owner::Released => return Ok(()),
        Owner::Other(uid) => format!("belongs to the rollout with uid {uid}"),
        Owner::Foreign => "exists and was not made by cutover".to_owned(),
    };
    Err(RouteError::Conflict { object: describe(object), owner })
}

fn check_applier(provider: &dyn Provider, object: &DynamicObject) -> Result<(), RouteError> {
    for path in provider.fields() {
        if let Some(manager) = editor::applier(object, path) {
            return Err(RouteError::ManagedByOther { object: describe(object), field: path.join("."), manager });
        }
    }
    Ok(())
}

/// Kind and name, for messages.
fn describe(object: &DynamicObject) -> String {
    let kind = object.types.as_ref().map_or("object", |types| types.kind.as_str());
    format!("{kind} {}", object.name_any())
}
