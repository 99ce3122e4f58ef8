//! Kinds that keep weights in a list of rules, each of which has a list of weighted Services.

use kube::core::DynamicObject;
use serde_json::{Value, json};

use super::RouteError;
use super::json::{items, put, with};
use super::weights::{self, Raw};
use crate::api::{Distribution, PRIMARY, RequestMatch};
use crate::backend;
use crate::object::{Context, describe};

mod affinity;
mod matches;
mod mirror;
mod steering;

pub(super) use affinity::Cookies;
pub(super) use mirror::Mirrors;

/// Where such a kind keeps them.
pub(super) struct Lists {
    /// The list of rules in `spec`.
    pub rules: &'static str,
    /// The list of Services in a rule.
    pub services: &'static str,
    /// Most Services that a rule may have.
    pub max: usize,
    /// What a Service counts that has no weight while another one of its rule has one.
    pub unset: u64,
    /// A rule like this one, without Services, for requests of each of these sorts only.
    pub narrowed: fn(rule: &Value, matches: &[RequestMatch]) -> Vec<Value>,
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
    /// Names of the selected rules: a rule's own, else `#` and its place.
    pub(super) fn claims(&self, object: &DynamicObject, selected: &[String]) -> Result<Vec<String>, RouteError> {
        Ok(self
            .select(object, selected)?
            .into_iter()
            .map(|index| rule_name(self.rules(object).get(index), index))
            .collect())
    }

