//! The sentences about a rollout that `get` and `why` share. Pure.

use super::{
    text::{age, clock, day_and_clock, number, share, shares},
    view::{Part, View, bake_left, weight},
};
use crate::api::{
    Duration, Reason, Steering,
    status::{Check, ConditionStatus, Outcome, Phase, PlannedStep, Run, Verdict},
    strategy::Wait,
};

/// The state as one word.
pub(super) const fn state(phase: Phase) -> &'static str {
    match phase {
        Phase::Initializing => "INITIALIZING",
        Phase::Initialized => "READY",
        Phase::Progressing => "PROGRESSING",
        Phase::WaitingPromotion => "WAITING FOR PROMOTION",
        Phase::Held => "HELD",
        Phase::Paused => "PAUSED",
        Phase::Soaking => "SOAKING",
        Phase::Promoting => "PROMOTING",
        Phase::Succeeded => "SUCCEEDED",
        Phase::Failed => "FAILED, rolled back",
        Phase::RolledBack => "ROLLED BACK",
        Phase::Terminating => "TERMINATING",
    }
}

/// What users see: whether the canaries' endpoints answer, and the primary members' metrics.
pub(super) fn users(view: &View) -> String {
    let canaries = view.canaries();
    let endpoints: Vec<String> = canaries.iter().map(|member| endpoint(view, member)).collect();
    let primaries = view.check().map(primaries).filter(|words| !words.is_empty());
    let parts: Vec<String> = endpoints.into_iter().chain(primaries).collect();
    if parts.is_empty() { "nothing is measured outside a run".to_owned() } else { parts.join("; ") }
}

fn endpoint(view: &View, member: &str) -> String {
    let dead = view.live().is_some_and(|run| run.dead.iter().any(|dead| dead == member));
    match view.condition(member, "EndpointsReady") {
        _ if dead => format!("endpoint of {member} IS DOWN"),
        Some(condition) => match condition.status {
            ConditionStatus::True => format!("endpoint of {member} answers"),
            ConditionStatus::False => format!("endpoint of {member} DOES NOT ANSWER: {}", condition.message),
            ConditionStatus::Unknown => format!("endpoint of {member} unknown: {}", condition.message),
        },
        None => format!("endpoint of {member} unknown"),
    }
}

/// The worst of each metric over the primary members.
fn primaries(check: &Check) -> String {
    let mut worst: Vec<(&str, f64)> = Vec::new();
    for metric in &check.metrics {
        for value in metric.members.iter().filter(|member| !member.canary).filter_map(|member| member.value) {
            match worst.iter_mut().find(|(name, _)| *name == metric.metric) {
                Some((_, known)) => *known = known.max(value),
                None => worst.push((&metric.metric, value)),
            }
        }
    }
    let parts: Vec<String> = worst.iter().map(|(name, value)| format!("{name} {}", number(*value))).collect();
    if parts.is_empty() { String::new() } else { format!("primary members at most: {}", parts.join(", ")) }
}

/// The progress of the run, and the share of each canary.
pub(super) fn progress(view: &View) -> Option<String> {
    let run = view.live()?;
    let far = match run.present() {
        Some(PlannedStep { progress: Some(progress), .. }) => format!("{progress} of the way"),
        Some(PlannedStep { steering: Some(steering @ Steering::Matched(_)), .. }) => {
            format!("requests with {steering}")
        }
        Some(PlannedStep { steering: Some(steering @ Steering::Mirrored(_)), .. }) => steering.to_string(),
        Some(PlannedStep { steering: None, .. }) => "no weight moves".to_owned(),
        None => "no weight has moved yet".to_owned(),
    };
    let desired = view.desired();
    let total = view.total();
    let canary = |member: &str| {
        let now = desired.map_or(0, |desired| weight(desired, member));
        let (now, end) = (share(now, total), share(weight(&run.target, member), total));
        format!("{member} at {now} % of all traffic (end: {end} %)")
    };
    let canaries: Vec<String> = view.canaries().into_iter().map(canary).collect();
    Some(format!("{far}: {}", canaries.join(", ")))
}

