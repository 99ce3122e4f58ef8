//! Hand-made rollouts in the states that people meet.

use serde_json::{Value, json};

use super::{hub_liveness::HubLiveness, view::View};
use crate::api::{Duration, MemberCluster};

/// The instant at which every view is shown.
pub(super) const NOW: &str = "2026-01-03T03:01:00Z";

/// 37.5 % of the traffic of two members moves to eu-3, which is judged at a quarter of the way.
pub(super) fn run() -> Value {
    json!({
        "number": 7, "revision": "3f9c", "generation": 4, "startedAt": "2026-01-02T23:40:00Z",
        "start": {"eu-1": 500, "eu-2": 500}, "rollbackTo": {"eu-1": 500, "eu-2": 500}, "target": {"eu-2": 500, "eu-3": 500},
        "pinned": {
            "weightTotal": 1000, "services": spec()["services"],
            "strategy": {"steps": [{"progress": "5%"}], "progressDeadline": "4h", "keepPrevious": "24h"}
        },
        "plan": [
            {"stage": "", "progress": "5%", "weights": {"eu-1": 475, "eu-2": 500, "eu-3": 25}, "bake": "5m"},
            {"stage": "", "progress": "25%", "weights": {"eu-1": 375, "eu-2": 500, "eu-3": 125}, "bake": "10m", "wait": "Promotion"},
            {"stage": "", "progress": "50%", "weights": {"eu-1": 250, "eu-2": 500, "eu-3": 250}, "bake": "5m"},
            {"stage": "", "progress": "100%", "weights": {"eu-2": 500, "eu-3": 500}, "bake": "5m"}
        ],
        "step": 2, "baked": "4m", "deadlineUsed": "1h7m", "check": check("Pass", "ChecksPass")
    })
}

fn spec() -> Value {
    json!({
        "services": [{"name": "storefront", "port": 443, "routes": [{"gatewayAPI": {"name": "public"}}]}],
        "weightTotal": 1000,
        "members": [{"name": "eu-1", "weight": 0}, {"name": "eu-2", "weight": 500}, {"name": "eu-3", "weight": 500}],
        "analysis": {"metrics": [
            {"name": "errors", "ratio": {"numerator": "a", "denominator": "b"}, "max": 1.0, "guard": {"max": 20.0}},
            {"name": "p99", "histogram": {"buckets": "c", "quantile": 0.99}, "max": 0.5}
        ]}
    })
}

/// A check of both metrics.
pub(super) fn check(verdict: &str, reason: &str) -> Value {
    let primary = |value: f64| json!({"member": "eu-1", "canary": false, "value": value, "samples": 91204.0});
    let metric = |name: &str, value: f64| {
        json!({
            "service": "storefront", "metric": name, "verdict": verdict, "reason": reason, "message": "within limits",
            "recent": "PPP", "value": value, "samples": 29911.0,
            "members": [primary(value + 0.01), {"member": "eu-3", "canary": true, "value": value, "samples": 29911.0}]
        })
    };
    json!({
        "at": "2026-01-03T03:00:39Z", "verdict": verdict, "reason": reason, "message": "all metrics pass",
        "since": "2026-01-03T00:47:00Z", "passedAt": "2026-01-03T03:00:39Z", "sequence": 9,
        "metrics": [metric("errors", 0.06), metric("p99", 0.2)],
        "observed": {"storefront": {"eu-1": 37.4, "eu-2": 50.1, "eu-3": 12.5}}
    })
}

/// The same check without eu-3's numbers.
pub(super) fn check_unknown() -> Value {
    let mut check = check("Unknown", "MetricsUnknown");
    check["message"] = json!("eu-3: storefront: errors, p99: 503 from the service proxy");
    check["unknownInARow"] = json!(134);
    check["passedAt"] = json!("2026-01-03T00:46:40Z");
    check["observed"] = json!({});
    for metric in check["metrics"].as_array_mut().unwrap() {
        metric["value"] = Value::Null;
        metric["members"][1] = json!({"member": "eu-3", "canary": true, "missing": "503 from the service proxy"});
    }
    check
}

