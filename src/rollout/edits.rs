//! Edits of live routes by somebody else, judged against the last confirmed weights.

use super::{
    draft::Draft,
    input::{LiveRoute, RouteKey},
    standing::Intent,
    time::{between, later},
};
use crate::api::{
    Distribution, Duration, Reason,
    status::{Desired, RouteStatus, Stop},
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

/// What became of an edit that stands on a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edited {
    /// There is none, or it is obeyed or put back.
    Settled,
    /// It raises a canary and is not put back any more.
    Stands,
}

/// Obeys an edit that only lowers canaries; puts back one that raises any. Outside a run edits are only reported.
pub(super) fn judge(draft: &mut Draft<'_>) -> Edited {
    let (Some(edit), Some(run)) = (first_edit(draft), draft.run()) else { return Edited::Settled };
    if run.is_rolling_back() {
        put_back_in_rollback(draft, &edit);
        return Edited::Settled;
    }
    let canaries = run.canaries();
    let steered = steered_unasked(draft, edit.key, edit.live);
    let mut risen = edit.live.split.weights.above(&edit.expected).into_iter().chain(steered);
    let raised = risen.find(|name| canaries.contains(name)).map(|member| format!("raised {member}"));
    match raised.or_else(|| users_moved(draft, &edit)) {
        // The write that puts it back is on its way, and the edit was counted when that was decided.
        Some(_) if is_being_written(draft, &edit) => Edited::Settled,
        Some(change) => put_back(draft, &edit, &change),
        None => obey(draft, &edit),
    }
}

/// Whether routes may be written. Not over an edit that was obeyed, nor over one that comes again and again; a rollback is
/// written whatever anybody did.
pub(super) fn intent(draft: &Draft<'_>, edited: Edited) -> Intent {
    let Some(run) = draft.run().filter(|run| !run.is_rolling_back()) else { return Intent::WriteDesired };
    let repeats = run.hold.as_ref().is_some_and(|hold| hold.reason == Reason::ForeignEditsRepeat);
    match edited {
        _ if run.pause.as_ref().is_some_and(Stop::is_by_foreign_edit) => {
            Intent::WriteNothing(Reason::PausedByForeignEdit)
        }
        Edited::Stands if repeats => Intent::WriteNothing(Reason::ForeignEditsRepeat),
        Edited::Stands | Edited::Settled => Intent::WriteDesired,
    }
}

/// The weights are as they were, but users are not kept as desired: that may raise any member.
fn users_moved(draft: &Draft<'_>, edit: &Edit<'_>) -> Option<String> {
    let desired = arrived(draft, edit.key, edit.live)?;
    let live = &edit.live.split;
    let moved = live.weights.same_as(&edit.expected) && live.affinity != desired.split.affinity;
    moved.then(|| "changed the rules that keep users where they are".to_owned())
}

/// The members to which a route steers requests, where what is desired does not say so.
fn steered_unasked(draft: &Draft<'_>, key: &RouteKey, live: &LiveRoute) -> Vec<String> {
    let differs = arrived(draft, key, live).is_some_and(|desired| live.split.steering != desired.split.steering);
    live.split.steered().filter(|_| differs).map(str::to_owned).collect()
}

/// What is desired, if its write to this route has arrived. Who applies a manifest anew takes the mark away, and not what
/// the route was seen to show.
fn arrived<'d>(draft: &'d Draft<'_>, key: &RouteKey, live: &LiveRoute) -> Option<&'d Desired> {
    let desired = draft.status.desired.as_ref()?;
    let released = draft.status.releasing_since.is_some();
    let shown = known(draft, key).is_some_and(|route| route.applied.same_as(&desired.split.weights));
    let unmarked = draft.mark(key, live).is_none() && desired.confirmed_at.is_some() && shown && !released;
    (unmarked || draft.written(live, desired)).then_some(desired)
}

/// A later decision than the one that the route was confirmed to show is still to be written.
fn is_being_written(draft: &Draft<'_>, edit: &Edit<'_>) -> bool {
    let confirmed = known(draft, edit.key).map_or(0, |route| route.sequence);
    draft
        .status
        .desired
        .as_ref()
        .is_some_and(|desired| desired.sequence > confirmed && !draft.written(edit.live, desired))
}

