//! Two Ingresses for one split: a stable one, which the user made, and a canary one, which the hub makes and owns.
//!
//! Each leads to one member; the canary says how much of the traffic it takes. Nobody is moved from the Ingress that
//! leads to him while both are needed. A member that is alone stands in the stable one: first the stable Ingress is led
//! to him, and then, with both leading to him, the canary goes. So no prefix of the writes uncovers traffic, and at rest
//! nothing depends on an Ingress that leads to a cluster that has left.

use std::sync::Arc;

use kube::ResourceExt;
use kube::core::{ApiResource, DynamicObject};
use serde_json::{Value, json};

use super::RouteError;
use super::capability::{Capability, Extent, Matching, Values};
use super::ingress::{self, has_own_service, is_of_service, paths, paths_mut, point_to, service_of, with_primary};
use super::json::items;
use super::provider::{Objects, Provider};
use super::weights::{self, Raw};
use crate::api::matches::{FieldMatch, Value as Chosen};
use crate::api::{Distribution, Matched, PRIMARY, Split, Steering};
use crate::backend;
use crate::object::{Context, describe};
use crate::rollout::input::Problem;

const STABLE: usize = 0;
const CANARY: usize = 1;
const CLASS: &str = "kubernetes.io/ingress.class";
const BY_HEADER: &str = "canary-by-header";
const BY_VALUE: &str = "canary-by-header-value";
const BY_PATTERN: &str = "canary-by-header-pattern";
const BY_COOKIE: &str = "canary-by-cookie";

/// One header, or a cookie whose value is `always`: so the annotations say.
pub(super) const MATCHING: Matching = Matching {
    headers: Values::EXACT_OR_REGEX,
    cookies: Values { only: Some("always"), ..Values::EXACT },
    query: Values::NONE,
    extent: Extent::OneCondition,
};

/// What one such kind must say of itself.
pub(super) trait CanaryKind {
    /// What it can do.
    const CAPABILITY: &'static Capability;
    /// The beginning of its annotations.
    const PREFIX: &'static str;
    /// Beginnings of the annotations that a canary does not inherit from its stable Ingress and must repeat.
    const REPEATED: &'static [&'static str];

    /// The stable Ingress.
    fn name(&self) -> &str;

    fn problems(&self, context: &Context<'_>) -> Vec<Problem>;

    /// How much of how much a canary takes.
    fn share(&self, canary: &DynamicObject) -> Result<(u32, u32), RouteError>;

    /// Gives the canary so much of the total.
    fn put_share(&self, canary: &mut DynamicObject, weight: u32, total: u32);

    /// The canary stands where it may among the other Ingresses.
    fn is_placed(&self, _context: &Context<'_>, _stable: &DynamicObject, _canary: &DynamicObject) -> bool {
        true
    }

    /// Gives the canary a place among the other Ingresses.
    fn place(
        &self,
        _context: &Context<'_>,
        _stable: &DynamicObject,
        _canary: &mut DynamicObject,
    ) -> Result<(), RouteError> {
        Ok(())
    }
}

/// Makes a provider of such a kind.
pub(super) struct CanaryIngress<K>(pub K);

impl<K: CanaryKind> Provider for CanaryIngress<K> {
    fn resource(&self) -> ApiResource {
        ingress::ingress()
    }

    fn names(&self, _context: &Context<'_>) -> Vec<String> {
        vec![self.0.name().to_owned(), format!("{}-canary", self.0.name())]
    }

    fn title(&self, _service: &str) -> String {
        self.0.name().to_owned()
    }

