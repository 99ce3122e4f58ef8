//! What this process counts and shows, for its own monitoring and for dashboards. Labels of counters come from enums and reasons
//! only; what is labelled with rollouts and members is made anew for each scrape, and bounded ([`super::snapshot`]).

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use jiff::Timestamp;
use prometheus_client::{
    encoding::{
        EncodeLabelSet,
        text::{encode_eof, encode_registry},
    },
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::{Metric, Registry},
};

use super::{
    counts::{self, ByRollout},
    described::{
        ACTIONS, ALERTS, API_CALLS, CALLS_LIMIT, DROPPED_CHECKS, Described, HOOK_CALLS, LATENESS, LEADER, MEASUREMENTS,
        PANICS, PASSES, RUN_DURATION, STATUS_CONFLICTS, TRANSITIONS,
    },
    members::Successes,
    snapshot::{self, Snapshot},
};
use crate::api::{
    FleetRolloutStatus, Reason,
    hook::HookType,
    status::{RunRecord, Verdict},
};

/// From a glance to a minute.
const LATE: [f64; 6] = [0.01, 0.1, 0.5, 1.0, 10.0, 60.0];
/// From a minute to two days.
const LONG: [f64; 8] = [60.0, 300.0, 900.0, 3600.0, 14_400.0, 43_200.0, 86_400.0, 172_800.0];

/// The counters of this process; cheap to clone.
#[derive(Clone)]
pub(crate) struct Metrics(Arc<Counters>);

