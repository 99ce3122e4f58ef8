//! What waits for hooks: the first step of a run, each that raises a canary, the promotion, and a step that is proven.

use super::{calls, of_kind};
use crate::{
    api::{
        Reason,
        hook::{Hook, HookRecord, HookType},
        status::Verdict,
    },
    rollout::{
        draft::Draft,
        input::{HookAnswer, Problem},
        schedule,
        standing::Standing,
        time::between,
    },
};

/// What stands between a run that is prepared and its first step.
pub(in crate::rollout) fn before_the_first_step(draft: &mut Draft<'_>) -> Option<Standing> {
    if draft.input.spec.skip_analysis {
        return None;
    }
    gate(draft, HookType::ConfirmRollout).or_else(|| skip(draft)).or_else(|| {
        if draft.run()?.is_without_analysis() {
            return None;
        }
        gate(draft, HookType::PreRollout).or_else(|| increase(draft))
    })
}

/// Whether the change is analysed, once every hook of type `Skip` has answered or nobody did: only a yes of all of them leaves
/// nothing of the plan but its end.
fn skip(draft: &mut Draft<'_>) -> Option<Standing> {
    let spec = draft.input.spec;
    let (mut waiting, mut agreed) = (None, Vec::new());
    let mut all_agree = true;
    for hook in of_kind(spec, HookType::Skip) {
        match draft.run()?.hooks.iter().find(|record| record.name == hook.name).map(|record| record.verdict) {
            Some(Verdict::Pass) => agreed.push(hook.name.as_str()),
            Some(Verdict::Fail | Verdict::Unknown) => all_agree = false,
            None => {
                calls::ask(draft, hook);
                waiting = waiting.or_else(|| Some(waits(hook, None)));
            }
        }
    }
    if waiting.is_none() && all_agree && !agreed.is_empty() {
        leave_out_analysis(draft, &agreed.join(", "));
    }
    waiting
}

fn leave_out_analysis(draft: &mut Draft<'_>, hooks: &str) {
    let Some(run) = draft.run_mut().filter(|run| !run.is_without_analysis()) else { return };
    let Some(end) = run.plan.pop().filter(|end| end.promotes) else { return };
    run.plan = vec![end];
    draft.announce(true, Reason::AnalysisSkipped, format!("hook {hooks} (Skip) said yes: promoted without analysis"));
}

/// What stands between a step that is proven and the one after it, or the end of the run.
pub(in crate::rollout) fn before_the_next_step(draft: &mut Draft<'_>) -> Option<Standing> {
    let run = draft.run()?;
    let promotes = run.next().is_none_or(|next| next.promotes);
    let promotion = if promotes { gate(draft, HookType::ConfirmPromotion) } else { None };
    promotion.or_else(|| increase(draft))
}

fn increase(draft: &mut Draft<'_>) -> Option<Standing> {
    if schedule::next_raises_a_canary(draft) { gate(draft, HookType::ConfirmTrafficIncrease) } else { None }
}

/// All hooks of this type that have not said yes are called; what is said of the first of them.
fn gate(draft: &mut Draft<'_>, kind: HookType) -> Option<Standing> {
    let spec = draft.input.spec;
    let mut shut = None;
    for hook in of_kind(spec, kind) {
        if !is_open(draft, hook) {
            let answer = calls::ask(draft, hook);
            shut = shut.or_else(|| Some(waits(hook, answer.as_ref())));
        }
    }
    shut
}

/// A hook that confirms said yes at this step, less than two intervals ago; one of type `PreRollout` said yes in this run.
fn is_open(draft: &Draft<'_>, hook: &Hook) -> bool {
    let Some(run) = draft.run() else { return true };
    if !hook.kind.confirms() {
        return run.hooks.iter().any(|record| record.name == hook.name && record.verdict == Verdict::Pass);
    }
    let interval = draft.input.spec.analysis.interval;
    let answer = calls::seen_here(draft, hook).and_then(|seen| seen.answer.as_ref());
    answer.is_some_and(|answer| {
        let is_fresh = between(answer.at, draft.now()) < interval.saturating_add(interval);
        is_fresh && answer.verdict == Verdict::Pass
    })
}

fn waits(hook: &Hook, answer: Option<&HookAnswer>) -> Standing {
    let Hook { name, kind, .. } = hook;
    match answer.map(|answer| (answer.verdict, &answer.message)) {
        None | Some((Verdict::Pass, _)) => {
            let message = format!("hook {name} ({kind:?}) is called and has not answered yet");
            Standing::progressing(Reason::WaitingForHook, message)
        }
        Some((Verdict::Fail, why)) if kind.confirms() => {
            let message = format!("waiting for hook {name} ({kind:?}) to say yes: {why}");
            Standing::progressing(Reason::WaitingForHook, message)
        }
        Some((Verdict::Fail, why)) => {
            let message = format!("hook {name} ({kind:?}) said no: {why}; it is called again");
            Standing::progressing(Reason::HookFailed, message)
        }
        Some((Verdict::Unknown, why)) => Standing::held(unanswered(hook, why)),
    }
}

fn unanswered(hook: &Hook, why: &str) -> Problem {
    let Hook { name, kind, .. } = hook;
    let message =
        format!("hook {name} ({kind:?}): {why}; it is called again at every interval, until it answers or is removed");
    Problem::new(Reason::HookUnanswered, message)
}

/// A hook of type Rollout said no at the present weights, or nobody answered.
pub(in crate::rollout) fn failing(draft: &Draft<'_>) -> Option<Standing> {
    let step = draft.run()?.step();
    of_kind(draft.input.spec, HookType::Rollout).find_map(|hook| {
        let HookRecord { name, verdict, message, .. } = record_here(draft, hook)?;
        match verdict {
            Verdict::Pass => None,
            Verdict::Fail => {
                let message = format!("step {step}: hook {name} (Rollout) said no, the bake begins again; {message}");
                Some(Standing::progressing(Reason::HookFailed, message))
            }
            Verdict::Unknown => Some(Standing::held(unanswered(hook, message))),
        }
    })
}

/// A hook of type Rollout has said nothing at the present weights.
pub(in crate::rollout) fn silent(draft: &Draft<'_>) -> Option<Standing> {
    let step = draft.run()?.step();
    let hook = of_kind(draft.input.spec, HookType::Rollout).find(|hook| record_here(draft, hook).is_none())?;
    let message = format!("step {step}: hook {} (Rollout) has not answered at these weights yet", hook.name);
    Some(Standing::progressing(Reason::WaitingForHook, message))
}

/// What a hook answered at the present weights.
fn record_here<'d>(draft: &'d Draft<'_>, hook: &Hook) -> Option<&'d HookRecord> {
    let sequence = draft.status.desired.as_ref()?.sequence;
    draft.run()?.hooks.iter().find(|record| record.name == hook.name && record.sequence == sequence)
}
