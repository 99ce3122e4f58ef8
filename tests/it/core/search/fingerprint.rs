//! When two states are the same one.

use std::{
    fmt::Write as _,
    hash::{DefaultHasher, Hash, Hasher},
};

use super::state::State;

impl State {
    /// What makes two states the same: everything but the absolute time and what only people read.
    pub fn fingerprint(&self) -> u64 {
        let mut status = self.world.status.clone();
        (status.transitions, status.answers, status.history, status.conditions) = Default::default();
        (status.message, status.since, status.observed_generation) = Default::default();
        if let Some(run) = &mut status.run {
            (run.moves, run.requests) = Default::default();
        }
        let base = status.sequence;
        let mut text = serde_json::to_string(&status).unwrap();
        for (index, route) in self.world.routes.values().enumerate() {
            let route = route.as_ref().map(|route| {
                (
                    &route.split,
                    route.mark.as_ref().map(|mark| base - mark.sequence.min(base)),
                    &route.accepted,
                    route.editor.is_some(),
                )
            });
            let _ = write!(text, "{index}{route:?}");
        }
        let world = &self.world;
        let _ = write!(
            text,
            "{:?}",
            (
                (&world.metrics, &world.writes, &world.down, &world.endpoints, &world.spec.members),
                (world.deleting, world.spec.suspend, world.spec.paused, world.refuse_rehearsals, world.invalid),
                (world.creates_routes, &world.sources, &world.copies),
            )
        );
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        hasher.finish()
    }
}
