//! Rules for requests that go elsewhere than by weight.

use kube::core::DynamicObject;
use serde_json::Value;

use super::super::RouteError;
use super::super::json::{contains, items, put};
use super::Lists;
use super::places::Place;
use crate::api::Matched;
use crate::backend;
use crate::object::{Context, describe};

impl Lists {
    /// Adds rules for the requests that go elsewhere, like the selected ones.
    pub(super) fn add_matched(
        &self,
        context: &Context<'_>,
        object: &mut DynamicObject,
        selected: &[String],
        matched: &Matched,
    ) -> Result<(), RouteError> {
        let added = self.matched_rules(context, object, selected, matched)?;
        self.add_rules(object, added, context.uid);
        Ok(())
    }

    /// Takes such rules away: those that send requests of these sorts, and only to these members.
    pub(super) fn remove_matched(&self, context: &Context<'_>, object: &mut DynamicObject, matched: &Matched) {
        self.retain_rules(object, |rule| !self.is_matched_rule(context, rule, matched));
    }

    /// The object has the rules for these requests, where they must stand, and no other such rules.
    pub(super) fn applies_matched(
        &self,
        context: &Context<'_>,
        object: &DynamicObject,
        selected: &[String],
        matched: &Matched,
    ) -> bool {
        let mut wanted = object.clone();
        self.remove_matched(context, &mut wanted, matched);
        if self.add_matched(context, &mut wanted, selected, matched).is_err() {
            return false;
        }
        let of = |object: &DynamicObject| -> Vec<Value> {
            let is_compared = |rule: &Value| self.ordered || self.is_matched_rule(context, rule, matched);
            self.rules(object).map(|(_, rule)| rule).filter(|rule| is_compared(rule)).cloned().collect()
        };
        contains(&of(object).into(), &of(&wanted).into())
    }

    fn matched_rules(
        &self,
        context: &Context<'_>,
        object: &DynamicObject,
        selected: &[String],
        matched: &Matched,
    ) -> Result<Vec<(Place, Vec<Value>)>, RouteError> {
        let services: Vec<Value> =
            matched.weights.iter().map(|(member, weight)| self.service(context, member, weight, None)).collect();
        let added = |place| {
            let refuse = |why| RouteError::CannotCarry(format!("{}: {why}: leave matches out", describe(object)));
            let mut rules = (self.narrowed)(self.rule(object, place), &matched.matches).map_err(refuse)?;
            for rule in &mut rules {
                put(rule, self.services, services.clone());
            }
            Ok((place, rules))
        };
        self.select(object, selected)?.into_iter().map(added).collect()
    }

    /// A rule of the user's own that chooses the same requests leads elsewhere.
    fn is_matched_rule(&self, context: &Context<'_>, rule: &Value, matched: &Matched) -> bool {
        let any = Value::Object(serde_json::Map::new());
        let wanted = (self.narrowed)(&any, &matched.matches).unwrap_or_default();
        let wanted: Vec<Vec<Value>> = wanted.iter().flat_map(self.conditions).collect();
        let mut members: Vec<String> =
            items(rule.get(self.services)).iter().map(|service| self.backend_name(context, service)).collect();
        let mut targets: Vec<String> =
            matched.weights.members().map(|member| backend::name(context.service, member)).collect();
        members.sort();
        targets.sort();
        let conditions = (self.conditions)(rule);
        let is_chosen = |conditions: &Vec<Value>| {
            wanted.iter().any(|wanted| {
                !wanted.is_empty() && wanted.iter().all(|one| conditions.iter().any(|found| contains(found, one)))
            })
        };
        let is_ours = self.may_be_added(rule, context.uid) && members == targets;
        is_ours && !conditions.is_empty() && conditions.iter().all(is_chosen)
    }
}
