//! A route of one object that keeps its weights in [`Lists`]: HTTPRoute, HTTPProxy and VirtualService differ in little more
//! than names.

use std::sync::Arc;

use kube::core::{ApiResource, DynamicObject};
use serde_json::{Value, json};

use super::RouteError;
use super::capability::Capability;
use super::desired::Stored;
use super::lists::Lists;
use super::provider::{Objects, Provider, only};
use super::release::has_traces;
use crate::api::{Affinity, Distribution, PRIMARY, Split, Steering};
use crate::object::{Context, describe};
use crate::rollout::input::{Accepted, Problem};

/// What one such kind must say of itself.
pub(super) trait ListKind {
    /// Where it keeps the weights.
    const LISTS: Lists;
    /// The same, as managed fields name it.
    const FIELDS: &'static [&'static [&'static str]];

    /// What it can do.
    fn capability(&self) -> &'static Capability;

    fn resource(&self) -> ApiResource;

    /// The object to adopt.
    fn name(&self) -> Option<&str>;

    /// The rules that are declared.
    fn rules(&self) -> &[String];

    /// The `spec` of a new object, with one rule that has no backends yet; `None` where an object is adopted.
    fn draft(&self) -> Option<Value>;

    fn problems(&self, context: &Context<'_>) -> Vec<Problem>;

    /// Why an object that the hub has not written yet cannot be adopted with these rules; each with its name.
    fn unfit(&self, _context: &Context<'_>, _object: &DynamicObject, _rules: &[(String, &Value)]) -> Option<String> {
        None
    }

    /// Why this cannot be done to requests by an object that is there.
    fn cannot_steer(&self, _object: &DynamicObject, _steering: &Steering) -> Option<String> {
        None
    }

    fn accepted(&self, object: &DynamicObject) -> Accepted;
}

/// Makes a provider of such a kind.
pub(super) struct Listed<'r, K>(pub &'r K);

impl<K: ListKind> Listed<'_, K> {
    /// The object without what was desired besides its weights.
    fn weights_only(&self, context: &Context<'_>, object: &DynamicObject) -> DynamicObject {
        K::LISTS.weights_only(context, object, self.0.rules())
    }

    /// What is desired besides the weights, for an object that has nothing of it.
    fn apply_steering(
        &self,
        context: &Context<'_>,
        object: &mut DynamicObject,
        steering: Option<&Steering>,
        affinity: Option<&Affinity>,
    ) -> Result<(), RouteError> {
        if let Some(steering) = steering {
            if let Some(why) = self.0.cannot_steer(object, steering) {
                return Err(RouteError::CannotCarry(format!("{}: {why}", describe(object))));
            }
            K::LISTS.apply_steering(context, object, self.0.rules(), steering)?;
        }
        affinity.map_or(Ok(()), |affinity| K::LISTS.apply_affinity(context, object, self.0.rules(), affinity))
    }
}

