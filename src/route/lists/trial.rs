//! What a rollout tries its canaries with beside their weights, in such a kind.

use kube::core::DynamicObject;

use super::super::{Context, RouteError, trial};
use super::Lists;
use crate::api::Trial;

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

    /// The object without the trial that this rollout asked last.
    pub fn plain(&self, context: &Context<'_>, object: &DynamicObject, selected: &[String]) -> DynamicObject {
        let mut plain = object.clone();
        match trial::kept(object, context.uid) {
            Some(Trial::Matched(matched)) => self.remove_matched(context, &mut plain, &matched),
            Some(Trial::Mirrored(mirrored)) => self.remove_mirrored(context, &mut plain, selected, &mirrored),
            None => {}
        }
        plain
    }

    /// The object has exactly this trial.
    pub fn shows(&self, context: &Context<'_>, object: &DynamicObject, selected: &[String], trial: &Trial) -> bool {
        match trial {
            Trial::Matched(matched) => self.shows_matched(context, object, selected, matched),
            Trial::Mirrored(mirrored) => self.shows_mirrored(context, object, selected, mirrored),
        }
    }
}