    /// The one distribution that all selected rules show.
    pub(super) fn read(
        &self,
        context: &Context<'_>,
        object: &DynamicObject,
        selected: &[String],
    ) -> Result<Distribution, RouteError> {
        let rules = self.select(object, selected)?.into_iter().map(|index| self.read_rule(context, object, index));
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
        for index in self.select(object, selected)? {
            let services = self.weighted(context, object, index, weights)?;
            self.put(object, index, services);
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
        for index in self.select(object, selected)? {
            let mut services = self.services(object, index).to_vec();
            let missing: Vec<&String> = members.iter().filter(|member| !is_named(context, &services, member)).collect();
            if missing.is_empty() {
                continue;
            }
            if services.iter().all(|service| service.get("weight").is_none()) {
                services.iter_mut().filter(|service| !is_mirror(service)).for_each(|service| put(service, "weight", 1));
            }
            let added: Vec<Value> =
                missing.into_iter().map(|member| self.added(context, member, 0, &services)).collect();
            services.extend(added);
            let services = self.fit(object, services)?;
            self.put(object, index, services);
        }
        Ok(())
    }

    /// A selected rule names a backend of ours, or the user's own Service, without weight.
    pub(super) fn names_idle(&self, context: &Context<'_>, object: &DynamicObject, selected: &[String]) -> bool {
        let selected = self.select(object, selected).unwrap_or_default();
        selected.into_iter().flat_map(|index| self.services(object, index)).any(|service| is_idle(context, service))
    }

    /// Takes the backends without weight out of all selected rules. Others' stay, and so does the last one of a rule.
    pub(super) fn leave_idle_out(
        &self,
        context: &Context<'_>,
        object: &mut DynamicObject,
        selected: &[String],
    ) -> Result<(), RouteError> {
        for index in self.select(object, selected)? {
            let mut services = self.services(object, index).to_vec();
            services.retain(|service| !is_idle(context, service));
            if services.iter().any(|service| !is_mirror(service)) {
                self.put(object, index, services);
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
        let sends = |service: &Value| is_own_service(context, service) && service.get("weight") != Some(&0.into());
        selected.into_iter().flat_map(|index| self.services(object, index)).any(sends)
    }

    /// What the selected rules hold, by the rule's name.
    pub(super) fn original_rules(&self, object: &DynamicObject, selected: &[String]) -> Result<Value, RouteError> {
        let hold =
            |index: usize| (rule_name(self.rules(object).get(index), index), Value::from(self.services(object, index)));
        Ok(Value::Object(self.select(object, selected)?.into_iter().map(hold).collect()))
    }

    /// Puts back what rules held that are still there.
    pub(super) fn restore(&self, object: &mut DynamicObject, original: &Value) {
        for (rule, services) in original.as_object().into_iter().flatten() {
            let found =
                self.rules(object).iter().enumerate().position(|(index, value)| rule_name(Some(value), index) == *rule);
            if let (Some(index), Some(services)) = (found, services.as_array()) {
                self.put(object, index, services.clone());
            }
        }
    }

    fn rules<'o>(&self, object: &'o DynamicObject) -> &'o [Value] {
        items(object.data.get("spec").and_then(|spec| spec.get(self.rules)))
    }

    fn rules_mut<'o>(&self, object: &'o mut DynamicObject) -> Option<&'o mut Vec<Value>> {
        object.data.pointer_mut(&format!("/spec/{}", self.rules)).and_then(Value::as_array_mut)
    }

    fn services<'o>(&self, object: &'o DynamicObject, index: usize) -> &'o [Value] {
        items(self.rules(object).get(index).and_then(|rule| rule.get(self.services)))
    }

    fn put(&self, object: &mut DynamicObject, index: usize, services: Vec<Value>) {
        if let Some(rule) = object.data.pointer_mut(&format!("/spec/{}/{index}", self.rules)) {
            put(rule, self.services, services);
        }
    }

    fn select(&self, object: &DynamicObject, selected: &[String]) -> Result<Vec<usize>, RouteError> {
        let rules = self.rules(object);
        let refuse = |what: String| Err(RouteError::Unreadable(format!("{}: {what}", describe(object))));
        if selected.is_empty() {
            return match rules.len() {
                1 => Ok(vec![0]),
                count => refuse(format!(
                    "it has {count} {}: say which in rules, by name or as \"#0\" for the first",
                    self.rules
                )),
            };
        }
        let mut found = Vec::new();
        for wanted in selected {
            let is_wanted =
                |index: usize| rule_name(rules.get(index), index) == *wanted || format!("#{index}") == *wanted;
            match (0..rules.len()).find(|index| is_wanted(*index)) {
                Some(index) if found.contains(&index) => {
                    return refuse(format!("rule {wanted} is named twice: name it once"));
                }
                Some(index) => found.push(index),
                None => return refuse(format!("it has no rule {wanted}: correct rules")),
            }
        }
        Ok(found)
    }

    fn read_rule(
        &self,
        context: &Context<'_>,
        object: &DynamicObject,
        index: usize,
    ) -> Result<Distribution, RouteError> {
        weights::distribution(context, &describe(object), &self.raw(context, object, index)?)
    }

    fn raw(&self, context: &Context<'_>, object: &DynamicObject, index: usize) -> Result<Vec<Raw>, RouteError> {
        let services: Vec<&Value> = self.services(object, index).iter().filter(|service| !is_mirror(service)).collect();
        let weight = |service: &Value| service.get("weight").filter(|weight| !weight.is_null()).cloned();
        let unset = if services.iter().any(|service| weight(service).is_some()) { self.unset } else { 1 };
        let raw = |service: &&Value| match weight(service).map(|weight| weight.as_u64()) {
            None => Ok((backend_name(context, service), unset)),
            Some(Some(weight)) => Ok((backend_name(context, service), weight)),
            Some(None) => Err(RouteError::Unreadable(format!(
                "{}: the weight of backend {} is not a whole number of 0 or more",
                describe(object),
                backend_name(context, service)
            ))),
        };
        // Of the primary and the Service that it replaces, one has nothing yet or any more, and says nothing.
        let replaced = services.iter().any(|service| is_own_service(context, service));
        let primary = backend::name(context.service, PRIMARY);
        let is_idle = |service: &Value| weight(service) == Some(0.into()) && backend_name(context, service) == primary;
        services.iter().filter(|service| !(replaced && is_idle(service))).map(raw).collect()
    }

    fn weighted(
        &self,
        context: &Context<'_>,
        object: &DynamicObject,
        index: usize,
        weights: &Distribution,
    ) -> Result<Vec<Value>, RouteError> {
        let mut waiting = weights.nonzero();
        let mut services = Vec::new();
        let live = self.services(object, index);
        for service in live {
            let name = own_name(context, service);
            match backend::member(context, &name).filter(|_| !is_mirror(service)) {
                Some(member) => services.push(self.service(context, member, waiting.remove(member), Some(service))),
                // A data plane may forget a backend before it learns that no route sends anybody there.
                None if is_own_service(context, service) => services.push(with(service, "weight", 0)),
                None => services.push(service.clone()),
            }
        }
        services.extend(waiting.iter().map(|(member, weight)| self.added(context, member, weight, live)));
        self.fit(object, services)
    }

    /// A Service that is not in a rule yet. The primary takes over what the user wrote into the one that stood for it.
    fn added(&self, context: &Context<'_>, member: &str, weight: u32, others: &[Value]) -> Value {
        let own = others.iter().find(|service| is_own_service(context, service)).filter(|_| member == PRIMARY);
        self.service(context, member, weight, own)
    }

    /// A Service at 0 keeps what its user wrote into it; where there are too many, those at 0 go.
    fn fit(&self, object: &DynamicObject, mut services: Vec<Value>) -> Result<Vec<Value>, RouteError> {
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
    fn service(&self, context: &Context<'_>, member: &str, weight: u32, live: Option<&Value>) -> Value {
        let mut service = live.cloned().unwrap_or_else(|| json!({"name": backend::name(context.service, member)}));
        if live.is_none() || backend::existing(context.service, member).is_none() {
            let fields = (self.fields)(context, member, &service);
            json_patch::merge(&mut service, &fields);
        }
        if !context.copies.is_empty() {
            put(&mut service, "name", backend::name(context.service, member));
        }
        put(&mut service, "weight", weight);
        service
    }
}