    fn capability(&self) -> &'static Capability {
        K::CAPABILITY
    }

    fn creates(&self, _context: &Context<'_>, index: usize) -> bool {
        index == CANARY
    }

    fn fields(&self) -> &'static [&'static [&'static str]] {
        &[&["spec", "rules"]]
    }

    fn problems(&self, context: &Context<'_>) -> Vec<Problem> {
        self.0.problems(context)
    }

    fn claims(&self, context: &Context<'_>, _objects: Objects<'_>, _index: usize) -> Result<Vec<String>, RouteError> {
        Ok(vec![context.service.name.clone()])
    }

    fn read(&self, context: &Context<'_>, objects: Objects<'_>) -> Result<Distribution, RouteError> {
        let objects = &*with_primary(context, objects);
        let Some(stable) = at(objects, STABLE) else { return Ok(Distribution::new()) };
        weights::distribution(context, &describe(stable), &self.raw(context, stable, at(objects, CANARY))?)
    }

    fn set(
        &self,
        context: &Context<'_>,
        objects: Objects<'_>,
        wanted: &Split,
    ) -> Result<Vec<Option<Arc<DynamicObject>>>, RouteError> {
        let objects = &*with_primary(context, objects);
        let Some(live) = at(objects, STABLE) else { return Ok(objects.to_vec()) };
        let stable_member = target_member(context, live)?;
        let canary_member = at(objects, CANARY).map(|canary| target_member(context, canary)).transpose()?;
        let targets = Targets::of(&wanted.reached(), stable_member, canary_member);
        check_steering(live, &targets, wanted)?;
        let mut stable = live.clone();
        if targets.stable != stable_member {
            point_all_to(context, &mut stable, &targets.stable);
        }
        let canary = match targets.canary {
            Some((member, weight)) => {
                let mut canary = self.canary(context, &stable, at(objects, CANARY), &member);
                self.0.put_share(&mut canary, weight, context.total);
                put_matches(&mut canary, K::PREFIX, wanted.steering.as_ref().and_then(Steering::matched));
                self.0.place(context, &stable, &mut canary)?;
                Some(canary)
            }
            None => None,
        };
        Ok(vec![Some(stable.into()), canary.map(Arc::new)])
    }

    /// The primary is named in a canary without share before it takes the place of the user's own Service: the data plane
    /// then knows it when the stable one leads there.
    fn add_at_zero(
        &self,
        context: &Context<'_>,
        objects: Objects<'_>,
        members: &[String],
    ) -> Result<Vec<Option<Arc<DynamicObject>>>, RouteError> {
        let enters = members.iter().any(|member| self.named_member(context, objects) == Some(member.as_str()));
        let (Some(stable), None, true) = (at(objects, STABLE), at(objects, CANARY), enters) else {
            return Ok(objects.to_vec());
        };
        let mut canary = self.canary(context, stable, None, PRIMARY);
        self.0.put_share(&mut canary, 0, context.total);
        self.0.place(context, stable, &mut canary)?;
        Ok(vec![objects[STABLE].clone(), Some(canary.into())])
    }

    fn named_member(&self, context: &Context<'_>, objects: Objects<'_>) -> Option<&'static str> {
        at(objects, STABLE).filter(|stable| has_own_service(context, stable)).map(|_| PRIMARY)
    }

    fn original_rules(&self, context: &Context<'_>, object: &DynamicObject) -> Result<Value, RouteError> {
        Ok(ingress::original_paths(context, object))
    }

    fn restore(&self, context: &Context<'_>, object: &mut DynamicObject, original: &Value) {
        ingress::restore_paths(context, object, original);
    }

    /// A canary that takes more goes first, for the stable one may then lead elsewhere; else it goes last.
    fn order(&self, _context: &Context<'_>, before: Objects<'_>, after: Objects<'_>) -> Vec<usize> {
        let share = |objects| at(objects, CANARY).and_then(|canary| self.0.share(canary).ok()).unwrap_or((0, 1));
        let ((before, of_before), (after, of_after)) = (share(before), share(after));
        let rises = u64::from(after) * u64::from(of_before) > u64::from(before) * u64::from(of_after);
        if rises { vec![CANARY, STABLE] } else { vec![STABLE, CANARY] }
    }

    fn applies_steering(&self, _context: &Context<'_>, objects: Objects<'_>, steering: &Steering) -> bool {
        let applies = |canary: &DynamicObject, matched| {
            let mut expected = canary.clone();
            put_matches(&mut expected, K::PREFIX, Some(matched));
            expected.metadata.annotations == canary.metadata.annotations
        };
        at(objects, CANARY).zip(steering.matched()).is_some_and(|(canary, matched)| applies(canary, matched))
    }

    fn is_placed(&self, context: &Context<'_>, objects: Objects<'_>) -> bool {
        match (at(objects, STABLE), at(objects, CANARY)) {
            (Some(stable), Some(canary)) => {
                self.follows(context, stable, canary) && self.0.is_placed(context, stable, canary)
            }
            (None, _) | (_, None) => true,
        }
    }
}

