//! What people request of a rollout, as the hub reads it.

use kube::ResourceExt;

use super::{Hub, subject::Subject};
use crate::{
    api::{RolloutRequest, RolloutRequestSpec},
    rollout::input::Request,
    text::one_line,
};

/// Characters that are kept of a reason, and of a user's name; the schema allows no more.
const REASON: usize = 256;
const NAME: usize = 253;

/// The requests to this rollout that have no answer yet, oldest first.
pub(super) fn open(hub: &Hub, subject: &Subject) -> Vec<Request> {
    let all = hub.requests.in_namespace(&subject.namespace);
    let own = all
        .iter()
        .filter_map(|guarded| guarded.0.as_ref().ok())
        .filter(|request| request.spec.rollout.name == subject.name && is_open(request));
    let mut requests: Vec<Request> = own
        .filter_map(|request| {
            let at = request.metadata.creation_timestamp.as_ref()?.0;
            Some(Request { name: request.name_any(), uid: request.uid()?, at, spec: cleaned(&request.spec) })
        })
        .collect();
    requests.sort_by(|one, other| (one.at, &one.name).cmp(&(other.at, &other.name)));
    requests
}

fn is_open(request: &RolloutRequest) -> bool {
    request.status.as_ref().is_none_or(|status| status.state.is_none())
}

/// From here on, what a person wrote goes into statuses, events and terminals.
fn cleaned(spec: &RolloutRequestSpec) -> RolloutRequestSpec {
    let reason = spec.reason.as_deref().map(|reason| one_line(reason, REASON));
    RolloutRequestSpec { reason, requested_by: one_line(&spec.requested_by, NAME), ..spec.clone() }
}
