//! No live run: one begins if something else is declared than is there.

use std::collections::BTreeMap;

use crate::{
    api::{
        Distribution, Duration, Mode, Phase, Reason,
        status::{Outcome, Pinned, Preparing, Run, RunState},
        track::Configs,
    },
    rollout::{
        draft::Draft,
        edits, health, initialization,
        input::Problem,
        plan::{Ends, plan_run},
        promotion, routes, schedule,
        standing::Standing,
        target::{Target, is_reached, target},
        tracking,
    },
};

pub(super) fn stand(draft: &mut Draft<'_>) -> Standing {
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
    // Before that nobody knows whether it is the one that failed.
    if let Some(problem) = tracking::unknown(draft) {
        return Standing::not_ready(problem);
    }
    draft.status.failed_revision = None;
    match begin(draft, primary.clone(), primary, target) {
        // What was seen of the canary was seen of what it led to before.
        Ok(()) if draft.input.spec.mode() == Mode::Service => promotion::observe_canary_first(draft),
        Ok(()) => super::advance(draft),
        Err(problem) => Standing::not_ready(problem),
    }
}

fn at_target(draft: &mut Draft<'_>, target: &Target) -> Standing {
    if let Some(drift) = edits::drift(draft) {
        return Standing::new(Phase::Held, Reason::RouteDrifted, drift);
    }
    let problem = health::missing_at_rest(draft).or_else(|| draft.input.seen.refused.clone());
    if let Some(problem) = problem.or_else(|| routes::declared_later(draft)) {
        return Standing::held(problem);
    }
    let (weights, next) = match draft.input.spec.mode() {
        Mode::Member => (target.weights.to_string(), "declare another distribution to begin"),
        Mode::Service => {
            if let Some(problem) = promotion::copies_not_ready(draft) {
                return Standing::held(problem);
            }
            if let Some(standing) = promotion::not_on_primary(draft) {
                return standing;
            }
            (format!("revision {}", target.revision), "change a Service to begin")
        }
    };
    match draft.status.history.last().map(|record| record.outcome) {
        Some(Outcome::Succeeded) => {
            Standing::new(Phase::Succeeded, Reason::RunSucceeded, format!("{weights} is the primary"))
        }
        Some(Outcome::Failed | Outcome::RolledBack | Outcome::Superseded) | None => {
            let message = format!("{weights} is declared and is the primary; {next}");
            Standing::new(Phase::Initialized, Reason::AtTarget, message)
        }
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
    let edited = edits::drift(draft).map(|edit| Problem::new(Reason::RouteDrifted, edit));
    match edited.or_else(|| health::missing_at_rest(draft)) {
        Some(found) => {
            let message = format!("{}; before that {phase:?}: {message}", found.message);
            Standing::new(Phase::Held, found.reason, message)
        }
        None => Standing::new(phase, reason, message),
    }
}

/// Begins a run, unless something that is declared or seen forbids it.
pub(super) fn begin(
    draft: &mut Draft<'_>,
    start: Distribution,
    rollback_to: Distribution,
    target: Target,
) -> Result<(), Problem> {
    if let Some(problem) = draft.input.seen.refused.clone().or_else(|| initialization::unusable_members(draft)) {
        return Err(problem);
    }
    routes_show(draft, &start)?;
    let number = draft.status.last_run() + 1;
    let Target { revision, weights: target, services, configs } = target;
    let ends = Ends { start: &start, rollback_to: &rollback_to, target: &target };
    let plan = plan_run(draft.input.spec, ends, &cookies_of(draft.input.uid, number))
        .map_err(|problem| Problem::new(Reason::InvalidSpec, problem.to_string()))?;
    schedule::allows(draft, &plan, &start, &rollback_to)?;
    let spec = draft.input.spec;
    let way = match spec.mode() {
        Mode::Member => format!("{start} -> {target}"),
        Mode::Service => format!("revision {revision} of the Services{}", changed_since_the_last(draft, &configs)),
    };
    let retried = draft.retried.take();
    let retried_by = retried.as_ref().map(|retried| retried.by.clone());
    draft.status.leader = Some(draft.input.leader.to_owned());
    draft.status.canary.clear();
    draft.status.run = Some(Run {
        number,
        revision,
        generation: draft.input.generation,
        started_at: draft.now(),
        started_by: retried_by.or_else(|| draft.input.declared_by.map(str::to_owned)),
        start,
        rollback_to,
        target,
        pinned: Pinned {
            services: spec.services.clone(),
            strategy: spec.strategy.clone(),
            weight_total: spec.weight_total,
        },
        plan,
        services,
        configs,
        identities: BTreeMap::new(),
        state: RunState::Preparing(Preparing {}),
        approved: Vec::new(),
        pause: None,
        hold: None,
        deadline_used: Duration::ZERO,
        not_ready_since: None,
        unavailable: Vec::new(),
        check: None,
        analysis: None,
        put_back: Vec::new(),
        moves: Vec::new(),
        requests: retried.into_iter().collect(),
        author: draft.input.author.map(str::to_owned),
        approvals: Vec::new(),
        hooks: Vec::new(),
    });
    draft.announce(false, Reason::Rehearsing, format!("run {number} begins: {way}"));
    Ok(())
}

/// What else than Services changed since the last ones passed.
fn changed_since_the_last(draft: &Draft<'_>, configs: &Configs) -> String {
    let promoted = draft.status.promoted.as_ref().map(|promoted| &promoted.configs);
    let changes = promoted.and_then(|promoted| tracking::changes(promoted, configs));
    changes.map_or_else(String::new, |changes| format!(" ({changes})"))
}

/// How the cookies of a run begin that keep users where they were sent: no other run's begin so.
fn cookies_of(uid: &str, run: u64) -> String {
    let uid: String = uid.chars().filter(char::is_ascii_alphanumeric).take(8).collect();
    format!("{uid}-{run}")
}

/// Every live route must show where the run begins.
pub(super) fn routes_show(draft: &Draft<'_>, start: &Distribution) -> Result<(), Problem> {
    for (key, seen) in &draft.input.seen.routes {
        let Some(live) = initialization::readable(key, seen)? else { continue };
        let shown = &live.split.weights;
        if !shown.same_as(start) {
            let message = format!(
                "{key} shows {shown} but the primary is {start}; put it back, or take it as the primary: cutover adopt"
            );
            return Err(Problem::new(Reason::PrimaryDiffers, message));
        }
    }
    Ok(())
}
