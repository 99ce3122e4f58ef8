//! The numbered sections of `cutover why`; empty ones are left out. Pure.

use std::collections::BTreeSet;

use super::Section;
use crate::{
    api::{
        Reason,
        hook::{Hook, HookType},
        status::{Check, ConditionStatus, Phase, Verdict},
    },
    cli::{
        hub_liveness::HubLiveness,
        metrics, sentences,
        text::{age, clock},
        view::View,
    },
};

pub(super) fn all(view: &View) -> Vec<Section> {
    let in_run = view.live().is_some();
    let impact = in_run || view.lost().is_some();
    let sections = [
        Section { title: "Hub", lines: view.hub().alarm().into_iter().collect() },
        Section { title: because(view), lines: vec![view.status.message.clone()] },
        Section { title: "Drift", lines: sentences::unsaid_drift(view).into_iter().collect() },
        Section { title: "Missing", lines: missing(view) },
        Section { title: "Cause", lines: cause(view) },
        Section { title: "User impact", lines: if impact { users(view) } else { Vec::new() } },
        Section { title: "Last pass", lines: last_pass(view).into_iter().collect() },
        Section { title: "Ends when", lines: ends_by(view) },
        Section { title: "Rollback", lines: if in_run { vec![sentences::rollback(view)] } else { Vec::new() } },
        Section { title: "Run", lines: sentences::run(view).into_iter().collect() },
        Section { title: "Requests", lines: sentences::requests(view).into_iter().collect() },
        Section { title: "Alerts", lines: alerts(view) },
        Section { title: "Ruled out", lines: ruled_out(view).into_iter().collect() },
    ];
    sections.into_iter().filter(|section| section.lines.iter().any(|line| !line.is_empty())).collect()
}

/// What the status says: why it ended, or what it waits for.
fn because(view: &View) -> &'static str {
    match view.status.phase {
        _ if view.hub().is_silent() => "Last known",
        Phase::Failed => "Failed because",
        Phase::RolledBack => "Rolled back because",
        Phase::Initialized | Phase::Succeeded => "State",
        Phase::Initializing
        | Phase::Progressing
        | Phase::WaitingPromotion
        | Phase::Held
        | Phase::Paused
        | Phase::Soaking
        | Phase::Promoting
        | Phase::Finalizing
        | Phase::Terminating => "Waits for",
    }
}

/// Which members' metrics are missing, and since when.
fn missing(view: &View) -> Vec<String> {
    let Some(check) = view.unknown() else { return Vec::new() };
    let mut lines: Vec<String> =
        gaps(check).into_iter().map(|(member, service)| format!("metrics of {member} ({service})")).collect();
    lines.push(format!(
        "{} checks in a row Unknown, since {} ({})",
        check.unknown_in_a_row,
        clock(check.since),
        age(check.since, view.now)
    ));
    lines
}

/// Member and service of each missing measurement, once.
fn gaps(check: &Check) -> BTreeSet<(&str, &str)> {
    let missing = check.metrics.iter().flat_map(|metric| {
        let values = metric.members.iter().filter(|value| value.missing.is_some());
        values.map(|value| (value.member.as_str(), metric.service.as_str()))
    });
    missing.collect()
}

/// Known problems: why values are missing, and the members' false conditions.
fn cause(view: &View) -> Vec<String> {
    let check = view.check();
    let values = check.iter().flat_map(|check| &check.metrics).flat_map(|metric| &metric.members);
    let words = values.filter_map(|value| Some(format!("{}: {}", value.member, value.missing.as_ref()?)));
    let mut lines: Vec<String> = words.collect::<BTreeSet<_>>().into_iter().collect();
    for member in view.shown_members() {
        for type_ in ["Reachable", "EndpointsReady", "MetricsAvailable", "CredentialsValid"] {
            let broken = view.condition(member, type_).filter(|known| known.status == ConditionStatus::False);
            lines.extend(broken.map(|known| {
                let since = age(known.last_transition_time, view.now);
                format!("{member}: not {type_} for {since}: {}: {}", known.reason, known.message)
            }));
        }
    }
    lines
}

fn users(view: &View) -> Vec<String> {
    let mut lines = vec![sentences::users(view)];
    let gaps: BTreeSet<&str> = view.unknown().into_iter().flat_map(gaps).map(|(member, _)| member).collect();
    if !gaps.is_empty() {
        let members: Vec<&str> = gaps.into_iter().collect();
        lines.push(format!("UNKNOWN: whatever only the metrics of {} show", members.join(", ")));
    }
    lines
}

