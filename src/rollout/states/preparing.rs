//! Before anything moves: routes, backends, endpoints, and a dry run of every first write.

use super::{at_rest::routes_show, stepping};
use crate::{
    api::Reason,
    rollout::{
        decision::Action,
        draft::Draft,
        gates, health, hooks,
        input::{Problem, Rehearsal, RouteSeen},
        promotion, schedule,
        standing::Standing,
    },
};

pub(super) fn advance(draft: &mut Draft<'_>) -> Standing {
    let obstacle = gates::stopped(draft)
        .or_else(|| gates::unconfirmed(draft))
        .or_else(|| not_prepared(draft))
        .or_else(|| gates::paused(draft))
        .or_else(|| schedule::closed(draft))
        .or_else(|| hooks::before_the_first_step(draft));
    obstacle.unwrap_or_else(|| stepping::take_next(draft))
}

fn not_prepared(draft: &mut Draft<'_>) -> Option<Standing> {
    let run = draft.run()?;
    let gaining = gates::gaining(run);
    let changed_at = (!run.services.is_empty() && !gaining.is_empty()).then_some(run.started_at);
    let problem =
        routes_show(draft, &run.start).err().or_else(|| health::not_ready(draft, &gaining)).or_else(|| rehearse(draft));
    match problem {
        Some(problem) => Some(Standing::not_ready(problem)),
        None => promotion::not_learnt(draft, changed_at?),
    }
}

/// Tries the first write of every route, as long as one has no good answer.
fn rehearse(draft: &mut Draft<'_>) -> Option<Problem> {
    let first = draft.run()?.plan.first()?.split.clone();
    let mut problem = None;
    for (key, seen) in &draft.input.seen.routes {
        if matches!(seen, RouteSeen::ToCreate) {
            continue;
        }
        match draft.input.seen.rehearsals.get(key) {
            Some(Rehearsal::Passed) => continue,
            Some(Rehearsal::Refused(why)) => {
                let message = format!("a dry run of the first write to {key} was refused: {why}");
                problem = Some(Problem::new(Reason::RouteRejected, message));
            }
            Some(Rehearsal::Unanswered(why)) => {
                let message = || format!("the first write to {key} is tried as a dry run again: {why}");
                problem = problem.or_else(|| Some(Problem::new(Reason::Rehearsing, message())));
            }
            None => {
                let message = || format!("the first write to {key} is tried as a dry run");
                problem = problem.or_else(|| Some(Problem::new(Reason::Rehearsing, message())));
            }
        }
        draft.actions.push(Action::Rehearse { route: key.clone(), split: first.clone() });
    }
    problem
}
