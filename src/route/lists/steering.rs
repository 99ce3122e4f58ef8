//! What a rollout tries its canaries with beside their weights, in such a kind.

use kube::core::DynamicObject;

use super::super::RouteError;
use super::super::desired::Stored;
use super::Lists;
use crate::api::{Affinity, Steering};
use crate::object::Context;

impl Lists {
    /// Adds a steering to the selected rules of an object that has none.
    pub(crate) fn apply_steering(
        &self,
        context: &Context<'_>,
        object: &mut DynamicObject,
        selected: &[String],
        steering: &Steering,
    ) -> Result<(), RouteError> {
        match steering {
            Steering::Matched(matched) => self.add_matched(context, object, selected, matched),
            Steering::Mirrored(mirrored) => self.add_mirrored(context, object, selected, mirrored),
        }
    }

    /// The object without what this rollout last desired besides the weights.
    pub(crate) fn weights_only(
        &self,
        context: &Context<'_>,
        object: &DynamicObject,
        selected: &[String],
    ) -> DynamicObject {
        let mut plain = self.without_affinity(context, object, selected);
        match Steering::stored(object, context.uid) {
            Some(Steering::Matched(matched)) => self.remove_matched(context, &mut plain, &matched),
            Some(Steering::Mirrored(mirrored)) => self.remove_mirrored(context, &mut plain, selected, &mirrored),
            None => {}
        }
        plain
    }

    /// The object without the rules that keep users.
    fn without_affinity(&self, context: &Context<'_>, object: &DynamicObject, selected: &[String]) -> DynamicObject {
        let mut free = object.clone();
        if let Some(affinity) = Affinity::stored(object, context.uid) {
            self.remove_affinity(context, &mut free, selected, &affinity);
        }
        free
    }

    /// The object has exactly this steering.
    pub(crate) fn applies_steering(
        &self,
        context: &Context<'_>,
        object: &DynamicObject,
        selected: &[String],
        steering: &Steering,
    ) -> bool {
        let object = self.without_affinity(context, object, selected);
        match steering {
            Steering::Matched(matched) => self.applies_matched(context, &object, selected, matched),
            Steering::Mirrored(mirrored) => self.applies_mirrored(context, &object, selected, mirrored),
        }
    }
}
