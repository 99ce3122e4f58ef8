//! Something else is declared while a run goes on: wait for the writes under way, then a new run from there.

use super::{at_rest::begin, end};
use crate::{
    api::{
        Distribution, Mode, Phase, Reason,
        status::{Outcome, RunState, Stop},
    },
    rollout::{
        draft::Draft,
        standing::Standing,
        target::{Target, changed_configs, is_rollback_target, target},
    },
};

pub(super) fn follow(draft: &mut Draft<'_>) -> Option<Standing> {
    let (run, target) = (draft.run()?, target(draft).ok()?);
    // Without analysis it is an order: the only way out when what passed fails while it is promoted.
    let promoting = run.is_promoted() && !draft.input.spec.skip_analysis;
    let unmoved = target.revision == run.revision || promoting;
    if run.is_rolling_back() || unmoved || draft.input.seen.refused.is_some() {
        return None;
    }
    let mode = draft.input.spec.mode();
    if is_rollback_target(draft, run, &target) {
        draft.roll_back(Reason::OldTargetDeclared, old_again(mode), Some(declarer(draft)));
        return None;
    }
    if let Some(changes) = changed_configs(draft, run, &target) {
        begin_again(draft, target, &changes);
        return None;
    }
    match mode {
        Mode::Member => new_distribution(draft, target),
        // A Service that routes send to is not changed under them.
        Mode::Service => {
            let message = "the Services changed; the new ones start from the primary";
            draft.roll_back(Reason::NewTarget, message, Some(declarer(draft)));
            None
        }
    }
}

/// What was proven was proven with other ConfigMaps and Secrets. Once the declared distribution has all the traffic only the
/// time begins again: to send everybody back would prove nothing more.
fn begin_again(draft: &mut Draft<'_>, target: Target, changes: &str) {
    let now = draft.now();
    let Some(run) = draft.run_mut() else { return };
    let RunState::Soaking(soaking) = &mut run.state else {
        let message = format!("{changes}; the analysis begins again from the primary");
        return draft.roll_back(Reason::ConfigChanged, message, None);
    };
    soaking.since = now;
    (run.revision, run.configs) = (target.revision, target.configs);
    draft.forget_evidence();
    draft.announce(true, Reason::ConfigChanged, format!("{changes}; the time of keepPrevious begins again"));
}

/// Who changed the declaration.
fn declarer(draft: &Draft<'_>) -> String {
    draft.input.declared_by.unwrap_or("the declaration").to_owned()
}

const fn old_again(mode: Mode) -> &'static str {
    match mode {
        Mode::Member => "the old distribution was declared again",
        Mode::Service => "the Services that passed last were declared again",
    }
}

fn new_distribution(draft: &mut Draft<'_>, target: Target) -> Option<Standing> {
    let run = draft.run()?;
    if run.pause.as_ref().is_some_and(Stop::is_by_foreign_edit) {
        let message =
            "another distribution was declared, but a route was edited by hand; cutover resume or abort first";
        return Some(Standing::new(Phase::Paused, Reason::PausedByForeignEdit, message));
    }
    if !draft.confirmed_everywhere() {
        let message = "another distribution was declared; the writes under way are confirmed first";
        return Some(Standing::progressing(Reason::NewTarget, message));
    }
    let start = run.weights().clone();
    let soaked = matches!(run.state, RunState::Soaking(_));
    let rollback_to = if soaked { start.clone() } else { run.rollback_to.clone() };
    supersede(draft, start, rollback_to, target)
}

fn supersede(
    draft: &mut Draft<'_>,
    start: Distribution,
    rollback_to: Distribution,
    target: Target,
) -> Option<Standing> {
    let former = draft.status.clone();
    let by = declarer(draft);
    end(draft, Outcome::Superseded, Reason::NewTarget, "another distribution was declared", Some(by));
    draft.status.primary = Some(rollback_to.clone());
    if start.same_as(&target.weights) && start.same_as(&rollback_to) {
        return None;
    }
    match begin(draft, start, rollback_to, target) {
        Ok(()) => None,
        Err(problem) => {
            draft.status = former;
            Some(Standing::not_ready(problem))
        }
    }
}
