//! Kinds that keep weights in lists of rules, each of which has a list of weighted Services.

use kube::core::DynamicObject;
use serde_json::Value;

use super::RouteError;
use super::json::put;
use super::weights;
use crate::api::{Distribution, RequestMatch};
use crate::backend;
use crate::object::{Context, describe};

mod affinity;
mod matches;
mod mirror;
mod places;
mod services;
mod steering;

pub(super) use affinity::Cookies;
pub(super) use mirror::Mirrors;
pub(super) use services::is_mirror;

/// Where such a kind keeps them.
pub(super) struct Lists {
    /// The lists of rules in `spec`; a rule without a name is known by its place, and by its list where that is not the first.
    pub rules: &'static [&'static str],
    /// What people call many of them.
    pub nouns: &'static str,
    /// The field of the declared route that selects them.
    pub field: &'static str,
    /// Rules are tried in the order in which they stand; elsewhere one with more conditions is tried first.
    pub ordered: bool,
    /// The list of Services in a rule.
    pub services: &'static str,
    /// Most Services that a rule may have.
    pub max: usize,
    /// What each Service of a rule counts, by the weights that are written.
    pub counts: fn(&[Option<u64>]) -> Vec<u64>,
    /// The backend that a Service of a rule names.
    pub name: fn(&Context<'_>, service: &Value) -> String,
    /// Lets a Service of a rule name this member's backend.
    pub set_name: fn(&Context<'_>, service: &mut Value, member: &str),
    /// Rules like this one, without Services, for requests of each of these sorts only; in words, what of the rule's own
    /// conditions makes that impossible.
    pub narrowed: fn(rule: &Value, matches: &[RequestMatch]) -> Result<Vec<Value>, String>,
    /// The conditions under which a rule takes requests, each as a list of them; a rule may have several.
    pub conditions: fn(rule: &Value) -> Vec<Vec<Value>>,
    /// Where a rule says which Services get copies.
    pub mirrors: Mirrors,
    /// How a rule gives cookies and looks at them, if it can.
    pub cookies: Option<Cookies>,
    /// The fields of a member's Service beside its name and weight, as a merge patch of the Service as it is.
    pub fields: fn(&Context<'_>, member: &str, live: &Value) -> Value,
}

impl Lists {
    /// Names of the selected rules: a rule's own, else `#` and its number.
    pub(super) fn claims(&self, object: &DynamicObject, selected: &[String]) -> Result<Vec<String>, RouteError> {
        Ok(self.select(object, selected)?.into_iter().map(|place| self.name_at(object, place)).collect())
    }

    /// The selected rules, each with its name.
    pub(super) fn selected<'o>(
        &self,
        object: &'o DynamicObject,
        selected: &[String],
    ) -> Result<Vec<(String, &'o Value)>, RouteError> {
        let rule = |place| (self.name_at(object, place), self.rule(object, place));
        Ok(self.select(object, selected)?.into_iter().map(rule).collect())
    }

    /// The one distribution that all selected rules show.
    pub(super) fn read(
        &self,
        context: &Context<'_>,
        object: &DynamicObject,
        selected: &[String],
    ) -> Result<Distribution, RouteError> {
        let rules = self.select(object, selected)?.into_iter().map(|place| self.read_rule(context, object, place));
        weights::agreed(&describe(object), rules.collect::<Result<Vec<_>, _>>()?)
    }

    /// Gives these weights to all selected rules; everything else in them stays.
    pub(super) fn set(
        &self,
        context: &Context<'_>,
        object: &mut DynamicObject,
        selected: &[String],
        weights: &Distribution,
    ) -> Result<(), RouteError> {
        for place in self.select(object, selected)? {
            let services = self.weighted(context, object, place, weights)?;
            self.put(object, place, services);
        }
        Ok(())
    }

    /// Names these members at weight 0 in all selected rules; no share of anybody changes.
    pub(super) fn add_at_zero(
        &self,
        context: &Context<'_>,
        object: &mut DynamicObject,
        selected: &[String],
        members: &[String],
    ) -> Result<(), RouteError> {
        for place in self.select(object, selected)? {
            let live = self.services(object, place);
            let missing: Vec<&String> = members.iter().filter(|member| !self.is_named(context, live, member)).collect();
            if missing.is_empty() {
                continue;
            }
            let mut services = self.with_explicit_weights(live);
            let added: Vec<Value> =
                missing.into_iter().map(|member| self.added(context, member, 0, &services)).collect();
            services.extend(added);
            let services = self.fit(object, services)?;
            self.put(object, place, services);
        }
        Ok(())
    }

    /// A selected rule names a backend of ours, or the user's own Service, without weight.
    pub(super) fn names_idle(&self, context: &Context<'_>, object: &DynamicObject, selected: &[String]) -> bool {
        let selected = self.select(object, selected).unwrap_or_default();
        selected
            .into_iter()
            .flat_map(|place| self.services(object, place))
            .any(|service| self.is_idle(context, service))
    }

    /// Takes the backends without weight out of all selected rules. Others' stay, and so does the last one of a rule.
    pub(super) fn leave_idle_out(
        &self,
        context: &Context<'_>,
        object: &mut DynamicObject,
        selected: &[String],
    ) -> Result<(), RouteError> {
        for place in self.select(object, selected)? {
            let mut services = self.services(object, place).to_vec();
            services.retain(|service| !self.is_idle(context, service));
            if services.iter().any(|service| !is_mirror(service)) {
                self.put(object, place, services);
            }
        }
        Ok(())
    }

    /// A selected rule sends requests to the user's own Service.
    pub(super) fn sends_to_own_service(
        &self,
        context: &Context<'_>,
        object: &DynamicObject,
        selected: &[String],
    ) -> bool {
        let selected = self.select(object, selected).unwrap_or_default();
        let counted = selected.into_iter().flat_map(|place| self.counted(self.services(object, place)));
        counted.into_iter().any(|(service, count)| count > 0 && self.is_own_service(context, service))
    }

    /// What the selected rules hold, by the rule's name.
    pub(super) fn original_rules(&self, object: &DynamicObject, selected: &[String]) -> Result<Value, RouteError> {
        let hold = |place| (self.name_at(object, place), Value::from(self.services(object, place)));
        Ok(Value::Object(self.select(object, selected)?.into_iter().map(hold).collect()))
    }

    /// Puts back what rules held that are still there.
    pub(super) fn restore(&self, object: &mut DynamicObject, original: &Value) {
        for (rule, services) in original.as_object().into_iter().flatten() {
            if let (Some(place), Some(services)) = (self.find(object, rule), services.as_array()) {
                self.put(object, place, services.clone());
            }
        }
    }

    /// A member's backend stands in a rule by its own name.
    fn is_named(&self, context: &Context<'_>, services: &[Value], member: &str) -> bool {
        services.iter().any(|service| !is_mirror(service) && self.is_members(context, service, member))
    }
}

/// The Service's name; with its kind or namespace where it is not a Service of the rollout's namespace, so that it is no member's.
pub(super) fn service_name(context: &Context<'_>, service: &Value) -> String {
    let text = |key| service.get(key).and_then(Value::as_str).unwrap_or_default();
    let name = match text("namespace") {
        "" => text("name").to_owned(),
        namespace if namespace == context.namespace => text("name").to_owned(),
        namespace => format!("{namespace}/{}", text("name")),
    };
    match (text("group"), text("kind")) {
        ("", "" | "Service") => name,
        (_, kind) => format!("{kind}/{name}"),
    }
}

/// Names a member's backend so.
pub(super) fn set_service_name(context: &Context<'_>, service: &mut Value, member: &str) {
    put(service, "name", backend::name(context.service, member));
}
