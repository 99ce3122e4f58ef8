//! The sentences about a rollout that `get` and `why` share. Pure.

use super::{
    past,
    routes::Drift,
    text::{age, clock, day_and_clock, share, shares},
    view::{View, bake_left},
};
use crate::{
    api::{
        Duration, Mode, Reason, RolloutRequestSpec, Split, Steering, Verb,
        status::{ConditionStatus, Phase, PlannedStep, Run, RunRecord, RunState, Soaking},
        strategy::Wait,
    },
    rollout::awaited,
};
use jiff::Timestamp;

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
        Phase::Finalizing => "FINALIZING",
        Phase::Succeeded => "SUCCEEDED",
        Phase::Failed => "FAILED, rolled back",
        Phase::RolledBack => "ROLLED BACK",
        Phase::Terminating => "TERMINATING",
    }
}

/// The state since when and at which step, whether routes drifted, and why: `HELD 2h14m at step 2/4   MetricsUnknown: …`.
/// What a silent hub wrote last is no more than that.
pub(super) fn standing(view: &View) -> String {
    let status = &view.status;
    let known = if view.hub().is_silent() { "last known " } else { "" };
    let since = status.since.map(|since| format!(" {}", age(since, view.now))).unwrap_or_default();
    let step = view.live().map(|_| format!(" at step {}", status.summary.step)).unwrap_or_default();
    let drifted = if view.drifts().is_empty() { "" } else { ", DRIFTED" };
    let state = format!("{known}{}{since}{step}{drifted}", state(status.phase));
    let behind = view.is_behind().then(|| "the hub has not seen the newest declaration yet".to_owned());
    let drift = unsaid_drift(view);
    let why = status.since.map(|_| format!("{}: {}", status.reason, status.message));
    [Some(state), drift, behind, why].into_iter().flatten().collect::<Vec<_>>().join("   ")
}

/// The drift that the message of the status does not tell of already.
pub(super) fn unsaid_drift(view: &View) -> Option<String> {
    drift(view).filter(|_| view.status.reason != Reason::RouteDrifted)
}

/// Which routes show other weights than were written last, and who changed them.
fn drift(view: &View) -> Option<String> {
    let drifts = view.drifts();
    let Drift { key, shows, expected, editor } = *drifts.first()?;
    let total = view.total();
    let (shows, expected) = (shares(shows, total), shares(expected, total));
    let editor = editor.map(|editor| format!(", changed by {editor}")).unwrap_or_default();
    let more = if drifts.len() > 1 { format!(", and {} more", drifts.len() - 1) } else { String::new() };
    Some(format!("{key} shows {shows}, not {expected}{editor}{more}"))
}

/// What users see: whether the canaries' endpoints answer, and the primary members' metrics; after a run that was lost,
/// what they saw of it.
pub(super) fn users(view: &View) -> String {
    if let Some(loss) = view.loss() {
        return past::users(view, &loss);
    }
    let endpoints = view.gaining().into_iter().filter_map(|member| endpoint(view, member));
    let primaries = view.check().and_then(|check| past::primaries(view, check));
    let parts: Vec<String> = endpoints.chain(primaries).collect();
    let nothing = if view.rollout.spec.analysis.measures() { "nothing is measured yet" } else { "nothing is measured" };
    let seen = if parts.is_empty() { nothing.to_owned() } else { parts.join("; ") };
    if view.hub().is_silent() { format!("NOT KNOWN while no hub looks; last seen: {seen}") } else { seen }
}

/// Nothing in service mode, unless it is down: no object tells of the canary's endpoint.
fn endpoint(view: &View, member: &str) -> Option<String> {
    let down = view.live().is_some_and(|run| run.is_unavailable(member));
    let of_service = view.rollout.spec.mode() == Mode::Service;
    Some(match view.condition(member, "EndpointsReady") {
        _ if down => format!("endpoint of {member} IS DOWN"),
        Some(condition) => match condition.status {
            ConditionStatus::True => format!("endpoint of {member} answers"),
            ConditionStatus::False => format!("endpoint of {member} DOES NOT ANSWER: {}", condition.message),
            ConditionStatus::Unknown => format!("endpoint of {member} unknown: {}", condition.message),
        },
        None if of_service => return None,
        None => format!("endpoint of {member} unknown"),
    })
}

