//! What the measured columns are about: only a check of the weights that are desired now counts as their verdict. Pure.

use jiff::Timestamp;

use super::{
    past,
    text::{age, between, span},
    view::{Part, View},
};
use crate::api::{
    Duration, Reason,
    status::{Check, Desired, MetricCheck, RunState, Verdict},
};

/// No metric is declared.
const NOT_MEASURED: &str = "not measured";

/// What the measured columns show.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Judged<'v> {
    /// The last check of the weights that are desired now.
    Now(&'v Check),
    /// There is none yet; what it waits for.
    NotYet(String),
    /// The check at which a run was lost; its weights are no more.
    Lost(&'v Check),
    /// Nothing is judged.
    Nothing,
}

impl View {
    pub(super) fn judged(&self) -> Judged<'_> {
        if let Some(check) = self.check_of_lost() {
            return Judged::Lost(check);
        }
        let proves = self.live().is_some_and(|run| match run.state {
            RunState::Stepping(_) | RunState::Soaking(_) => true,
            RunState::Preparing(_) | RunState::Promoting(_) | RunState::RollingBack(_) => run.is_judged(),
        });
        match (self.check(), &self.status.desired) {
            _ if !proves => Judged::Nothing,
            (Some(check), _) => Judged::Now(check),
            (None, Some(desired)) => Judged::NotYet(self.waits_for(desired)),
            (None, None) => Judged::Nothing,
        }
    }

    /// `settling 12 s`, then `filling 40 s`: what the first verdict on these weights still needs.
    fn waits_for(&self, desired: &Desired) -> String {
        let Some(confirmed) = desired.confirmed_at else { return "not confirmed".to_owned() };
        if self.hub().is_silent() {
            return "no check".to_owned();
        }
        let analysis = &self.rollout.spec.analysis;
        let settled = later(confirmed, analysis.settle);
        let windows = analysis.metrics.iter().map(|metric| metric.window.unwrap_or(analysis.interval));
        let full = later(later(settled, windows.max().unwrap_or_default()), analysis.lag);
        let left = |at| seconds_up(between(self.now, at));
        match (left(settled), left(full)) {
            (Some(left), _) => format!("settling {left}"),
            _ if !analysis.measures() => NOT_MEASURED.to_owned(),
            (None, Some(left)) => format!("filling {left}"),
            (None, None) => "check due".to_owned(),
        }
    }
}

/// The verdict on one member of one service, or why there is none.
pub(super) fn verdict(view: &View, service: &str, member: &str) -> String {
    let judged = view.judged();
    match &judged {
        Judged::Nothing => return "-".to_owned(),
        Judged::Lost(check) => return past::verdict(check, service, member).unwrap_or_else(|| "-".to_owned()),
        Judged::Now(_) | Judged::NotYet(_) => {}
    }
    match view.part(member) {
        Some(Part::Canary) => {}
        Some(Part::Gaining) => return "not judged yet".to_owned(),
        Some(Part::Leaving | Part::Stays) | None => return "not judged".to_owned(),
    }
    match judged {
        // Nobody looks any more, so it is as old as it is.
        Judged::Now(check) if view.hub().is_silent() => {
            past::verdict(check, service, member).unwrap_or_else(|| "-".to_owned())
        }
        Judged::Now(check) => on_canary(view, check, service, member),
        Judged::NotYet(words) => words,
        Judged::Lost(_) | Judged::Nothing => "-".to_owned(),
    }
}

fn on_canary(view: &View, check: &Check, service: &str, member: &str) -> String {
    let metrics = || check.metrics.iter().filter(|metric| metric.service == service);
    let missing =
        |metric: &MetricCheck| metric.members.iter().any(|value| value.member == member && value.missing.is_some());
    let unknown = metrics().any(|metric| metric.verdict == Verdict::Unknown && metric.reason != Reason::Settling);
    let worst = metrics().map(|metric| metric.verdict).max();
    match worst {
        None if check.reason == Reason::NothingMeasured => NOT_MEASURED.to_owned(),
        None => "-".to_owned(),
        Some(Verdict::Fail) => "FAIL".to_owned(),
        Some(Verdict::Unknown) if !unknown => {
            view.status.desired.as_ref().map_or_else(|| "-".to_owned(), |desired| view.waits_for(desired))
        }
        Some(Verdict::Pass) if !metrics().any(missing) => "Pass".to_owned(),
        Some(Verdict::Pass | Verdict::Unknown) => format!("UNKNOWN {}", age(check.since, view.now)),
    }
}

fn later(at: Timestamp, by: Duration) -> Timestamp {
    at.checked_add(by.to_std()).unwrap_or(Timestamp::MAX)
}

/// What is left, in whole seconds that are begun; nothing where it is over.
fn seconds_up(left: Duration) -> Option<String> {
    (left > Duration::ZERO).then(|| span(Duration::from_secs(left.as_millis().div_ceil(1000))))
}
