//! What this process counts, for its own monitoring. Labels come from enums and reasons only, so their number is bounded.

use std::sync::Arc;

use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::{Metric, Registry},
};

use crate::api::Reason;

/// The counters of this process; cheap to clone.
#[derive(Clone)]
pub(crate) struct Metrics(Arc<Counters>);

struct Counters {
    registry: Registry,
    passes: Family<Outcome, Counter>,
    actions: Family<Action, Counter>,
    measurements: Family<Outcome, Counter>,
    transitions: Family<Transition, Counter>,
    status_conflicts: Counter,
    panics: Counter,
    leader: Gauge,
    turns: Gauge,
    dropped_checks: Counter,
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
struct Transition {
    reason: &'static str,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("cutover");
        let all = &mut registry;
        let counters = Counters {
            passes: registered(all, "passes", "Looks at a rollout, by how they ended"),
            actions: registered(all, "actions", "Things done, by kind and how they ended"),
            measurements: registered(all, "measurements", "Samples of members' metrics, by what was read"),
            transitions: registered(all, "transitions", "What happened to rollouts, by reason"),
            status_conflicts: registered(all, "status_conflicts", "Status writes that met a newer object"),
            panics: registered(all, "panics", "Panics that were caught; each is a bug"),
            leader: registered(all, "leader", "1 if this process acts, else 0"),
            turns: registered(
                all,
                "api_calls_limit",
                "Calls to the API server that may be under way; fewer while it is slow",
            ),
            dropped_checks: registered(
                all,
                "dropped_checks",
                "Passed checks that were not recorded since the API server is slow",
            ),
            registry,
        };
        Self(Arc::new(counters))
    }
}

fn registered<M: Metric + Clone + Default>(registry: &mut Registry, name: &str, help: &str) -> M {
    let metric = M::default();
    registry.register(name, help, metric.clone());
    metric
}

impl Metrics {
    /// A look at a rollout ended.
    pub(crate) fn count_pass(&self, outcome: &'static str) {
        self.0.passes.get_or_create(&Outcome { outcome }).inc();
    }

    /// An action ended.
    pub(crate) fn count_action(&self, kind: &'static str, outcome: &'static str) {
        self.0.actions.get_or_create(&Action { kind, outcome }).inc();
    }

    /// So many samples were read, or are missing.
    pub(crate) fn count_samples(&self, outcome: &'static str, samples: usize) {
        self.0.measurements.get_or_create(&Outcome { outcome }).inc_by(samples as u64);
    }

    /// Something happened to a rollout.
    pub(crate) fn count_transition(&self, reason: Reason) {
        self.0.transitions.get_or_create(&Transition { reason: reason.as_str() }).inc();
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
        self.0.turns.set(i64::try_from(turns).unwrap_or(i64::MAX));
    }

    /// A check that passed was not recorded: others' calls to the API server go first.
    pub(crate) fn count_dropped_check(&self) {
        self.0.dropped_checks.inc();
    }

    /// All of it in the `OpenMetrics` text format.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a String does not fail.
        let _ = encode(&mut text, &self.0.registry);
        text
    }
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
        metrics.set_leader(true);
        let text = metrics.text();
        for line in [
            "cutover_actions_total{kind=\"WriteRoute\",outcome=\"done\"} 2",
            "cutover_transitions_total{reason=\"GuardBreached\"} 1",
            "cutover_leader 1",
            "cutover_panics_total 0",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
    }
}