impl<K: ListKind> Provider for Listed<'_, K> {
    fn resource(&self) -> ApiResource {
        self.0.resource()
    }

    fn names(&self, context: &Context<'_>) -> Vec<String> {
        vec![self.0.name().unwrap_or(&context.service.name).to_owned()]
    }

    fn title(&self, service: &str) -> String {
        let name = self.0.name().unwrap_or(service);
        let rules: Vec<&str> = self.0.rules().iter().map(|rule| rule.trim_start_matches('#')).collect();
        if rules.is_empty() { name.to_owned() } else { format!("{name}#{}", rules.join(",")) }
    }

    fn capability(&self) -> &'static Capability {
        self.0.capability()
    }

    fn creates(&self, _context: &Context<'_>, _index: usize) -> bool {
        self.0.name().is_none()
    }

    fn fields(&self) -> &'static [&'static [&'static str]] {
        K::FIELDS
    }

    fn problems(&self, context: &Context<'_>) -> Vec<Problem> {
        self.0.problems(context)
    }

    fn claims(&self, context: &Context<'_>, objects: Objects<'_>, _index: usize) -> Result<Vec<String>, RouteError> {
        only(objects).map_or_else(
            || Ok(vec!["#0".to_owned()]),
            |object| K::LISTS.claims(&self.weights_only(context, object), self.0.rules()),
        )
    }

    fn read(&self, context: &Context<'_>, objects: Objects<'_>) -> Result<Distribution, RouteError> {
        let Some(live) = only(objects) else { return Ok(Distribution::new()) };
        let object = self.weights_only(context, live);
        if !has_traces(context, live) {
            let rules = K::LISTS.selected(&object, self.0.rules())?;
            if let Some(why) = self.0.unfit(context, &object, &rules) {
                return Err(RouteError::CannotCarry(format!("{}: {why}", describe(live))));
            }
        }
        K::LISTS.read(context, &object, self.0.rules())
    }

    fn set(
        &self,
        context: &Context<'_>,
        objects: Objects<'_>,
        wanted: &Split,
    ) -> Result<Vec<Option<Arc<DynamicObject>>>, RouteError> {
        let new = |spec| {
            DynamicObject::new(&context.service.name, &self.resource())
                .within(context.namespace)
                .data(json!({"spec": spec}))
        };
        let live = only(objects).map(|object| self.weights_only(context, object));
        let mut object = live.or_else(|| self.0.draft().map(new));
        if let Some(object) = &mut object {
            K::LISTS.set(context, object, self.0.rules(), &wanted.weights)?;
            if only(objects).is_some_and(|live| matches!(self.0.accepted(live), Accepted::No(_))) {
                K::LISTS.leave_idle_out(context, object, self.0.rules())?;
            }
            self.apply_steering(context, object, wanted.steering.as_ref(), wanted.affinity.as_ref())?;
        }
        Ok(vec![object.map(Arc::new)])
    }

    fn add_at_zero(
        &self,
        context: &Context<'_>,
        objects: Objects<'_>,
        members: &[String],
    ) -> Result<Vec<Option<Arc<DynamicObject>>>, RouteError> {
        let Some(live) = only(objects) else { return Ok(vec![None]) };
        let weights_only = self.weights_only(context, live);
        let mut object = weights_only.clone();
        K::LISTS.add_at_zero(context, &mut object, self.0.rules(), members)?;
        // Rules that are made anew lack what an API server added to those that are there, and never stop to differ.
        if object == weights_only {
            return Ok(objects.to_vec());
        }
        let steering =
            Steering::stored(live, context.uid).filter(|steering| self.applies_steering(context, objects, steering));
        let affinity =
            Affinity::stored(live, context.uid).filter(|affinity| self.applies_affinity(context, objects, affinity));
        self.apply_steering(context, &mut object, steering.as_ref(), affinity.as_ref())?;
        Ok(vec![Some(object.into())])
    }

    fn named_member(&self, context: &Context<'_>, objects: Objects<'_>) -> Option<&'static str> {
        let live = self.weights_only(context, only(objects)?);
        K::LISTS.sends_to_own_service(context, &live, self.0.rules()).then_some(PRIMARY)
    }

    fn applies_steering(&self, context: &Context<'_>, objects: Objects<'_>, steering: &Steering) -> bool {
        only(objects).is_some_and(|object| K::LISTS.applies_steering(context, object, self.0.rules(), steering))
    }

    fn applies_affinity(&self, context: &Context<'_>, objects: Objects<'_>, affinity: &Affinity) -> bool {
        only(objects).is_some_and(|object| K::LISTS.applies_affinity(context, object, self.0.rules(), affinity))
    }

    fn names_idle(&self, context: &Context<'_>, objects: Objects<'_>) -> bool {
        let names = |object| K::LISTS.names_idle(context, &self.weights_only(context, object), self.0.rules());
        only(objects).is_some_and(names)
    }

    fn original_rules(&self, context: &Context<'_>, object: &DynamicObject) -> Result<Value, RouteError> {
        K::LISTS.original_rules(&self.weights_only(context, object), self.0.rules())
    }

    fn restore(&self, context: &Context<'_>, object: &mut DynamicObject, original: &Value) {
        *object = self.weights_only(context, object);
        K::LISTS.restore(object, original);
    }

    fn accepted(&self, object: &DynamicObject) -> Accepted {
        self.0.accepted(object)
    }
}
