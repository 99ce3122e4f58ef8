//! Alerts: recorded in the same write as what they announce, and kept until they are delivered. So a crash at any point loses
//! none, and none is about what did not happen.

use jiff::Timestamp;

use super::{draft::Draft, input::Input, time::later, verbs::verbs};
use crate::api::{
    Duration, FleetRolloutStatus, Phase, Reason, Severity,
    alert::{About, AlertedHold, AlertedWait, AlertsStatus, FailingAlert, PendingAlert},
    status::{Outcome, Transition},
};

/// Alerts that wait for their delivery, at most. A service that is down for a day would else fill the status.
pub(super) const PENDING: usize = 16;
/// Characters of a message that are kept.
const MESSAGE: usize = 1024;
/// After so many minutes a hold is repeated; after the last of them every day.
const REPEATED: [u64; 3] = [15, 60, 240];
const DAY: u64 = 24 * 60;

/// Records what the decision is to announce, and forgets what was delivered.
pub(super) fn record(draft: &mut Draft<'_>) {
    if draft.input.spec.alerts.is_empty() && draft.status.alerts.is_none() {
        return;
    }
    let mut alerts = draft.status.alerts.take().unwrap_or_default();
    settle(&mut alerts, draft.input);
    if draft.input.spec.alerts.is_empty() {
        alerts = AlertsStatus { last: alerts.last, ..AlertsStatus::default() };
    } else {
        for news in news(draft, &mut alerts) {
            add(draft, &mut alerts, &news);
        }
        if let Some(hold) = &alerts.hold {
            draft.wake_at(if hold.quiet { announced_at(draft, hold) } else { next_reminder(hold) });
        }
    }
    draft.status.alerts = Some(alerts);
}

/// When the last alert that is still to be delivered was recorded.
pub(super) fn last_pending(draft: &Draft<'_>) -> Option<Timestamp> {
    draft.status.alerts.as_ref()?.pending.iter().map(|alert| alert.at).max()
}

/// Something to announce.
struct News {
    about: About,
    severity: Severity,
    reason: Reason,
    message: String,
    since: Option<Timestamp>,
}

/// Forgets what was delivered, and what nobody is declared for any more.
fn settle(alerts: &mut AlertsStatus, input: &Input<'_>) {
    let (declared, deliveries) = (&input.spec.alerts, input.deliveries);
    let is_declared = |name: &String| declared.iter().any(|alert| alert.name == *name);
    for pending in &mut alerts.pending {
        let number = pending.number;
        pending.to.retain(|name| is_declared(name) && !deliveries.sent.contains(&(number, name.clone())));
    }
    alerts.pending.retain(|pending| !pending.to.is_empty());
    let waits = |name: &String| alerts.pending.iter().any(|pending| pending.to.contains(name));
    let has_sent = |name: &String| deliveries.sent.iter().any(|(_, of)| of == name);
    let still_fails = |name: &String| !has_sent(name) || deliveries.failed.contains_key(name);
    alerts.failing.retain(|failing| waits(&failing.name) && still_fails(&failing.name));
    let known: Vec<String> = alerts.failing.iter().map(|failing| failing.name.clone()).collect();
    let new = deliveries.failed.iter().filter(|(name, _)| waits(name) && !known.contains(name));
    let failing = new.map(|(name, message)| {
        let (name, message) = (name.clone(), cut(message));
        FailingAlert { name, since: input.now, message }
    });
    let failing: Vec<FailingAlert> = failing.collect();
    alerts.failing.extend(failing);
}

/// What this decision changes, and what is repeated.
fn news(draft: &Draft<'_>, alerts: &mut AlertsStatus) -> Vec<News> {
    let mut news = transitions(draft);
    if let Some(waits) = wait_begins(draft, alerts) {
        news.push(waits);
    }
    let after = &draft.status;
    match (alerts.hold, after.phase == Phase::Held) {
        // What is known is announced by reminders alone.
        (Some(hold), true) if hold.reason == after.reason => {
            news.retain(|one| one.reason != hold.reason);
            news.extend(if hold.quiet { late_begin(draft, alerts) } else { reminder(draft, alerts) });
        }
        (_, true) => begin_hold(draft, alerts, &mut news),
        (Some(hold), false) => {
            alerts.hold = None;
            let (severity, since) = (hold.severity, Some(hold.since));
            let end = News { about: About::HoldEnd, since, ..standing(after, severity) };
            news.extend(Some(end).filter(|_| !hold.quiet));
        }
        (None, false) => {}
    }
    news
}

/// Where the rollout stands, as news.
fn standing(status: &FleetRolloutStatus, severity: Severity) -> News {
    let (reason, message) = (status.reason, status.message.clone());
    News { about: About::Transition, severity, reason, message, since: None }
}

/// The transitions of this decision.
fn transitions(draft: &Draft<'_>) -> Vec<News> {
    let (before, after) = (draft.input.status, &draft.status);
    let last = before.transitions.last().map_or(before.announced, |transition| transition.number);
    let new = after.transitions.iter().filter(|transition| transition.number > last);
    new.map(|transition| News {
        about: About::Transition,
        severity: severity(transition, after),
        reason: transition.reason,
        message: transition.message.clone(),
        since: None,
    })
    .collect()
}