/// What comes next, in the order in which it must happen.
pub(super) fn next(view: &View) -> String {
    let spec = &view.rollout.spec;
    if spec.suspend {
        return "nothing: spec.suspend is true".to_owned();
    }
    let Some(run) = view.live() else { return at_rest(view) };
    if run.rollback.is_some() {
        return format!("every route confirms {}, then the run ends", shares(&run.rollback_to, view.total()));
    }
    let mut order = Vec::new();
    if run.hold.is_some() {
        order.push("a person: cutover retry, abort or rollback".to_owned());
    } else if run.pause.is_some() {
        order.push("cutover resume".to_owned());
    } else if spec.paused {
        order.push("spec.paused: false".to_owned());
    }
    if view.unconfirmed().is_some() {
        order.push("every route confirms the write".to_owned());
    }
    if let Some(check) = view.unknown() {
        order.push(format!("no more {}", check.reason));
    }
    order.extend(step_needs(run));
    order.extend(schedule(view));
    order.push(step_after(view, run));
    order.join(", then ")
}

/// What the run needs from outside; the status says when or what.
fn schedule(view: &View) -> Option<String> {
    match view.status.reason {
        Reason::WindowClosed => Some("a window that is open long enough".to_owned()),
        Reason::WaitingForDependency
        | Reason::DependencyMissing
        | Reason::DependencyFailed
        | Reason::DependencyCycle => Some("every rollout of spec.dependsOn is complete".to_owned()),
        _ => None,
    }
}

fn at_rest(view: &View) -> String {
    if let Some(schedule) = schedule(view) {
        return format!("{schedule}, then a run begins");
    }
    match view.status.phase {
        Phase::Failed | Phase::RolledBack => "nothing until a new target is declared, or cutover retry".to_owned(),
        Phase::Initializing if view.status.since.is_none() => "the hub reads it for the first time".to_owned(),
        Phase::Initializing if view.status.reason != Reason::Initializing => {
            "the problem above must be fixed".to_owned()
        }
        Phase::Initializing => "the primary is read from the live routes".to_owned(),
        Phase::Held => "the problem above must be fixed".to_owned(),
        Phase::Terminating => "the routes are released".to_owned(),
        Phase::Initialized
        | Phase::Progressing
        | Phase::WaitingPromotion
        | Phase::Paused
        | Phase::Soaking
        | Phase::Promoting
        | Phase::Succeeded => "nothing; declare a new target to begin a run".to_owned(),
    }
}

/// What the present step still needs.
fn step_needs(run: &Run) -> Vec<String> {
    let Some(present) = run.present().filter(|_| run.soaking_since.is_none()) else { return Vec::new() };
    let bake = bake_left(run);
    let left = (bake.as_millis() > 0 && run.waiting_since.is_none()).then(|| format!("{bake} of bake left"));
    let checks = present.iterations.unwrap_or(0).saturating_sub(run.passes);
    let checks = (checks > 0 && run.waiting_since.is_none()).then(|| format!("{checks} passing checks"));
    let wait = present.wait.filter(|_| !run.promoted.contains(&run.step)).map(|wait| match (wait, run.waiting_since) {
        (Wait::Promotion, _) => format!("promotion of step {}", run.step),
        (Wait::For(time), Some(since)) => format!("a wait of {time} since {}", clock(since)),
        (Wait::For(time), None) => format!("a wait of {time}"),
    });
    left.into_iter().chain(checks).chain(wait).collect()
}

fn step_after(view: &View, run: &Run) -> String {
    if let Some(since) = run.soaking_since {
        let keep = run.pinned.strategy.keep_previous.unwrap_or_default();
        return format!("success when keepPrevious is over ({keep} since {})", day_and_clock(since));
    }
    match (run.next(), run.pinned.strategy.keep_previous) {
        (Some(next), _) => {
            format!("step {}/{}: {}", run.step + 1, run.plan.len(), shares(&next.weights, view.total()))
        }
        (None, Some(keep)) => format!("a soak of {keep}"),
        (None, None) => "success".to_owned(),
    }
}

