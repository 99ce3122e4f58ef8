//! When the next step may be taken, whatever the checks say: the windows of the strategy, and other rollouts.
//!
//! Only a step that raises a canary waits. What only lowers canaries, and what is proven where it stands, goes on.

use super::{dependencies, draft::Draft, input::Problem, plan::bake, standing::Standing, windows};
use crate::api::{Distribution, Duration, Reason, Strategy, status::PlannedStep};

/// Whether a run may begin: its first step that raises a canary could be taken now.
pub(super) fn allows(
    draft: &mut Draft<'_>,
    steps: &[PlannedStep],
    start: &Distribution,
    rollback_to: &Distribution,
) -> Result<(), Problem> {
    let first = steps.iter().find(|step| raises_a_canary(step, start, rollback_to));
    let strategy = &draft.input.spec.strategy;
    first.and_then(|first| forbids(draft, strategy, first)).map_or(Ok(()), Err)
}

/// The next step of the run raises a canary, and may not be taken yet.
pub(super) fn closed(draft: &mut Draft<'_>) -> Option<Standing> {
    let run = draft.run()?;
    let next = run.next().filter(|next| raises_a_canary(next, run.weights(), &run.rollback_to))?;
    let (strategy, next) = (run.pinned.strategy.clone(), next.clone());
    forbids(draft, &strategy, &next).map(Standing::not_ready)
}

/// Whether the next step of the run raises a canary.
pub(super) fn next_raises_a_canary(draft: &Draft<'_>) -> bool {
    let Some(run) = draft.run() else { return false };
    run.next().is_some_and(|next| raises_a_canary(next, run.weights(), &run.rollback_to))
}

/// By weight, or by requests beside it.
fn raises_a_canary(step: &PlannedStep, from: &Distribution, rollback_to: &Distribution) -> bool {
    let canaries = step.split.weights.above(rollback_to);
    let raised = step.split.weights.above(from);
    step.split.steering.is_some() || raised.iter().any(|member| canaries.contains(member))
}

fn forbids(draft: &mut Draft<'_>, strategy: &Strategy, step: &PlannedStep) -> Option<Problem> {
    dependencies::unmet(draft).or_else(|| outside_windows(draft, strategy, step))
}

fn outside_windows(draft: &mut Draft<'_>, strategy: &Strategy, step: &PlannedStep) -> Option<Problem> {
    if strategy.windows.is_empty() {
        return None;
    }
    let (now, analysis) = (draft.now(), &draft.input.spec.analysis);
    let time = analysis.settle.saturating_add(bake(step, analysis));
    let opens = match windows::next(&strategy.windows, now, time) {
        Some(stretch) if stretch.opens <= now => return None,
        Some(stretch) => stretch,
        None => return Some(Problem::new(Reason::WindowClosed, too_short(time))),
    };
    draft.wake_at(opens.opens);
    let message = format!(
        "{} takes {time} (settle and bake) and waits for a window; the next opens {}; checks and rollback go on",
        step.progress.map_or_else(|| "the next step".to_owned(), |progress| format!("the step to {progress}")),
        in_its_zone(&opens)
    );
    Some(Problem::new(Reason::WindowClosed, message))
}

/// In words, why no window will do.
fn too_short(time: Duration) -> String {
    format!("no window of spec.strategy.windows is open for {time}, which the next step takes (settle and bake)")
}

/// An instant as the clocks of its window show it, and in UTC: `Mon 2026-01-12 09:00 Europe/Berlin (2026-01-12T08:00:00Z)`.
fn in_its_zone(stretch: &windows::Stretch<'_>) -> String {
    let name = &stretch.window.time_zone;
    let clock = windows::zone(name).map(|zone| zone.to_datetime(stretch.opens).strftime("%a %F %H:%M").to_string());
    format!("{} {name} ({:.0})", clock.unwrap_or_default(), stretch.opens)
}
