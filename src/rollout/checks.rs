//! When to measure, and what a round of measurements changes.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::{
    approvals,
    draft::Draft,
    input::{Input, Measured, MeasurementRequest, MetricWindow},
    judge,
    plan::longest_window,
    time::{between, earlier, later},
};
use crate::api::{
    Duration, Reason,
    analysis::UnknownAction,
    fingerprint::fingerprint,
    status::{Bake, Check, Desired, MetricCheck, Run, RunState, Verdict},
    strategy::OnFailure,
};

/// The shortest window worth measuring.
pub(super) const SHORTEST: Duration = Duration::from_secs(1);
/// While a person is waited for, unchanged numbers are recorded this seldom.
const RECORD_UNCHANGED_EVERY: Duration = Duration::from_secs(600);

/// The measurements that are due now, if any: in a live run, after the weights were confirmed and have settled.
#[must_use]
pub fn due(input: &Input<'_>) -> Option<MeasurementRequest> {
    let run = live(input)?;
    let desired = input.status.desired.as_ref()?;
    if next_check(input, run, desired)? > input.now {
        return None;
    }
    let analysis = &input.spec.analysis;
    let settled = later(desired.confirmed_at?, analysis.settle);
    let evaluate_at = earlier(input.now, analysis.lag);
    let fresh = between(settled, evaluate_at);
    let windows = analysis.metrics.iter().map(|metric| {
        let full = metric.window.unwrap_or(analysis.interval);
        MetricWindow { metric: metric.name.clone(), window: full.min(fresh), whole: full <= fresh }
    });
    let reached = desired.split.reached();
    let rolled_back_to = run.rollback_to.carrying().map(|(member, _)| member);
    let members: BTreeSet<&str> = reached.members().chain(rolled_back_to).collect();
    Some(MeasurementRequest {
        at: input.now,
        sequence: desired.sequence,
        evaluate_at,
        windows: windows.collect(),
        services: run.pinned.services.iter().map(|service| service.name.clone()).collect(),
        members: members.into_iter().map(str::to_owned).collect(),
    })
}

fn live<'a>(input: &Input<'a>) -> Option<&'a Run> {
    // A new leader marks the routes first; what it measured before that would be about the former one's writes.
    let ours = input.status.leader.as_deref() == Some(input.leader);
    let run = input.status.run.as_ref().filter(|run| run.is_judged());
    run.filter(|_| ours && !input.deleting && !input.spec.suspend)
}

/// When the next round is due; `None` while the weights are not confirmed. A round of the future is none: the clock was
/// set back, and nothing would be measured until that time has come.
fn next_check(input: &Input<'_>, run: &Run, desired: &Desired) -> Option<Timestamp> {
    let analysis = &input.spec.analysis;
    let settled = later(desired.confirmed_at?, analysis.settle);
    let first = later(later(settled, analysis.lag), SHORTEST);
    let past = |at: &Timestamp| *at <= input.now;
    let last = run.check.as_ref().map(|check| check.at).filter(past).max(input.measured_at.filter(past));
    Some(last.map_or(first, |last| first.max(later(last, analysis.interval))))
}

/// Judges measurements that have arrived, and draws the consequences: bake, deadline, hold or rollback.
pub(super) fn consume(draft: &mut Draft<'_>) {
    wake_for_next(draft);
    let input = draft.input;
    let Some(measured) = input.seen.measured.as_ref().filter(|measured| is_about_present_weights(draft, measured))
    else {
        return;
    };
    let (Some(run), Some(desired)) = (draft.run(), &draft.status.desired) else { return };
    let judged = judge::judge(run, desired, &input.spec.analysis, measured);
    draft.passes_now = judged.verdict == Verdict::Pass;
    note_analysis(draft);
    record(draft, &judged);
    wake_for_next(draft);
    draw_consequences(draft, &judged);
}

/// The analysis is live, so that a broken query can be repaired in mid-run; the change is announced.
fn note_analysis(draft: &mut Draft<'_>) {
    let now = fingerprint(&draft.input.spec.analysis);
    let Some(run) = draft.run_mut() else { return };
    let changed = run.analysis.replace(now.clone()).is_some_and(|before| before != now);
    if changed {
        draft.announce(
            false,
            Reason::AnalysisChanged,
            "the analysis was changed; checks go by the new one from now on",
        );
    }
}

fn is_about_present_weights(draft: &Draft<'_>, measured: &Measured) -> bool {
    let desired = draft.status.desired.as_ref().filter(|desired| desired.confirmed_at.is_some());
    let newer =
        draft.run().is_some_and(|run| run.is_judged() && run.check.as_ref().is_none_or(|check| check.at < measured.at));
    newer && desired.is_some_and(|desired| desired.sequence == measured.sequence)
}

pub(super) fn wake_for_next(draft: &mut Draft<'_>) {
    let input = draft.input;
    let (Some(run), Some(desired)) = (draft.run(), &draft.status.desired) else { return };
    let next = next_check(input, run, desired).filter(|_| run.is_judged());
    // A round that takes longer than the interval is followed by the next one when it has arrived.
    let waits_for_it = |at: &Timestamp| input.measuring && *at <= input.now;
    if let Some(at) = next.filter(|at| !waits_for_it(at)) {
        draft.wake_at(at);
    }
}

