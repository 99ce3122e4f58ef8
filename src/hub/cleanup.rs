//! Removes requests that were answered long ago; the rollout's history records who requested what.

use std::time::Duration;

use jiff::Timestamp;

use super::{Hub, calls::CallError, requests::readable, subject::Subject, turns::Turn};
use crate::api::RolloutRequest;

/// An answer can be read for this long.
const KEPT: Duration = Duration::from_hours(24);

/// The requests of this rollout that were answered long ago.
pub(super) fn old_requests(hub: &Hub, subject: &Subject) -> Vec<RolloutRequest> {
    let now = hub.clock.now();
    let all = hub.requests.in_namespace(&subject.namespace);
    let own = readable(&all).into_iter().filter(|request| request.spec.rollout.name == subject.name);
    own.filter(|request| is_old(request, now)).cloned().collect()
}

/// Removes such requests, best effort.
pub(super) async fn remove(hub: &Hub, turn: &Turn, old: &[RolloutRequest]) {
    for request in old {
        match hub.calls.delete_request(turn, request).await {
            Ok(()) | Err(CallError::Gone | CallError::Conflict) => {}
            Err(error) => tracing::debug!(%error, "an old request was not removed"),
        }
    }
}

/// Its answer has been there for long enough.
pub(super) fn is_old(request: &RolloutRequest, now: Timestamp) -> bool {
    answered_at(request).is_some_and(|at| at + KEPT < now)
}

/// When it was answered, if it was.
pub(super) fn answered_at(request: &RolloutRequest) -> Option<Timestamp> {
    request.status.as_ref().and_then(|status| status.state.and(status.at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{
        RolloutRequestSpec, Verb,
        request::{RequestState, RolloutRef, RolloutRequestStatus},
    };

    #[test]
    fn only_answered_requests_grow_old() {
        let rollout = RolloutRef { name: "shop".to_owned(), uid: "u".to_owned() };
        let (step, reason, requested_by) = (None, None, "ann".to_owned());
        let spec =
            RolloutRequestSpec { rollout, verb: Verb::Abort, run: 1, step, sequence: None, reason, requested_by };
        let mut request = RolloutRequest::new("r", spec);
        let now = Timestamp::UNIX_EPOCH + Duration::from_hours(48);
        assert!(!is_old(&request, now));
        let mut answered = |age: u64| {
            let (state, at) = (Some(RequestState::Applied), Some(now - Duration::from_secs(age)));
            request.status = Some(RolloutRequestStatus { state, reason: None, at });
            is_old(&request, now)
        };
        assert_eq!((answered(86_399), answered(86_401)), (false, true));
    }
}
