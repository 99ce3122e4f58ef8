//! When to measure, and what a round of measurements changes.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::{
    distribution::weight,
    draft::{Draft, between, canaries, later},
    input::{Input, Measured, Wanted, WantedMetric},
    judge,
    plan::longest_window,
    revision::fingerprint,
    schedule,
};
use crate::api::{
    Duration, Reason, Steering,
    analysis::UnknownAction,
    status::{Check, Desired, Run, Verdict},
    strategy::OnFailure,
};

/// The shortest window worth measuring.
const SHORTEST: Duration = Duration::from_secs(1);
/// While a person is waited for, unchanged numbers are recorded this seldom.
const RECORD_UNCHANGED_EVERY: Duration = Duration::from_secs(600);

/// The measurements that are due now, if any: in a live run, after the weights were confirmed and have settled.
#[must_use]
pub fn due(input: &Input<'_>) -> Option<Wanted> {
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
        WantedMetric { metric: metric.name.clone(), window: full.min(fresh), whole: full <= fresh }
    });
    let carrying = |name: &String| receives(desired, name) || weight(&run.rollback_to, name) > 0;
    let tried = desired.steering.iter().flat_map(Steering::members).map(str::to_owned);
    let weighted = run.rollback_to.keys().chain(desired.weights.keys()).filter(|name| carrying(name)).cloned();
    let members: BTreeSet<String> = weighted.chain(tried).collect();
    Some(Wanted {
        at: input.now,
        sequence: desired.sequence,
        evaluate_at,
        windows: windows.collect(),
        services: run.pinned.services.iter().map(|service| service.name.clone()).collect(),
        members: members.into_iter().collect(),
    })
}

fn live<'a>(input: &Input<'a>) -> Option<&'a Run> {
    let judged = |run: &&Run| run.outcome.is_none() && is_judged(run);
    // A new leader marks the routes first; what it measured before that would be about the former one's writes.
    let ours = input.status.leader.as_deref() == Some(input.leader);
    input.status.run.as_ref().filter(judged).filter(|_| ours && !input.deleting && !input.spec.suspend)
}

