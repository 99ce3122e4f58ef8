//! When hooks are called.

use jiff::Timestamp;

use super::of_kind;
use crate::{
    api::{
        hook::{Delivered, Hook, HookType, PostRollout},
        status::{Outcome, Run, Verdict},
    },
    rollout::{
        draft::{Draft, keep_newest},
        input::{HookAnswer, HookCall, HookSeen, Occasion},
        time::{between, later},
    },
};

/// Hooks that wait to be called for runs that ended.
const PENDING: usize = 32;

/// Notes which hooks are to be called for a run that ends.
pub(in crate::rollout) fn note_end(draft: &mut Draft<'_>, run: u64, outcome: Outcome) {
    match outcome {
        Outcome::Superseded => return,
        Outcome::Succeeded | Outcome::Failed | Outcome::RolledBack => {}
    }
    let spec = draft.input.spec;
    let names = of_kind(spec, HookType::PostRollout).map(|hook| PostRollout { name: hook.name.clone(), run });
    draft.status.post_rollout.extend(names);
    keep_newest(&mut draft.status.post_rollout, PENDING);
}

/// Calls what is called while a step is proven, and after a run.
pub(in crate::rollout) fn call(draft: &mut Draft<'_>) {
    let spec = draft.input.spec;
    let is_confirmed = draft.status.desired.as_ref().is_some_and(|desired| desired.confirmed_at.is_some());
    if draft.run().is_some_and(Run::is_judged) {
        for hook in of_kind(spec, HookType::Rollback) {
            ask(draft, hook);
        }
        for hook in of_kind(spec, HookType::Rollout).filter(|_| is_confirmed) {
            ask(draft, hook);
        }
    }
    for hook in of_kind(spec, HookType::PostRollout) {
        call_after_a_run(draft, hook);
    }
}

/// For the oldest run for which it is still to be called: once, whatever comes of it.
fn call_after_a_run(draft: &mut Draft<'_>, hook: &Hook) {
    let Some(pending) = draft.status.post_rollout.iter().find(|pending| pending.name == hook.name) else { return };
    let occasion = Occasion::Ended { run: pending.run };
    let is_called = draft.input.seen.hooks.get(&hook.name).is_some_and(|seen| seen.call.occasion == occasion);
    if !is_called {
        draft.hooks.push(HookCall { name: hook.name.clone(), kind: hook.kind, occasion });
    }
}

/// Sends each hook of type Event the next transition that is recorded and that it did not get; how far each came.
pub(in crate::rollout) fn deliver(draft: &mut Draft<'_>) {
    let spec = draft.input.spec;
    let last = draft.input.status.transitions.last().map_or(0, |transition| transition.number);
    let mut delivered = Vec::new();
    for hook in of_kind(spec, HookType::Event) {
        let done = delivered_to(draft, hook).unwrap_or(last);
        delivered.push(Delivered { name: hook.name.clone(), transition: done });
        let next =
            draft.input.status.transitions.iter().map(|transition| transition.number).find(|number| *number > done);
        if let Some(number) = next {
            send(draft, hook, number);
        }
    }
    draft.delivered = Some(delivered);
}

/// When the last transition happened that a hook of type Event still has to be sent.
pub(in crate::rollout) fn last_undelivered(draft: &Draft<'_>) -> Option<Timestamp> {
    let last = draft.status.transitions.last()?;
    let lacks = |delivered: &Delivered| delivered.transition < last.number;
    draft.delivered.iter().flatten().any(lacks).then_some(last.at)
}

/// The last transition that a hook got: recorded, or answered since.
fn delivered_to(draft: &Draft<'_>, hook: &Hook) -> Option<u64> {
    let recorded = draft.status.delivered.iter().find(|delivered| delivered.name == hook.name)?.transition;
    let seen = draft.input.seen.hooks.get(&hook.name);
    let taken = seen.filter(|seen| seen.answer.as_ref().is_some_and(|answer| answer.verdict != Verdict::Unknown));
    let number = taken.map_or(0, |seen| match seen.call.occasion {
        Occasion::Transition { number } => number,
        Occasion::Step { .. } | Occasion::Ended { .. } => 0,
    });
    Some(recorded.max(number))
}

fn send(draft: &mut Draft<'_>, hook: &Hook, number: u64) {
    let occasion = Occasion::Transition { number };
    let seen = draft.input.seen.hooks.get(&hook.name).filter(|seen| seen.call.occasion == occasion);
    call_if_due(draft, hook, occasion, seen);
}

/// Calls a hook for the present step, unless it is being called or was less than an interval ago; what it answered last there.
pub(super) fn ask(draft: &mut Draft<'_>, hook: &Hook) -> Option<HookAnswer> {
    let run = draft.run()?;
    let interval = draft.input.spec.analysis.interval.as_millis().max(1);
    let attempt = between(run.started_at, draft.now()).as_millis() / interval + 1;
    let occasion = Occasion::Step { run: run.number, step: run.step(), attempt, sequence: sequence(draft) };
    let seen = seen_here(draft, hook);
    call_if_due(draft, hook, occasion, seen);
    seen?.answer.clone()
}

/// The last call of a hook, if it was for the present step and the present weights.
pub(super) fn seen_here<'a>(draft: &Draft<'a>, hook: &Hook) -> Option<&'a HookSeen> {
    let run = draft.run()?;
    let here = (run.number, run.step(), sequence(draft));
    let is_here = |seen: &&HookSeen| match seen.call.occasion {
        Occasion::Step { run, step, sequence, .. } => (run, step, sequence) == here,
        Occasion::Ended { .. } | Occasion::Transition { .. } => false,
    };
    draft.input.seen.hooks.get(&hook.name).filter(|seen| seen.call.kind == hook.kind).filter(is_here)
}

fn sequence(draft: &Draft<'_>) -> u64 {
    draft.status.desired.as_ref().map_or(0, |desired| desired.sequence)
}

/// Not while it is being called, and again only an interval after the last time.
fn call_if_due(draft: &mut Draft<'_>, hook: &Hook, occasion: Occasion, seen: Option<&HookSeen>) {
    let interval = draft.input.spec.analysis.interval;
    match seen {
        Some(HookSeen { answer: None, .. }) => {}
        Some(HookSeen { at, .. }) if later((*at).min(draft.now()), interval) > draft.now() => {
            draft.wake_at(later((*at).min(draft.now()), interval));
        }
        Some(_) | None => draft.hooks.push(HookCall { name: hook.name.clone(), kind: hook.kind, occasion }),
    }
}
