//! The commands that a person can use now, and their immediate effect. Pure.

use super::Choice;
use crate::{
    api::{
        Reason,
        status::{Phase, Run, RunState},
        strategy::Wait,
    },
    cli::{Exit, sentences, text::shares, view::View},
    rollout::awaited,
};

pub(super) fn all(view: &View) -> Vec<Choice> {
    let moving = view.live().filter(|run| !run.is_rolling_back());
    let nothing = Choice { command: "nothing".to_owned(), effect: nothing(view) };
    let forward = moving.map(|run| forward(view, run)).unwrap_or_default();
    let hub = forward.into_iter().chain(moving.and_then(|run| abort(view, run))).chain(at_rest(view));
    let direct = view.live().map(|run| direct(view, run));
    if !view.hub().is_silent() {
        let direct = direct.filter(|_| moving.is_some());
        return [nothing].into_iter().chain(hub).chain(direct).collect();
    }
    // What helps without a hub comes first, and what needs one says so.
    let later = hub.map(|Choice { command, effect }| {
        let effect = effect.strip_prefix("at once: ").unwrap_or(&effect);
        Choice { command, effect: format!("when a hub runs: {effect}") }
    });
    direct.into_iter().chain([nothing]).chain(later).collect()
}

fn choice(view: &View, verb: &str, effect: impl Into<String>) -> Choice {
    Choice { command: format!("cutover {verb} {} -n {}", view.name(), view.namespace()), effect: effect.into() }
}

fn nothing(view: &View) -> String {
    let stays = view.applied().or_else(|| view.desired()).map(|weights| shares(weights, view.total()));
    if view.hub().is_silent() && view.live().is_some() {
        let stays = stays.unwrap_or_else(|| "as it is".to_owned());
        return format!("stays {stays}, whatever fails, until a hub runs");
    }
    match (view.exit(), stays) {
        (Exit::Progressing, _) => "continues as above".to_owned(),
        (Exit::Done | Exit::Error | Exit::Failed | Exit::Held, Some(stays)) => format!("stays {stays}"),
        (Exit::Done | Exit::Error | Exit::Failed | Exit::Held, None) => "stays as it is".to_owned(),
    }
}

fn forward(view: &View, run: &Run) -> Vec<Choice> {
    let mut choices = Vec::new();
    let waits = run.present().is_some_and(|present| present.wait == Some(Wait::Promotion));
    let steps = matches!(run.state, RunState::Stepping(_));
    if waits && steps && !run.approved.contains(&run.step()) {
        let after = run.next().map(|next| shares(&next.split.weights, view.total()));
        let goal = after.unwrap_or_else(|| "the end of the run".to_owned());
        let now =
            if view.status.phase == Phase::WaitingPromotion { "at once" } else { "when checks and bake are done" };
        let effect = match awaited(run) {
            Some(approvals) => format!("adds yours to {approvals}; with all of them {now}: {goal}"),
            None => format!("{now}: {goal}"),
        };
        choices.push(choice(view, "promote", effect));
    }
    if run.hold.is_some() {
        choices.push(choice(view, "retry", "same weights, new bake, failures reset"));
    }
    choices.push(match (&run.pause, view.rollout.spec.paused) {
        (Some(pause), false) if pause.is_by_foreign_edit() => {
            choice(view, "resume", "writes the step's weights again; the bake starts again")
        }
        (Some(_), false) => choice(view, "resume", "the run continues"),
        (None, false) => choice(view, "pause", "stops advancing; checks and rollback stay active"),
        (_, true) => choice(view, "pause", "spec.paused is already true; set it to false to continue"),
    });
    choices
}

fn abort(view: &View, run: &Run) -> Option<Choice> {
    let goal = shares(&run.rollback_to, view.total());
    (!view.rollout.spec.suspend).then(|| choice(view, "abort", format!("at once: {goal}")))
}

fn direct(view: &View, run: &Run) -> Choice {
    let goal = shares(&run.rollback_to, view.total());
    let effect = if view.rollout.spec.suspend {
        "spec.suspend is true: only your own credentials can write".to_owned()
    } else if view.hub().is_silent() {
        format!("at once, with your own credentials: {goal}")
    } else {
        "the same with your own credentials, if the hub is down".to_owned()
    };
    Choice { command: sentences::direct(view), effect }
}

fn at_rest(view: &View) -> Vec<Choice> {
    if view.live().is_some() {
        return Vec::new();
    }
    let lost = matches!(view.status.phase, Phase::Failed | Phase::RolledBack);
    match view.status.reason {
        Reason::StatusBehindRoute | Reason::OwnedByOtherHub => {
            vec![choice(view, "adopt", "takes the live weights as the primary")]
        }
        _ if !view.drifts().is_empty() || view.status.reason == Reason::RouteDrifted => drifted(view),
        _ if lost => vec![choice(view, "retry", "tries the same revision again, from the first step")],
        _ => Vec::new(),
    }
}

/// A route shows something else than was written last: one of the two must become true.
fn drifted(view: &View) -> Vec<Choice> {
    let total = view.total();
    let drift = view.drifts().into_iter().next();
    let shown = drift.map_or_else(|| "what the routes show".to_owned(), |drift| shares(drift.shows, total));
    let written = view.desired().map_or_else(|| "the last weights".to_owned(), |desired| shares(desired, total));
    vec![
        choice(view, "retry", format!("puts it back at once: {written}")),
        choice(view, "adopt", format!("keeps it: {shown} becomes the primary")),
    ]
}
