//! The end of a rollout: the routes stay on the primary, and nobody is cut off.

use super::{
    draft::{Draft, Standing, in_words},
    edits,
    input::RouteSeen,
    routes,
    target::{is_reached, target},
};
use crate::{
    api::{DeletionPolicy, Mode, Phase, Reason},
    rollout::decision::Action,
};

/// Brings the routes to the primary, gives everything back, and takes the finalizer off.
pub(super) fn proceed(draft: &mut Draft<'_>) -> Standing {
    if !draft.input.finalizer {
        draft.hands_off = true;
        return terminating("nothing is left to do");
    }
    if draft.input.spec.suspend {
        return let_go(draft, "deleted while suspended: no route is written");
    }
    if let Some(problem) = routes::ownership(draft) {
        return let_go(draft, &format!("deleted without writing a route: {}", problem.message));
    }
    routes::take_over(draft);
    if draft.run().is_some() {
        draft.roll_back(Reason::Deleting, "the rollout is being deleted", true);
    }
    routes::confirm(draft);
    edits::obey_or_put_back(draft);
    draft.update_desired();
    if draft.run().is_some() && !released(draft) && !on_the_primary(draft) {
        let primary = draft.status.primary.clone().unwrap_or_default();
        return terminating(&format!("bringing every route to {}", in_words(&primary)));
    }
    release(draft)
}

fn terminating(message: &str) -> Standing {
    Standing::new(Phase::Terminating, Reason::Deleting, message)
}

fn let_go(draft: &mut Draft<'_>, message: &str) -> Standing {
    draft.hands_off = true;
    if draft.status.phase != Phase::Terminating {
        draft.tell(true, Reason::Deleting, message);
    }
    draft.actions.push(Action::RemoveFinalizer);
    terminating(message)
}

/// Routes that cannot be written any more do not stand in the way.
fn on_the_primary(draft: &Draft<'_>) -> bool {
    let Some(desired) = &draft.status.desired else { return true };
    draft.input.seen.routes.values().all(|seen| match seen {
        RouteSeen::Live(live) => draft.confirmed(live, desired),
        RouteSeen::Unseen => false,
        RouteSeen::ToCreate | RouteSeen::Unusable(_) => true,
    })
}

/// Some route was given back already: the primary was reached before, and no mark is written again.
fn released(draft: &Draft<'_>) -> bool {
    draft.status.phase == Phase::Terminating && draft.status.reason == Reason::Releasing
}

fn release(draft: &mut Draft<'_>) -> Standing {
    draft.hands_off = true;
    let (policy, last) = whole_policy(draft);
    let marked: Vec<_> =
        draft.live_routes().filter(|(_, live)| live.mark.is_some()).map(|(key, _)| key.clone()).collect();
    if marked.is_empty() {
        draft.actions.push(Action::ReleaseBackends { policy });
        draft.actions.push(Action::RemoveFinalizer);
    }
    if !released(draft) {
        draft.tell(false, Reason::Deleting, format!("the routes are on the primary; {last}"));
    }
    draft.actions.extend(marked.into_iter().map(|route| Action::ReleaseRoute { route, policy }));
    Standing::new(Phase::Terminating, Reason::Releasing, "giving the routes back")
}

/// What becomes of routes and backends, and how that is told. In service mode a route that is put back sends everybody to
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
