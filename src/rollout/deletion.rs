//! The end of a rollout: the routes stay on the primary, and nobody is cut off.

use super::{
    alerts, config_copies,
    decision::{Action, Backends},
    draft::Draft,
    edits, hooks,
    input::{LiveRoute, RouteKey, RouteSeen},
    report, routes,
    standing::{Intent, Standing},
    target::{is_reached, target},
    time::later,
};
use crate::api::{DeletionPolicy, Duration, Mode, Phase, Reason};

const NOTHING: Intent = Intent::WriteNothing(Reason::Deleting);
/// The end is put off so long for alerts and events that announce it.
const ANNOUNCED_WITHIN: Duration = Duration::from_secs(60);

/// Brings the routes to the primary, gives everything back, and takes the finalizer off.
pub(super) fn proceed(draft: &mut Draft<'_>) -> (Standing, Intent) {
    if !draft.input.finalizer {
        return (terminating("nothing is left to do"), NOTHING);
    }
    if draft.input.spec.suspend {
        return (let_go(draft, "deleted while suspended: no route is written"), NOTHING);
    }
    if let Some(problem) = routes::ownership(draft) {
        let message = format!("deleted without writing a route: {}", problem.message);
        return (let_go(draft, &message), NOTHING);
    }
    routes::take_over(draft);
    draft.roll_back(Reason::Deleting, "the rollout is being deleted", Some("the rollout's deletion".to_owned()));
    routes::confirm(draft);
    let edited = edits::judge(draft);
    draft.update_desired();
    if draft.run().is_some() && !on_the_primary(draft) {
        let primary = draft.status.primary.clone().unwrap_or_default();
        return (terminating(&format!("bringing every route to {primary}")), edits::intent(draft, edited));
    }
    (release(draft), NOTHING)
}

/// With the finalizer goes the status, and with it what nobody has heard of yet: the last of it is waited for.
pub(super) fn wait_until_announced(draft: &mut Draft<'_>) {
    if !draft.actions.contains(&Action::RemoveFinalizer) {
        return;
    }
    let last = alerts::last_pending(draft).max(hooks::last_undelivered(draft));
    let Some(until) = last.map(|at| later(at, ANNOUNCED_WITHIN)).filter(|until| draft.now() < *until) else { return };
    draft.actions.retain(|action| !is_of_the_end(action));
    draft.wake_at(until);
    let (phase, reason, so_far) = (draft.status.phase, draft.status.reason, &draft.status.message);
    let message = format!("{so_far}; waiting for alerts and events to be delivered, until {until:.0} at the latest");
    report::write(draft, &Standing::new(phase, reason, message));
}

const fn is_of_the_end(action: &Action) -> bool {
    match action {
        Action::ReleaseBackends { .. } | Action::ReleaseConfigCopies | Action::RemoveFinalizer => true,
        Action::AddFinalizer
        | Action::WriteBackend { .. }
        | Action::Rehearse { .. }
        | Action::WriteRoute { .. }
        | Action::ReleaseRoute { .. }
        | Action::WriteConfigCopies { .. }
        | Action::AnswerRequest { .. } => false,
    }
}

fn terminating(message: &str) -> Standing {
    Standing::new(Phase::Terminating, Reason::Deleting, message)
}

/// The finalizer goes, and no route is written.
fn let_go(draft: &mut Draft<'_>, message: &str) -> Standing {
    let last = draft.status.transitions.last();
    if last.is_none_or(|last| last.reason != Reason::Deleting || last.message != message) {
        draft.announce(true, Reason::Deleting, message);
    }
    draft.actions.push(Action::RemoveFinalizer);
    terminating(message)
}

/// True the first time: from then on the primary was reached, and no route that was given back is written again.
fn begins_to_release(draft: &mut Draft<'_>) -> bool {
    let (now, before) = (draft.now(), draft.status.releasing_since);
    draft.status.releasing_since.get_or_insert(now);
    before.is_none()
}

/// Every route that is still to be given back shows the primary. Routes that cannot be written any more do not stand in the
/// way, and the data plane had accepted it before the first one was given back.
fn on_the_primary(draft: &Draft<'_>) -> bool {
    let Some(desired) = &draft.status.desired else { return true };
    let releasing = draft.status.releasing_since.is_some();
    draft.input.seen.routes.iter().all(|(key, seen)| match seen {
        RouteSeen::Live(live) if releasing => draft.mark(key, live).is_none() || live.split.same_as(&desired.split),
        RouteSeen::Live(live) => draft.confirmed(live, desired),
        RouteSeen::Unseen => false,
        RouteSeen::ToCreate | RouteSeen::Unusable(_) => true,
    })
}

fn release(draft: &mut Draft<'_>) -> Standing {
    let (policy, last) = whole_policy(draft);
    let routes = draft.live_routes().filter(|(_, live)| live.to_release);
    let releases: Vec<Action> = routes
        .map(|(key, live)| Action::ReleaseRoute { route: key.clone(), policy: policy_of(draft, key, live, policy) })
        .collect();
    if releases.is_empty() {
        draft.actions.push(Action::ReleaseBackends { policy, which: Backends::All });
        if policy == DeletionPolicy::Retain && config_copies::to_release(draft) {
            draft.actions.push(Action::ReleaseConfigCopies);
        }
        draft.actions.push(Action::RemoveFinalizer);
    }
    if begins_to_release(draft) {
        draft.announce(false, Reason::Deleting, format!("the routes are on the primary; {last}"));
    }
    let message = if releases.is_empty() { "the routes are given back" } else { "giving the routes back" };
    draft.actions.extend(releases);
    Standing::new(Phase::Terminating, Reason::Releasing, message)
}

/// A route that somebody took, with its mark, is put back only where it still shows what this rollout wrote.
fn policy_of(draft: &Draft<'_>, key: &RouteKey, live: &LiveRoute, policy: DeletionPolicy) -> DeletionPolicy {
    let written = draft.status.desired.as_ref().map(|desired| &desired.split.weights);
    let is_untouched = written.is_none_or(|written| live.split.weights.same_as(written));
    if draft.mark(key, live).is_some() || is_untouched { policy } else { DeletionPolicy::Retain }
}

/// What becomes of routes and backends, and how that is announced. In service mode a route that is put back sends everybody to
/// the user's own Service, which must be what passed last.
fn whole_policy(draft: &Draft<'_>) -> (DeletionPolicy, &'static str) {
    let spec = draft.input.spec;
    let proven = || spec.mode() == Mode::Member || target(draft).is_ok_and(|target| is_reached(draft, &target));
    match spec.deletion_policy {
        DeletionPolicy::Revert if proven() => (DeletionPolicy::Revert, "routes are put back and backends removed"),
        DeletionPolicy::Revert => {
            let why = "routes and backends stay as they are, for a Service is not what passed last";
            (DeletionPolicy::Retain, why)
        }
        DeletionPolicy::Retain => (DeletionPolicy::Retain, "routes and backends stay as they are"),
    }
}