/// Service mode: the user's own Service is what the primary was made like; a route that names it is taken over so.
fn is_own_service(context: &Context<'_>, service: &Value) -> bool {
    !context.copies.is_empty() && !is_mirror(service) && own_name(context, service) == context.service.name
}

/// A backend that the hub may take out of a rule: it gets nothing, and is a member's or the user's own Service.
fn is_idle(context: &Context<'_>, service: &Value) -> bool {
    let ours = is_own_service(context, service) || backend::member(context, &own_name(context, service)).is_some();
    ours && !is_mirror(service) && service.get("weight") == Some(&0.into())
}

/// A member's backend stands in a rule by its own name.
fn is_named(context: &Context<'_>, services: &[Value], member: &str) -> bool {
    let backend = backend::name(context.service, member);
    services.iter().any(|service| !is_mirror(service) && own_name(context, service) == backend)
}

/// A mirrored Service gets copies and no share.
pub(super) fn is_mirror(service: &Value) -> bool {
    service.get("mirror").and_then(Value::as_bool).unwrap_or_default()
}

/// The name of the backend for which a Service stands.
fn backend_name(context: &Context<'_>, service: &Value) -> String {
    if is_own_service(context, service) { backend::name(context.service, PRIMARY) } else { own_name(context, service) }
}

/// The Service's name; with its kind or namespace where it is not a Service of the rollout's namespace, so that it is no member's.
fn own_name(context: &Context<'_>, service: &Value) -> String {
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

/// A rule's own name, where a mark can hold it; else its place.
fn rule_name(rule: Option<&Value>, index: usize) -> String {
    let fits = |name: &&str| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.".contains(&byte))
    };
    rule.and_then(|rule| rule.get("name"))
        .and_then(Value::as_str)
        .filter(fits)
        .map_or_else(|| format!("#{index}"), str::to_owned)
}
