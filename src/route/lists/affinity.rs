//! Users who stay where they are: a rule a member for those with the cookie of one of its bins, and a Service a bin, which
//! gives its cookie, for all others.

use kube::core::DynamicObject;
use serde_json::Value;

use super::super::RouteError;
use super::super::json::{contains, put, with};
use super::{Lists, own_name};
use crate::api::Affinity;
use crate::backend;
use crate::object::{Context, describe};

/// How a rule of such a kind gives cookies and looks at them.
pub(crate) struct Cookies {
    /// The Service with this header `Set-Cookie` in its answers; nothing where its user set headers of answers himself.
    pub add: fn(service: &Value, cookie: &str) -> Option<Value>,
    /// The Service without a cookie that begins so; nothing where it gives none.
    pub remove: fn(service: &Value, beginning: &str) -> Option<Value>,
    /// A rule like this one, for requests with a header `Cookie` like this regular expression; nothing where the rule looks
    /// at that header itself.
    pub narrow: fn(rule: &Value, pattern: &str) -> Option<Value>,
}

impl Lists {
    /// Divides the users of the selected rules, which do not keep any yet.
    pub(crate) fn apply_affinity(
        &self,
        context: &Context<'_>,
        object: &mut DynamicObject,
        selected: &[String],
        affinity: &Affinity,
    ) -> Result<(), RouteError> {
        let mut kept = Vec::new();
        for index in self.select(object, selected)? {
            kept.extend(self.affinity_rules(context, object, index, affinity)?);
            let bins = self.bin_services(context, object, index, affinity)?;
            let bins = self.fit(object, bins)?;
            self.put(object, index, bins);
        }
        if let Some(rules) = self.rules_mut(object) {
            rules.extend(kept);
        }
        Ok(())
    }

    /// The object with one Service a member again, and without the rules for those who have a cookie.
    pub(super) fn remove_affinity(&self, object: &mut DynamicObject, selected: &[String], affinity: &Affinity) {
        if let Some(rules) = self.rules_mut(object) {
            rules.retain(|rule| !self.is_affinity_rule(rule, affinity));
        }
        for index in self.select(object, selected).unwrap_or_default() {
            let services = self.merged(self.services(object, index), affinity);
            self.put(object, index, services);
        }
    }

    /// The object keeps exactly these users.
    pub(crate) fn applies_affinity(
        &self,
        context: &Context<'_>,
        object: &DynamicObject,
        selected: &[String],
        affinity: &Affinity,
    ) -> bool {
        let mut wanted = object.clone();
        self.remove_affinity(&mut wanted, selected, affinity);
        let Ok(places) = self.select(&wanted, selected) else { return false };
        if self.apply_affinity(context, &mut wanted, selected, affinity).is_err() {
            return false;
        }
        let keeping = |object: &DynamicObject| -> Vec<Value> {
            self.rules(object).iter().filter(|rule| self.is_affinity_rule(rule, affinity)).cloned().collect()
        };
        let divided = |object: &DynamicObject| -> Vec<Value> {
            places.iter().map(|index| Value::from(self.services(object, *index))).collect()
        };
        contains(&keeping(object).into(), &keeping(&wanted).into())
            && contains(&divided(object).into(), &divided(&wanted).into())
    }

    fn affinity_rules(
        &self,
        context: &Context<'_>,
        object: &DynamicObject,
        index: usize,
        affinity: &Affinity,
    ) -> Result<Vec<Value>, RouteError> {
        let rule = self.rules(object).get(index).unwrap_or(&Value::Null);
        let keeping = |member: &str| {
            let pattern = format!("^(.*; ?)?{}={}(;.*)?$", affinity.cookie_name, affinity.values(member));
            let live = self.live(context, object, index, member);
            let mut keeping = (self.cookies()?.narrow)(rule, &pattern)?;
            put(&mut keeping, self.services, vec![self.service(context, member, 1, live)]);
            Some(keeping)
        };
        let refuse = || refused(object, "a rule chooses requests by the header Cookie itself");
        affinity.members().map(|member| keeping(member).ok_or_else(refuse)).collect()
    }

    /// The rule's Services, each member's as often as it has bins.
    fn bin_services(
        &self,
        context: &Context<'_>,
        object: &DynamicObject,
        index: usize,
        affinity: &Affinity,
    ) -> Result<Vec<Value>, RouteError> {
        let divided = |service: &Value| {
            let own = affinity.cookies().filter(|(bin, _)| is_members(context, service, &bin.member));
            let giving = own.map(|(bin, cookie)| (self.cookies()?.add)(&with(service, "weight", bin.weight), &cookie));
            let bins = giving.collect::<Option<Vec<Value>>>();
            let bins = bins.ok_or_else(|| refused(object, "a backend sets headers of answers itself"))?;
            Ok(if bins.is_empty() { vec![service.clone()] } else { bins })
        };
        let services = self.services(object, index).iter().map(divided).collect::<Result<Vec<_>, _>>()?;
        Ok(services.concat())
    }

    /// Services without our cookies; all that stand for the same bins' member are gathered where the first of them stands,
    /// whatever somebody made of the others.
    fn merged(&self, services: &[Value], affinity: &Affinity) -> Vec<Value> {
        let without = |service: &Value| (self.cookies()?.remove)(service, &affinity.beginning());
        let giving: Vec<Value> = services.iter().filter_map(without).collect();
        let weight = |service: &Value| service.get("weight").and_then(Value::as_u64).unwrap_or(self.unset);
        let mut gathered: Vec<Value> = Vec::new();
        for service in services {
            let is_same = |other: &Value| other.get("name") == service.get("name");
            match gathered.iter_mut().find(|other| is_same(other)) {
                Some(first) if giving.iter().any(is_same) => {
                    put(first, "weight", weight(first).saturating_add(weight(service)));
                }
                Some(_) | None => gathered.push(without(service).unwrap_or_else(|| service.clone())),
            }
        }
        gathered
    }

    fn live<'o>(
        &self,
        context: &Context<'_>,
        object: &'o DynamicObject,
        index: usize,
        member: &str,
    ) -> Option<&'o Value> {
        self.services(object, index).iter().find(|service| is_members(context, service, member))
    }

    /// A rule that looks at our cookie.
    fn is_affinity_rule(&self, rule: &Value, affinity: &Affinity) -> bool {
        let says = |condition: &Value| condition.to_string().contains(&affinity.beginning());
        (self.conditions)(rule).iter().flatten().any(says)
    }

    const fn cookies(&self) -> Option<&Cookies> {
        self.cookies.as_ref()
    }
}

fn is_members(context: &Context<'_>, service: &Value, member: &str) -> bool {
    own_name(context, service) == backend::name(context.service, member)
}

fn refused(object: &DynamicObject, found: &str) -> RouteError {
    let name = describe(object);
    RouteError::CannotCarry(format!("{name}: {found}: take that away, or leave strategy.sessionAffinity out"))
}