/// Something is being proven: not before the first step, not during a rollback, and not once it was promoted.
const fn is_judged(run: &Run) -> bool {
    run.rollback.is_none() && run.step > 0 && run.promoting_since.is_none()
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

fn earlier(at: Timestamp, time: Duration) -> Timestamp {
    let millis = i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
    at.checked_sub(jiff::SignedDuration::from_millis(millis)).unwrap_or(Timestamp::MIN)
}

/// Judges measurements that have arrived, and draws the consequences: bake, deadline, hold or rollback.
pub(super) fn consume(draft: &mut Draft<'_>) {
    wake_for_next(draft);
    let input = draft.input;
    let Some(measured) = input.seen.measured.as_ref().filter(|measured| is_about_present_weights(draft, measured))
    else {
        return;
    };
    let (Some(run), Some(desired)) = (draft.run().cloned(), draft.status.desired.clone()) else { return };
    let judged = judge::judge(&run, &desired, &input.spec.analysis, measured);
    draft.passes_now = judged.verdict == Verdict::Pass;
    note_analysis(draft);
    account(draft, &judged);
    record(draft, &run, judged.clone());
    wake_for_next(draft);
    draw_consequences(draft, &judged);
}

/// The analysis is live, so that a broken query can be repaired in mid-run; that is told.
fn note_analysis(draft: &mut Draft<'_>) {
    let now = fingerprint(&draft.input.spec.analysis);
    let Some(run) = draft.run_mut() else { return };
    let changed = run.analysis.replace(now.clone()).is_some_and(|before| before != now);
    if changed {
        draft.tell(false, Reason::AnalysisChanged, "the analysis was changed; checks go by the new one from now on");
    }
}

fn is_about_present_weights(draft: &Draft<'_>, measured: &Measured) -> bool {
    let desired = draft.status.desired.as_ref().filter(|desired| desired.confirmed_at.is_some());
    let newer =
        draft.run().is_some_and(|run| is_judged(run) && run.check.as_ref().is_none_or(|check| check.at < measured.at));
    newer && desired.is_some_and(|desired| desired.sequence == measured.sequence)
}

pub(super) fn wake_for_next(draft: &mut Draft<'_>) {
    let input = draft.input;
    let (Some(run), Some(desired)) = (draft.run(), &draft.status.desired) else { return };
    let judged = is_judged(run);
    let next = next_check(input, run, desired).filter(|_| judged);
    if let Some(at) = next {
        draft.wake_at(at);
    }
}

/// Bake grows with passing checks, stands still while Unknown, and starts at zero after a Fail. The deadline's clock
/// counts only checks that were known while nothing else stood in the way.
fn account(draft: &mut Draft<'_>, judged: &Check) {
    let analysis = &draft.input.spec.analysis;
    let stopped = draft.input.spec.paused || schedule::stood_in_the_way(&draft.status);
    // A gap without checks, such as a hub that was down, is no evidence: a check vouches for its windows only.
    let vouched = longest_window(analysis).saturating_add(analysis.lag).saturating_add(analysis.interval);
    let Some(run) = draft.run_mut() else { return };
    let since = run.baked_until.unwrap_or(judged.at);
    let elapsed = between(since, judged.at).min(vouched);
    let waited = run.waiting_since.is_some() || run.pause.is_some() || run.hold.is_some() || stopped;
    if !waited && judged.verdict != Verdict::Unknown && run.soaking_since.is_none() {
        run.deadline_used = run.deadline_used.saturating_add(elapsed);
    }
    match (judged.verdict, judged.reason) {
        (_, Reason::Settling) => return,
        (Verdict::Pass, _) => {
            (run.baked, run.passes) = (run.baked.saturating_add(elapsed), run.passes.saturating_add(1));
        }
        (Verdict::Fail, _) => run.forget_evidence(),
        (Verdict::Unknown, _) => {}
    }
    run.baked_until = Some(judged.at);
}

/// Keeps the judgement, unless a person or the schedule is waited for and it says nothing new.
fn record(draft: &mut Draft<'_>, before: &Run, judged: Check) {
    let scheduled = schedule::stood_in_the_way(&draft.status);
    let resting = before.waiting_since.is_some() || before.soaking_since.is_some() || scheduled;
    let old =
        before.check.as_ref().filter(|old| resting && old.verdict == judged.verdict && old.reason == judged.reason);
    let unchanged = old.is_some_and(|old| {
        between(old.at, judged.at) < RECORD_UNCHANGED_EVERY
            && judged.metrics.iter().zip(&old.metrics).all(|(new, old)| says_the_same(new, old))
    });
    let Some(run) = draft.run_mut() else { return };
    if unchanged {
        (run.baked, run.passes) = (before.baked, before.passes);
        (run.baked_until, run.deadline_used) = (before.baked_until, before.deadline_used);
    } else {
        run.check = Some(judged);
    }
}

/// Another Pass after nothing but Passes is no news.
fn says_the_same(new: &crate::api::status::MetricCheck, old: &crate::api::status::MetricCheck) -> bool {
    new.verdict == old.verdict && (new.recent == old.recent || !new.recent.contains('F'))
}

fn draw_consequences(draft: &mut Draft<'_>, judged: &Check) {
    let spec = draft.input.spec;
    let analysis = &spec.analysis;
    let guard = judged.metrics.iter().find(|metric| metric.reason == Reason::GuardBreached);
    if let Some(metric) = guard {
        draft.roll_back(Reason::GuardBreached, metric.message.clone(), false);
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
fn fail(draft: &mut Draft<'_>, reason: Reason, message: String) {
    let Some(run) = draft.run() else { return };
    match (run.pinned.strategy.on_failure, &run.hold) {
        (OnFailure::Rollback, _) => draft.roll_back(reason, message, false),
        (OnFailure::Hold, None) => {
            draft.hold(Reason::FailureHeld, format!("{message}; onFailure is Hold: cutover retry or abort"));
        }
        (OnFailure::Hold, Some(_)) => {}
    }
}

/// The members that are judged now.
pub(super) fn judged_members(run: &Run, desired: &Desired) -> Vec<String> {
    canaries(run).into_iter().filter(|name| receives(desired, name)).collect()
}

/// Requests reach this member, by weight or beside it.
fn receives(desired: &Desired, name: &str) -> bool {
    let tried = desired.steering.iter().flat_map(Steering::members).any(|member| member == name);
    tried || weight(&desired.weights, name) > 0
}
