//! Hand-made rollouts in the states that people meet.

use serde_json::{Value, json};

use super::{get::list::Rollouts, hub_liveness::LeaseSeen, routes::RouteShown, view::View};
use crate::{
    api::{Distribution, MemberCluster, Phase, Reason},
    rollout::{
        RouteKey,
        input::{Accepted, LiveRoute},
    },
};

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
            step("5%", "5m", &json!({"eu-1": 475, "eu-2": 500, "eu-3": 25})),
            waiting_step(step("25%", "10m", &json!({"eu-1": 375, "eu-2": 500, "eu-3": 125}))),
            step("50%", "5m", &json!({"eu-1": 250, "eu-2": 500, "eu-3": 250})),
            step("100%", "5m", &json!({"eu-2": 500, "eu-3": 500}))
        ],
        "state": {"stepping": {"step": 2, "bake": {"time": "4m", "passes": 0}}},
        "deadlineUsed": "1h7m", "check": check("Pass", "ChecksPass")
    })
}

fn step(progress: &str, bake: &str, weights: &Value) -> Value {
    json!({"stage": "", "progress": progress, "split": {"weights": weights}, "bake": bake})
}

fn waiting_step(mut step: Value) -> Value {
    step["wait"] = json!("Promotion");
    step
}

fn spec() -> Value {
    json!({
        "services": [{"name": "storefront", "port": 443, "routes": [{"gatewayAPI": {"name": "public"}}]}],
        "weightTotal": 1000,
        "members": [{"name": "eu-1", "weight": 0}, {"name": "eu-2", "weight": 500}, {"name": "eu-3", "weight": 500}],
        "analysis": {"metrics": [
            {"name": "errors", "ratio": {"numerator": "a", "denominator": "b"}, "max": 1.0, "guard": {"max": 20.0}},
            {"name": "p99", "histogram": {"buckets": "duration_seconds_bucket", "quantile": 0.99}, "max": 0.5}
        ]}
    })
}

/// A check of both metrics.
pub(super) fn check(verdict: &str, reason: &str) -> Value {
    check_of(["eu-1", "eu-3"], verdict, reason)
}

