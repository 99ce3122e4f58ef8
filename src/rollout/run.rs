//! A run once it has begun: its steps, another target on the way, the way back, and its end.

use super::{
    checks, edits, gates,
    pass::{Pass, Standing, above, canaries, in_words, intended, keep_newest, trial},
    promotion,
    revision::same,
    start::begin,
    target::{Target, is_reached, is_way_back, target},
};
use crate::api::{
    Distribution, Mode, Phase, Reason, Trial,
    status::{Outcome, Run, RunRecord, Stop},
};
use crate::mistakes::{Mistake, made};

/// Moves the rollout as far as this pass may, and says where it stands.
pub(super) fn advance(pass: &mut Pass<'_>) -> Standing {
    if pass.run().is_none() {
        return at_rest(pass);
    }
    take_back_if_skewed(pass);
    if let Some(standing) = new_target(pass) {
        return standing;
    }
    if pass.run().is_some_and(|run| run.retreat.is_some()) {
        return retreat(pass);
    }
    match gates::obstacle(pass) {
        Some(standing) => standing,
        None => step_on(pass),
    }
}

/// No live run: begin one if something else is declared than is there.
fn at_rest(pass: &mut Pass<'_>) -> Standing {
    let Some(primary) = pass.status.primary.clone() else {
        return Standing::new(Phase::Initializing, Reason::FirstSight, "the primary is not known yet");
    };
    let target = match target(pass) {
        Ok(target) => target,
        Err(problem) => return Standing::held(problem),
    };
    if is_reached(pass, &target) {
        pass.status.failed_revision = None;
        return at_target(pass, &target);
    }
    if pass.status.failed_revision.as_deref() == Some(target.revision.as_str()) {
        return failed(pass);
    }
    pass.status.failed_revision = None;
    match begin(pass, primary.clone(), primary, target) {
        // What was seen of the canary was seen of what it led to before.
        Ok(()) if pass.input.spec.mode() == Mode::Service => promotion::wait_for_sight(pass),
        Ok(()) => advance(pass),
        Err(problem) => Standing::not_ready(problem),
    }
}

