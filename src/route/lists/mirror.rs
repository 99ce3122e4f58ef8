//! Services that get copies of a rule's requests. Those that others wrote stay.

use kube::core::DynamicObject;
use serde_json::Value;

use super::super::RouteError;
use super::super::json::{items, put};
use super::places::Place;
use super::{Lists, is_mirror};
use crate::api::Mirrored;
use crate::backend;
use crate::object::{Context, describe};

/// Where a rule of such a kind says who gets copies.
pub(crate) struct Mirrors {
    /// The list in a rule, which may hold other things as well.
    pub list: &'static str,
    /// An entry that sends this part of all requests, in percent, to this Service.
    pub entry: fn(service: Value, percent: u32) -> Value,
    /// The Service that an entry sends copies to, if that is what it does.
    pub service: fn(entry: &Value) -> Option<&Value>,
    /// A rule may have one only.
    pub single: bool,
    /// What in a rule stands in the way of an entry, and what would help.
    pub obstacle: fn(rule: &Value) -> Option<&'static str>,
}

impl Lists {
    /// Adds copies of the selected rules' requests.
    pub(super) fn add_mirrored(
        &self,
        context: &Context<'_>,
        object: &mut DynamicObject,
        selected: &[String],
        mirrored: &Mirrored,
    ) -> Result<(), RouteError> {
        for place in self.select(object, selected)? {
            if let Some(obstacle) = (self.mirrors.obstacle)(self.rule(object, place)) {
                return Err(RouteError::CannotCarry(format!("{}: {obstacle}", describe(object))));
            }
            let mut entries = self.entries(object, place).to_vec();
            let other = entries.iter().find_map(self.mirrors.service).filter(|_| self.mirrors.single);
            if let Some(other) = other {
                return Err(RouteError::CannotCarry(format!(
                    "{}: one Service may get copies, and {} does already: take that away, or leave mirror out",
                    describe(object),
                    self.backend_name(context, other)
                )));
            }
            let added = mirrored.members.iter();
            entries.extend(added.map(|member| self.mirror(context, object, place, member, mirrored.percent)));
            self.put_entries(object, place, entries);
        }
        Ok(())
    }

    /// Takes them away, whatever somebody else made of them.
    pub(super) fn remove_mirrored(
        &self,
        context: &Context<'_>,
        object: &mut DynamicObject,
        selected: &[String],
        mirrored: &Mirrored,
    ) {
        for place in self.select(object, selected).unwrap_or_default() {
            let mut entries = self.entries(object, place).to_vec();
            for member in &mirrored.members {
                let last = entries.iter().rposition(|entry| self.is_to(context, entry, member));
                last.map(|place| entries.remove(place));
            }
            self.put_entries(object, place, entries);
        }
    }

    /// Every selected rule sends these copies.
    pub(super) fn applies_mirrored(
        &self,
        context: &Context<'_>,
        object: &DynamicObject,
        selected: &[String],
        mirrored: &Mirrored,
    ) -> bool {
        let shows = |place: Place, member: &String| {
            let last = self.entries(object, place).iter().rfind(|entry| self.is_to(context, entry, member));
            let service = last.and_then(self.mirrors.service).cloned();
            service.is_some_and(|service| last == Some(&(self.mirrors.entry)(service, mirrored.percent)))
        };
        let all_shown = |place| mirrored.members.iter().all(|member| shows(place, member));
        self.select(object, selected).is_ok_and(|rules| rules.into_iter().all(all_shown))
    }

    /// The member's Service as the rule has it, so that copies go where its requests will: by the same TLS, for one.
    fn mirror(&self, context: &Context<'_>, object: &DynamicObject, place: Place, member: &str, percent: u32) -> Value {
        let is_members = |service: &&Value| {
            !is_mirror(service) && self.backend_name(context, service) == backend::name(context.service, member)
        };
        let live = self.services(object, place).iter().find(is_members);
        (self.mirrors.entry)(self.service(context, member, 0, live), percent)
    }

    fn is_to(&self, context: &Context<'_>, entry: &Value, member: &str) -> bool {
        (self.mirrors.service)(entry)
            .is_some_and(|service| self.backend_name(context, service) == backend::name(context.service, member))
    }

    fn entries<'o>(&self, object: &'o DynamicObject, place: Place) -> &'o [Value] {
        items(self.rule(object, place).get(self.mirrors.list))
    }

    /// An empty list is none.
    fn put_entries(&self, object: &mut DynamicObject, place: Place, entries: Vec<Value>) {
        let Some(rule) = self.rule_mut(object, place) else { return };
        if entries.is_empty() {
            rule.as_object_mut().into_iter().for_each(|fields| drop(fields.remove(self.mirrors.list)));
        } else {
            put(rule, self.mirrors.list, entries);
        }
    }
}