fn known<'a>(draft: &'a Draft<'_>, key: &RouteKey) -> Option<&'a RouteStatus> {
    draft.status.route(&key.service, &key.route)
}

/// The first route that does not show what the write that it carries the mark of had set.
fn first_edit<'a>(draft: &Draft<'a>) -> Option<Edit<'a>> {
    draft.live_routes().find_map(|(key, live)| {
        let expected = expected(draft, key, live)?;
        let desired = arrived(draft, key, live).filter(|desired| desired.confirmed_at.is_some());
        let edited = !live.split.weights.same_as(&expected)
            || desired.is_some_and(|desired| !live.split.same_as(&desired.split));
        edited.then_some(Edit { key, live, expected })
    })
}

/// What the last write to a route that is known to have arrived had set.
fn expected(draft: &Draft<'_>, key: &RouteKey, live: &LiveRoute) -> Option<Distribution> {
    let desired = arrived(draft, key, live);
    let confirmed =
        known(draft, key).filter(|route| draft.mark(key, live).is_none_or(|mark| mark.sequence == route.sequence));
    desired.map(|desired| &desired.split.weights).or(confirmed.map(|route| &route.applied)).cloned()
}

/// The message about a route that was edited outside a run.
pub(super) fn drift(draft: &Draft<'_>) -> Option<String> {
    let edit = first_edit(draft)?;
    Some(format!(
        "{} shows {} (changed by {}), not {}; put it back: cutover retry; or take it as the primary: cutover adopt",
        edit.key,
        edit.live.split.weights,
        editor(&edit),
        edit.expected
    ))
}

fn editor<'a>(edit: &Edit<'a>) -> &'a str {
    edit.live.editor.as_deref().unwrap_or("an unknown field manager")
}

fn obey(draft: &mut Draft<'_>, edit: &Edit<'_>) -> Edited {
    let (editor, at) = (editor(edit), draft.now());
    let message = format!(
        "{editor} set {} to {}; cutover resume writes the step's weights again",
        edit.key, edit.live.split.weights
    );
    if let Some(run) = draft.run_mut()
        && !run.pause.as_ref().is_some_and(Stop::is_by_foreign_edit)
    {
        run.pause = Some(Stop { reason: Reason::PausedByForeignEdit, message: message.clone(), at });
        draft.announce(true, Reason::PausedByForeignEdit, message);
    }
    Edited::Settled
}

fn put_back(draft: &mut Draft<'_>, edit: &Edit<'_>, change: &str) -> Edited {
    let now = draft.now();
    let Some(run) = draft.run_mut() else { return Edited::Settled };
    if run.hold.as_ref().is_some_and(|hold| hold.reason == Reason::ForeignEditsRepeat) {
        return Edited::Stands;
    }
    run.put_back.retain(|at| between(*at, now) < REMEMBERED);
    let message = format!("{} {change} on {} ({})", editor(edit), edit.key, edit.live.split.weights);
    if run.put_back.len() >= PUT_BACK_MOST {
        let message = format!("{message} for the third time within an hour; end that, then cutover retry or abort");
        draft.hold(Reason::ForeignEditsRepeat, message);
        return Edited::Stands;
    }
    run.put_back.push(now);
    draft.announce(true, Reason::ForeignEditPutBack, format!("{message}; put back"));
    draft.renew_desired();
    Edited::Settled
}

fn put_back_in_rollback(draft: &mut Draft<'_>, edit: &Edit<'_>) {
    let Some(desired) = &draft.status.desired else { return };
    // Where our write has not arrived yet it will overwrite the edit anyway.
    let arrived = draft.written(edit.live, desired) || draft.mark(edit.key, edit.live).is_none();
    let again = later(desired.at, PUT_BACK_EVERY);
    if arrived && again <= draft.now() {
        draft.renew_desired();
    } else if arrived {
        draft.wake_at(again);
    }
}
