//! A run once it has begun: its steps, another target on the way, the rollback target, and its end.

use super::{
    checks,
    draft::{Draft, Standing, above, canaries, in_words, intended, keep_newest, steering},
    edits, gates, promotion,
    revision::same,
    start::begin,
    target::{Target, is_reached, is_rollback_target, target},
};
use crate::api::{
    Distribution, Mode, Phase, Reason, Steering,
    status::{Outcome, Run, RunRecord, Stop},
};

/// Moves the rollout as far as this pass may, and says where it stands.
pub(super) fn advance(draft: &mut Draft<'_>) -> Standing {
    if draft.run().is_none() {
        return at_rest(draft);
    }
    take_back_if_skewed(draft);
    if let Some(standing) = new_target(draft) {
        return standing;
    }
    if draft.run().is_some_and(|run| run.rollback.is_some()) {
        return rollback(draft);
    }
    match gates::obstacle(draft) {
        Some(standing) => standing,
        None => step_on(draft),
    }
}

/// No live run: begin one if something else is declared than is there.
fn at_rest(draft: &mut Draft<'_>) -> Standing {
    let Some(primary) = draft.status.primary.clone() else {
        return Standing::new(Phase::Initializing, Reason::Initializing, "the primary is not known yet");
    };
    let target = match target(draft) {
        Ok(target) => target,
        Err(problem) => return Standing::held(problem),
    };
    if is_reached(draft, &target) {
        draft.status.failed_revision = None;
        return at_target(draft, &target);
    }
    if draft.status.failed_revision.as_deref() == Some(target.revision.as_str()) {
        return failed(draft);
    }
    draft.status.failed_revision = None;
    match begin(draft, primary.clone(), primary, target) {
        // What was seen of the canary was seen of what it led to before.
        Ok(()) if draft.input.spec.mode() == Mode::Service => promotion::observe_canary_first(draft),
        Ok(()) => advance(draft),
        Err(problem) => Standing::not_ready(problem),
    }
}

fn at_target(draft: &mut Draft<'_>, target: &Target) -> Standing {
    if let Some(drift) = edits::drift(draft) {
        return Standing::new(Phase::Held, Reason::RouteDrifted, drift);
    }
    if let Some(problem) = draft.input.seen.refused.clone() {
        return Standing::held(problem);
    }
    let (weights, next) = match draft.input.spec.mode() {
        Mode::Member => (in_words(&target.weights), "declare another distribution to begin"),
        Mode::Service => {
            if let Some(problem) = promotion::keep_copies(draft) {
                return Standing::held(problem);
            }
            if let Some(standing) = promotion::not_led_yet(draft) {
                return standing;
            }
            (format!("revision {}", target.revision), "change a Service to begin")
        }
    };
    match draft.status.run.as_ref().and_then(|run| run.outcome) {
        Some(Outcome::Succeeded) => {
            Standing::new(Phase::Succeeded, Reason::RunSucceeded, format!("{weights} is the primary"))
        }
        Some(Outcome::Failed | Outcome::RolledBack | Outcome::Superseded) | None => Standing::new(
            Phase::Initialized,
            Reason::AtTarget,
            format!("{weights} is declared and is the primary; {next}"),
        ),
    }
}

/// The declared revision failed and is not tried again by itself.
fn failed(draft: &Draft<'_>) -> Standing {
    let last = draft.status.history.last();
    let (reason, message) = last.map_or((Reason::ChecksFailed, ""), |record| (record.reason, record.message.as_str()));
    let phase = match last.map(|record| record.outcome) {
        Some(Outcome::RolledBack) => Phase::RolledBack,
        Some(Outcome::Failed | Outcome::Succeeded | Outcome::Superseded) | None => Phase::Failed,
    };
    let message = format!("{message}; not tried again until something else is declared, or cutover retry");
    Standing::new(phase, reason, message)
}

