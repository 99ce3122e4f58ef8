//! What people request of a rollout, as the hub reads it.

use std::sync::Arc;

use jiff::Timestamp;
use kube::ResourceExt;

use super::{Guarded, Hub, subject::Subject};
use crate::{
    api::{RolloutRequest, RolloutRequestSpec},
    rollout::input::Request,
    text::one_line,
};

/// Characters that are kept of a reason, and of a user's name; the schema allows no more.
const REASON: usize = 256;
const NAME: usize = 253;
/// Open requests of a namespace that are read; a rollout answers all of its own at once, so that more are a flood.
pub(super) const OPEN: usize = 64;

/// The requests to this rollout that have no answer yet, oldest first.
pub(super) fn open(hub: &Hub, subject: &Subject) -> Vec<Request> {
    let all = hub.requests.in_namespace(&subject.namespace);
    let own =
        oldest_open(&readable(&all)).into_iter().take(OPEN).filter(|request| request.spec.rollout.name == subject.name);
    own.filter_map(|request| {
        let spec = cleaned(&request.spec);
        Some(Request { name: request.name_any(), uid: request.uid()?, at: created(request)?, spec })
    })
    .collect()
}

/// Requests that can be read.
pub(super) fn readable(all: &[Arc<Guarded<RolloutRequest>>]) -> Vec<&RolloutRequest> {
    all.iter().filter_map(|guarded| guarded.0.as_ref().ok()).collect()
}

/// Those that have no answer yet, oldest first.
pub(super) fn oldest_open<'r>(all: &[&'r RolloutRequest]) -> Vec<&'r RolloutRequest> {
    let is_open = |request: &&RolloutRequest| request.status.as_ref().is_none_or(|status| status.state.is_none());
    let mut open: Vec<&RolloutRequest> = all.iter().copied().filter(is_open).collect();
    open.sort_by_key(|request| (created(request), request.name_any()));
    open
}

/// When it was made, by the API server's clock.
pub(super) fn created(request: &RolloutRequest) -> Option<Timestamp> {
    request.metadata.creation_timestamp.as_ref().map(|time| time.0)
}

/// From here on, what a person wrote goes into statuses, events and terminals.
fn cleaned(spec: &RolloutRequestSpec) -> RolloutRequestSpec {
    let reason = spec.reason.as_deref().map(|reason| one_line(reason, REASON));
    RolloutRequestSpec { reason, requested_by: one_line(&spec.requested_by, NAME), ..spec.clone() }
}