/// A check of both metrics at a member of the primary and at a canary.
fn check_of([primary, canary]: [&str; 2], verdict: &str, reason: &str) -> Value {
    let primary = |value: f64| json!({"member": primary, "canary": false, "value": value, "samples": 91204.0});
    let metric = |name: &str, value: f64| {
        json!({
            "service": "storefront", "metric": name, "verdict": verdict, "reason": reason, "message": "within limits",
            "recent": "PPP", "value": value, "samples": 29911.0,
            "members": [primary(value + 0.01), {"member": canary, "canary": true, "value": value, "samples": 29911.0}]
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
    let mut status = json!({
        "observedGeneration": 4, "phase": phase, "reason": reason, "message": message, "since": "2026-01-03T00:47:00Z",
        "summary": {"step": "2/4", "weights": "eu-1:375 eu-2:500 eu-3:125", "verdict": "Pass"},
        "primary": {"eu-1": 500, "eu-2": 500}, "sequence": 9,
        "run": run
    });
    set_weights(&mut status, &json!({"eu-1": 375, "eu-2": 500, "eu-3": 125}));
    status
}

/// These weights are desired, and the route was confirmed to hold them.
fn set_weights(status: &mut Value, weights: &Value) {
    let (at, confirmed) = ("2026-01-03T00:41:06Z", "2026-01-03T00:41:07Z");
    status["desired"] = json!({"split": {"weights": weights}, "sequence": 9, "at": at, "confirmedAt": confirmed});
    status["routes"] = json!([{
        "service": "storefront", "route": "HTTPRoute/public", "applied": weights, "sequence": 9, "at": confirmed
    }]);
}

/// The last write has this sequence, and every route confirmed it.
pub(super) fn set_sequence(status: &mut Value, sequence: u64) {
    status["sequence"] = json!(sequence);
    status["desired"]["sequence"] = json!(sequence);
    status["routes"][0]["sequence"] = json!(sequence);
}

/// What is shown of a status, with three members whose endpoints answer and a hub that lives.
pub(super) fn view(status: &Value) -> View {
    view_of(&spec(), status)
}

fn view_of(spec: &Value, status: &Value) -> View {
    let rollout = json!({
        "apiVersion": "cutover.dev/v1alpha1", "kind": "FleetRollout",
        "metadata": {"name": "shop", "namespace": "shop", "generation": 4, "uid": "u-1"}, "spec": spec, "status": status
    });
    let rollout = serde_json::from_value(rollout).unwrap();
    let mut view = View::new(rollout, lease("2026-01-03T03:00:56.000000Z"), NOW.parse().unwrap());
    view.members = ["eu-1", "eu-2", "eu-3"].map(member).into();
    view.routes = view.status.routes.iter().map(|route| shown(&route.service, &route.route, &route.applied)).collect();
    view
}

/// The Lease of a hub that renewed it then.
pub(super) fn lease(renewed: &str) -> LeaseSeen {
    let spec = json!({"holderIdentity": "hub-1", "leaseDurationSeconds": 15, "renewTime": renewed});
    LeaseSeen::Read(Some(Box::new(serde_json::from_value(json!({"spec": spec})).unwrap())))
}

/// The hub has been silent for 12 minutes.
pub(super) fn silent() -> LeaseSeen {
    lease("2026-01-03T02:49:00.000000Z")
}

/// A route that shows these weights without a mark.
pub(super) fn shown(service: &str, route: &str, weights: &Distribution) -> RouteShown {
    let live = LiveRoute {
        split: weights.clone().into(),
        uneven: false,
        mark: None,
        marked_by: None,
        to_release: true,
        accepted: Accepted::Unsaid,
        idle: false,
        editor: None,
        failed: None,
    };
    RouteShown { key: RouteKey { service: service.to_owned(), route: route.to_owned() }, live: Ok(live) }
}

/// Somebody else has written these weights to the route.
pub(super) fn edit(view: &mut View, editor: &str, weights: &[(&str, u32)]) {
    let weights: Distribution = weights.iter().copied().collect();
    let mut route = shown("storefront", "HTTPRoute/public", &weights);
    if let Ok(live) = &mut route.live {
        live.editor = Some(editor.to_owned());
    }
    view.routes = vec![route];
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
        "spec": {"endpoints": [{"host": format!("{name}.example.com"), "port": 443}], "prometheus": prometheus,
                 "allowedNamespaces": {"from": "All"}},
        "status": {"conditions": [condition("EndpointsReady", "EndpointsAnswer"), condition("Reachable", "ApiServerAnswers")]}
    }))
    .unwrap()
}

/// A run at its second step.
pub(super) fn in_the_middle() -> View {
    view(&status("Progressing", "Baking", "step 2: 6m of bake 10m left", &run()))
}

/// The same, and no metric is declared.
pub(super) fn unmeasured() -> View {
    let mut run = run();
    run["check"] = json!({
        "at": "2026-01-03T03:00:39Z", "verdict": "Pass", "reason": "NothingMeasured", "message": "nothing is measured",
        "since": "2026-01-03T00:47:00Z", "sequence": 9, "metrics": []
    });
    let mut spec = spec();
    spec["analysis"]["metrics"] = json!([]);
    let message = "step 2: 6m of bake 10m left; nothing is measured";
    let mut status = status("Progressing", "NothingMeasured", message, &run);
    status["summary"]["verdict"] = json!("NotMeasured");
    view_of(&spec, &status)
}

/// The hub fell silent in the middle of a run.
pub(super) fn silent_hub() -> View {
    let mut run = run();
    run["check"]["at"] = json!("2026-01-03T02:48:50Z");
    run["check"]["passedAt"] = json!("2026-01-03T02:48:50Z");
    let view = view(&status("Progressing", "Baking", "step 2: 6m of bake 10m left", &run));
    View { lease: silent(), ..view }
}

/// Somebody has sent the traffic back without it.
pub(super) fn silent_hub_after_direct() -> View {
    let mut view = silent_hub();
    edit(&mut view, "cutover-direct", &[("eu-1", 500), ("eu-2", 500)]);
    view
}