/// A status in that phase, with this run.
pub(super) fn status(phase: &str, reason: &str, message: &str, run: &Value) -> Value {
    let weights = json!({"eu-1": 375, "eu-2": 500, "eu-3": 125});
    json!({
        "observedGeneration": 4, "phase": phase, "reason": reason, "message": message, "since": "2026-01-03T00:47:00Z",
        "summary": {"step": "2/4", "weights": "eu-1:375 eu-2:500 eu-3:125", "verdict": "Pass"},
        "primary": {"eu-1": 500, "eu-2": 500}, "sequence": 9,
        "desired": {"weights": weights, "sequence": 9, "at": "2026-01-03T00:41:06Z", "confirmedAt": "2026-01-03T00:41:07Z"},
        "routes": [{
            "service": "storefront", "route": "HTTPRoute/public", "applied": weights, "sequence": 9,
            "at": "2026-01-03T00:41:07Z"
        }],
        "run": run
    })
}

/// What is shown of a status, with three members whose endpoints answer and a hub that lives.
pub(super) fn view(status: &Value) -> View {
    let rollout = json!({
        "apiVersion": "cutover.dev/v1alpha1", "kind": "FleetRollout",
        "metadata": {"name": "shop", "namespace": "shop", "generation": 4, "uid": "u-1"}, "spec": spec(), "status": status
    });
    let members = ["eu-1", "eu-2", "eu-3"].map(member).into();
    let hub = HubLiveness::Alive(Duration::from_secs(4));
    View::new(serde_json::from_value(rollout).unwrap(), members, hub, NOW.parse().unwrap())
}

fn member(name: &str) -> MemberCluster {
    let condition = |type_: &str, reason: &str| {
        json!({
            "type": type_, "status": "True", "reason": reason, "message": "all answer",
            "lastTransitionTime": "2026-01-01T00:00:00Z"
        })
    };
    let prometheus = json!({"url": {"address": "https://prometheus.example.com"}});
    serde_json::from_value(json!({
        "apiVersion": "cutover.dev/v1alpha1", "kind": "MemberCluster", "metadata": {"name": name},
        "spec": {"endpoints": [{"host": format!("{name}.example.com"), "port": 443}], "prometheus": prometheus},
        "status": {"conditions": [condition("EndpointsReady", "EndpointsAnswer"), condition("Reachable", "ApiServerAnswers")]}
    }))
    .unwrap()
}

/// Waiting for a person.
pub(super) fn waiting() -> View {
    let mut run = run();
    run["baked"] = json!("10m");
    run["waitingSince"] = json!("2026-01-03T00:47:00Z");
    view(&status(
        "WaitingPromotion",
        "WaitingForPromotion",
        "step 2 passed and waits for a person: cutover promote",
        &run,
    ))
}

/// Held because a member's metrics are gone.
pub(super) fn held() -> View {
    let mut run = run();
    run["check"] = check_unknown();
    view(&status("Held", "MetricsUnknown", "eu-3: storefront: errors, p99: 503 from the service proxy", &run))
}

/// Rolled back by a verdict, and over.
pub(super) fn failed() -> View {
    let mut run = run();
    run["outcome"] = json!("Failed");
    run["rollback"] = json!({
        "reason": "GuardBreached", "message": "errors 31 % (guard 20)", "at": "2026-01-03T00:46:59Z", "byPerson": false
    });
    let mut status = status("Failed", "GuardBreached", "errors 31 % (guard 20); not tried again until retry", &run);
    let weights = json!({"eu-1": 500, "eu-2": 500});
    status["desired"]["weights"] = weights.clone();
    status["routes"][0]["applied"] = weights;
    view(&status)
}

/// All steps done, the rollback target still open.
pub(super) fn soaking() -> View {
    let mut run = run();
    run["step"] = json!(4);
    run["soakingSince"] = json!("2026-01-03T00:47:00Z");
    let mut status = status("Soaking", "KeepingPrevious", "all steps are done; rollback stays possible", &run);
    status["summary"]["step"] = json!("4/4");
    let weights = json!({"eu-1": 0, "eu-2": 500, "eu-3": 500});
    status["desired"]["weights"] = weights.clone();
    status["routes"][0]["applied"] = weights;
    view(&status)
}

/// Initialization met a backend that belongs to nobody.
pub(super) fn needs_mapping() -> View {
    view(&json!({
        "observedGeneration": 4, "phase": "Initializing", "reason": "AdoptionNeedsMapping", "since": "2026-01-03T03:00:00Z",
        "message": "HTTPRoute public: backend legacy-shop carries traffic but belongs to no member"
    }))
}
