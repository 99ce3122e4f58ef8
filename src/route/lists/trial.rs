//! What a rollout tries its canaries with beside their weights, in such a kind.

use kube::core::DynamicObject;

use super::super::wanted::Kept;
use super::super::{Context, RouteError};
use super::Lists;
use crate::api::{Affinity, Trial};

impl Lists {
    /// Adds a trial to the selected rules of an object that has none.
    pub fn add(
        &self,
        context: &Context<'_>,
        object: &mut DynamicObject,
        selected: &[String],
        trial: &Trial,
    ) -> Result<(), RouteError> {
        match trial {
            Trial::Matched(matched) => self.add_matched(context, object, selected, matched),
            Trial::Mirrored(mirrored) => self.add_mirrored(context, object, selected, mirrored),
        }
    }

    /// The object without what this rollout asked last beside the weights.
    pub fn plain(&self, context: &Context<'_>, object: &DynamicObject, selected: &[String]) -> DynamicObject {
        let mut plain = self.free(context, object, selected);
        match Trial::kept(object, context.uid) {
            Some(Trial::Matched(matched)) => self.remove_matched(context, &mut plain, &matched),
            Some(Trial::Mirrored(mirrored)) => self.remove_mirrored(context, &mut plain, selected, &mirrored),
            None => {}
        }
        plain
    }

    /// The object without the rules that keep users.
    fn free(&self, context: &Context<'_>, object: &DynamicObject, selected: &[String]) -> DynamicObject {
        let mut free = object.clone();
        if let Some(affinity) = Affinity::kept(object, context.uid) {
            self.let_users_go(&mut free, selected, &affinity);
        }
        free
    }

    /// The object has exactly this trial.
    pub fn shows(&self, context: &Context<'_>, object: &DynamicObject, selected: &[String], trial: &Trial) -> bool {
        let object = self.free(context, object, selected);
        match trial {
            Trial::Matched(matched) => self.shows_matched(context, &object, selected, matched),
            Trial::Mirrored(mirrored) => self.shows_mirrored(context, &object, selected, mirrored),
        }
    }
}