/// Somebody has edited the route since the run failed.
pub(super) fn drift_after_failure() -> View {
    let mut view = failed();
    (view.status.phase, view.status.reason) = (Phase::Held, Reason::RouteDrifted);
    view.status.message =
        "HTTPRoute/public (storefront) shows eu-1:300 eu-3:700 (changed by kubectl-edit), not eu-1:500 \
                           eu-2:500; put it back: cutover retry; or take it as the primary: cutover adopt; before that \
                           Failed: errors 31 % (guard 20); not tried again until retry"
            .to_owned();
    edit(&mut view, "kubectl-edit", &[("eu-1", 300), ("eu-3", 700)]);
    view
}

/// Forty rollouts of four namespaces, one of them failed, one held, three in progress.
pub(super) fn forty() -> Rollouts {
    let done = || {
        let mut view = failed();
        (view.status.phase, view.status.reason) = (Phase::Succeeded, Reason::RunSucceeded);
        view
    };
    let views = (1..=40).map(|number| {
        let mut view = match number {
            7 => held(),
            23 => failed(),
            11 | 12 | 31 => in_the_middle(),
            _ => done(),
        };
        view.rollout.status = Some(view.status.clone());
        view.rollout.metadata.name = Some(format!("service-{number:02}"));
        view.rollout.metadata.namespace = Some(format!("team-{}", (number - 1) / 10 + 1));
        serde_json::from_value(serde_json::to_value(view.rollout).unwrap()).unwrap()
    });
    let objects = views.collect();
    Rollouts { objects, lease: lease("2026-01-03T03:00:56.000000Z"), everywhere: true, now: NOW.parse().unwrap() }
}

/// Waiting for a person.
pub(super) fn waiting() -> View {
    let mut run = run();
    run["state"] = json!({"stepping": {
        "step": 2, "bake": {"time": "10m", "passes": 0}, "waitingSince": "2026-01-03T00:47:00Z"
    }});
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
    let message = "errors 31 % (guard 20); not tried again until retry";
    let mut status = status("Failed", "GuardBreached", message, &Value::Null);
    status["summary"]["verdict"] = json!("Fail");
    let weights = json!({"eu-1": 500, "eu-2": 500});
    set_weights(&mut status, &weights);
    set_sequence(&mut status, 10);
    status["failedRevision"] = json!("3f9c");
    status["history"] = json!([{
        "number": 7, "revision": "3f9c", "outcome": "Failed", "reason": "GuardBreached",
        "message": "errors 31 % (guard 20)", "startedAt": "2026-01-02T23:40:00Z", "startedBy": "argocd-controller",
        "endedAt": "2026-01-03T00:47:00Z", "step": 2, "steps": 4, "weights": weights, "check": check_failed(),
        "moves": [
            {"at": "2026-01-02T23:41:00Z", "step": 1, "weights": {"eu-1": 475, "eu-2": 500, "eu-3": 25}, "verdict": "Pass"},
            {"at": "2026-01-03T00:41:06Z", "step": 2, "weights": {"eu-1": 375, "eu-2": 500, "eu-3": 125}, "verdict": "Fail"},
            {"at": "2026-01-03T00:46:59Z", "step": 2, "weights": weights}
        ],
        "requests": [
            {"at": "2026-01-02T23:50:00Z", "verb": "Pause", "by": "ada", "reason": "traffic peak"},
            {"at": "2026-01-03T00:10:00Z", "verb": "Resume", "by": "ada"}
        ]
    }]);
    view(&status)
}

/// The last check of a run that a guard ended: p99 still passed.
fn check_failed() -> Value {
    let mut check = check("Pass", "ChecksPass");
    let message = "errors of storefront: eu-3: 31 % of 29911 requests is beyond the guard (max 20)";
    let failed = json!({"verdict": "Fail", "reason": "GuardBreached", "message": message});
    let times =
        json!({"at": "2026-01-03T00:46:58Z", "since": "2026-01-03T00:46:58Z", "passedAt": "2026-01-03T00:46:37Z"});
    json_patch::merge(&mut check, &times);
    json_patch::merge(&mut check, &failed);
    json_patch::merge(&mut check["metrics"][0], &failed);
    json_patch::merge(&mut check["metrics"][0], &json!({"value": 31.0, "recent": "PPF"}));
    check["metrics"][0]["members"][1]["value"] = json!(31.0);
    check
}