/// Something else was declared while the run went on: wait for the writes under way, then a new run from there.
fn new_target(draft: &mut Draft<'_>) -> Option<Standing> {
    let (run, target) = (draft.run()?, target(draft).ok()?);
    // Without analysis it is an order: the only way out when what passed dies while it is promoted.
    let promoting = run.promoting_since.is_some() && !draft.input.spec.skip_analysis;
    let unmoved = target.revision == run.revision || promoting;
    if run.rollback.is_some() || unmoved || draft.input.seen.refused.is_some() {
        return None;
    }
    if is_rollback_target(draft, run, &target) {
        draft.roll_back(Reason::OldTargetDeclared, old_again(draft.input.spec.mode()), true);
        return None;
    }
    if draft.input.spec.mode() == Mode::Service {
        promotion::new_revision(draft);
        return None;
    }
    if run.pause.as_ref().is_some_and(Stop::is_by_foreign_edit) {
        let message =
            "another distribution was declared, but a route was edited by hand; cutover resume or abort first";
        return Some(Standing::new(Phase::Paused, Reason::PausedByForeignEdit, message));
    }
    if !draft.confirmed_everywhere() {
        let message = "another distribution was declared; the writes under way are confirmed first";
        return Some(Standing::new(Phase::Progressing, Reason::NewTarget, message));
    }
    let start = intended(run).clone();
    let rollback_to = if run.soaking_since.is_some() { start.clone() } else { run.rollback_to.clone() };
    supersede(draft, start, rollback_to, target)
}

const fn old_again(mode: Mode) -> &'static str {
    match mode {
        Mode::Member => "the old distribution was declared again",
        Mode::Service => "the Services that passed last were declared again",
    }
}

