//! What a rollout does in each state of its run, and what leads from one to the next.

mod at_rest;
mod preparing;
mod promoting;
mod retarget;
mod rolling_back;
mod skew;
mod soaking;
mod stepping;

use super::{
    config_copies, deadline,
    decision::{Action, Backends},
    draft::{Draft, Evidence, keep_newest},
    hooks,
    standing::Standing,
};
use crate::api::{
    Reason,
    status::{HISTORY, Outcome, RunRecord, RunState},
};

/// Moves the rollout as far as this pass may, and says where it stands.
pub(super) fn advance(draft: &mut Draft<'_>) -> Standing {
    skew::take_back(draft);
    if let Some(standing) = retarget::follow(draft) {
        return standing;
    }
    let standing = in_its_state(draft);
    if deadline::passes_while_not_ready(draft, &standing) { in_its_state(draft) } else { standing }
}

fn in_its_state(draft: &mut Draft<'_>) -> Standing {
    match draft.run().map(|run| &run.state) {
        None => at_rest::stand(draft),
        Some(RunState::Preparing(_)) => preparing::advance(draft),
        Some(RunState::Stepping(_)) => stepping::advance(draft),
        Some(RunState::Promoting(_)) => promoting::advance(draft),
        Some(RunState::Soaking(_)) => soaking::advance(draft),
        Some(RunState::RollingBack(_)) => rolling_back::advance(draft),
    }
}

/// Outside a run the backend of a member that is not declared any more serves nobody.
pub(super) fn give_back_left(draft: &mut Draft<'_>) {
    let is_at_rest = draft.run().is_none() && draft.confirmed_everywhere();
    if is_at_rest && !draft.input.seen.left.is_empty() {
        let policy = draft.input.spec.deletion_policy;
        draft.actions.push(Action::ReleaseBackends { policy, which: Backends::Left });
    }
}

/// Every step passed: the target is the primary.
fn succeed(draft: &mut Draft<'_>) -> Standing {
    let target = draft.run().map(|run| run.target.clone());
    draft.status.primary = target.or(draft.status.primary.take());
    let message = match draft.evidence() {
        Evidence::Checks => "every step passed",
        Evidence::TimeAlone => "every step is over, with nothing measured",
        Evidence::NotAnalysed => "promoted without analysis",
    };
    if let Some(changed) = config_copies::left_behind(draft) {
        draft.announce(true, Reason::ConfigChanged, changed);
    }
    end(draft, Outcome::Succeeded, Reason::RunSucceeded, message, None);
    at_rest::stand(draft)
}

/// Ends the live run and keeps its record. `by` names who ended it where no check did.
pub(super) fn end(draft: &mut Draft<'_>, outcome: Outcome, reason: Reason, message: &str, by: Option<String>) {
    let Some(run) = draft.status.run.take() else { return };
    let weights = run.weights().clone();
    let text = format!("run {} ended {outcome:?} at {weights}: {message}", run.number);
    // What the canary proved is what it stays, until another run proves something else.
    if outcome != Outcome::Succeeded {
        draft.status.canary.clone_from(&run.services);
    }
    if let Some(last) = draft.status.history.last_mut() {
        last.shorten();
    }
    draft.status.history.push(RunRecord {
        number: run.number,
        outcome,
        reason,
        message: message.to_owned(),
        started_at: run.started_at,
        ended_at: draft.now(),
        ended_by: by,
        step: run.step(),
        steps: u32::try_from(run.plan.len()).unwrap_or(u32::MAX),
        weights,
        revision: run.revision,
        started_by: run.started_by,
        check: run.check,
        moves: run.moves,
        requests: run.requests,
    });
    keep_newest(&mut draft.status.history, HISTORY);
    hooks::note_end(draft, run.number, outcome);
    draft.announce(outcome == Outcome::Failed, reason, text);
}
