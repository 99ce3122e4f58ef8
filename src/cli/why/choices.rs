//! The commands that a person can use now, and their immediate effect. Pure.

use super::Choice;
use crate::{
    api::{
        Reason,
        status::{Phase, Run, RunState},
        strategy::Wait,
    },
    cli::{Exit, text::shares, view::View},
};

pub(super) fn all(view: &View) -> Vec<Choice> {
    let mut choices = vec![Choice { command: "nothing".to_owned(), effect: nothing(view) }];
    if let Some(run) = view.live().filter(|run| !run.is_rolling_back()) {
        choices.extend(forward(view, run));
        choices.extend(back(view, run));
    }
    choices.extend(at_rest(view));
    choices
}

fn choice(view: &View, verb: &str, effect: impl Into<String>) -> Choice {
    Choice { command: format!("cutover {verb} {} -n {}", view.name(), view.namespace()), effect: effect.into() }
}

fn nothing(view: &View) -> String {
    let stays = view.desired().map(|desired| shares(desired, view.total()));
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
        choices.push(choice(view, "promote", format!("{now}: {goal}")));
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

fn back(view: &View, run: &Run) -> Vec<Choice> {
    if view.rollout.spec.suspend {
        return vec![choice(view, "abort --direct", "spec.suspend is true: only your own credentials can write")];
    }
    let goal = shares(&run.rollback_to, view.total());
    vec![
        choice(view, "abort", format!("at once: {goal}")),
        choice(view, "abort --direct", "the same with your own credentials, if the hub is down"),
    ]
}

fn at_rest(view: &View) -> Vec<Choice> {
    match (view.status.phase, view.status.reason) {
        (_, Reason::StatusBehindRoute | Reason::OwnedByOtherHub) => {
            vec![choice(view, "adopt", "takes the live weights as the primary")]
        }
        (Phase::Failed | Phase::RolledBack, _) => {
            vec![choice(view, "retry", "tries the same revision again, from the first step")]
        }
        _ => Vec::new(),
    }
}
