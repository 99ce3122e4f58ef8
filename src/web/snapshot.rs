//! What a scrape shows beside counters: rollouts and members as they are known now.

use std::sync::Arc;

use jiff::Timestamp;
use kube::{ResourceExt, core::DeserializeGuard};
use prometheus_client::{encoding::text::encode_registry, registry::Registry};

use super::{
    counts::ByRollout,
    described::{
        APPLIED, CALLS_WAITING, CHECKED, CHECKS, CONDITION, DESIRED, Described, HELD, INFO, LAST_SUCCESS, LEFT_OUT,
        MEMBER_VALUE, OBSERVED, PHASE, ROLLOUTS, RUN, RUNS, SAMPLES, SINCE, STEP, STEPS, VALUE, VERDICT,
    },
    members::{self, Successes},
    rollouts::{self, number},
    series::{Series, Shown},
};
use crate::api::{FleetRollout, MemberCluster};

/// The most that one rollout shows, and that all rollouts and members show together.
const MOST_OF_ONE: usize = 500;
const MOST: usize = 50_000;

/// What is known now. A process that does not act knows nothing that it may show.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    /// The time.
    pub(crate) now: Timestamp,
    /// Every rollout; those that cannot be read show nothing.
    pub(crate) rollouts: Vec<Arc<DeserializeGuard<FleetRollout>>>,
    /// Every member; those that cannot be read show nothing.
    pub(crate) members: Vec<Arc<DeserializeGuard<MemberCluster>>>,
    /// Rollouts that wait for their turn at the API server.
    pub(crate) waiting: usize,
}

const METRICS: &[&Described] = &[
    &INFO,
    &ROLLOUTS,
    &LEFT_OUT,
    &CALLS_WAITING,
    &PHASE,
    &SINCE,
    &HELD,
    &RUN,
    &STEP,
    &STEPS,
    &DESIRED,
    &APPLIED,
    &OBSERVED,
    &CHECKED,
    &VALUE,
    &VERDICT,
    &SAMPLES,
    &MEMBER_VALUE,
    &CHECKS,
    &RUNS,
    &CONDITION,
    &LAST_SUCCESS,
];

/// It in the `OpenMetrics` text format, without an end.
pub(super) fn text(snapshot: &Snapshot, counts: &ByRollout, successes: &Successes) -> String {
    let mut registry = Registry::with_prefix("cutover");
    let series = series(snapshot, counts, successes);
    registry.register_collector(Box::new(Shown { metrics: METRICS, series }));
    let mut text = String::new();
    // Writing to a String does not fail.
    let _ = encode_registry(&mut text, &registry);
    text
}

fn series(snapshot: &Snapshot, counts: &ByRollout, successes: &Successes) -> Vec<Series> {
    let mut left_out = 0;
    let mut all: Vec<Series> = Vec::new();
    let mut take = |mut series: Vec<Series>, most: usize| {
        let room = most.min(MOST.saturating_sub(all.len()));
        left_out += series.len().saturating_sub(room);
        series.truncate(room);
        all.append(&mut series);
    };
    for member in snapshot.members.iter().filter_map(|member| member.0.as_ref().ok()) {
        take(members::series(member, successes), MOST_OF_ONE);
    }
    let rollouts = snapshot.rollouts.iter().filter_map(|rollout| rollout.0.as_ref().ok());
    let mut rollouts: Vec<_> = rollouts.map(|rollout| (key(rollout), rollout)).collect();
    rollouts.sort_by(|(one, _), (other, _)| one.cmp(other));
    for (key, rollout) in &rollouts {
        let counts = counts.get(key).cloned().unwrap_or_default();
        take(rollouts::series(rollout, &counts, snapshot.now), MOST_OF_ONE);
    }
    all.extend([
        Series::new(&INFO, [env!("CARGO_PKG_VERSION")], 1.0),
        Series::new(&ROLLOUTS, [], number(rollouts.len() as u64)),
        Series::new(&LEFT_OUT, [], number(left_out as u64)),
        Series::new(&CALLS_WAITING, [], number(snapshot.waiting as u64)),
    ]);
    all
}

