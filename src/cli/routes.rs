//! What the routes of a rollout show now, against what was written last. Pure.

use super::view::View;
use crate::{
    api::Distribution,
    rollout::{RouteKey, input::LiveRoute},
};

/// A route as it was just read with the user's own rights; or why it could not be.
#[derive(Clone, Debug)]
pub(super) struct RouteShown {
    pub(super) key: RouteKey,
    pub(super) live: Result<LiveRoute, String>,
}

/// A route that shows other weights than the last write to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drift<'v> {
    pub(super) key: &'v RouteKey,
    pub(super) shows: &'v Distribution,
    pub(super) expected: &'v Distribution,
    pub(super) editor: Option<&'v str>,
}

impl RouteShown {
    /// The weights that it shows, if it could be read.
    pub(super) fn weights(&self) -> Option<&Distribution> {
        self.live.as_ref().ok().map(|live| &live.split.weights)
    }

    fn drift<'v>(&'v self, expected: &'v Distribution, sequence: Option<u64>) -> Option<Drift<'v>> {
        let live = self.live.as_ref().ok()?;
        let shows = &live.split.weights;
        let same_write = live.mark.as_ref().is_none_or(|mark| Some(mark.sequence) == sequence);
        let drifted = same_write && !shows.same_as(expected);
        drifted.then_some(Drift { key: &self.key, shows, expected, editor: live.editor.as_deref() })
    }
}

impl View {
    /// The routes that differ from what they were confirmed to show. A write under way is no drift, nor is one that is newer
    /// or older than the status: they were not read at the same instant.
    pub(super) fn drifts(&self) -> Vec<Drift<'_>> {
        let Some(expected) = self.confirmed().filter(|_| self.status.releasing_since.is_none()) else {
            return Vec::new();
        };
        let sequence = self.status.desired.as_ref().map(|desired| desired.sequence);
        self.routes.iter().filter_map(|route| route.drift(expected, sequence)).collect()
    }

    /// The drift of one route.
    pub(super) fn drift_of(&self, key: &RouteKey) -> Option<Drift<'_>> {
        self.drifts().into_iter().find(|drift| drift.key == key)
    }

    /// What every route is known to have shown; before the first write, the primary.
    fn confirmed(&self) -> Option<&Distribution> {
        match &self.status.desired {
            Some(desired) => desired.confirmed_at.map(|_| &desired.split.weights),
            None => self.status.primary.as_ref(),
        }
    }

    /// What all routes show, where they could be read and agree.
    pub(super) fn applied(&self) -> Option<&Distribution> {
        let first = self.routes.first()?.weights()?;
        let agree = |route: &RouteShown| route.weights().is_some_and(|weights| weights.same_as(first));
        self.routes.iter().all(agree).then_some(first)
    }
}