fn at_target(pass: &mut Pass<'_>, target: &Target) -> Standing {
    if let Some(drift) = edits::drift(pass) {
        return Standing::new(Phase::Held, Reason::RouteDrifted, drift);
    }
    if let Some(problem) = pass.input.seen.refused.clone() {
        return Standing::held(problem);
    }
    let (weights, next) = match pass.input.spec.mode() {
        Mode::Member => (in_words(&target.weights), "declare another distribution to begin"),
        Mode::Service => {
            if let Some(problem) = promotion::keep_copies(pass) {
                return Standing::held(problem);
            }
            if let Some(standing) = promotion::not_led_yet(pass) {
                return standing;
            }
            (format!("revision {}", target.revision), "change a Service to begin")
        }
    };
    match pass.status.run.as_ref().and_then(|run| run.outcome) {
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
fn failed(pass: &Pass<'_>) -> Standing {
    let last = pass.status.history.last();
    let (reason, message) = last.map_or((Reason::ChecksFailed, ""), |record| (record.reason, record.message.as_str()));
    let phase = match last.map(|record| record.outcome) {
        Some(Outcome::RolledBack) => Phase::RolledBack,
        Some(Outcome::Failed | Outcome::Succeeded | Outcome::Superseded) | None => Phase::Failed,
    };
    let message = format!("{message}; not tried again until something else is declared, or cutover retry");
    Standing::new(phase, reason, message)
}

/// Something else was declared while the run went on: wait for the writes under way, then a new run from there.
fn new_target(pass: &mut Pass<'_>) -> Option<Standing> {
    let (run, target) = (pass.run()?, target(pass).ok()?);
    // Without analysis it is an order: the only way out when what passed dies while it is promoted.
    let promoting = run.promoting_since.is_some() && !pass.input.spec.skip_analysis;
    let unmoved = target.revision == run.revision || promoting;
    if run.retreat.is_some() || unmoved || pass.input.seen.refused.is_some() {
        return None;
    }
    if is_way_back(pass, run, &target) {
        pass.retreat(Reason::OldTargetDeclared, old_again(pass.input.spec.mode()), true);
        return None;
    }
    if pass.input.spec.mode() == Mode::Service {
        promotion::new_revision(pass);
        return None;
    }
    if run.pause.as_ref().is_some_and(Stop::is_by_foreign_edit) {
        let message =
            "another distribution was declared, but a route was edited by hand; cutover resume or abort first";
        return Some(Standing::new(Phase::Paused, Reason::PausedByForeignEdit, message));
    }
    if !pass.confirmed_everywhere() {
        let message = "another distribution was declared; the writes under way are confirmed first";
        return Some(Standing::new(Phase::Progressing, Reason::NewTarget, message));
    }
    let start = intended(run).clone();
    let way_back = if run.soaking_since.is_some() { start.clone() } else { run.way_back.clone() };
    supersede(pass, start, way_back, target)
}

const fn old_again(mode: Mode) -> &'static str {
    match mode {
        Mode::Member => "the old distribution was declared again",
        Mode::Service => "the Services that passed last were declared again",
    }
}

fn supersede(pass: &mut Pass<'_>, start: Distribution, way_back: Distribution, target: Target) -> Option<Standing> {
    let former = pass.status.clone();
    end(pass, Outcome::Superseded, Reason::NewTarget, "another distribution was declared");
    pass.status.primary = Some(way_back.clone());
    if same(&start, &target.weights) && same(&start, &way_back) {
        return None;
    }
    match begin(pass, start, way_back, target) {
        Ok(()) => None,
        Err(problem) => {
            pass.status = former;
            Some(Standing::not_ready(problem))
        }
    }
}

/// Goes back until every route confirms it; then the run has ended.
fn retreat(pass: &mut Pass<'_>) -> Standing {
    let Some((retreat, way_back)) = pass.run().and_then(|run| Some((run.retreat.clone()?, run.way_back.clone())))
    else {
        return at_rest(pass);
    };
    let written = pass.status.asked.as_ref().map(|asked| {
        let weights = &asked.weights;
        asked.trial.is_none()
            && asked.affinity.is_none()
            && (same(weights, &way_back) || pass.projected(&way_back).is_some_and(|back| same(&back, weights)))
    });
    let arrived = match written {
        None => true,
        Some(asked_for) => asked_for && pass.confirmed_everywhere(),
    };
    if !arrived {
        let unconfirmed = pass.is_late();
        let (reason, suffix) = if unconfirmed {
            (Reason::NotConfirmed, gates::unconfirmed_in_words(pass))
        } else {
            (retreat.reason, String::new())
        };
        let message = format!("going back to {}: {}{suffix}", in_words(&way_back), retreat.message);
        return Standing::new(if unconfirmed { Phase::Held } else { Phase::Progressing }, reason, message);
    }
    let outcome = match (retreat.reason, retreat.by_person) {
        (Reason::NewTarget, _) => Outcome::Superseded,
        (_, true) => Outcome::RolledBack,
        (_, false) => Outcome::Failed,
    };
    if let Some(run) = pass.status.run.as_ref().filter(|_| outcome != Outcome::Superseded) {
        pass.status.failed_revision = Some(run.revision.clone()).filter(|_| !made(Mistake::RetryFailed));
    }
    end(pass, outcome, retreat.reason, &retreat.message);
    at_rest(pass)
}

/// Takes the next step; after the last one the soak begins, or the run has succeeded.
fn step_on(pass: &mut Pass<'_>) -> Standing {
    let Some(run) = pass.run() else { return at_rest(pass) };
    let (step, steps) = (run.step, u32::try_from(run.plan.len()).unwrap_or(u32::MAX));
    if step < steps {
        let promotes = promotion::is_next(run);
        let begun = if promotes { promotion::begin(pass) } else { None };
        return begun.unwrap_or_else(|| take_step(pass, step + 1, steps));
    }
    if let (None, None, Some(_)) = (run.promoting_since, run.soaking_since, run.pinned.strategy.keep_previous) {
        let now = pass.now();
        if let Some(run) = pass.run_mut() {
            run.soaking_since = Some(now);
        }
        if made(Mistake::PrimaryAtOnce) {
            pass.status.primary = pass.intended();
        }
        pass.tell(false, Reason::KeepingPrevious, "all steps are done; the way back stays open");
        return gates::obstacle(pass).unwrap_or_else(|| succeed(pass));
    }
    succeed(pass)
}

fn take_step(pass: &mut Pass<'_>, step: u32, steps: u32) -> Standing {
    let Some(run) = pass.run_mut() else { return at_rest(pass) };
    run.step = step;
    run.waiting_since = None;
    let mut weights = in_words(intended(run));
    if let Some(trial) = trial(run) {
        weights = format!("{weights}, and {trial} to {}", receivers(trial));
    }
    let (phase, rest) = match (run.promoting_since, promotion::goes_on(run), step) {
        (Some(_), _, _) => (Phase::Promoting, "the primary is what passed"),
        (None, true, _) => (Phase::Promoting, "nothing goes to the primary while it is changed"),
        (None, false, 1) => (Phase::Progressing, "rehearsed and ready"),
        (None, false, _) => (Phase::Progressing, "the step before it passed"),
    };
    pass.tell(false, Reason::Confirming, format!("step {step}/{steps}: {weights}; {rest}"));
    // A step that only proves the weights that are there waits for no write.
    checks::wake_for_next(pass);
    Standing::new(phase, Reason::Confirming, format!("step {step}/{steps}: {weights} is being written"))
}

/// Who gets the requests of a trial, with the weights among them where they are divided.
fn receivers(trial: &Trial) -> String {
    match trial {
        Trial::Matched(matched) => in_words(&matched.weights),
        Trial::Mirrored(mirrored) => mirrored.members.join(" "),
    }
}

fn succeed(pass: &mut Pass<'_>) -> Standing {
    let target = pass.run().map(|run| run.target.clone());
    pass.status.primary = target.or(pass.status.primary.take());
    end(pass, Outcome::Succeeded, Reason::RunSucceeded, "every step passed");
    at_rest(pass)
}

/// Ends the live run and keeps its record.
pub(super) fn end(pass: &mut Pass<'_>, outcome: Outcome, reason: Reason, message: &str) {
    let now = pass.now();
    let Some(run) = pass.run_mut() else { return };
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
    pass.status.history.push(record);
    keep_newest(&mut pass.status.history);
    pass.tell(outcome == Outcome::Failed, reason, text);
}

/// An increase that is not confirmed everywhere in time is taken back everywhere. A step that raises no canary, as on the
/// way from one target to another, is not: taking it back would raise one.
fn take_back_if_skewed(pass: &mut Pass<'_>) {
    let forward = |run: &&Run| run.step > 0 && run.hold.is_none() && run.retreat.is_none();
    let late = pass.is_late();
    let Some(run) = pass.run().filter(forward).filter(|run| late && raises_a_canary(run)) else { return };
    let step = run.step;
    let message = format!(
        "step {step} was taken back:{}; repair that, then cutover retry or abort",
        gates::unconfirmed_in_words(pass)
    );
    if let Some(run) = pass.run_mut() {
        run.step = step - 1;
        run.forget_evidence();
    }
    pass.tell(true, Reason::Skewed, message.clone());
    pass.hold(Reason::Skewed, message);
}

fn raises_a_canary(run: &Run) -> bool {
    let before = Run { step: run.step - 1, ..run.clone() };
    trial(run).is_some() || above(intended(run), intended(&before)).iter().any(|member| canaries(run).contains(member))
}
