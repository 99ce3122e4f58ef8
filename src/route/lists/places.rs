//! The rules of an object: where they stand, and by which names people know them.

use kube::core::DynamicObject;
use serde_json::Value;

use super::super::RouteError;
use super::super::json::{items, put};
use super::Lists;
use crate::object::describe;

/// Where rules are tried in their order, those that the hub adds stand among the users' own, and have names that begin so:
/// the users' own keep their numbers.
const ADDED: &str = "cutover.dev/";

/// Where a rule stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    /// Which of the lists.
    list: usize,
    /// Its index there.
    index: usize,
}

/// A rule that a rollout may select.
struct Named {
    name: String,
    number: String,
    place: Place,
}

impl Lists {
    /// All rules, in their order.
    pub(super) fn rules<'o>(&self, object: &'o DynamicObject) -> impl Iterator<Item = (Place, &'o Value)> {
        let spec = object.data.get("spec");
        self.rules.iter().enumerate().flat_map(move |(list, key)| {
            let rules = items(spec.and_then(|spec| spec.get(*key)));
            rules.iter().enumerate().map(move |(index, rule)| (Place { list, index }, rule))
        })
    }

    pub(super) fn rule<'o>(&self, object: &'o DynamicObject, place: Place) -> &'o Value {
        let list = object.data.get("spec").and_then(|spec| spec.get(self.rules.get(place.list)?));
        items(list).get(place.index).unwrap_or(&Value::Null)
    }

    pub(super) fn rule_mut<'o>(&self, object: &'o mut DynamicObject, place: Place) -> Option<&'o mut Value> {
        self.list_mut(object, place.list)?.get_mut(place.index)
    }

    pub(super) fn retain_rules(&self, object: &mut DynamicObject, keep: impl Fn(&Value) -> bool) {
        for list in 0..self.rules.len() {
            if let Some(rules) = self.list_mut(object, list) {
                rules.retain(&keep);
            }
        }
    }

    /// Adds rules that are made of others, each of which takes requests before its own one does.
    pub(super) fn add_rules(&self, object: &mut DynamicObject, mut added: Vec<(Place, Vec<Value>)>, uid: &str) {
        if !self.ordered {
            for (place, made) in added {
                self.list_mut(object, place.list).into_iter().for_each(|rules| rules.extend(made.iter().cloned()));
            }
            return;
        }
        added.sort_by_key(|(place, _)| std::cmp::Reverse(*place));
        for (place, mut made) in added {
            for rule in &mut made {
                put(rule, "name", added_name(uid));
            }
            let Some(rules) = self.list_mut(object, place.list) else { continue };
            let at = place.index.min(rules.len());
            rules.splice(at..at, made);
        }
    }

    /// A rule that this rollout added; where rules have no order, any may be.
    pub(super) fn may_be_added(&self, rule: &Value, uid: &str) -> bool {
        !self.ordered || name_of(rule) == added_name(uid)
    }

    /// The name of the rule at a place: its own, else its number.
    pub(super) fn name_at(&self, object: &DynamicObject, place: Place) -> String {
        let found = self.named(object).into_iter().find(|named| named.place == place);
        found.map_or_else(|| self.number(place.list, place.index), |named| named.name)
    }

    /// The rule of this name, if it is still there.
    pub(super) fn find(&self, object: &DynamicObject, name: &str) -> Option<Place> {
        self.named(object).into_iter().find(|named| named.name == name).map(|named| named.place)
    }

    /// The rules that are selected; where none is named, the only one.
    pub(super) fn select(&self, object: &DynamicObject, selected: &[String]) -> Result<Vec<Place>, RouteError> {
        let rules = self.named(object);
        let refuse = |what: String| Err(RouteError::Unreadable(format!("{}: {what}", describe(object))));
        let field = self.field;
        if selected.is_empty() {
            return match rules.as_slice() {
                [only] => Ok(vec![only.place]),
                rules => refuse(format!(
                    "it has {} {}: say which in {field}, by name or as \"#0\" for the first",
                    rules.len(),
                    self.nouns
                )),
            };
        }
        let mut found = Vec::new();
        for wanted in selected {
            match rules.iter().find(|rule| rule.name == *wanted || rule.number == *wanted).map(|rule| rule.place) {
                Some(place) if found.contains(&place) => {
                    return refuse(format!("rule {wanted} is named twice: name it once"));
                }
                Some(place) => found.push(place),
                None => return refuse(format!("it has no rule {wanted}: correct {field}")),
            }
        }
        Ok(found)
    }

    fn list_mut<'o>(&self, object: &'o mut DynamicObject, list: usize) -> Option<&'o mut Vec<Value>> {
        object.data.get_mut("spec")?.get_mut(self.rules.get(list)?)?.as_array_mut()
    }

    fn named(&self, object: &DynamicObject) -> Vec<Named> {
        let mut counts = vec![0; self.rules.len()];
        let mut named = Vec::new();
        for (place, rule) in self.rules(object).filter(|(_, rule)| !self.is_added(rule)) {
            let Some(count) = counts.get_mut(place.list) else { continue };
            let number = self.number(place.list, *count);
            *count += 1;
            let own = Some(name_of(rule)).filter(|name| fits_a_mark(name));
            named.push(Named { name: own.map_or_else(|| number.clone(), str::to_owned), number, place });
        }
        named
    }

    fn is_added(&self, rule: &Value) -> bool {
        self.ordered && name_of(rule).starts_with(ADDED)
    }

    /// The list is named where it is not the first.
    fn number(&self, list: usize, index: usize) -> String {
        let list = if list == 0 { "" } else { self.rules.get(list).copied().unwrap_or_default() };
        format!("{list}#{index}")
    }
}

fn added_name(uid: &str) -> String {
    format!("{ADDED}{uid}")
}

fn name_of(rule: &Value) -> &str {
    rule.get("name").and_then(Value::as_str).unwrap_or_default()
}

/// A mark separates names by other characters.
fn fits_a_mark(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte))
}
