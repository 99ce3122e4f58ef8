//! What this process tried to write and how that went: the pace of the next try, and what the status says.

use std::collections::BTreeMap;

use tokio::time::Instant;

use super::{backoff::Backoff, calls::CallError};
use crate::rollout::{
    Action, RouteKey,
    input::{BackendSeen, RouteSeen},
};

/// Conflicts in a row, a second or more apart, after which somebody else must be fighting for the object.
const CONTENDED: u32 = 5;

/// The tries of one rollout, by what they are about.
#[derive(Default)]
pub(super) struct Attempts(BTreeMap<About, Attempt>);

/// What a try is about: two tries about the same thing are at least a second apart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum About {
    Finalizer,
    Backend(String, String),
    Rehearsal(RouteKey),
    Route(RouteKey),
    Backends,
    ConfigCopies(String),
    OwnersOfCopies,
    Request(String),
}

#[derive(Default)]
struct Attempt {
    backoff: Backoff,
    /// In a row; one now and then is how writers meet.
    conflicts: u32,
    failed: Option<String>,
}

impl Attempts {
    /// When this may be done, if not now.
    pub(super) fn blocked_until(&self, action: &Action, now: Instant) -> Option<Instant> {
        self.0.get(&About::of(action))?.backoff.blocked_until(now)
    }

    /// Remembers how it went. What met a newer object is decided anew and is no failure.
    pub(super) fn record(&mut self, action: &Action, result: &Result<(), CallError>, now: Instant) {
        let attempt = self.0.entry(About::of(action)).or_default();
        match result {
            Ok(()) => {
                *attempt = Attempt::default();
                attempt.backoff.succeeded(now);
            }
            Err(CallError::Conflict | CallError::Gone) => {
                attempt.backoff.succeeded(now);
                attempt.conflicts += 1;
                attempt.failed = (attempt.conflicts >= CONTENDED).then(contended);
            }
            Err(CallError::NotLeading) => {}
            Err(
                error @ (CallError::Late | CallError::Overloaded(_) | CallError::Refused(_) | CallError::Failed(_)),
            ) => {
                attempt.backoff.failed(now);
                attempt.failed = Some(error.to_string());
            }
        }
    }

    /// Forgets a try: the next one may come at once.
    pub(super) fn forget(&mut self, action: &Action) {
        self.0.remove(&About::of(action));
    }

    /// A route as it was seen, with what went wrong at the last write.
    pub(super) fn with_failure(&self, key: &RouteKey, mut seen: RouteSeen) -> RouteSeen {
        if let RouteSeen::Live(live) = &mut seen {
            live.failed = self.failure(&About::Route(key.clone()));
        }
        seen
    }

    /// A member's backend of a service as it was seen, with what went wrong at the last write.
    pub(super) fn with_backend_failure(&self, (service, member): &(String, String), seen: BackendSeen) -> BackendSeen {
        match seen {
            BackendSeen::Outdated(_) => {
                BackendSeen::Outdated(self.failure(&About::Backend(service.clone(), member.clone())))
            }
            BackendSeen::Ready | BackendSeen::NotReady(_) | BackendSeen::Missing(_) => seen,
        }
    }

    /// Why the copies of a service's ConfigMaps and Secrets could not be written, if they could not.
    pub(super) fn copies_failure(&self, service: &str) -> Option<String> {
        self.failure(&About::ConfigCopies(service.to_owned()))
    }

    fn failure(&self, about: &About) -> Option<String> {
        self.0.get(about).and_then(|attempt| attempt.failed.clone())
    }
}

/// The same text at every try: it becomes part of the status, which is written when it changes.
fn contended() -> String {
    format!(
        "Contended: {CONTENDED} tries or more in a row met a newer version; find who else writes it in metadata.managedFields"
    )
}

