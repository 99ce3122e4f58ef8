//! An increase that is not confirmed everywhere in time is taken back everywhere.

use crate::{
    api::{
        Reason,
        status::{Preparing, Run, RunState, Stepping},
    },
    rollout::{draft::Draft, gates},
};

/// Takes the present step back if it raised a canary. One that raises none, as between two targets, stays: taking it back
/// would raise one.
pub(super) fn take_back(draft: &mut Draft<'_>) {
    let late = draft.is_late();
    let forward = |run: &&Run| run.step() > 0 && run.hold.is_none() && !run.is_rolling_back();
    let Some(step) = draft.run().filter(forward).filter(|run| late && raises_a_canary(run)).map(Run::step) else {
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
