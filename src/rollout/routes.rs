//! What the live routes say: whose they are, and whether our writes arrived.

use super::{
    draft::Draft,
    input::{LiveRoute, Mark, Problem, RouteKey, RouteSeen},
    marks,
    time::later,
};
use crate::api::{
    Distribution, Reason,
    status::{RouteStatus, RunState},
};

/// Why nothing may be written: a route is another's, or knows more than this status does.
pub(super) fn ownership(draft: &Draft<'_>) -> Option<Problem> {
    draft.live_routes().find_map(|(key, live)| foreign_mark(draft, key, draft.mark(key, live)?))
}

/// Why a mark cannot be one of ours; unless a person said that whoever left it is gone.
fn foreign_mark(draft: &Draft<'_>, key: &RouteKey, mark: &Mark) -> Option<Problem> {
    if marks::is_adopted(&draft.status, mark) {
        return None;
    }
    if mark.hub != draft.input.hub {
        let message = format!("{key} was last written by hub {}; if that hub is gone: cutover adopt", mark.hub);
        return Some(Problem::new(Reason::OwnedByOtherHub, message));
    }
    if mark.rollout != draft.input.uid {
        let message = format!(
            "{key} carries the mark of rollout {}, which is gone; to go on from the live weights: cutover adopt",
            mark.rollout
        );
        return Some(Problem::new(Reason::StatusBehindRoute, message));
    }
    (mark.sequence > draft.status.sequence).then(|| {
        let message = format!(
            "{key} carries write {} but this status knows only {}: an old status was restored; to go on from the live weights: cutover adopt",
            mark.sequence, draft.status.sequence
        );
        Problem::new(Reason::StatusBehindRoute, message)
    })
}

/// Nothing is decided by a new instance of the hub, nor at rest or at the end of a rollout, before every route has been
/// read: a route may know more than the status does, and whether one still has to be given back is not known.
pub(super) fn unread(draft: &Draft<'_>) -> bool {
    let unseen = draft.input.seen.routes.values().any(|seen| *seen == RouteSeen::Unseen);
    let at_rest = draft.run().is_none() && draft.status.observed_generation.is_some();
    unseen && (draft.input.deleting || at_rest || takes_over(draft))
}

fn takes_over(draft: &Draft<'_>) -> bool {
    draft.run().is_some() && draft.status.leader.as_deref() != Some(draft.input.leader)
}

/// The clock was set back: what is recorded of the future counts as of now, or nothing would happen until then.
pub(super) fn forget_the_future(draft: &mut Draft<'_>) {
    let now = draft.now();
    let settled = later(now, draft.input.spec.analysis.settle);
    if let Some(desired) = &mut draft.status.desired {
        desired.at = desired.at.min(now);
        desired.confirmed_at = desired.confirmed_at.map(|at| at.min(now));
    }
    let Some(run) = draft.run_mut() else { return };
    run.not_ready_since = run.not_ready_since.map(|at| at.min(now));
    if let Some(bake) = run.state.bake_mut() {
        bake.until = bake.until.map(|at| at.min(settled));
    }
    match &mut run.state {
        RunState::Stepping(stepping) => {
            stepping.waiting_since = stepping.waiting_since.map(|at| at.min(now));
            stepping.closed_since = stepping.closed_since.map(|at| at.min(now));
        }
        RunState::Soaking(soaking) => soaking.since = soaking.since.min(now),
        RunState::Preparing(_) | RunState::Promoting(_) | RunState::RollingBack(_) => {}
    }
    if let Some(check) = &mut run.check {
        (check.at, check.since) = (check.at.min(now), check.since.min(now));
        check.passed_at = check.passed_at.map(|at| at.min(now));
    }
}

/// Another instance of the hub acts now: every route of a live run gets a new mark before anything else, so that a write
/// that the former leader still holds back meets a route that has changed.
pub(super) fn take_over(draft: &mut Draft<'_>) {
    if !takes_over(draft) {
        return;
    }
    let leader = draft.input.leader;
    draft.status.leader = Some(leader.to_owned());
    let sequence = draft.status.sequence + 1;
    if let Some(desired) = draft.status.desired.as_mut() {
        desired.sequence = sequence;
        draft.status.sequence = sequence;
        draft.announce(false, Reason::TookOver, format!("hub process {leader} took over"));
    }
}

/// A route that is declared since the last run, and shows something else than the others: to write it would move its
/// traffic without a step.
pub(super) fn is_new_and_differs(draft: &Draft<'_>, key: &RouteKey, live: &LiveRoute) -> bool {
    let is_new = draft.mark(key, live).is_none() && !marks::is_written(&draft.status, key);
    let differs =
        draft.status.desired.as_ref().is_some_and(|desired| !live.split.weights.same_as(&desired.split.weights));
    draft.run().is_none() && !draft.status.routes.is_empty() && is_new && differs
}

/// The first such route, for people.
pub(super) fn declared_later(draft: &Draft<'_>) -> Option<Problem> {
    let primary = draft.status.primary.as_ref()?;
    let (key, live) = draft.live_routes().find(|(key, live)| is_new_and_differs(draft, key, live))?;
    let shown = &live.split.weights;
    let message =
        format!("{key} was not written yet and shows {shown}, but the primary is {primary}; bring it to that first");
    Some(Problem::new(Reason::PrimaryDiffers, message))
}

/// Records which routes show what is desired, and when all of them do.
pub(super) fn confirm(draft: &mut Draft<'_>) {
    let Some(desired) = draft.status.desired.clone() else { return };
    let confirmed: Vec<&RouteKey> =
        draft.live_routes().filter(|(_, live)| draft.confirmed(live, &desired)).map(|(key, _)| key).collect();
    for key in confirmed {
        record(draft, key, &desired.split.weights, desired.sequence);
    }
    let keys = &draft.input.seen.routes;
    draft.status.routes.retain(|route| keys.keys().any(|key| key.service == route.service && key.route == route.route));
    if desired.confirmed_at.is_none() && draft.confirmed_everywhere() {
        let now = draft.now();
        if let Some(desired) = &mut draft.status.desired {
            desired.confirmed_at = Some(now);
        }
        let settle = draft.input.spec.analysis.settle;
        if let Some(bake) = draft.run_mut().and_then(|run| run.state.bake_mut()) {
            bake.until = Some(later(now, settle));
        }
    }
}

fn record(draft: &mut Draft<'_>, key: &RouteKey, weights: &Distribution, sequence: u64) {
    let at = draft.now();
    let known = draft.status.routes.iter_mut().find(|route| route.service == key.service && route.route == key.route);
    match known {
        Some(route) if route.sequence == sequence => {}
        Some(route) => {
            if !route.applied.same_as(weights) {
                route.at = at;
            }
            route.applied = weights.clone();
            route.sequence = sequence;
        }
        None => draft.status.routes.push(RouteStatus {
            service: key.service.clone(),
            route: key.route.clone(),
            applied: weights.clone(),
            sequence,
            at,
        }),
    }
}