/// Whether a rollback is possible, and to which weights.
pub(super) fn rollback(view: &View) -> String {
    let Some(run) = view.live() else { return "nothing to roll back: no run is in progress".to_owned() };
    if let Some(rollback) = &run.rollback {
        return format!("IN PROGRESS since {}: {}: {}", clock(rollback.at), rollback.reason, rollback.message);
    }
    if view.rollout.spec.suspend {
        return "OFF: spec.suspend is true, the hub writes nothing".to_owned();
    }
    let gives = format!("back to {}", shares(&run.rollback_to, view.total()));
    let needed = run.rollback_to.iter().filter(|(_, weight)| **weight > 0).map(|(name, _)| name.as_str());
    let lost: Vec<&str> = needed.filter(|member| view.cannot_serve(member)).collect();
    match (lost.is_empty(), view.hub.is_silent()) {
        (false, _) => format!("AT RISK: {} is unavailable; {gives}", lost.join(", ")),
        (true, true) => format!("BY HAND: cutover abort {} --direct; {gives}", view.name()),
        (true, false) => format!("READY: {gives}"),
    }
}

/// The run, and its clocks.
pub(super) fn run(view: &View) -> Option<String> {
    let run = view.run()?;
    let outcome = match run.outcome {
        None => "",
        Some(Outcome::Succeeded) => ", succeeded",
        Some(Outcome::Failed) => ", failed",
        Some(Outcome::RolledBack) => ", rolled back",
        Some(Outcome::Superseded) => ", superseded",
    };
    let began = format!("{} of rev {}{outcome}, began {}", run.number, run.revision, day_and_clock(run.started_at));
    let deadline = run.pinned.strategy.progress_deadline.filter(|_| run.outcome.is_none());
    let clock = deadline.map(|deadline| format!("deadline clock at {} of {deadline}", run.deadline_used));
    let checked = run.check.as_ref().map(|check| format!("last check {} ago", age(check.at, view.now)));
    Some([Some(began), clock, checked].into_iter().flatten().collect::<Vec<_>>().join("; "))
}

/// The gates of the present step, with what is open and what is not.
pub(super) fn gates(view: &View) -> Option<String> {
    let run = view.live().filter(|run| run.rollback.is_none() && run.soaking_since.is_none())?;
    let present = run.present()?;
    let checks = present.iterations.map(|checks| format!("checks {}/{checks}", run.passes.min(checks)));
    let bakes = present.bake > Duration::ZERO || checks.is_none();
    let bake = bakes.then(|| format!("bake {}/{}", run.baked.min(present.bake), present.bake));
    let mut gates: Vec<String> = bake.into_iter().chain(checks).collect();
    gates.extend(present.wait.map(|wait| {
        let state = match (run.promoted.contains(&run.step), run.waiting_since) {
            (true, _) => "open".to_owned(),
            (false, Some(since)) => format!("since {}", clock(since)),
            (false, None) => "not reached yet".to_owned(),
        };
        match wait {
            Wait::Promotion => format!("promotion (step {}) {state}", run.step),
            Wait::For(time) => format!("wait {time} {state}"),
        }
    }));
    Some(gates.join("   "))
}

/// The verdict on one canary of one service, or that it is not judged.
pub(super) fn verdict(view: &View, service: &str, member: &str) -> String {
    let Some(check) = view.check().filter(|_| view.live().is_some()) else { return "-".to_owned() };
    if view.part(member) != Some(Part::Canary) {
        return "not judged".to_owned();
    }
    let metrics = || check.metrics.iter().filter(|metric| metric.service == service);
    let missing =
        metrics().flat_map(|metric| &metric.members).any(|value| value.member == member && value.missing.is_some());
    let worst = metrics().map(|metric| metric.verdict).max();
    match (missing, worst) {
        (_, None) => "-".to_owned(),
        (true, Some(_)) | (false, Some(Verdict::Unknown)) => format!("UNKNOWN {}", age(check.since, view.now)),
        (false, Some(Verdict::Fail)) => "FAIL".to_owned(),
        (false, Some(Verdict::Pass)) => "Pass".to_owned(),
    }
}