/// The progress of the run, and the share of each canary.
pub(super) fn progress(view: &View) -> Option<String> {
    let run = view.live()?;
    let far = match run.present() {
        Some(PlannedStep { progress: Some(progress), .. }) => format!("{progress} of the way"),
        Some(PlannedStep { split: Split { steering: Some(steering @ Steering::Matched(_)), .. }, .. }) => {
            format!("requests with {steering}")
        }
        Some(PlannedStep { split: Split { steering: Some(steering @ Steering::Mirrored(_)), .. }, .. }) => {
            steering.to_string()
        }
        Some(PlannedStep { split: Split { steering: None, .. }, .. }) => "no weight moves".to_owned(),
        None => "no weight has moved yet".to_owned(),
    };
    let desired = view.applied().or_else(|| view.desired());
    let total = view.total();
    let canary = |member: &str| {
        let now = desired.map_or(0, |desired| desired.weight(member));
        let (now, end) = (share(now, total), share(run.target.weight(member), total));
        format!("{member} at {now} % of all traffic (end: {end} %)")
    };
    let canaries: Vec<String> = view.gaining().into_iter().map(canary).collect();
    Some(format!("{far}: {}", canaries.join(", ")))
}

/// What comes next, in the order in which it must happen.
pub(super) fn next(view: &View) -> String {
    let spec = &view.rollout.spec;
    if spec.suspend {
        return "nothing: spec.suspend is true".to_owned();
    }
    if view.hub().is_silent() {
        return "nothing until a hub runs".to_owned();
    }
    let Some(run) = view.live() else { return at_rest(view) };
    if run.is_rolling_back() {
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
    order.extend(step_needs(view, run));
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
        Reason::WaitingForHook => Some("the hook above says yes".to_owned()),
        Reason::HookUnanswered => Some("the hook above answers, or is removed".to_owned()),
        _ => None,
    }
}

fn at_rest(view: &View) -> String {
    if let Some(schedule) = schedule(view) {
        return format!("{schedule}, then a run begins");
    }
    if !view.drifts().is_empty() || view.status.reason == Reason::RouteDrifted {
        return "a person: cutover adopt takes what the routes show, cutover retry puts it back".to_owned();
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
        | Phase::Finalizing
        | Phase::Succeeded => "nothing; declare a new target to begin a run".to_owned(),
    }
}

/// What `iterations` counts: checks, or where nothing is measured the time between them.
fn rounds<'w>(view: &View, checks: &'w str) -> &'w str {
    if view.rollout.spec.analysis.measures() { checks } else { "intervals" }
}

/// What the present step still needs.
fn step_needs(view: &View, run: &Run) -> Vec<String> {
    let (Some(present), RunState::Stepping(stepping)) = (run.present(), &run.state) else { return Vec::new() };
    let bake = bake_left(run);
    let left = (bake.as_millis() > 0 && stepping.waiting_since.is_none()).then(|| format!("{bake} of bake left"));
    let checks = present.iterations.unwrap_or(0).saturating_sub(stepping.bake.passes);
    let checks = (checks > 0 && stepping.waiting_since.is_none())
        .then(|| format!("{checks} {}", rounds(view, "passing checks")));
    let wait = present.wait.filter(|_| !run.approved.contains(&stepping.step));
    let wait = wait.map(|wait| match (wait, stepping.waiting_since) {
        (Wait::Promotion, _) => {
            let approvals = awaited(run).map(|approvals| format!(": {approvals}")).unwrap_or_default();
            format!("promotion of step {}{approvals}", stepping.step)
        }
        (Wait::For(time), Some(since)) => format!("a wait of {time} since {}", clock(since)),
        (Wait::For(time), None) => format!("a wait of {time}"),
    });
    left.into_iter().chain(checks).chain(wait).collect()
}

fn step_after(view: &View, run: &Run) -> String {
    if let RunState::Soaking(Soaking { since, .. }) = run.state {
        let keep = run.pinned.strategy.keep_previous.unwrap_or_default();
        return format!("success when keepPrevious is over ({keep} since {})", day_and_clock(since));
    }
    match (run.next(), run.pinned.strategy.keep_previous) {
        (Some(next), _) => {
            format!("step {}/{}: {}", run.step() + 1, run.plan.len(), shares(&next.split.weights, view.total()))
        }
        (None, Some(keep)) => format!("a soak of {keep}"),
        (None, None) => "success".to_owned(),
    }
}