/// Ended by a person while metrics of a member were missing.
pub(super) fn aborted_while_unknown() -> View {
    let weights = json!({"eu-1": 500, "eu-2": 500});
    let mut status = status("RolledBack", "Aborted", "eu-1 50.0 %, eu-2 50.0 %: aborted", &Value::Null);
    set_weights(&mut status, &weights);
    set_sequence(&mut status, 10);
    status["history"] = json!([{
        "number": 7, "revision": "3f9c", "outcome": "RolledBack", "reason": "Aborted", "message": "aborted",
        "startedAt": "2026-01-02T23:40:00Z", "endedAt": "2026-01-03T00:47:00Z", "step": 2, "steps": 4,
        "weights": weights, "check": check_unknown()
    }]);
    view(&status)
}

/// All steps done, the rollback target still open.
pub(super) fn soaking() -> View {
    let mut run = run();
    run["state"] = json!({"soaking": {"step": 4, "since": "2026-01-03T00:47:00Z"}});
    let mut status = status("Soaking", "KeepingPrevious", "all steps are done; rollback stays possible", &run);
    status["summary"]["step"] = json!("4/4");
    set_weights(&mut status, &json!({"eu-1": 0, "eu-2": 500, "eu-3": 500}));
    view(&status)
}

/// The first of two stages: eu-3 is judged, and eu-4 gets its traffic in the second one.
pub(super) fn staged() -> View {
    let mut run = run();
    run["target"] = json!({"eu-2": 500, "eu-3": 250, "eu-4": 250});
    run["plan"] = json!([
        step("50%", "10m", &json!({"eu-1": 375, "eu-2": 500, "eu-3": 125})),
        step("100%", "10m", &json!({"eu-1": 250, "eu-2": 500, "eu-3": 250})),
        step("100%", "10m", &json!({"eu-2": 500, "eu-3": 250, "eu-4": 250}))
    ]);
    for (step, stage) in run["plan"].as_array_mut().unwrap().iter_mut().zip(["first", "first", "second"]) {
        step["stage"] = json!(stage);
    }
    run["state"]["stepping"]["step"] = json!(1);
    let mut status = status("Progressing", "Baking", "step 1: 6m of bake 10m left", &run);
    status["summary"]["step"] = json!("1/3");
    view(&status)
}

/// Service mode: the Services that were declared last are proven at a fifth of all traffic.
pub(super) fn service_mode() -> View {
    let (primary, fifth) = (json!({"primary": 1000}), json!({"primary": 800, "canary": 200}));
    let mut run = run();
    for end in ["start", "rollbackTo", "target"] {
        run[end] = primary.clone();
    }
    run["plan"] = json!([step("20%", "10m", &fifth), step("100%", "0s", &primary)]);
    run["plan"][1]["promotes"] = json!(true);
    run["services"] = json!({"storefront": {"spec": {"selector": {"app": "storefront"}}}});
    run["state"]["stepping"]["step"] = json!(1);
    run["check"] = check_of(["primary", "canary"], "Pass", "ChecksPass");
    run["check"]["observed"] = json!({"storefront": {"primary": 79.8, "canary": 20.2}});
    let mut status = status("Progressing", "Baking", "step 1: 6m of bake 10m left", &run);
    status["summary"] = json!({"step": "1/2", "weights": "canary:200 primary:800", "verdict": "Pass"});
    status["primary"] = primary;
    set_weights(&mut status, &fifth);
    let mut spec = spec();
    spec.as_object_mut().unwrap().remove("members");
    view_of(&spec, &status)
}

/// Initialization met a backend that belongs to nobody.
pub(super) fn needs_mapping() -> View {
    view(&json!({
        "observedGeneration": 4, "phase": "Initializing", "reason": "AdoptionNeedsMapping", "since": "2026-01-03T03:00:00Z",
        "message": "HTTPRoute public: backend legacy-shop carries traffic but belongs to no member"
    }))
}