/// An error is a verdict against the canary; any other warning is one.
fn severity(transition: &Transition, after: &FleetRolloutStatus) -> Severity {
    if !transition.warning {
        return Severity::Info;
    }
    let rollback = after.run.as_ref().and_then(|run| run.state.rollback());
    let is_begin = rollback.is_some_and(|rollback| {
        rollback.at == transition.at && rollback.by.is_none() && rollback.reason == transition.reason
    });
    let is_end = after.history.last().is_some_and(|record| {
        record.ended_at == transition.at && record.outcome == Outcome::Failed && record.reason == transition.reason
    });
    if is_begin || is_end || transition.reason == Reason::FailureHeld { Severity::Error } else { Severity::Warn }
}

/// A step waits for a promotion for the first time.
fn wait_begins(draft: &Draft<'_>, alerts: &mut AlertsStatus) -> Option<News> {
    let run = draft.run().filter(|_| draft.status.phase == Phase::WaitingPromotion)?;
    let wait = Some(AlertedWait { run: run.number, step: run.step() });
    if alerts.wait == wait {
        return None;
    }
    alerts.wait = wait;
    Some(standing(&draft.status, Severity::Warn))
}

/// The transition that begins a hold announces it; a hold that began before anybody was to hear of it is announced by itself. One
/// for want of metrics waits, unless another hold was announced and not ended.
fn begin_hold(draft: &Draft<'_>, alerts: &mut AlertsStatus, news: &mut Vec<News>) {
    let (after, since) = (&draft.status, draft.now());
    let is_open = alerts.hold.is_some_and(|hold| !hold.quiet);
    let place = news.iter().rposition(|news| news.reason == after.reason);
    let severity = place.map_or(Severity::Warn, |place| news[place].severity.max(Severity::Warn));
    let quiet = is_ignorance(after.reason) && !is_open;
    alerts.hold = Some(AlertedHold { since, reason: after.reason, severity, quiet, repeated: 0 });
    let begin = News { about: About::Hold, since: Some(since), ..standing(after, severity) };
    match place.and_then(|place| news.get_mut(place)) {
        _ if quiet => news.retain(|news| news.reason != after.reason),
        Some(transition) => *transition = begin,
        None => news.push(begin),
    }
}

/// Nobody knows anything bad: metrics are missing, or say too little.
const fn is_ignorance(reason: Reason) -> bool {
    matches!(reason, Reason::MetricsUnknown | Reason::TooFewSamples | Reason::WeightNotObserved)
}

fn announced_at(draft: &Draft<'_>, hold: &AlertedHold) -> Timestamp {
    later(hold.since, draft.input.spec.analysis.unknown.alert_after)
}

/// A hold that has lasted long enough to be announced.
fn late_begin(draft: &Draft<'_>, alerts: &mut AlertsStatus) -> Option<News> {
    let hold = alerts.hold.as_mut().filter(|hold| announced_at(draft, hold) <= draft.now())?;
    hold.quiet = false;
    pass_reminders(hold, draft.now());
    let (severity, since) = (hold.severity, Some(hold.since));
    Some(News { about: About::Hold, since, ..standing(&draft.status, severity) })
}

/// One reminder, however many were due while no hub ran.
fn reminder(draft: &Draft<'_>, alerts: &mut AlertsStatus) -> Option<News> {
    let hold = alerts.hold.as_mut()?;
    let due = next_reminder(hold) <= draft.now();
    pass_reminders(hold, draft.now());
    let (severity, since) = (hold.severity, Some(hold.since));
    due.then(|| News { about: About::Reminder, since, ..standing(&draft.status, severity) })
}

/// What was due until now is not due again.
fn pass_reminders(hold: &mut AlertedHold, now: Timestamp) {
    while next_reminder(hold) <= now {
        hold.repeated = hold.repeated.saturating_add(1);
    }
}

fn next_reminder(hold: &AlertedHold) -> Timestamp {
    let repeated = hold.repeated as usize;
    let minutes = REPEATED.get(repeated).copied().unwrap_or_else(|| {
        let days = (repeated + 1).saturating_sub(REPEATED.len()) as u64;
        REPEATED[REPEATED.len() - 1] + days * DAY
    });
    later(hold.since, Duration::from_secs(minutes * 60))
}

/// Adds what somebody is to hear of.
fn add(draft: &Draft<'_>, alerts: &mut AlertsStatus, news: &News) {
    let declared = draft.input.spec.alerts.iter().filter(|alert| alert.severity <= news.severity);
    let to: Vec<String> = declared.map(|alert| alert.name.clone()).collect();
    if to.is_empty() {
        return;
    }
    let status = &draft.status;
    alerts.last += 1;
    alerts.pending.push(PendingAlert {
        number: alerts.last,
        at: draft.now(),
        severity: news.severity,
        about: news.about,
        phase: status.phase,
        reason: news.reason,
        message: cut(&news.message),
        run: status.last_run(),
        step: status.summary.step.clone(),
        weights: status.summary.weights.clone(),
        verbs: verbs(draft.input.spec, status),
        since: news.since,
        until: alerts.hold.as_ref().filter(|_| news.about != About::Transition).map(next_reminder),
        to,
    });
    if alerts.pending.len() > PENDING {
        alerts.pending.remove(least(&alerts.pending));
        alerts.dropped += 1;
    }
}

/// The one that is missed least: the oldest of the least severity, and of these a reminder first.
fn least(pending: &[PendingAlert]) -> usize {
    let rank = |alert: &PendingAlert| (alert.severity, alert.about != About::Reminder, alert.number);
    pending.iter().enumerate().min_by_key(|(_, alert)| rank(alert)).map_or(0, |(place, _)| place)
}

fn cut(text: &str) -> String {
    text.chars().take(MESSAGE).collect()
}
