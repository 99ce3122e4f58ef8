//! Edits of live routes by somebody else, judged against the last confirmed weights.

use super::{
    draft::{Draft, above, between, canaries, in_words},
    input::{LiveRoute, RouteKey},
    revision::same,
};
use crate::api::{
    Distribution, Duration, Reason, Steering,
    status::{RouteStatus, Stop},
};

/// A rollback is written again at most this often.
const PUT_BACK_EVERY: Duration = Duration::from_secs(1);
/// Edits that raise a canary are put back this often within [`REMEMBERED`]; the next one is not.
const PUT_BACK_MOST: usize = 2;
const REMEMBERED: Duration = Duration::from_secs(3600);

/// A foreign edit: the route, what our last write to it had set, and what it shows now.
struct Edit<'a> {
    key: &'a RouteKey,
    live: &'a LiveRoute,
    expected: Distribution,
}

/// Obeys an edit that only lowers canaries; puts back one that raises any. Outside a run edits are only told.
pub(super) fn obey_or_put_back(draft: &mut Draft<'_>) {
    if draft.run().is_some_and(|run| run.rollback.is_none() && run.pause.as_ref().is_some_and(Stop::is_by_foreign_edit))
    {
        draft.hands_off = true;
    }
    let Some(edit) = first_edit(draft) else { return };
    let Some(run) = draft.run() else { return };
    if run.rollback.is_some() {
        put_back_in_rollback(draft, &edit);
        return;
    }
    let canaries = canaries(run);
    let tried = tried_unasked(draft, edit.live);
    let raised =
        above(&edit.live.weights, &edit.expected).into_iter().chain(tried).find(|name| canaries.contains(name));
    let deed = raised.map(|member| format!("raised {member}")).or_else(|| users_moved(draft, &edit));
    match deed {
        // The write that puts it back is on its way, and the edit was counted when that was decided.
        Some(_) if is_being_written(draft, edit.key) => {}
        Some(deed) => put_back(draft, &edit, &deed),
        None => obey(draft, &edit),
    }
}

/// The weights are as they were, but users are not kept where they were asked to be: that may raise anybody.
fn users_moved(draft: &Draft<'_>, edit: &Edit<'_>) -> Option<String> {
    let desired = draft.status.desired.as_ref().filter(|desired| draft.written(edit.live, desired))?;
    let moved = same(&edit.live.weights, &edit.expected) && edit.live.affinity != desired.affinity;
    moved.then(|| "changed the rules that keep users where they are".to_owned())
}

/// The members that a route tries with requests, where what is asked does not say so.
fn tried_unasked(draft: &Draft<'_>, live: &LiveRoute) -> Vec<String> {
    let desired = draft.status.desired.as_ref().filter(|desired| draft.written(live, desired));
    let steering = live.steering.iter().filter(|_| desired.is_some_and(|desired| live.steering != desired.steering));
    steering.flat_map(Steering::members).map(str::to_owned).collect()
}

/// A later decision than the one that the route was confirmed to show is still to be written.
fn is_being_written(draft: &Draft<'_>, key: &RouteKey) -> bool {
    let confirmed = known(draft, key).map_or(0, |route| route.sequence);
    draft.status.desired.as_ref().is_some_and(|desired| desired.sequence > confirmed)
}

fn known<'a>(draft: &'a Draft<'_>, key: &RouteKey) -> Option<&'a RouteStatus> {
    draft.status.routes.iter().find(|route| route.service == key.service && route.route == key.route)
}

/// The first route that does not show what the write that it carries the mark of had set.
fn first_edit<'a>(draft: &Draft<'a>) -> Option<Edit<'a>> {
    draft.live_routes().find_map(|(key, live)| {
        let expected = expected(draft, key, live)?;
        let desired = draft
            .status
            .desired
            .as_ref()
            .filter(|desired| desired.confirmed_at.is_some() && draft.written(live, desired));
        let edited = !same(&live.weights, &expected)
            || desired.is_some_and(|desired| live.steering != desired.steering || live.affinity != desired.affinity);
        edited.then_some(Edit { key, live, expected })
    })
}

/// What the last write to a route that is known to have arrived had set.
fn expected(draft: &Draft<'_>, key: &RouteKey, live: &LiveRoute) -> Option<Distribution> {
    let desired = draft.status.desired.as_ref().filter(|desired| draft.written(live, desired));
    let confirmed =
        known(draft, key).filter(|route| live.mark.as_ref().is_none_or(|mark| mark.sequence == route.sequence));
    desired.map(|desired| &desired.weights).or(confirmed.map(|route| &route.applied)).cloned()
}

/// The message about a route that was edited outside a run.
pub(super) fn drift(draft: &Draft<'_>) -> Option<String> {
    let edit = first_edit(draft)?;
    Some(format!(
        "{} shows {} (changed by {}), not {}; put it back, or take it as the primary: cutover adopt",
        edit.key,
        in_words(&edit.live.weights),
        editor(&edit),
        in_words(&edit.expected)
    ))
}

fn editor<'a>(edit: &Edit<'a>) -> &'a str {
    edit.live.editor.as_deref().unwrap_or("an unknown field manager")
}

fn obey(draft: &mut Draft<'_>, edit: &Edit<'_>) {
    draft.hands_off = true;
    let message = format!(
        "{} set {} to {}; cutover resume writes the step's weights again",
        editor(edit),
        edit.key,
        in_words(&edit.live.weights)
    );
    let at = draft.now();
    let Some(run) = draft.run_mut() else { return };
    if run.pause.as_ref().is_some_and(Stop::is_by_foreign_edit) {
        return;
    }
    run.pause = Some(Stop { reason: Reason::PausedByForeignEdit, message: message.clone(), at });
    draft.tell(true, Reason::PausedByForeignEdit, message);
}

fn put_back(draft: &mut Draft<'_>, edit: &Edit<'_>, deed: &str) {
    let now = draft.now();
    let Some(run) = draft.run_mut() else { return };
    if run.hold.as_ref().is_some_and(|hold| hold.reason == Reason::ForeignEditsRepeat) {
        draft.hands_off = true;
        return;
    }
    run.put_back.retain(|at| between(*at, now) < REMEMBERED);
    let repeats = run.put_back.len() >= PUT_BACK_MOST;
    let message = format!("{} {deed} on {} ({})", editor(edit), edit.key, in_words(&edit.live.weights));
    if repeats {
        draft.hands_off = true;
        draft.hold(
            Reason::ForeignEditsRepeat,
            format!("{message} for the third time within an hour; end that, then cutover retry or abort"),
        );
        return;
    }
    run.put_back.push(now);
    draft.tell(true, Reason::ForeignEditPutBack, format!("{message}; put back"));
    draft.hands_off = false;
    draft.renew_desired();
}

fn put_back_in_rollback(draft: &mut Draft<'_>, edit: &Edit<'_>) {
    let Some(desired) = &draft.status.desired else { return };
    // Where our write has not arrived yet it will overwrite the edit anyway.
    let arrived = draft.written(edit.live, desired) || edit.live.mark.is_none();
    if arrived && between(desired.at, draft.now()) >= PUT_BACK_EVERY {
        draft.renew_desired();
    } else if arrived {
        let again = super::draft::later(desired.at, PUT_BACK_EVERY);
        draft.wake_at(again);
    }
}
