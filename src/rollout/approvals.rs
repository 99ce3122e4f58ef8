//! Approvals of a step by several people. Each is for the evidence that its person saw: checks that passed at these weights. With
//! that evidence it is void.

use super::draft::Draft;
use super::input::Request;
use crate::api::{
    approval::{Approval, Approved},
    status::{Run, Verdict},
};

/// Counts a Promote request toward the approvals of the present step, in words; true once there are enough.
pub(super) fn approve(draft: &mut Draft<'_>, request: &Request, approval: Approval) -> Result<(String, bool), String> {
    let (at, by) = (draft.now(), request.spec.requested_by.clone());
    let sequence = draft.status.desired.as_ref().map(|desired| desired.sequence);
    let Some(run) = draft.run() else { return Err("no run is going on".to_owned()) };
    let step = run.step();
    has_seen(run, sequence, request.spec.sequence)?;
    is_somebody_else(run, approval, &by)?;
    let Some(run) = draft.run_mut() else { return Err("no run is going on".to_owned()) };
    if !run.approvals.iter().any(|approved| approved.step == step && approved.by == by) {
        run.approvals.push(Approved { step, by, at });
    }
    let names: Vec<&str> = of_step(run).map(|approved| approved.by.as_str()).collect();
    let is_enough = names.len() >= approval.min as usize;
    Ok((format!("{} of {} approvals of step {step}: {}", names.len(), approval.min, names.join(", ")), is_enough))
}

/// The person looked at what stands there now, and that has passed.
fn has_seen(run: &Run, present: Option<u64>, seen: Option<u64>) -> Result<(), String> {
    let step = run.step();
    match seen {
        None => {
            Err(format!("step {step} needs approvals of what its checks say: use cutover promote, which names that"))
        }
        Some(_) if seen != present => {
            Err(format!("the weights of step {step} were written anew after you looked; look again: cutover why"))
        }
        Some(_) => {
            let check = run.check.as_ref().filter(|check| Some(check.sequence) == present);
            let passed = check.is_some_and(|check| check.verdict == Verdict::Pass);
            passed
                .then_some(())
                .ok_or_else(|| format!("step {step} has no check that passed yet, so there is nothing to approve"))
        }
    }
}

fn is_somebody_else(run: &Run, approval: Approval, by: &str) -> Result<(), String> {
    match run.author.as_deref().filter(|author| !author.is_empty()) {
        _ if !approval.not_author => Ok(()),
        None => {
            Err("nobody knows who declared this change, so nobody is known not to be its author: set the annotation \
                     cutover.dev/declared-by when you declare one (config/admission/declared-by.yaml)"
                .to_owned())
        }
        Some(author) if author == by => Err(format!("{by} declared this change; somebody else must approve it")),
        Some(_) => Ok(()),
    }
}

/// Approvals of the present step.
pub(super) fn of_step(run: &Run) -> impl Iterator<Item = &Approved> {
    let step = run.step();
    run.approvals.iter().filter(move |approved| approved.step == step)
}

/// In words, how many approvals the present step has and needs, where it needs any: `1 of 2 approvals (ann), none of them bob`.
#[must_use]
pub fn awaited(run: &Run) -> Option<String> {
    let approval = run.present()?.approval?;
    let names: Vec<&str> = of_step(run).map(|approved| approved.by.as_str()).collect();
    let who = if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) };
    let but = run.author.as_deref().filter(|_| approval.not_author).map(|author| format!(", none of them {author}"));
    Some(format!("{} of {} approvals{who}{}", names.len(), approval.min, but.unwrap_or_default()))
}

/// What was approved is not what stands there any more.
pub(super) fn void(run: &mut Run) {
    let step = run.step();
    if run.present().is_some_and(|present| present.approval.is_some()) {
        run.approvals.retain(|approved| approved.step != step);
        run.approved.retain(|approved| *approved != step);
    }
}
