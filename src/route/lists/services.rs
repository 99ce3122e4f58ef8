//! The weighted Services of one rule.

use kube::core::DynamicObject;
use serde_json::{Value, json};

use super::super::RouteError;
use super::super::json::{items, put, with};
use super::super::weights::{self, Raw};
use super::Lists;
use super::places::Place;
use crate::api::{Distribution, PRIMARY};
use crate::backend;
use crate::object::{Context, describe};

impl Lists {
    pub(super) fn services<'o>(&self, object: &'o DynamicObject, place: Place) -> &'o [Value] {
        items(self.rule(object, place).get(self.services))
    }

    pub(super) fn put(&self, object: &mut DynamicObject, place: Place, services: Vec<Value>) {
        if let Some(rule) = self.rule_mut(object, place) {
            put(rule, self.services, services);
        }
    }

    pub(super) fn read_rule(
        &self,
        context: &Context<'_>,
        object: &DynamicObject,
        place: Place,
    ) -> Result<Distribution, RouteError> {
        weights::distribution(context, &describe(object), &self.raw(context, object, place)?)
    }

    fn raw(&self, context: &Context<'_>, object: &DynamicObject, place: Place) -> Result<Vec<Raw>, RouteError> {
        let services = self.services(object, place);
        if let Some(odd) = services.iter().find(|service| !is_mirror(service) && !has_whole_weight(service)) {
            let (object, name) = (describe(object), self.backend_name(context, odd));
            let message = format!("{object}: the weight of backend {name} is not a whole number of 0 or more");
            return Err(RouteError::Unreadable(message));
        }
        let counted = self.counted(services);
        // Of the primary and the Service that it replaces, one has nothing yet or any more, and says nothing.
        let replaced = counted.iter().any(|(service, _)| self.is_own_service(context, service));
        let primary = backend::name(context.service, PRIMARY);
        let says_nothing = |service, count| replaced && count == 0 && self.backend_name(context, service) == primary;
        let speaking = counted.into_iter().filter(|(service, count)| !says_nothing(service, *count));
        Ok(speaking.map(|(service, count)| (self.backend_name(context, service), count)).collect())
    }

    /// Every Service with a share, and what it counts.
    pub(super) fn counted<'s>(&self, services: &'s [Value]) -> Vec<(&'s Value, u64)> {
        let services: Vec<&Value> = services.iter().filter(|service| !is_mirror(service)).collect();
        let written: Vec<Option<u64>> = services.iter().map(|service| weight(service)).collect();
        let counts = (self.counts)(&written);
        services.into_iter().zip(counts).collect()
    }

    /// What a Service counts that has no weight while another one of its rule has one.
    pub(super) fn unset(&self) -> u64 {
        (self.counts)(&[None, Some(1)]).first().copied().unwrap_or_default()
    }

    /// The Services with weights that count the same when another one enters at 0.
    pub(super) fn with_explicit_weights(&self, services: &[Value]) -> Vec<Value> {
        let counted = self.counted(services);
        let none_says = counted.iter().all(|(service, _)| weight(service).is_none());
        let mut counts = counted.into_iter().map(|(_, count)| count);
        let explicit = |service: &Value| {
            let count = if is_mirror(service) { None } else { counts.next() };
            let is_wrong = |count: &u64| none_says || weight(service).is_some_and(|weight| weight != *count);
            count.filter(is_wrong).map_or_else(|| service.clone(), |count| with(service, "weight", count))
        };
        services.iter().map(explicit).collect()
    }

    pub(super) fn weighted(
        &self,
        context: &Context<'_>,
        object: &DynamicObject,
        place: Place,
        weights: &Distribution,
    ) -> Result<Vec<Value>, RouteError> {
        let mut waiting = weights.nonzero();
        let mut services = Vec::new();
        let live = self.with_explicit_weights(self.services(object, place));
        for service in &live {
            let name = (self.name)(context, service);
            match backend::member(context, &name).filter(|_| !is_mirror(service)) {
                Some(member) => services.push(self.service(context, member, waiting.remove(member), Some(service))),
                // A data plane may forget a backend before it learns that no route sends anybody there.
                None if self.is_own_service(context, service) => services.push(with(service, "weight", 0)),
                None => services.push(service.clone()),
            }
        }
        services.extend(waiting.iter().map(|(member, weight)| self.added(context, member, weight, &live)));
        self.fit(object, services)
    }

    /// A Service that is not in a rule yet. The primary takes over what the user wrote into the one that stood for it.
    pub(super) fn added(&self, context: &Context<'_>, member: &str, weight: u32, others: &[Value]) -> Value {
        let own = others.iter().find(|service| self.is_own_service(context, service)).filter(|_| member == PRIMARY);
        self.service(context, member, weight, own)
    }

    /// A Service at 0 keeps what its user wrote into it; where there are too many, those at 0 go.
    pub(super) fn fit(&self, object: &DynamicObject, mut services: Vec<Value>) -> Result<Vec<Value>, RouteError> {
        if services.len() > self.max {
            services.retain(|service| is_mirror(service) || service.get("weight").and_then(Value::as_u64) != Some(0));
        }
        if services.len() <= self.max {
            return Ok(services);
        }
        let (name, count, max) = (describe(object), services.len(), self.max);
        Err(RouteError::CannotCarry(format!(
            "{name}: {count} backends in one rule, but the kind takes {max}: move fewer members at once"
        )))
    }

    /// A Service with its weight. What the user named stays as it is but for the weight.
    pub(super) fn service(&self, context: &Context<'_>, member: &str, weight: u32, live: Option<&Value>) -> Value {
        let mut service = live.cloned().unwrap_or_else(|| json!({}));
        if live.is_none() || !context.copies.is_empty() {
            (self.set_name)(context, &mut service, member);
        }
        if live.is_none() || backend::existing(context.service, member).is_none() {
            let fields = (self.fields)(context, member, &service);
            json_patch::merge(&mut service, &fields);
        }
        put(&mut service, "weight", weight);
        service
    }

    /// Service mode: the user's own Service is what the primary was made like; a route that names it is taken over so.
    pub(super) fn is_own_service(&self, context: &Context<'_>, service: &Value) -> bool {
        !context.copies.is_empty() && !is_mirror(service) && (self.name)(context, service) == context.service.name
    }

    /// A backend that the hub may take out of a rule: it gets nothing, and is a member's or the user's own Service.
    pub(super) fn is_idle(&self, context: &Context<'_>, service: &Value) -> bool {
        let is_members = || backend::member(context, &(self.name)(context, service)).is_some();
        let ours = self.is_own_service(context, service) || is_members();
        ours && !is_mirror(service) && service.get("weight") == Some(&0.into())
    }

    /// A Service stands for a member.
    pub(super) fn is_members(&self, context: &Context<'_>, service: &Value, member: &str) -> bool {
        (self.name)(context, service) == backend::name(context.service, member)
    }

    /// The name of the backend for which a Service stands.
    pub(super) fn backend_name(&self, context: &Context<'_>, service: &Value) -> String {
        if self.is_own_service(context, service) {
            backend::name(context.service, PRIMARY)
        } else {
            (self.name)(context, service)
        }
    }
}

/// A mirrored Service gets copies and no share.
pub(crate) fn is_mirror(service: &Value) -> bool {
    service.get("mirror").and_then(Value::as_bool).unwrap_or_default()
}

fn has_whole_weight(service: &Value) -> bool {
    service.get("weight").is_none_or(|weight| weight.is_null() || weight.is_u64())
}

fn weight(service: &Value) -> Option<u64> {
    service.get("weight").and_then(Value::as_u64)
}