impl About {
    fn of(action: &Action) -> Self {
        match action {
            Action::AddFinalizer | Action::RemoveFinalizer => Self::Finalizer,
            Action::WriteBackend { service, member } => Self::Backend(service.clone(), member.clone()),
            Action::Rehearse { route, .. } => Self::Rehearsal(route.clone()),
            Action::WriteRoute { route, .. } | Action::ReleaseRoute { route, .. } => Self::Route(route.clone()),
            Action::ReleaseBackends { .. } => Self::Backends,
            Action::WriteConfigCopies { service, .. } => Self::ConfigCopies(service.clone()),
            Action::ReleaseConfigCopies => Self::OwnersOfCopies,
            Action::AnswerRequest { name, .. } => Self::Request(name.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{api::Split, hub::fixtures::objects::live_route};

    fn write(route: &str) -> Action {
        let route = RouteKey { service: "shop".to_owned(), route: route.to_owned() };
        Action::WriteRoute { route, split: Split::default(), run: 1, sequence: 1 }
    }

    #[test]
    fn a_route_is_written_at_most_once_a_second_and_the_others_do_not_wait_for_it() {
        let (mut attempts, now) = (Attempts::default(), Instant::now());
        assert_eq!(attempts.blocked_until(&write("a"), now), None);
        attempts.record(&write("a"), &Ok(()), now);
        assert_eq!(attempts.blocked_until(&write("a"), now), Some(now + Duration::from_secs(1)));
        assert_eq!(attempts.blocked_until(&write("b"), now), None);
    }

    #[test]
    fn a_refusal_is_reported_until_a_write_succeeds_and_a_conflict_is_none() {
        let (mut attempts, now) = (Attempts::default(), Instant::now());
        let failure = |attempts: &Attempts| attempts.failure(&About::of(&write("a")));
        attempts.record(&write("a"), &Err(CallError::Refused("no such class".to_owned())), now);
        assert_eq!(failure(&attempts), Some("no such class".to_owned()));
        attempts.record(&write("a"), &Err(CallError::Conflict), now);
        assert_eq!(failure(&attempts), None);
    }

    #[test]
    fn an_object_that_changes_at_every_try_is_reported_and_tried_once_a_second() {
        let (mut attempts, now) = (Attempts::default(), Instant::now());
        for _ in 0..5 {
            assert_eq!(attempts.failure(&About::of(&write("a"))), None);
            attempts.record(&write("a"), &Err(CallError::Conflict), now);
            assert_eq!(attempts.blocked_until(&write("a"), now), Some(now + Duration::from_secs(1)));
        }
        let expected = "Contended: 5 tries or more in a row met a newer version; find who else writes it in metadata.managedFields";
        for _ in 0..3 {
            assert_eq!(attempts.failure(&About::of(&write("a"))).as_deref(), Some(expected));
            attempts.record(&write("a"), &Err(CallError::Conflict), now);
        }
        attempts.record(&write("a"), &Ok(()), now);
        assert_eq!(attempts.failure(&About::of(&write("a"))), None);
    }

    #[test]
    fn a_write_that_succeeds_ends_a_row_of_conflicts() {
        let (mut attempts, now) = (Attempts::default(), Instant::now());
        for result in [Err(CallError::Conflict), Err(CallError::Gone), Err(CallError::Conflict), Ok(())] {
            attempts.record(&write("a"), &result, now);
        }
        for _ in 0..CONTENDED - 1 {
            attempts.record(&write("a"), &Err(CallError::Gone), now);
        }
        assert_eq!(attempts.failure(&About::of(&write("a"))), None);
    }

    #[test]
    fn only_failures_in_a_row_lengthen_the_wait() {
        let late = || Err(CallError::Late);
        for (between, expected) in
            [(late(), 4), (Ok(()), 1), (Err(CallError::Conflict), 1), (Err(CallError::NotLeading), 2)]
        {
            let (mut attempts, now) = (Attempts::default(), Instant::now());
            for result in [late(), between.clone(), late()] {
                attempts.record(&write("a"), &result, now);
            }
            let wait = attempts.blocked_until(&write("a"), now).unwrap() - now;
            assert_eq!(wait, Duration::from_secs(expected), "{between:?}");
        }
    }

    #[test]
    fn what_was_forgotten_may_be_done_at_once() {
        let (mut attempts, now) = (Attempts::default(), Instant::now());
        attempts.record(&write("a"), &Ok(()), now);
        attempts.forget(&write("a"));
        assert_eq!(attempts.blocked_until(&write("a"), now), None);
    }

    #[test]
    fn a_route_that_could_not_be_written_says_why() {
        let mut attempts = Attempts::default();
        let live = live_route(None);
        attempts.record(&write("a"), &Err(CallError::Late), Instant::now());
        let failed = |route: &str| {
            let key = RouteKey { service: "shop".to_owned(), route: route.to_owned() };
            match attempts.with_failure(&key, RouteSeen::Live(Box::new(live.clone()))) {
                RouteSeen::Live(live) => live.failed,
                RouteSeen::Unseen | RouteSeen::ToCreate | RouteSeen::Unusable(_) => None,
            }
        };
        assert_eq!(failed("a").as_deref(), Some("the API server did not answer within 4s"));
        assert_eq!(failed("b"), None);
    }

    #[test]
    fn a_backend_that_could_not_be_written_says_why() {
        let (mut attempts, now) = (Attempts::default(), Instant::now());
        let key = ("shop".to_owned(), "eu-3".to_owned());
        let action = Action::WriteBackend { service: key.0.clone(), member: key.1.clone() };
        assert_eq!(attempts.with_backend_failure(&key, BackendSeen::Outdated(None)), BackendSeen::Outdated(None));
        attempts.record(&action, &Err(CallError::Refused("services is forbidden".to_owned())), now);
        let why = Some("services is forbidden".to_owned());
        assert_eq!(attempts.with_backend_failure(&key, BackendSeen::Outdated(None)), BackendSeen::Outdated(why));
        assert_eq!(attempts.with_backend_failure(&key, BackendSeen::Ready), BackendSeen::Ready);
    }
}