fn last_pass(view: &View) -> Option<String> {
    let check = view.live()?.check.as_ref()?;
    let at = check.passed_at?;
    let when = format!("{} ({} ago)", clock(at), age(at, view.now));
    if check.verdict != Verdict::Pass {
        return Some(when);
    }
    let values = check.metrics.iter().filter_map(|metric| Some((metric, metric.value?)));
    let words = values.map(|(metric, value)| {
        let value = metrics::value(view.metric(&metric.metric), value);
        format!("{} {} {value}", metric.service, metric.metric)
    });
    Some(format!("{when}: {}", words.collect::<Vec<_>>().join(", ")))
}

/// How the present state ends: by an advance, or by an automatic rollback.
fn ends_by(view: &View) -> Vec<String> {
    if view.hub().is_silent() {
        let by_hand = view.live().map(|_| format!("b) {}", sentences::direct(view)));
        return ["a) a hub runs again".to_owned()].into_iter().chain(by_hand).collect();
    }
    let forward = format!("a) {}", sentences::next(view));
    let judged = view.live().is_some_and(|run| !run.is_rolling_back()) && !view.rollout.spec.suspend;
    if !judged {
        return vec![forward];
    }
    let analysis = &view.rollout.spec.analysis;
    let failures = analysis.failures;
    let guards = analysis.metrics.iter().filter(|metric| metric.guard.is_some()).map(|metric| metric.name.as_str());
    let guards: Vec<&str> = guards.collect();
    let canaries = view.canaries();
    let ways = [
        analysis.measures().then(|| format!("{} failed checks of the last {}", failures.limit, failures.within)),
        (!guards.is_empty()).then(|| format!("one beyond the guard of {}", guards.join(", "))),
        (!canaries.is_empty()).then(|| format!("3 failed endpoint probes of {}", canaries.join(", "))),
    ];
    let ways: Vec<String> = ways.into_iter().flatten().chain(hooks(view)).collect();
    let back = (!ways.is_empty()).then(|| format!("b) automatic rollback: {}", ways.join(", or ")));
    [forward].into_iter().chain(back).collect()
}

/// The hooks that can roll back, and by which answers.
fn hooks(view: &View) -> Vec<String> {
    let limit = view.rollout.spec.analysis.failures.limit;
    let moved = view.live().is_some_and(|run| run.step() > 0);
    let way = |hook: &Hook| match hook.kind {
        HookType::Rollback if moved => Some(format!("a yes of hook {}", hook.name)),
        HookType::Rollout if moved => Some(format!("{limit} times no from hook {}", hook.name)),
        HookType::PreRollout if !moved => Some(format!("{limit} times no from hook {}", hook.name)),
        HookType::ConfirmRollout
        | HookType::Skip
        | HookType::PreRollout
        | HookType::Rollout
        | HookType::ConfirmTrafficIncrease
        | HookType::ConfirmPromotion
        | HookType::PostRollout
        | HookType::Rollback
        | HookType::Event => None,
    };
    view.rollout.spec.hooks.iter().filter_map(way).collect()
}

/// Alerts that nobody gets, and why.
fn alerts(view: &View) -> Vec<String> {
    let Some(alerts) = &view.status.alerts else { return Vec::new() };
    let failing = alerts.failing.iter().map(|alert| {
        let since = age(alert.since, view.now);
        format!("{}: NOT DELIVERED for {since}: {}", alert.name, alert.message)
    });
    let dropped = (alerts.dropped > 0).then(|| format!("{} were dropped, for too many waited", alerts.dropped));
    failing.chain(dropped).collect()
}

/// What the status rules out as a cause.
fn ruled_out(view: &View) -> Option<String> {
    let status = &view.status;
    let run = view.live()?;
    let foreign = matches!(
        status.reason,
        Reason::PausedByForeignEdit | Reason::ForeignEditsRepeat | Reason::ForeignEditPutBack | Reason::RouteDrifted
    );
    let drifted = !view.drifts().is_empty();
    let endpoints = view.shown_members().into_iter().all(|member| {
        view.condition(member, "EndpointsReady").is_some_and(|known| known.status == ConditionStatus::True)
    });
    let claims = [
        (view.unconfirmed().is_none() && status.desired.is_some() && !drifted, "routes (all confirmed)"),
        (!foreign && !drifted && run.put_back.is_empty(), "foreign edits"),
        (endpoints && run.unavailable.is_empty() && !view.hub().is_silent(), "endpoints of the members"),
        (matches!(view.hub(), HubLiveness::Alive(_)), "hub"),
    ];
    let held: Vec<&str> = claims.iter().filter(|(holds, _)| *holds).map(|(_, words)| *words).collect();
    (!held.is_empty()).then(|| held.join(", "))
}