/// Whether a rollback is possible, and to which weights.
pub(super) fn rollback(view: &View) -> String {
    let Some(run) = view.live() else { return "nothing to roll back: no run is in progress".to_owned() };
    if let Some(rollback) = run.state.rollback() {
        return format!("IN PROGRESS since {}: {}: {}", clock(rollback.at), rollback.reason, rollback.message);
    }
    if view.rollout.spec.suspend {
        return "OFF: spec.suspend is true, the hub writes nothing".to_owned();
    }
    let silent = view.hub().is_silent();
    let gives = format!("back to {}", shares(&run.rollback_to, view.total()));
    if silent && view.applied().is_some_and(|applied| applied.same_as(&run.rollback_to)) {
        return format!("DONE BY HAND: every route shows {}", shares(&run.rollback_to, view.total()));
    }
    let needed = run.rollback_to.carrying().map(|(name, _)| name);
    let lost: Vec<&str> = needed.filter(|member| view.cannot_serve(member)).collect();
    match (lost.is_empty(), silent) {
        (false, _) => format!("AT RISK: {} is unavailable; {gives}", lost.join(", ")),
        (true, true) => format!("BY HAND: {}; {gives}", direct(view)),
        (true, false) => format!("READY: {gives}"),
    }
}

/// The command that sends traffic back without a hub.
pub(super) fn direct(view: &View) -> String {
    format!("cutover abort {} -n {} --direct", view.name(), view.namespace())
}

/// The live run and its clocks, or how the last one ended.
pub(super) fn run(view: &View) -> Option<String> {
    let parts = match (view.live(), view.ended()) {
        (Some(run), _) => live_run(view, run),
        (None, Some(record)) => [past::run(record, view.now)].into_iter().chain(decided(record)).collect(),
        (None, None) => return None,
    };
    Some(parts.join("; "))
}

fn live_run(view: &View, run: &Run) -> Vec<String> {
    let began = past::began(run.number, &run.revision, "", run.started_at, run.started_by.as_deref());
    let deadline = run.pinned.strategy.progress_deadline.filter(|_| !view.hub().is_silent());
    let clock = deadline.map(|deadline| format!("deadline clock at {} of {deadline}", run.deadline_used_at(view.now)));
    let checked = run.check.as_ref().filter(|check| check.reason != Reason::NothingMeasured);
    let checked = checked.map(|check| format!("last check {} ago", age(check.at, view.now)));
    [Some(began), clock, checked].into_iter().flatten().collect()
}

fn decided(record: &RunRecord) -> Option<String> {
    past::decisive(record).map(|metric| format!("decided by {}", metric.message))
}

/// Requests of a run that are shown; `cutover history` has all that are kept.
const SHOWN: usize = 3;

/// What people requested: what no hub has answered, then the last that took effect on the run.
pub(super) fn requests(view: &View) -> Option<String> {
    let words = |verb: Verb, by: &str, at: Option<Timestamp>, why: Option<&String>| {
        let ago = at.map(|at| format!(" {} ago", age(at, view.now))).unwrap_or_default();
        let why = why.map(|why| format!(" ({why})")).unwrap_or_default();
        format!("{verb} by {by}{ago}{why}")
    };
    let open = view.open.iter().map(|request| {
        let RolloutRequestSpec { verb, requested_by, reason, .. } = &request.spec;
        let at = request.metadata.creation_timestamp.as_ref().map(|at| at.0);
        format!("not answered yet: {}", words(*verb, requested_by, at, reason.as_ref()))
    });
    let of_run = view.live().map(|run| &run.requests).or_else(|| Some(&view.ended()?.requests));
    let done = of_run.into_iter().flatten().rev().take(SHOWN);
    let done = done.map(|request| words(request.verb, &request.by, Some(request.at), request.reason.as_ref()));
    let all: Vec<String> = open.chain(done).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// The gates of the present step, with what is open and what is not.
pub(super) fn gates(view: &View) -> Option<String> {
    let run = view.live()?;
    let (present, RunState::Stepping(stepping)) = (run.present()?, &run.state) else { return None };
    let checks = present
        .iterations
        .map(|checks| format!("{} {}/{checks}", rounds(view, "checks"), stepping.bake.passes.min(checks)));
    let bakes = present.bake > Duration::ZERO || checks.is_none();
    let bake = bakes.then(|| format!("bake {}/{}", stepping.bake.time.min(present.bake), present.bake));
    let mut gates: Vec<String> = bake.into_iter().chain(checks).collect();
    gates.extend(present.wait.map(|wait| {
        let state = match (run.approved.contains(&stepping.step), stepping.waiting_since) {
            (true, _) => "open".to_owned(),
            (false, Some(since)) => format!("since {}", clock(since)),
            (false, None) => "not reached yet".to_owned(),
        };
        match wait {
            Wait::Promotion => {
                let approvals = awaited(run).map(|approvals| format!(", {approvals}")).unwrap_or_default();
                format!("promotion (step {}) {state}{approvals}", stepping.step)
            }
            Wait::For(time) => format!("wait {time} {state}"),
        }
    }));
    Some(gates.join("   "))
}
