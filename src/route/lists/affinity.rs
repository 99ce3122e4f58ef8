//! Users who stay where they are: a rule a member for those with the cookie of one of its bins, and a Service a bin, which
//! gives its cookie, for all others.

use kube::core::DynamicObject;
use serde_json::Value;

use super::super::RouteError;
use super::super::json::{contains, put, with};
use super::Lists;
use super::places::Place;
use crate::api::Affinity;
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
        for place in self.select(object, selected)? {
            kept.push((place, self.affinity_rules(context, object, place, affinity)?));
            let bins = self.bin_services(context, object, place, affinity)?;
            let bins = self.fit(object, bins)?;
            self.put(object, place, bins);
        }
        self.add_rules(object, kept, context.uid);
        Ok(())
    }

    /// The object with one Service a member again, and without the rules for those who have a cookie.
    pub(super) fn remove_affinity(
        &self,
        context: &Context<'_>,
        object: &mut DynamicObject,
        selected: &[String],
        affinity: &Affinity,
    ) {
        self.retain_rules(object, |rule| !self.is_affinity_rule(context, rule, affinity));
        for place in self.select(object, selected).unwrap_or_default() {
            let services = self.merged(context, self.services(object, place), affinity);
            self.put(object, place, services);
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
        self.remove_affinity(context, &mut wanted, selected, affinity);
        let Ok(places) = self.select(&wanted, selected) else { return false };
        if self.apply_affinity(context, &mut wanted, selected, affinity).is_err() {
            return false;
        }
        let of = |object: &DynamicObject| -> Vec<Value> {
            let is_compared = |rule: &Value| self.ordered || self.is_affinity_rule(context, rule, affinity);
            let kept = self.rules(object).map(|(_, rule)| rule).filter(|rule| is_compared(rule)).cloned();
            // Where rules have an order all are compared, and their places have changed.
            let divided = places.iter().filter(|_| !self.ordered);
            kept.chain(divided.map(|place| Value::from(self.services(object, *place)))).collect()
        };
        contains(&of(object).into(), &of(&wanted).into())
    }

    fn affinity_rules(
        &self,
        context: &Context<'_>,
        object: &DynamicObject,
        place: Place,
        affinity: &Affinity,
    ) -> Result<Vec<Value>, RouteError> {
        let rule = self.rule(object, place);
        let keeping = |member: &str| {
            let pattern = format!("^(.*; ?)?{}={}(;.*)?$", affinity.cookie_name, affinity.values(member));
            let live = self.live(context, object, place, member);
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
        place: Place,
        affinity: &Affinity,
    ) -> Result<Vec<Value>, RouteError> {
        let divided = |service: &Value| {
            let own = affinity.cookies().filter(|(bin, _)| self.is_members(context, service, &bin.member));
            let giving = own.map(|(bin, cookie)| (self.cookies()?.add)(&with(service, "weight", bin.weight), &cookie));
            let bins = giving.collect::<Option<Vec<Value>>>();
            let bins = bins.ok_or_else(|| refused(object, "a backend sets headers of answers itself"))?;
            Ok(if bins.is_empty() { vec![service.clone()] } else { bins })
        };
        let services = self.services(object, place).iter().map(divided).collect::<Result<Vec<_>, _>>()?;
        Ok(services.concat())
    }

    /// Services without our cookies; all that stand for the same bins' member are gathered where the first of them stands,
    /// whatever somebody made of the others.
    fn merged(&self, context: &Context<'_>, services: &[Value], affinity: &Affinity) -> Vec<Value> {
        let without = |service: &Value| (self.cookies()?.remove)(service, &affinity.beginning());
        let giving: Vec<Value> = services.iter().filter_map(without).collect();
        let weight = |service: &Value| service.get("weight").and_then(Value::as_u64).unwrap_or_else(|| self.unset());
        let mut gathered: Vec<Value> = Vec::new();
        for service in services {
            let is_same = |other: &Value| (self.name)(context, other) == (self.name)(context, service);
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
        place: Place,
        member: &str,
    ) -> Option<&'o Value> {
        self.services(object, place).iter().find(|service| self.is_members(context, service, member))
    }

    /// A rule that looks at our cookie.
    fn is_affinity_rule(&self, context: &Context<'_>, rule: &Value, affinity: &Affinity) -> bool {
        let says = |condition: &Value| condition.to_string().contains(&affinity.beginning());
        self.may_be_added(rule, context.uid) && (self.conditions)(rule).iter().flatten().any(says)
    }

    const fn cookies(&self) -> Option<&Cookies> {
        self.cookies.as_ref()
    }
}

fn refused(object: &DynamicObject, found: &str) -> RouteError {
    let name = describe(object);
    RouteError::CannotCarry(format!("{name}: {found}: take that away, or leave strategy.sessionAffinity out"))
}
