//! Edits of live routes by somebody else, judged against the last confirmed weights.

use super::{
    input::{LiveRoute, RouteKey},
    pass::{Pass, above, between, canaries, in_words},
    revision::same,
};
use crate::api::{
    Distribution, Duration, Reason, Trial,
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
pub(super) fn obey_or_put_back(pass: &mut Pass<'_>) {
    if pass.run().is_some_and(|run| run.retreat.is_none() && run.pause.as_ref().is_some_and(Stop::is_by_foreign_edit)) {
        pass.hands_off = true;
    }
    let Some(edit) = first_edit(pass) else { return };
    let Some(run) = pass.run() else { return };
    if run.retreat.is_some() {
        put_back_in_retreat(pass, &edit);
        return;
    }
    let canaries = canaries(run);
    let tried = tried_unasked(pass, edit.live);
    let raised =
        above(&edit.live.weights, &edit.expected).into_iter().chain(tried).find(|name| canaries.contains(name));
    let deed = raised.map(|member| format!("raised {member}")).or_else(|| users_moved(pass, &edit));
    match deed {
        // The write that puts it back is on its way, and the edit was counted when that was decided.
        Some(_) if is_being_written(pass, edit.key) => {}
        Some(deed) => put_back(pass, &edit, &deed),
        None => obey(pass, &edit),
    }
}

/// The weights are as they were, but users are not kept where they were asked to be: that may raise anybody.
fn users_moved(pass: &Pass<'_>, edit: &Edit<'_>) -> Option<String> {
    let asked = pass.status.asked.as_ref().filter(|asked| pass.written(edit.live, asked))?;
    let moved = same(&edit.live.weights, &edit.expected) && edit.live.affinity != asked.affinity;
    moved.then(|| "changed the rules that keep users where they are".to_owned())
}

/// The members that a route tries with requests, where what is asked does not say so.
fn tried_unasked(pass: &Pass<'_>, live: &LiveRoute) -> Vec<String> {
    let asked = pass.status.asked.as_ref().filter(|asked| pass.written(live, asked));
    let trial = live.trial.iter().filter(|_| asked.is_some_and(|asked| live.trial != asked.trial));
    trial.flat_map(Trial::members).map(str::to_owned).collect()
}

/// A later decision than the one that the route was confirmed to show is still to be written.
fn is_being_written(pass: &Pass<'_>, key: &RouteKey) -> bool {
    let confirmed = known(pass, key).map_or(0, |route| route.sequence);
    pass.status.asked.as_ref().is_some_and(|asked| asked.sequence > confirmed)
}

fn known<'a>(pass: &'a Pass<'_>, key: &RouteKey) -> Option<&'a RouteStatus> {
    pass.status.routes.iter().find(|route| route.service == key.service && route.route == key.route)
}

/// The first route that does not show what the write that it carries the mark of had set.
fn first_edit<'a>(pass: &Pass<'a>) -> Option<Edit<'a>> {
    pass.live_routes().find_map(|(key, live)| {
        let expected = expected(pass, key, live)?;
        let asked =
            pass.status.asked.as_ref().filter(|asked| asked.confirmed_at.is_some() && pass.written(live, asked));
        let edited = !same(&live.weights, &expected)
            || asked.is_some_and(|asked| live.trial != asked.trial || live.affinity != asked.affinity);
        edited.then_some(Edit { key, live, expected })
    })
}

/// What the last write to a route that is known to have arrived had set.
fn expected(pass: &Pass<'_>, key: &RouteKey, live: &LiveRoute) -> Option<Distribution> {
    let asked = pass.status.asked.as_ref().filter(|asked| pass.written(live, asked));
    let confirmed =
        known(pass, key).filter(|route| live.mark.as_ref().is_none_or(|mark| mark.sequence == route.sequence));
    asked.map(|asked| &asked.weights).or(confirmed.map(|route| &route.applied)).cloned()
}

/// The message about a route that was edited outside a run.
pub(super) fn drift(pass: &Pass<'_>) -> Option<String> {
    let edit = first_edit(pass)?;
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

fn obey(pass: &mut Pass<'_>, edit: &Edit<'_>) {
    pass.hands_off = true;
    let message = format!(
        "{} set {} to {}; cutover resume writes the step's weights again",
        editor(edit),
        edit.key,
        in_words(&edit.live.weights)
    );
    let at = pass.now();
    let Some(run) = pass.run_mut() else { return };
    if run.pause.as_ref().is_some_and(Stop::is_by_foreign_edit) {
        return;
    }
    run.pause = Some(Stop { reason: Reason::PausedByForeignEdit, message: message.clone(), at });
    pass.tell(true, Reason::PausedByForeignEdit, message);
}

fn put_back(pass: &mut Pass<'_>, edit: &Edit<'_>, deed: &str) {
    let now = pass.now();
    let Some(run) = pass.run_mut() else { return };
    if run.hold.as_ref().is_some_and(|hold| hold.reason == Reason::ForeignEditsRepeat) {
        pass.hands_off = true;
        return;
    }
    run.put_back.retain(|at| between(*at, now) < REMEMBERED);
    let repeats = run.put_back.len() >= PUT_BACK_MOST;
    let message = format!("{} {deed} on {} ({})", editor(edit), edit.key, in_words(&edit.live.weights));
    if repeats {
        pass.hands_off = true;
        pass.hold(
            Reason::ForeignEditsRepeat,
            format!("{message} for the third time within an hour; end that, then cutover retry or abort"),
        );
        return;
    }
    run.put_back.push(now);
    pass.tell(true, Reason::ForeignEditPutBack, format!("{message}; put back"));
    pass.hands_off = false;
    pass.ask_anew();
}

fn put_back_in_retreat(pass: &mut Pass<'_>, edit: &Edit<'_>) {
    let Some(asked) = &pass.status.asked else { return };
    // Where our write has not arrived yet it will overwrite the edit anyway.
    let arrived = pass.written(edit.live, asked) || edit.live.mark.is_none();
    if arrived && between(asked.at, pass.now()) >= PUT_BACK_EVERY {
        pass.ask_anew();
    } else if arrived {
        let again = super::pass::later(asked.at, PUT_BACK_EVERY);
        pass.wake_at(again);
    }
}
