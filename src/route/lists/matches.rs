//! Rules for requests that go elsewhere than by weight.

use kube::core::DynamicObject;
use serde_json::Value;

use super::super::RouteError;
use super::super::json::{contains, items, put};
use super::{Lists, backend_name};
use crate::api::Matched;
use crate::backend;
use crate::object::Context;

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
        if let Some(rules) = self.rules_mut(object) {
            rules.extend(added);
        }
        Ok(())
    }

    /// Takes such rules away: those that send requests of these sorts, and only to these members.
    pub(super) fn remove_matched(&self, context: &Context<'_>, object: &mut DynamicObject, matched: &Matched) {
        if let Some(rules) = self.rules_mut(object) {
            rules.retain(|rule| !self.is_matched_rule(context, rule, matched));
        }
    }

    /// The object has the rules for these requests, and no other such rules.
    pub(super) fn applies_matched(
        &self,
        context: &Context<'_>,
        object: &DynamicObject,
        selected: &[String],
        matched: &Matched,
    ) -> bool {
        let mut plain = object.clone();
        self.remove_matched(context, &mut plain, matched);
        let Ok(wanted) = self.matched_rules(context, &plain, selected, matched) else { return false };
        let found: Vec<&Value> =
            self.rules(object).iter().filter(|rule| self.is_matched_rule(context, rule, matched)).collect();
        found.len() == wanted.len() && found.iter().zip(&wanted).all(|(found, wanted)| contains(found, wanted))
    }

    fn matched_rules(
        &self,
        context: &Context<'_>,
        object: &DynamicObject,
        selected: &[String],
        matched: &Matched,
    ) -> Result<Vec<Value>, RouteError> {
        let services: Vec<Value> =
            matched.weights.iter().map(|(member, weight)| self.service(context, member, weight, None)).collect();
        let mut rules = Vec::new();
        for index in self.select(object, selected)? {
            let rule = self.rules(object).get(index).unwrap_or(&Value::Null);
            rules.extend((self.narrowed)(rule, &matched.matches).into_iter().map(|mut rule| {
                put(&mut rule, self.services, services.clone());
                rule
            }));
        }
        Ok(rules)
    }

    /// A rule of the user's own that chooses the same requests leads elsewhere.
    fn is_matched_rule(&self, context: &Context<'_>, rule: &Value, matched: &Matched) -> bool {
        let wanted: Vec<Vec<Value>> = (self.narrowed)(&Value::Object(serde_json::Map::new()), &matched.matches)
            .iter()
            .flat_map(self.conditions)
            .collect();
        let mut members: Vec<String> =
            items(rule.get(self.services)).iter().map(|service| backend_name(context, service)).collect();
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
        members == targets && !conditions.is_empty() && conditions.iter().all(is_chosen)
    }
}