impl<K: CanaryKind> CanaryIngress<K> {
    fn raw(
        &self,
        context: &Context<'_>,
        stable: &DynamicObject,
        canary: Option<&DynamicObject>,
    ) -> Result<Vec<Raw>, RouteError> {
        let kept = target_backend(context, stable)?.to_owned();
        let Some(canary) = canary else { return Ok(vec![(kept, 1)]) };
        let taken = target_backend(context, canary)?.to_owned();
        if taken == kept {
            return Ok(vec![(kept, 1)]);
        }
        let (weight, total) = self.0.share(canary)?;
        Ok(vec![(kept, u64::from(total.saturating_sub(weight))), (taken, u64::from(weight))])
    }

    /// The canary is for the same requests as the stable one. A data plane gives one that is not only a part of its weight,
    /// or none: people may have changed the stable one since.
    fn follows(&self, context: &Context<'_>, stable: &DynamicObject, canary: &DynamicObject) -> bool {
        let renewed = target_member(context, canary).map(|member| self.canary(context, stable, Some(canary), member));
        renewed.is_ok_and(|renewed| renewed == *canary)
    }

    /// The canary with the stable one's paths of the service, all of which lead to this member.
    fn canary(
        &self,
        context: &Context<'_>,
        stable: &DynamicObject,
        live: Option<&DynamicObject>,
        member: &str,
    ) -> DynamicObject {
        let new = || {
            DynamicObject::new(&format!("{}-canary", self.0.name()), &ingress::ingress())
                .within(context.namespace)
                .data(json!({"spec": {}}))
        };
        let mut canary = live.cloned().unwrap_or_else(new);
        let class = stable.data.pointer("/spec/ingressClassName");
        let spec = json!({"spec": {"ingressClassName": class, "rules": rules(context, stable)}});
        json_patch::merge(&mut canary.data, &spec);
        point_all_to(context, &mut canary, member);
        let is_repeated = |key: &str| key == CLASS || K::REPEATED.iter().any(|start| key.starts_with(start));
        for (key, value) in stable.annotations().iter().filter(|(key, _)| is_repeated(key)) {
            canary.annotations_mut().insert(key.clone(), value.clone());
        }
        canary
    }
}

/// Which member each Ingress points to.
struct Targets {
    stable: String,
    canary: Option<(String, u32)>,
}

impl Targets {
    /// Of two members each stays where he is, if he is anywhere.
    fn of(receiving: &Distribution, stable: &str, canary: Option<&str>) -> Self {
        let mut members = receiving.clone().into_iter();
        match (members.next(), members.next()) {
            (None, _) => Self { stable: stable.to_owned(), canary: None },
            (Some((only, _)), None) => Self { stable: only, canary: None },
            (Some(one), Some(other)) => {
                let swapped = other.0 == stable || (canary == Some(one.0.as_str()) && one.0 != stable);
                let (kept, taken) = if swapped { (other, one) } else { (one, other) };
                Self { stable: kept.0, canary: Some(taken) }
            }
        }
    }
}