struct Counters {
    registry: Registry,
    passes: Family<Outcome, Counter>,
    lateness: Histogram,
    actions: Family<Action, Counter>,
    measurements: Family<Outcome, Counter>,
    hook_calls: Family<HookCall, Counter>,
    transitions: Family<Transition, Counter>,
    run_duration: Family<Outcome, Histogram, fn() -> Histogram>,
    api_calls: Family<Call, Counter>,
    status_conflicts: Counter,
    panics: Counter,
    leader: Gauge,
    calls_limit: Gauge,
    alerts: Family<Outcome, Counter>,
    dropped_checks: Counter,
    by_rollout: Mutex<ByRollout>,
    successes: Mutex<Successes>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Outcome {
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Action {
    kind: &'static str,
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct HookCall {
    r#type: String,
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Transition {
    reason: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Call {
    verb: &'static str,
    code: String,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("cutover");
        let all = &mut registry;
        let counters = Counters {
            passes: registered(all, &PASSES, Family::default()),
            lateness: registered(all, &LATENESS, Histogram::new(LATE)),
            actions: registered(all, &ACTIONS, Family::default()),
            measurements: registered(all, &MEASUREMENTS, Family::default()),
            hook_calls: registered(all, &HOOK_CALLS, Family::default()),
            transitions: registered(all, &TRANSITIONS, Family::default()),
            run_duration: registered(all, &RUN_DURATION, Family::new_with_constructor(|| Histogram::new(LONG))),
            api_calls: registered(all, &API_CALLS, Family::default()),
            status_conflicts: registered(all, &STATUS_CONFLICTS, Counter::default()),
            panics: registered(all, &PANICS, Counter::default()),
            leader: registered(all, &LEADER, Gauge::default()),
            calls_limit: registered(all, &CALLS_LIMIT, Gauge::default()),
            alerts: registered(all, &ALERTS, Family::default()),
            dropped_checks: registered(all, &DROPPED_CHECKS, Counter::default()),
            registry,
            by_rollout: Mutex::default(),
            successes: Mutex::default(),
        };
        Self(Arc::new(counters))
    }
}

fn registered<M: Metric + Clone>(registry: &mut Registry, described: &Described, metric: M) -> M {
    registry.register(described.name, described.help, metric.clone());
    metric
}

impl Metrics {
    /// A look at a rollout ended.
    pub(crate) fn count_pass(&self, outcome: &'static str) {
        self.0.passes.get_or_create(&Outcome { outcome }).inc();
    }

    /// A look at a rollout began so much later than it was due.
    pub(crate) fn count_lateness(&self, late: Duration) {
        self.0.lateness.observe(late.as_secs_f64());
    }

    /// An action ended.
    pub(crate) fn count_action(&self, kind: &'static str, outcome: &'static str) {
        self.0.actions.get_or_create(&Action { kind, outcome }).inc();
    }

    /// So many samples were read, or are missing.
    pub(crate) fn count_samples(&self, outcome: &'static str, samples: usize) {
        self.0.measurements.get_or_create(&Outcome { outcome }).inc_by(samples as u64);
    }

    /// A call of a hook ended.
    pub(crate) fn count_hook_call(&self, kind: HookType, verdict: Verdict) {
        let outcome = match verdict {
            Verdict::Pass => "yes",
            Verdict::Fail => "no",
            Verdict::Unknown => "unanswered",
        };
        self.0.hook_calls.get_or_create(&HookCall { r#type: format!("{kind:?}"), outcome }).inc();
    }

    /// The delivery of an alert ended.
    pub(crate) fn count_alert(&self, outcome: &'static str) {
        self.0.alerts.get_or_create(&Outcome { outcome }).inc();
    }

    /// Something happened to a rollout.
    pub(crate) fn count_transition(&self, reason: Reason) {
        self.0.transitions.get_or_create(&Transition { reason: reason.as_str() }).inc();
    }

    /// The status of a rollout was recorded over another one.
    pub(crate) fn count_recorded(
        &self,
        (namespace, rollout): (&str, &str),
        before: &FleetRolloutStatus,
        after: &FleetRolloutStatus,
    ) {
        counts::ended(before, after).for_each(|run| self.count_run(run));
        let key = (namespace.to_owned(), rollout.to_owned());
        lock(&self.0.by_rollout).entry(key).or_default().record(before, after);
    }

    fn count_run(&self, run: &RunRecord) {
        let outcome = Outcome { outcome: counts::outcome(run.outcome) };
        let time = run.ended_at.duration_since(run.started_at).as_secs_f64();
        self.0.run_duration.get_or_create(&outcome).observe(time);
    }

    /// A rollout is gone.
    pub(crate) fn forget_rollout(&self, namespace: &str, rollout: &str) {
        lock(&self.0.by_rollout).remove(&(namespace.to_owned(), rollout.to_owned()));
    }

    /// These conditions of a member were found True.
    pub(crate) fn set_successes(&self, member: &str, conditions: impl Iterator<Item = &'static str>, at: Timestamp) {
        lock(&self.0.successes).extend(conditions.map(|condition| ((member.to_owned(), condition), at)));
    }

    /// Only these members are left.
    pub(crate) fn keep_members(&self, is_left: impl Fn(&str) -> bool) {
        lock(&self.0.successes).retain(|(member, _), _| is_left(member));
    }

    /// A call to the API server ended: with a status, or without one.
    pub(crate) fn count_call(&self, verb: &'static str, code: String) {
        self.0.api_calls.get_or_create(&Call { verb, code }).inc();
    }

    /// A status write met a newer object.
    pub(crate) fn count_status_conflict(&self) {
        self.0.status_conflicts.inc();
    }

    /// A panic was caught.
    pub(crate) fn count_panic(&self) {
        self.0.panics.inc();
    }

    /// Whether this process acts.
    pub(crate) fn set_leader(&self, leads: bool) {
        self.0.leader.set(i64::from(leads));
    }

    /// How many calls to the API server may be under way.
    pub(crate) fn set_turns(&self, turns: usize) {
        self.0.calls_limit.set(i64::try_from(turns).unwrap_or(i64::MAX));
    }

    /// A check that passed was not recorded: others' calls to the API server go first.
    pub(crate) fn count_dropped_check(&self) {
        self.0.dropped_checks.inc();
    }

    /// All of it in the `OpenMetrics` text format, with what is known now where this process acts.
    pub(crate) fn text(&self, known: Option<&Snapshot>) -> String {
        let mut text = String::new();
        // Writing to a String does not fail.
        let _ = encode_registry(&mut text, &self.0.registry);
        if let Some(known) = known {
            text += &snapshot::text(known, &lock(&self.0.by_rollout), &lock(&self.0.successes));
        }
        let _ = encode_eof(&mut text);
        text
    }
}

fn lock<K, V>(map: &Mutex<BTreeMap<K, V>>) -> MutexGuard<'_, BTreeMap<K, V>> {
    map.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_can_be_read() {
        let metrics = Metrics::default();
        metrics.count_action("WriteRoute", "done");
        metrics.clone().count_action("WriteRoute", "done");
        metrics.count_transition(Reason::GuardBreached);
        metrics.count_samples("missing", 2);
        metrics.count_lateness(Duration::from_millis(300));
        metrics.count_call("update", "409".to_owned());
        metrics.set_leader(true);
        let text = metrics.text(Some(&Snapshot::default()));
        for line in [
            "cutover_actions_total{kind=\"WriteRoute\",outcome=\"done\"} 2",
            "cutover_transitions_total{reason=\"GuardBreached\"} 1",
            "cutover_measurements_total{outcome=\"missing\"} 2",
            "cutover_pass_lateness_seconds_bucket{le=\"0.1\"} 0",
            "cutover_pass_lateness_seconds_bucket{le=\"0.5\"} 1",
            "cutover_api_calls_total{verb=\"update\",code=\"409\"} 1",
            "cutover_leader 1",
            "cutover_panics_total 0",
            "cutover_rollouts 0.0",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
        assert!(text.ends_with("# EOF\n") && text.matches("# EOF").count() == 1, "{text}");
    }

    #[test]
    fn a_process_that_does_not_act_shows_no_rollouts() {
        let text = Metrics::default().text(None);
        assert!(text.contains("cutover_leader 0") && !text.contains("cutover_rollouts"), "{text}");
    }
}
