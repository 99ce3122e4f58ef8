//! What the answers of hooks do: they fail checks, roll back, or are reported.

use super::of_kind;
use crate::{
    api::{
        Reason,
        analysis::UnknownAction,
        hook::{HookRecord, HookType},
        status::{Run, RunState, Verdict},
    },
    rollout::{
        approvals, checks,
        draft::Draft,
        input::{HookAnswer, HookCall, HookSeen, Occasion},
    },
};

/// Takes the answers that have come since.
pub(in crate::rollout) fn consume(draft: &mut Draft<'_>) {
    let spec = draft.input.spec;
    for hook in &spec.hooks {
        let Some(seen) = draft.input.seen.hooks.get(&hook.name).filter(|seen| seen.call.kind == hook.kind) else {
            continue;
        };
        let Some(answer) = &seen.answer else { continue };
        match (hook.kind, &seen.call.occasion) {
            (HookType::PreRollout | HookType::Rollout, Occasion::Step { .. }) => judge(draft, seen, answer),
            (HookType::Skip, Occasion::Step { .. }) => note(draft, seen, answer),
            (HookType::Rollback, Occasion::Step { .. }) => rollback(draft, seen, answer),
            (HookType::PostRollout, Occasion::Ended { run }) => ended(draft, &hook.name, *run, answer),
            // Gates look at answers themselves, and events at what they were sent last; another occasion is that of a former type.
            (
                HookType::ConfirmRollout
                | HookType::Skip
                | HookType::PreRollout
                | HookType::Rollout
                | HookType::ConfirmTrafficIncrease
                | HookType::ConfirmPromotion
                | HookType::PostRollout
                | HookType::Rollback
                | HookType::Event,
                Occasion::Step { .. } | Occasion::Ended { .. } | Occasion::Transition { .. },
            ) => {}
        }
    }
    let is_declared = |name: &str| of_kind(spec, HookType::PostRollout).any(|hook| hook.name == name);
    draft.status.post_rollout.retain(|pending| is_declared(&pending.name));
}

/// The answer is to a call of the present run.
fn is_of_run(run: &Run, call: &HookCall) -> bool {
    matches!(call.occasion, Occasion::Step { run: number, .. } if number == run.number)
}

/// The first answer of a run holds, whatever it is.
fn note(draft: &mut Draft<'_>, seen: &HookSeen, answer: &HookAnswer) {
    let Occasion::Step { sequence, .. } = seen.call.occasion else { return };
    let Some(run) = draft.run_mut().filter(|run| is_of_run(run, &seen.call)) else { return };
    let name = &seen.call.name;
    if matches!(run.state, RunState::Preparing(_)) && !run.hooks.iter().any(|record| record.name == *name) {
        run.hooks.push(HookRecord {
            name: name.clone(),
            sequence,
            verdict: answer.verdict,
            message: answer.message.clone(),
            recent: String::new(),
            unknown_in_a_row: 0,
            at: answer.at,
        });
    }
}

/// A no counts like a failed check, no answer like an Unknown one.
fn judge(draft: &mut Draft<'_>, seen: &HookSeen, answer: &HookAnswer) {
    let within = usize::try_from(draft.input.spec.analysis.failures.within).unwrap_or(usize::MAX);
    let Occasion::Step { sequence, .. } = seen.call.occasion else { return };
    let Some(run) = draft.run_mut().filter(|run| is_of_run(run, &seen.call) && !run.is_rolling_back()) else { return };
    let name = &seen.call.name;
    let known = run.hooks.iter().find(|record| record.name == *name).cloned();
    if known.as_ref().is_some_and(|record| record.at == answer.at || says_nothing_new(run, record, sequence, answer)) {
        return;
    }
    let (mut recent, unknown) = known.map(|record| (record.recent, record.unknown_in_a_row)).unwrap_or_default();
    let unknown_in_a_row = if answer.verdict == Verdict::Unknown { unknown.saturating_add(1) } else { 0 };
    recent.push_str(mark(answer.verdict));
    let surplus = recent.len().saturating_sub(within);
    recent.drain(..surplus);
    let record = HookRecord {
        name: name.clone(),
        sequence,
        verdict: answer.verdict,
        message: answer.message.clone(),
        recent,
        unknown_in_a_row,
        at: answer.at,
    };
    run.hooks.retain(|other| other.name != record.name);
    run.hooks.push(record.clone());
    if answer.verdict == Verdict::Fail {
        approvals::void(run);
        if let Some(bake) = run.state.bake_mut() {
            bake.forget();
        }
    }
    draw_consequences(draft, &record);
}

const fn mark(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "P",
        Verdict::Fail => "F",
        Verdict::Unknown => "",
    }
}

/// While a person, a time or another rollout is waited for, another yes at the same weights is no news.
fn says_nothing_new(run: &Run, record: &HookRecord, sequence: u64, answer: &HookAnswer) -> bool {
    let passes = record.verdict == Verdict::Pass && answer.verdict == Verdict::Pass;
    passes && record.sequence == sequence && checks::is_waited_for(run) && !record.recent.contains('F')
}

fn draw_consequences(draft: &mut Draft<'_>, record: &HookRecord) {
    let analysis = &draft.input.spec.analysis;
    let (name, message) = (&record.name, &record.message);
    let failures = record.recent.matches('F').count();
    let limit = usize::try_from(analysis.failures.limit).unwrap_or(usize::MAX);
    if record.verdict == Verdict::Fail && failures >= limit {
        let message = format!("hook {name} said no {failures} times in {} answers: {message}", record.recent.len());
        checks::fail(draft, Reason::HookFailed, message);
    } else if record.unknown_in_a_row >= analysis.unknown.limit && analysis.unknown.action == UnknownAction::Rollback {
        let message = format!("hook {name} gave no answer {} times in a row: {message}", record.unknown_in_a_row);
        checks::fail(draft, Reason::UnknownLimit, message);
    }
}

fn rollback(draft: &mut Draft<'_>, seen: &HookSeen, answer: &HookAnswer) {
    let is_live = draft.run().is_some_and(|run| is_of_run(run, &seen.call) && run.is_judged());
    if is_live && answer.verdict == Verdict::Pass {
        let name = &seen.call.name;
        draft.roll_back(
            Reason::RollbackByHook,
            format!("hook {name} (Rollback) said yes"),
            Some(format!("hook {name}")),
        );
    }
}

fn ended(draft: &mut Draft<'_>, name: &str, run: u64, answer: &HookAnswer) {
    let before = draft.status.post_rollout.len();
    draft.status.post_rollout.retain(|pending| pending.name != name || pending.run != run);
    let is_new = draft.status.post_rollout.len() < before;
    if is_new && answer.verdict != Verdict::Pass {
        let message = format!("hook {name}, called after run {run}: {}", answer.message);
        let reason = if answer.verdict == Verdict::Fail { Reason::HookFailed } else { Reason::HookUnanswered };
        draft.announce(true, reason, message);
    }
}
