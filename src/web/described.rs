//! Every metric of the hub, as data: docs/metrics.md is made of it.

use prometheus_client::metrics::MetricType;

/// A metric and what it says.
#[derive(Debug)]
pub(crate) struct Described {
    /// Its name after `cutover_`; that of a counter without `_total`.
    pub(crate) name: &'static str,
    /// Whether it only rises.
    pub(crate) kind: Kind,
    /// Its labels.
    pub(crate) labels: &'static [&'static str],
    /// What it says, with its unit.
    pub(crate) help: &'static str,
}

/// What kind a metric is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It only rises while the process lives.
    Counter,
    /// It is what it is now.
    Gauge,
    /// It counts by size.
    Histogram,
}

impl Kind {
    pub(super) const fn encoded(self) -> MetricType {
        match self {
            Self::Counter => MetricType::Counter,
            Self::Gauge => MetricType::Gauge,
            Self::Histogram => MetricType::Histogram,
        }
    }
}

macro_rules! described {
    ($all:ident: $($constant:ident = $kind:ident $name:literal [$($label:literal),*] $help:literal;)+) => {
        $(pub(super) const $constant: Described =
            Described { name: $name, kind: Kind::$kind, labels: &[$($label),*], help: $help };)+
        /// All of these, for documentation.
        #[cfg(test)]
        pub(super) const $all: &[&Described] = &[$(&$constant),+];
    };
}

described! { OF_ROLLOUTS:
    PHASE = Gauge "rollout_phase" ["namespace", "rollout", "phase"] "1 for the phase in which a rollout is";
    SINCE = Gauge "rollout_since_timestamp_seconds" ["namespace", "rollout"] "Time since which phase and reason are the same";
    HELD = Gauge "rollout_held_seconds" ["namespace", "rollout"] "How long a rollout has been Held for its present reason, else 0";
    RUN = Gauge "rollout_run" ["namespace", "rollout"] "Number of the live run, or of the last one";
    STEP = Gauge "rollout_step" ["namespace", "rollout"] "Step of the live run, 0 where there is none";
    STEPS = Gauge "rollout_steps" ["namespace", "rollout"] "Steps of the live run, 0 where there is none";
    DESIRED = Gauge "rollout_desired_weight_ratio" ["namespace", "rollout", "member"] "Weight that the hub wrote, from 0 to 1";
    APPLIED = Gauge "rollout_applied_weight_ratio" ["namespace", "rollout", "service", "route", "member"] "Weight that a route confirmed, from 0 to 1";
    OBSERVED = Gauge "rollout_observed_share_ratio" ["namespace", "rollout", "service", "member"] "Share of requests that a member counted at the last check, from 0 to 1";
    CHECKED = Gauge "rollout_check_timestamp_seconds" ["namespace", "rollout"] "Time of the last check of the live run";
    VALUE = Gauge "rollout_metric_value" ["namespace", "rollout", "service", "metric"] "Value at the last check over all canaries together, in the unit of the metric";
    VERDICT = Gauge "rollout_metric_verdict" ["namespace", "rollout", "service", "metric", "verdict"] "1 for the verdict of the last check";
    SAMPLES = Gauge "rollout_metric_samples" ["namespace", "rollout", "service", "metric"] "Requests behind that value";
    MEMBER_VALUE = Gauge "rollout_metric_member_value" ["namespace", "rollout", "service", "metric", "member", "role"] "Value of a member at the last check; role is canary or primary";
    CHECKS = Counter "rollout_checks" ["namespace", "rollout", "verdict"] "Checks that were recorded since this process leads";
    RUNS = Counter "rollout_runs" ["namespace", "rollout", "outcome"] "Runs that ended since this process leads";
}

described! { OF_MEMBERS:
    CONDITION = Gauge "member_condition" ["member", "condition", "status"] "1 for the status of a condition of a member";
    LAST_SUCCESS = Gauge "member_last_success_timestamp_seconds" ["member", "condition"] "Time at which this process last found a condition True";
}

described! { OF_THE_HUB:
    INFO = Gauge "build_info" ["version"] "1, with the version of the hub";
    LEADER = Gauge "leader" [] "1 if this process acts, else 0; only a process that acts shows rollouts and members";
    ROLLOUTS = Gauge "rollouts" [] "Rollouts that this process looks after";
    LEFT_OUT = Gauge "series_left_out" [] "Series about rollouts and members that are not shown, because there are too many";
    PASSES = Counter "passes" ["outcome"] "Looks at a rollout, by how they ended";
    LATENESS = Histogram "pass_lateness_seconds" [] "How much later than it was due a look at a rollout began";
    ACTIONS = Counter "actions" ["kind", "outcome"] "Things done, by kind and how they ended";
    MEASUREMENTS = Counter "measurements" ["outcome"] "Samples of members' metrics, by what was read";
    HOOK_CALLS = Counter "hook_calls" ["type", "outcome"] "Calls of hooks that ended: yes, no, or unanswered";
    TRANSITIONS = Counter "transitions" ["reason"] "What happened to rollouts, by reason";
    RUN_DURATION = Histogram "run_duration_seconds" ["outcome"] "How long runs took, from their beginning to their end";
    API_CALLS = Counter "api_calls" ["verb", "code"] "Reads and writes of the hub at its API server, watches aside; code is a status, or what happened without one";
    CALLS_LIMIT = Gauge "api_calls_limit" [] "Calls to the API server that may be under way; fewer while it is slow";
    CALLS_WAITING = Gauge "api_calls_waiting" [] "Rollouts that wait for their turn at the API server";
    STATUS_CONFLICTS = Counter "status_conflicts" [] "Status writes that met a newer object";
    ALERTS = Counter "alerts" ["outcome"] "Deliveries of alerts, by how they ended";
    DROPPED_CHECKS = Counter "dropped_checks" [] "Passed checks that were not recorded because the API server is slow";
    PANICS = Counter "panics" [] "Panics that were caught; each is a bug";
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A metric's row in docs/metrics.md.
    fn row(metric: &Described) -> String {
        let suffix = if metric.kind == Kind::Counter { "_total" } else { "" };
        let labels: Vec<String> = metric.labels.iter().map(|label| format!("`{label}`")).collect();
        let kind = format!("{:?}", metric.kind).to_lowercase();
        format!("| `cutover_{}{suffix}` | {kind} | {} | {} |", metric.name, labels.join(", "), metric.help)
    }

    #[test]
    fn the_page_describes_every_metric_of_the_hub() {
        let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/metrics.md")).unwrap();
        for all in [OF_ROLLOUTS, OF_MEMBERS, OF_THE_HUB] {
            let table: Vec<String> = all.iter().map(|metric| row(metric)).collect();
            let table = table.join("\n") + "\n";
            assert!(page.contains(&table), "docs/metrics.md lacks this table:\n{table}");
        }
    }
}