/// Requests can be chosen for the canary alone.
fn check_steering(stable: &DynamicObject, targets: &Targets, wanted: &Split) -> Result<(), RouteError> {
    let title = describe(stable);
    let canary = targets.canary.as_ref().map(|(member, _)| member.as_str());
    match wanted.steering.as_ref().and_then(|steering| steering.members().find(|member| Some(*member) != canary)) {
        Some(member) => Err(RouteError::CannotCarry(format!(
            "{title}: requests can be chosen for the canary Ingress only, and {member} stands in the stable one: leave matches out for it"
        ))),
        None if wanted.reached().len() > 2 => Err(RouteError::CannotCarry(format!(
            "{title}: it and its canary lead to two members, and three would get requests: move fewer members at once"
        ))),
        None => Ok(()),
    }
}

/// Says which requests the canary takes beside its share.
fn put_matches(canary: &mut DynamicObject, prefix: &str, matched: Option<&Matched>) {
    let sort = matched.and_then(|matched| matched.matches.first());
    let header = sort.and_then(|sort| sort.headers.first());
    let cookie = sort.and_then(|sort| sort.cookies.first()).map(|cookie| cookie.name.as_str());
    let (value, pattern) = match header.and_then(FieldMatch::value) {
        Some(Chosen::Exact(text)) => (Some(text), None),
        Some(Chosen::Regex(text)) => (None, Some(text)),
        Some(Chosen::Prefix(_)) | None => (None, None),
    };
    let name = header.map(|header| header.name.as_str());
    for (key, text) in [(BY_HEADER, name), (BY_VALUE, value), (BY_PATTERN, pattern), (BY_COOKIE, cookie)] {
        let key = format!("{prefix}/{key}");
        match text {
            Some(text) => canary.annotations_mut().insert(key, text.to_owned()),
            None => canary.annotations_mut().remove(&key),
        };
    }
}

fn at(objects: Objects<'_>, index: usize) -> Option<&DynamicObject> {
    objects.get(index).and_then(Option::as_deref)
}

/// The stable one's rules, with the paths of the service alone.
fn rules(context: &Context<'_>, stable: &DynamicObject) -> Vec<Value> {
    let rules = items(stable.data.pointer("/spec/rules")).iter().enumerate();
    let own = |(index, rule): (usize, &Value)| {
        let paths: Vec<&Value> =
            own_paths(context, stable).filter(|(of, _)| *of == index).map(|(_, path)| path).collect();
        let host = rule.get("host");
        (!paths.is_empty()).then(|| match host {
            Some(host) => json!({"host": host, "http": {"paths": paths}}),
            None => json!({"http": {"paths": paths}}),
        })
    };
    rules.filter_map(own).collect()
}

/// The paths that lead to a member of the service, with the index of their rule.
fn own_paths<'o>(context: &Context<'o>, object: &'o DynamicObject) -> impl Iterator<Item = (usize, &'o Value)> {
    let context = *context;
    paths(object).filter(move |(_, path)| is_of_service(&context, path))
}

fn point_all_to(context: &Context<'_>, object: &mut DynamicObject, member: &str) {
    for (_, path) in paths_mut(object).filter(|(_, path)| is_of_service(context, path)) {
        point_to(path, context, member);
    }
}

/// The member that an Ingress points to.
fn target_member<'c>(context: &Context<'c>, object: &DynamicObject) -> Result<&'c str, RouteError> {
    let name = target_backend(context, object)?;
    backend::member(context, name).ok_or_else(|| ingress::unknown(context, object, name))
}

/// The one backend of the service that an Ingress points to.
fn target_backend<'o>(context: &Context<'_>, object: &'o DynamicObject) -> Result<&'o str, RouteError> {
    let names: Vec<&str> = paths(object).map(|(_, path)| service_of(path)).collect();
    let mut own: Vec<&str> = names.iter().copied().filter(|name| backend::is_of_service(context, name)).collect();
    own.dedup();
    match own.as_slice() {
        [one] => Ok(one),
        [] => Err(ingress::unknown(context, object, names.first().unwrap_or(&"none"))),
        [one, other, ..] => Err(RouteError::Unreadable(format!(
            "{}: its paths lead to {one} and to {other}: lead them to one Service",
            describe(object)
        ))),
    }
}