fn supersede(
    draft: &mut Draft<'_>,
    start: Distribution,
    rollback_to: Distribution,
    target: Target,
) -> Option<Standing> {
    let former = draft.status.clone();
    end(draft, Outcome::Superseded, Reason::NewTarget, "another distribution was declared");
    draft.status.primary = Some(rollback_to.clone());
    if same(&start, &target.weights) && same(&start, &rollback_to) {
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

/// Goes back until every route confirms it; then the run has ended.
fn rollback(draft: &mut Draft<'_>) -> Standing {
    let Some((rollback, rollback_to)) =
        draft.run().and_then(|run| Some((run.rollback.clone()?, run.rollback_to.clone())))
    else {
        return at_rest(draft);
    };
    let written = draft.status.desired.as_ref().map(|desired| {
        let weights = &desired.weights;
        desired.steering.is_none()
            && desired.affinity.is_none()
            && (same(weights, &rollback_to) || draft.projected(&rollback_to).is_some_and(|back| same(&back, weights)))
    });
    let arrived = match written {
        None => true,
        Some(is_desired) => is_desired && draft.confirmed_everywhere(),
    };
    if !arrived {
        let unconfirmed = draft.is_late();
        let (reason, suffix) = if unconfirmed {
            (Reason::NotConfirmed, gates::unconfirmed_in_words(draft))
        } else {
            (rollback.reason, String::new())
        };
        let message = format!("going back to {}: {}{suffix}", in_words(&rollback_to), rollback.message);
        return Standing::new(if unconfirmed { Phase::Held } else { Phase::Progressing }, reason, message);
    }
    let outcome = match (rollback.reason, rollback.by_person) {
        (Reason::NewTarget, _) => Outcome::Superseded,
        (_, true) => Outcome::RolledBack,
        (_, false) => Outcome::Failed,
    };
    if let Some(run) = draft.status.run.as_ref().filter(|_| outcome != Outcome::Superseded) {
        draft.status.failed_revision = Some(run.revision.clone());
    }
    end(draft, outcome, rollback.reason, &rollback.message);
    at_rest(draft)
}

/// Takes the next step; after the last one the soak begins, or the run has succeeded.
fn step_on(draft: &mut Draft<'_>) -> Standing {
    let Some(run) = draft.run() else { return at_rest(draft) };
    let (step, steps) = (run.step, u32::try_from(run.plan.len()).unwrap_or(u32::MAX));
    if step < steps {
        let promotes = promotion::is_next(run);
        let begun = if promotes { promotion::begin(draft) } else { None };
        return begun.unwrap_or_else(|| take_step(draft, step + 1, steps));
    }
    if let (None, None, Some(_)) = (run.promoting_since, run.soaking_since, run.pinned.strategy.keep_previous) {
        let now = draft.now();
        if let Some(run) = draft.run_mut() {
            run.soaking_since = Some(now);
        }
        draft.tell(false, Reason::KeepingPrevious, "all steps are done; rollback stays possible");
        return gates::obstacle(draft).unwrap_or_else(|| succeed(draft));
    }
    succeed(draft)
}

fn take_step(draft: &mut Draft<'_>, step: u32, steps: u32) -> Standing {
    let Some(run) = draft.run_mut() else { return at_rest(draft) };
    run.step = step;
    run.waiting_since = None;
    let mut weights = in_words(intended(run));
    if let Some(steering) = steering(run) {
        weights = format!("{weights}, and {steering} to {}", receivers(steering));
    }
    let (phase, rest) = match (run.promoting_since, promotion::goes_on(run), step) {
        (Some(_), _, _) => (Phase::Promoting, "the primary is what passed"),
        (None, true, _) => (Phase::Promoting, "nothing goes to the primary while it is changed"),
        (None, false, 1) => (Phase::Progressing, "rehearsed and ready"),
        (None, false, _) => (Phase::Progressing, "the step before it passed"),
    };
    draft.tell(false, Reason::Confirming, format!("step {step}/{steps}: {weights}; {rest}"));
    // A step that only proves the weights that are there waits for no write.
    checks::wake_for_next(draft);
    Standing::new(phase, Reason::Confirming, format!("step {step}/{steps}: {weights} is being written"))
}

/// Who gets the requests of a steering, with the weights among them where they are divided.
fn receivers(steering: &Steering) -> String {
    match steering {
        Steering::Matched(matched) => in_words(&matched.weights),
        Steering::Mirrored(mirrored) => mirrored.members.join(" "),
    }
}

fn succeed(draft: &mut Draft<'_>) -> Standing {
    let target = draft.run().map(|run| run.target.clone());
    draft.status.primary = target.or(draft.status.primary.take());
    end(draft, Outcome::Succeeded, Reason::RunSucceeded, "every step passed");
    at_rest(draft)
}

/// Ends the live run and keeps its record.
pub(super) fn end(draft: &mut Draft<'_>, outcome: Outcome, reason: Reason, message: &str) {
    let now = draft.now();
    let Some(run) = draft.run_mut() else { return };
    run.outcome = Some(outcome);
    let weights = intended(run).clone();
    let number = run.number;
    let record = RunRecord {
        number,
        revision: run.revision.clone(),
        outcome,
        reason,
        message: message.to_owned(),
        started_at: run.started_at,
        ended_at: now,
        weights,
    };
    let text = format!("run {number} ended {outcome:?} at {}: {message}", in_words(&record.weights));
    draft.status.history.push(record);
    keep_newest(&mut draft.status.history);
    draft.tell(outcome == Outcome::Failed, reason, text);
}

/// An increase that is not confirmed everywhere in time is taken back everywhere. A step that raises no canary, as on the
/// way from one target to another, is not: taking it back would raise one.
fn take_back_if_skewed(draft: &mut Draft<'_>) {
    let forward = |run: &&Run| run.step > 0 && run.hold.is_none() && run.rollback.is_none();
    let late = draft.is_late();
    let Some(run) = draft.run().filter(forward).filter(|run| late && raises_a_canary(run)) else { return };
    let step = run.step;
    let message = format!(
        "step {step} was taken back:{}; repair that, then cutover retry or abort",
        gates::unconfirmed_in_words(draft)
    );
    if let Some(run) = draft.run_mut() {
        run.step = step - 1;
        run.forget_evidence();
    }
    draft.tell(true, Reason::Skewed, message.clone());
    draft.hold(Reason::Skewed, message);
}

fn raises_a_canary(run: &Run) -> bool {
    let before = Run { step: run.step - 1, ..run.clone() };
    steering(run).is_some()
        || above(intended(run), intended(&before)).iter().any(|member| canaries(run).contains(member))
}