fn key(rollout: &FleetRollout) -> (String, String) {
    (rollout.namespace().unwrap_or_default(), rollout.name_any())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::api::FleetRolloutStatus;

    const NOW: &str = "2026-01-01T00:10:00Z";

    fn rollout(name: &str, status: &Value) -> Arc<DeserializeGuard<FleetRollout>> {
        let object = json!({
            "apiVersion": "cutover.dev/v1alpha1", "kind": "FleetRollout",
            "metadata": {"name": name, "namespace": "shop"},
            "spec": {"services": [], "analysis": {"metrics": []}}, "status": status,
        });
        Arc::new(DeserializeGuard(Ok(serde_json::from_value(object).unwrap())))
    }

    fn check(at: &str, verdict: &str) -> Value {
        let members = json!([
            {"member": "eu-3", "canary": true, "value": 1.5, "samples": 700.0},
            {"member": "eu-1", "canary": false, "value": 0.5},
            {"member": "eu-2", "canary": true, "missing": "no answer"}]);
        json!({
            "at": at, "verdict": verdict, "reason": "ChecksPass", "message": "m", "since": at, "sequence": 2,
            "observed": {"web": {"eu-3": 26.0}},
            "metrics": [{"service": "web", "metric": "errors", "verdict": verdict, "reason": "ChecksPass",
                         "message": "m", "value": 1.25, "samples": 900.0, "members": members}]})
    }

    fn live(check: &Value) -> Value {
        json!({"number": 7, "revision": "r", "generation": 1, "startedAt": NOW, "start": {"eu-1": 100},
               "rollbackTo": {"eu-1": 100}, "target": {"eu-3": 100},
               "pinned": {"services": [], "strategy": {}, "weightTotal": 100},
               "plan": [{"stage": "", "split": {"weights": {"eu-1": 75, "eu-3": 25}}, "bake": "1m"},
                        {"stage": "", "split": {"weights": {"eu-3": 100}}, "bake": "1m"}],
               "state": {"stepping": {"step": 1, "bake": {}}}, "check": check})
    }

    fn shown(rollouts: Vec<Arc<DeserializeGuard<FleetRollout>>>, counts: &ByRollout) -> String {
        let snapshot = Snapshot { now: NOW.parse().unwrap(), rollouts, waiting: 3, ..Snapshot::default() };
        text(&snapshot, counts, &Successes::new())
    }

    fn held() -> Value {
        json!({
            "phase": "Held", "since": "2026-01-01T00:08:30Z",
            "desired": {"split": {"weights": {"eu-1": 75, "eu-3": 25}}, "sequence": 2, "at": NOW},
            "routes": [{"service": "web", "route": "HTTPRoute/public", "applied": {"eu-1": 3, "eu-3": 1}, "sequence": 2, "at": NOW}],
            "run": live(&check(NOW, "Unknown"))})
    }

    #[test]
    fn a_rollout_shows_where_it_stands_and_what_its_last_check_said() {
        let text = shown(vec![rollout("web", &held())], &ByRollout::new());
        let own = r#"namespace="shop",rollout="web""#;
        for line in [
            format!(r#"cutover_rollout_phase{{{own},phase="Held"}} 1.0"#),
            format!("cutover_rollout_held_seconds{{{own}}} 90.0"),
            format!("cutover_rollout_since_timestamp_seconds{{{own}}} 1767226110.0"),
            format!("cutover_rollout_run{{{own}}} 7.0"),
            format!("cutover_rollout_step{{{own}}} 1.0"),
            format!("cutover_rollout_steps{{{own}}} 2.0"),
            format!(r#"cutover_rollout_desired_weight_ratio{{{own},member="eu-3"}} 0.25"#),
            format!(
                r#"cutover_rollout_applied_weight_ratio{{{own},service="web",route="HTTPRoute/public",member="eu-1"}} 0.75"#
            ),
            format!(r#"cutover_rollout_observed_share_ratio{{{own},service="web",member="eu-3"}} 0.26"#),
            format!(r#"cutover_rollout_metric_value{{{own},service="web",metric="errors"}} 1.25"#),
            format!(r#"cutover_rollout_metric_verdict{{{own},service="web",metric="errors",verdict="Unknown"}} 1.0"#),
            format!(r#"cutover_rollout_metric_samples{{{own},service="web",metric="errors"}} 900.0"#),
            format!(
                r#"cutover_rollout_metric_member_value{{{own},service="web",metric="errors",member="eu-1",role="primary"}} 0.5"#
            ),
            "cutover_api_calls_waiting 3.0".to_owned(),
            "cutover_rollouts 1.0".to_owned(),
            "cutover_series_left_out 0.0".to_owned(),
        ] {
            assert!(text.contains(&format!("{line}\n")), "{line} is not in\n{text}");
        }
        assert!(!text.contains(r#"member="eu-2""#), "what is not known is not shown as a number:\n{text}");
    }

    #[test]
    fn without_a_run_there_is_no_check_and_nothing_of_one_that_ended() {
        let text = shown(vec![rollout("web", &json!({"phase": "Succeeded"}))], &ByRollout::new());
        assert!(text.contains(r#"phase="Succeeded""#) && !text.contains("metric"), "{text}");
        assert!(text.contains("cutover_rollout_held_seconds{namespace=\"shop\",rollout=\"web\"} 0.0"), "{text}");
    }

    #[test]
    fn each_check_and_each_run_that_ended_is_counted_once() {
        let status = |value: Value| -> FleetRolloutStatus { serde_json::from_value(value).unwrap() };
        let running = |at: &str, verdict: &str| status(json!({"run": live(&check(at, verdict))}));
        let ended = json!({"number": 7, "revision": "r", "outcome": "Failed", "reason": "ChecksFailed", "message": "m",
                           "startedAt": NOW, "endedAt": NOW, "weights": {"eu-1": 100},
                           "check": check("2026-01-01T00:12:00Z", "Fail")});
        let recorded = [
            status(json!({})),
            running("2026-01-01T00:10:00Z", "Pass"),
            running("2026-01-01T00:10:00Z", "Pass"),
            running("2026-01-01T00:11:00Z", "Fail"),
            running("2026-01-01T00:12:00Z", "Fail"),
            status(json!({"history": [ended]})),
            status(json!({"history": [ended], "phase": "Failed"})),
        ];
        let mut counts = ByRollout::new();
        for pair in recorded.windows(2) {
            counts.entry(("shop".to_owned(), "web".to_owned())).or_default().record(&pair[0], &pair[1]);
        }
        let text = shown(vec![rollout("web", &json!({}))], &counts);
        for (series, count) in [
            (r#"checks_total{namespace="shop",rollout="web",verdict="Pass"}"#, "1.0"),
            (r#"checks_total{namespace="shop",rollout="web",verdict="Fail"}"#, "2.0"),
            (r#"checks_total{namespace="shop",rollout="web",verdict="Unknown"}"#, "0.0"),
            (r#"runs_total{namespace="shop",rollout="web",outcome="Failed"}"#, "1.0"),
            (r#"runs_total{namespace="shop",rollout="web",outcome="Succeeded"}"#, "0.0"),
        ] {
            assert!(
                text.contains(&format!("cutover_rollout_{series} {count}\n")),
                "{series} {count} is not in\n{text}"
            );
        }
    }

    #[test]
    fn there_is_a_bound_and_what_is_beyond_it_is_counted() {
        let mut status = held();
        let metric = status["run"]["check"]["metrics"][0].clone();
        status["run"]["check"]["metrics"] = vec![metric; 300].into();
        let rollouts: Vec<_> = (0..150).map(|number| rollout(&format!("r{number}"), &status)).collect();
        let snapshot = Snapshot { rollouts, ..Snapshot::default() };
        let series = series(&snapshot, &ByRollout::new(), &Successes::new());
        let left_out = series.iter().find(|series| series.metric == LEFT_OUT.name).unwrap().value;
        assert_eq!(series.len(), MOST + 4);
        assert!(left_out > 50_000.0, "{left_out}");
    }

    #[test]
    fn a_member_shows_its_conditions_and_when_they_last_held() {
        let condition = json!({"type": "Reachable", "status": "False", "reason": "ApiServerUnreachable", "message": "m",
                               "lastTransitionTime": NOW});
        let member = json!({"apiVersion": "cutover.dev/v1alpha1", "kind": "MemberCluster", "metadata": {"name": "eu-3"},
            "spec": {"endpoints": [], "prometheus": {"url": {"address": "http://p.example.com"}}, "allowedNamespaces": {"from": "All"}},
            "status": {"conditions": [condition]}});
        let members = vec![Arc::new(DeserializeGuard(Ok(serde_json::from_value(member).unwrap())))];
        let successes = [("eu-3", NOW), ("eu-9", NOW)];
        let successes = successes.map(|(name, at)| ((name.to_owned(), "Reachable"), at.parse().unwrap())).into();
        let text = text(&Snapshot { members, ..Snapshot::default() }, &ByRollout::new(), &successes);
        for line in [
            r#"cutover_member_condition{member="eu-3",condition="Reachable",status="False"} 1.0"#,
            r#"cutover_member_last_success_timestamp_seconds{member="eu-3",condition="Reachable"} 1767226200.0"#,
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
        assert!(!text.contains("eu-9"), "a member that is gone leaves nothing:\n{text}");
    }
}
