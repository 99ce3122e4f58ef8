//! The end of a rollout: the routes stay on the primary, and nobody is cut off.

use super::{
    edits,
    input::RouteSeen,
    pass::{Pass, Standing, in_words},
    sight,
    target::{is_reached, target},
};
use crate::{
    api::{DeletionPolicy, Mode, Phase, Reason},
    rollout::decision::Action,
};

/// Brings the routes to the primary, gives everything back, and takes the finalizer off.
pub(super) fn proceed(pass: &mut Pass<'_>) -> Standing {
    if !pass.input.finalizer {
        pass.hands_off = true;
        return terminating("nothing is left to do");
    }
    if pass.input.spec.suspend {
        return let_go(pass, "deleted while suspended: no route is written");
    }
    if let Some(problem) = sight::ownership(pass) {
        return let_go(pass, &format!("deleted without writing a route: {}", problem.message));
    }
    sight::take_over(pass);
    if pass.run().is_some() {
        pass.retreat(Reason::Deleting, "the rollout is being deleted", true);
    }
    sight::confirm(pass);
    edits::obey_or_put_back(pass);
    pass.ask_for_intended();
    if pass.run().is_some() && !released(pass) && !on_the_primary(pass) {
        let primary = pass.status.primary.clone().unwrap_or_default();
        return terminating(&format!("bringing every route to {}", in_words(&primary)));
    }
    release(pass)
}

fn terminating(message: &str) -> Standing {
    Standing::new(Phase::Terminating, Reason::Deleting, message)
}

fn let_go(pass: &mut Pass<'_>, message: &str) -> Standing {
    pass.hands_off = true;
    if pass.status.phase != Phase::Terminating {
        pass.tell(true, Reason::Deleting, message);
    }
    pass.actions.push(Action::RemoveFinalizer);
    terminating(message)
}

/// Routes that cannot be written any more do not stand in the way.
fn on_the_primary(pass: &Pass<'_>) -> bool {
    let Some(asked) = &pass.status.asked else { return true };
    pass.input.seen.routes.values().all(|seen| match seen {
        RouteSeen::Live(live) => pass.confirmed(live, asked),
        RouteSeen::Unseen => false,
        RouteSeen::ToCreate | RouteSeen::Unusable(_) => true,
    })
}

/// Some route was given back already: the primary was reached before, and no mark is written again.
fn released(pass: &Pass<'_>) -> bool {
    pass.status.phase == Phase::Terminating && pass.status.reason == Reason::Releasing
}

fn release(pass: &mut Pass<'_>) -> Standing {
    pass.hands_off = true;
    let (policy, last) = whole_policy(pass);
    let marked: Vec<_> =
        pass.live_routes().filter(|(_, live)| live.mark.is_some()).map(|(key, _)| key.clone()).collect();
    if marked.is_empty() {
        pass.actions.push(Action::ReleaseBackends { policy });
        pass.actions.push(Action::RemoveFinalizer);
    }
    if !released(pass) {
        pass.tell(false, Reason::Deleting, format!("the routes are on the primary; {last}"));
    }
    pass.actions.extend(marked.into_iter().map(|route| Action::ReleaseRoute { route, policy }));
    Standing::new(Phase::Terminating, Reason::Releasing, "giving the routes back")
}

/// What becomes of routes and backends, and how that is told. In service mode a route that is put back sends everybody to
/// the user's own Service, which must be what passed last.
fn whole_policy(pass: &Pass<'_>) -> (DeletionPolicy, &'static str) {
    let spec = pass.input.spec;
    let proven = || spec.mode() == Mode::Member || target(pass).is_ok_and(|target| is_reached(pass, &target));
    match spec.deletion_policy {
        DeletionPolicy::Revert if proven() => (DeletionPolicy::Revert, "routes are put back and backends removed"),
        DeletionPolicy::Revert => {
            let why = "routes and backends stay as they are, for a Service is not what passed last";
            (DeletionPolicy::Retain, why)
        }
        DeletionPolicy::Retain => (DeletionPolicy::Retain, "routes and backends stay as they are"),
    }
}