/// Bake grows with passing checks, stands still while Unknown, and starts at zero after a Fail. The deadline's clock
/// counts only checks that were known while nothing else stood in the way.
fn account(draft: &mut Draft<'_>, judged: &Check) {
    let analysis = &draft.input.spec.analysis;
    let paused = draft.input.spec.paused;
    // A gap without checks, such as a hub that was down, is no evidence: a check vouches for its windows only.
    let vouched = longest_window(analysis).saturating_add(analysis.lag).saturating_add(analysis.interval);
    let Some(run) = draft.run_mut() else { return };
    let elapsed = between(run.bake().until.unwrap_or(judged.at), judged.at).min(vouched);
    if judged.verdict != Verdict::Unknown && !paused && only_checks_stand_in_the_way(run) {
        run.deadline_used = run.deadline_used.saturating_add(elapsed);
    }
    if judged.verdict == Verdict::Fail {
        approvals::void(run);
    }
    if let Some(bake) = run.state.bake_mut().filter(|_| judged.reason != Reason::Settling) {
        grow(bake, judged, elapsed);
    }
}

fn grow(bake: &mut Bake, judged: &Check, elapsed: Duration) {
    match judged.verdict {
        Verdict::Pass => {
            (bake.time, bake.passes) = (bake.time.saturating_add(elapsed), bake.passes.saturating_add(1));
        }
        Verdict::Fail => bake.forget(),
        Verdict::Unknown => {}
    }
    bake.until = Some(judged.at);
}

fn only_checks_stand_in_the_way(run: &Run) -> bool {
    !is_waited_for(run) && run.pause.is_none() && run.hold.is_none()
}

/// A person, a time or another rollout is waited for.
pub(super) fn is_waited_for(run: &Run) -> bool {
    match &run.state {
        RunState::Stepping(stepping) => stepping.waiting_since.is_some() || stepping.closed_since.is_some(),
        RunState::Soaking(_) => true,
        RunState::Preparing(_) | RunState::Promoting(_) | RunState::RollingBack(_) => false,
    }
}

/// Keeps the judgement and what it adds, unless a person or the schedule is waited for and it says nothing new.
fn record(draft: &mut Draft<'_>, judged: &Check) {
    if draft.run().is_some_and(|run| says_nothing_new(run, judged)) {
        return;
    }
    account(draft, judged);
    let is_verdict = !matches!(judged.reason, Reason::Settling | Reason::NothingMeasured);
    if let Some(run) = draft.run_mut() {
        if let Some(last) = run.moves.last_mut().filter(|_| is_verdict) {
            last.verdict = Some(judged.verdict);
        }
        run.check = Some(judged.clone());
    }
}

fn says_nothing_new(run: &Run, judged: &Check) -> bool {
    run.check.as_ref().filter(|_| is_waited_for(run)).is_some_and(|old| {
        old.verdict == judged.verdict
            && old.reason == judged.reason
            && between(old.at, judged.at) < RECORD_UNCHANGED_EVERY
            && judged.metrics.iter().zip(&old.metrics).all(|(new, old)| says_the_same(new, old))
    })
}

/// Another Pass after nothing but Passes is no news.
fn says_the_same(new: &MetricCheck, old: &MetricCheck) -> bool {
    new.verdict == old.verdict && (new.recent == old.recent || !new.recent.contains('F'))
}

fn draw_consequences(draft: &mut Draft<'_>, judged: &Check) {
    let spec = draft.input.spec;
    let analysis = &spec.analysis;
    let guard = judged.metrics.iter().find(|metric| metric.reason == Reason::GuardBreached);
    if let Some(metric) = guard {
        draft.roll_back(Reason::GuardBreached, metric.message.clone(), None);
        return;
    }
    let failures = |recent: &str| recent.bytes().filter(|mark| *mark == b'F').count();
    let limit = usize::try_from(analysis.failures.limit).unwrap_or(usize::MAX);
    let failed = judged.metrics.iter().find(|metric| failures(&metric.recent) >= limit);
    if let Some(metric) = failed.filter(|metric| metric.verdict == Verdict::Fail) {
        let message = format!(
            "{} of the last {} checks failed; {}",
            failures(&metric.recent),
            metric.recent.len(),
            metric.message
        );
        fail(draft, Reason::ChecksFailed, message);
        return;
    }
    if judged.unknown_in_a_row >= analysis.unknown.limit && analysis.unknown.action == UnknownAction::Rollback {
        fail(
            draft,
            Reason::UnknownLimit,
            format!("{} checks in a row were Unknown; {}", judged.unknown_in_a_row, judged.message),
        );
        return;
    }
    let used = draft.run().map(|run| (run.deadline_used, run.pinned.strategy.progress_deadline));
    if let Some((used, Some(deadline))) =
        used.filter(|(used, deadline)| deadline.is_some_and(|deadline| *used > deadline))
    {
        fail(
            draft,
            Reason::ProgressDeadlineExceeded,
            format!("the run took {used} of {deadline} in which nothing but checks stood in the way"),
        );
    }
}

/// What a failure does is the strategy's choice.
pub(super) fn fail(draft: &mut Draft<'_>, reason: Reason, message: String) {
    let Some(run) = draft.run() else { return };
    match (run.pinned.strategy.on_failure, &run.hold) {
        (OnFailure::Rollback, _) => draft.roll_back(reason, message, None),
        (OnFailure::Hold, None) => {
            draft.hold(Reason::FailureHeld, format!("{message}; onFailure is Hold: cutover retry or abort"));
        }
        (OnFailure::Hold, Some(_)) => {}
    }
}

/// The members that are judged now.
pub(super) fn judged_members(run: &Run, desired: &Desired) -> Vec<String> {
    run.canaries().into_iter().filter(|name| desired.split.reaches(name)).collect()
}
