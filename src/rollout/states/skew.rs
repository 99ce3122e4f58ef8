//! An increase that is not confirmed everywhere in time is taken back everywhere.

use crate::{
    api::{
        Reason,
        status::{Preparing, Run, RunState, Stepping},
    },
    rollout::{RouteKey, draft::Draft, gates},
};

/// Takes the present step back if it raised a canary. One that raises none, as between two targets, stays: taking it back
/// would raise one. So does one that raised one and lowered another, once every route has shown it.
pub(super) fn take_back(draft: &mut Draft<'_>) {
    let forward = |run: &&Run| run.step() > 0 && run.hold.is_none() && !run.is_rolling_back();
    let undone = |run: &&Run| raises_a_canary(run) && !(lowers_a_canary(run) && was_shown(draft));
    let Some(step) = draft.run().filter(|_| draft.is_late()).filter(forward).filter(undone).map(Run::step) else {
        return;
    };
    let unconfirmed = gates::unconfirmed_in_words(draft);
    let message = format!("step {step} was taken back:{unconfirmed}; repair that, then cutover retry or abort");
    if let Some(run) = draft.run_mut() {
        run.state = one_step_back(run);
    }
    draft.announce(true, Reason::Skewed, message.clone());
    draft.hold(Reason::Skewed, message);
}

fn one_step_back(run: &Run) -> RunState {
    match run.step() - 1 {
        0 => RunState::Preparing(Preparing {}),
        step => RunState::Stepping(Stepping { step, ..Stepping::default() }),
    }
}

fn raises_a_canary(run: &Run) -> bool {
    let steers = run.present().is_some_and(|step| step.split.steering.is_some());
    let raised = run.weights().above(run.weights_of_step(run.step() - 1));
    steers || raised.iter().any(|member| run.canaries().contains(member))
}

/// To go one step back would raise a canary.
fn lowers_a_canary(run: &Run) -> bool {
    let before = run.weights_of_step(run.step() - 1);
    before.above(run.weights()).iter().any(|member| before.weight(member) > run.rollback_to.weight(member))
}

/// Every route has shown the present weights; what is late is to write them once more.
fn was_shown(draft: &Draft<'_>) -> bool {
    let weights = draft.status.desired.as_ref().map(|desired| &desired.split.weights);
    let shown = |key: &RouteKey| {
        let known = draft.status.route(&key.service, &key.route);
        known.is_some_and(|route| weights.is_some_and(|weights| route.applied.same_as(weights)))
    };
    draft.input.seen.routes.keys().all(shown)
}
