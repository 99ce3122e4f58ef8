//! Rollouts that are wrong in one place, and what the API server says.

use serde_json::{Value, json};

use super::Case;

pub fn cases() -> Vec<Case> {
    [weights(), strategies(), analyses(), shapes(), bounds()].concat()
}

fn weights() -> Vec<Case> {
    let member = |name: &str, weight: Value| json!({"name": name, "weight": weight});
    let many: Vec<Value> =
        (0..65).map(|index| member(&format!("eu-{index}"), json!(u32::from(index == 0) * 100))).collect();
    let sum = "spec.members: the weights must sum to weightTotal";
    vec![
        ("/spec/members", json!([]), "spec.members in body should have at least 1 items"),
        ("/spec/members", json!(many), "spec.members: Too many: 65: must have at most 64 items"),
        (
            "/spec/members",
            json!([member("eu-1", json!(1.5))]),
            "spec.members[0].weight in body must be of type integer",
        ),
        (
            "/spec/members",
            json!([member("eu-1", json!(-1))]),
            "spec.members[0].weight in body should be greater than or equal to 0",
        ),
        ("/spec/members", json!([member("eu-1", json!(99))]), sum),
        ("/spec/members", json!([member("eu-1", json!(50)), member("eu-2", json!(51))]), sum),
        ("/spec/members", json!([member("eu-1", json!(0))]), sum),
        (
            "/spec/members",
            json!([member("eu-1", json!(50)), member("eu-1", json!(50))]),
            "spec.members[1]: Duplicate value",
        ),
        ("/spec/members", json!([member("eu-\u{202e}1", json!(100))]), "spec.members[0].name in body should match"),
        ("/spec/members/0/initialWeight", json!(99), "spec.members: the initial weights must sum to weightTotal"),
        ("/spec/weightTotal", json!(0), "spec.weightTotal in body should be greater than or equal to 1"),
        ("/spec/weightTotal", json!(10_001), "spec.weightTotal in body should be less than or equal to 10000"),
    ]
}

fn strategies() -> Vec<Case> {
    let steps = |progress: &[&str]| progress.iter().map(|progress| json!({"progress": progress})).collect::<Value>();
    let many: Vec<String> = (1..=33).map(|step| format!("{step}%")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let matches = json!([{"headers": [{"name": "x-test", "exact": "a"}]}]);
    let one_kind = "a step has exactly one of progress, matches and mirror";
    let one_form = "a ramp has exactly one of stepWeight, stepWeights and iterations";
    let rise = "spec.strategy.steps: steps must rise; each progress must be more than the one before it";
    vec![
        (
            "/spec/strategy",
            json!({"sessionAffinity": {"cookieName": "a b"}}),
            "spec.strategy.sessionAffinity.cookieName in body should match",
        ),
        (
            "/spec/strategy",
            json!({"sessionAffinity": {"cookieName": "a"}, "steps": [{"matches": [{"headers": [{"name": "a", "exact": "b"}]}]}, {"progress": "100%"}]}),
            "sessionAffinity keeps users on one member, and matches sends their requests to another",
        ),
        ("/spec/strategy/steps", json!([]), "spec.strategy.steps in body should have at least 1 items"),
        ("/spec/strategy/steps", steps(&["10%", "50%", "20%", "100%"]), rise),
        ("/spec/strategy/steps", steps(&["10%", "10%", "100%"]), rise),
        ("/spec/strategy/steps", steps(&["0%", "100%"]), "spec.strategy.steps[0].progress in body should match"),
        ("/spec/strategy/steps", steps(&["10%", "50%"]), "spec.strategy.steps: the last step must be 100%"),
        ("/spec/strategy/steps", steps(&["10", "100%"]), "spec.strategy.steps[0].progress in body should match"),
        ("/spec/strategy/steps", steps(&["101%"]), "spec.strategy.steps[0].progress in body should match"),
        ("/spec/strategy/steps", steps(&many), "spec.strategy.steps: Too many: 33: must have at most 32 items"),
        ("/spec/strategy/steps", json!([{"mirror": {}, "progress": "10%"}, {"progress": "100%"}]), one_kind),
        ("/spec/strategy/steps", json!([{"iterations": 3}, {"progress": "100%"}]), one_kind),
        ("/spec/strategy/steps", json!([{"progress": "10%", "matches": matches}, {"progress": "100%"}]), one_kind),
        ("/spec/strategy/steps", json!([{"mirror": {}, "matches": matches}, {"progress": "100%"}]), one_kind),
        (
            "/spec/strategy/steps",
            json!([{"mirror": {"percent": 101}}, {"progress": "100%"}]),
            "spec.strategy.steps[0].mirror.percent in body should be less than or equal to 100",
        ),
        (
            "/spec/strategy/steps",
            json!([{"progress": "10%"}, {"mirror": {}}]),
            "spec.strategy.steps: the last step must be 100%",
        ),
        (
            "/spec/strategy/steps",
            json!([{"progress": "10%", "wait": "10m", "approval": {"min": 2}}, {"progress": "100%"}]),
            "approval belongs to wait: Promotion",
        ),
        ("/spec/strategy/ramp", json!({"mirror": true}), one_form),
        ("/spec/strategy/ramp", json!({"iterations": 5, "stepWeight": 10}), one_form),
        ("/spec/strategy/ramp", json!({"stepWeights": [5], "stepWeight": 10}), one_form),
        ("/spec/strategy/ramp", json!({"stepWeights": [5], "maxWeight": 10}), "maxWeight belongs to stepWeight"),
        ("/spec/strategy/ramp", json!({"iterations": 5, "mirrorWeight": 10}), "mirrorWeight belongs to mirror: true"),
        (
            "/spec/strategy/ramp",
            json!({"stepWeight": 10, "matches": matches}),
            "matches belongs to iterations, without mirror and stepWeightPromotion",
        ),
        (
            "/spec/strategy/ramp",
            json!({"iterations": 5, "matches": matches}),
            "spec.strategy.ramp: matches changes the primary while it has traffic; use backends of kind clusterIP",
        ),
        ("/spec/strategy/bake", json!("5"), "spec.strategy.bake in body should match"),
        ("/spec/strategy/bake", json!("-5m"), "spec.strategy.bake in body should match"),
        ("/spec/strategy/onFailure", json!("Explode"), "spec.strategy.onFailure: Unsupported value: \"Explode\""),
        (
            "/spec/strategy/stages",
            json!([{"name": "first", "members": ["eu-9"]}]),
            "spec.strategy.stages: every member must be listed in spec.members",
        ),
    ]
}

fn analyses() -> Vec<Case> {
    let metric = |more: Value| {
        let mut metric = json!({"name": "errors", "ratio": {"numerator": "a", "denominator": "b"}, "max": 1});
        json_patch::merge(&mut metric, &more);
        json!([metric])
    };
    let many_metrics = (0..17).map(|number| metric(json!({"name": format!("errors-{number}")}))[0].clone()).collect();
    vec![
        ("/spec/analysis/metrics", many_metrics, "spec.analysis.metrics: Too many: 17: must have at most 16 items"),
        ("/spec/analysis/metrics", metric(json!({"min": 5})), "min must not be more than max"),
        ("/spec/analysis/metrics", metric(json!({"max": null})), "a metric needs a limit: max, min, or perMember"),
        (
            "/spec/analysis/metrics",
            metric(json!({"query": "up"})),
            "a metric has exactly one of ratio, histogram, query, templateRef and builtin",
        ),
        (
            "/spec/analysis/metrics",
            metric(json!({"ratio": null})),
            "a metric has exactly one of ratio, histogram, query, templateRef and builtin",
        ),
        (
            "/spec/analysis/metrics",
            metric(json!({"ratio": null, "query": "up"})),
            "a query is judged per member only; put its limits under perMember",
        ),
        ("/spec/analysis/metrics", metric(json!({"guard": {}})), "a guard needs max or min"),
        (
            "/spec/analysis/metrics",
            metric(json!({"minSamples": -1})),
            "spec.analysis.metrics[0].minSamples in body should be greater than or equal to 0",
        ),
        ("/spec/analysis/failures", json!({"limit": 4, "within": 3}), "limit must not be more than within"),
        (
            "/spec/analysis/unknown",
            json!({"limit": 0}),
            "spec.analysis.unknown.limit in body should be greater than or equal to 1",
        ),
        (
            "/spec/analysis/share",
            json!({"within": 101}),
            "spec.analysis.share.within in body should be less than or equal to 100",
        ),
    ]
}

fn shapes() -> Vec<Case> {
    let long = "s".repeat(64 * 1024);
    vec![
        ("/spec", Value::Null, "spec: Required value"),
        ("/spec", json!({}), "spec.services: Required value"),
        ("/spec/services", json!([]), "spec.services in body should have at least 1 items"),
        ("/spec/services/0/name", json!(""), "spec.services[0].name in body should be at least 1 chars long"),
        ("/spec/services/0/name", json!(long), "spec.services[0].name: Too long: may not be more than 61 bytes"),
        ("/spec/services/0/name", json!("a\nb"), "spec.services[0].name in body should match"),
        ("/spec/services/0/port", json!(0), "spec.services[0].port in body should be greater than or equal to 1"),
        ("/spec/services/0/routes", json!([]), "spec.services[0].routes in body should have at least 1 items"),
        (
            "/spec/services/0/routes",
            json!([{"skipper": {"form": "CanaryIngress", "create": {"hosts": ["shop.example.com"]}}}]),
            "form CanaryIngress goes beside an Ingress that is there: name it",
        ),
        (
            "/spec/services/0/routes",
            json!([{"contour": {"create": {"host": "shop.example.com", "timeouts": {"backendRequest": "1s"}}}}]),
            "an HTTPProxy bounds an attempt only where it retries; write retries too",
        ),
        (
            "/spec/services/0/track",
            json!({"workloads": [{"kind": "Deployment", "name": "shop"}], "primaryCopies": true}),
            "track.primaryCopies belongs to service mode, a rollout without members",
        ),
        (
            "/spec/services/0/track",
            json!({"workloads": []}),
            "spec.services[0].track.workloads in body should have at least 1 items",
        ),
        ("/spec/services/0/routes", json!([{"traefik": {"name": "x"}}]), "spec.services[0].routes[0]"),
        (
            "/spec/services/0/routes/0/gatewayAPI/create",
            json!({"hosts": ["a.example.com"], "gateways": ["infra/public"]}),
            "name an HTTPRoute to adopt, or use create; one of the two",
        ),
        ("/spec/stepWieght", json!(5), "unknown field \"spec.stepWieght\""),
        ("/spec/analysis/intervall", json!("1m"), "unknown field \"spec.analysis.intervall\""),
        ("/spec/deletionPolicy", json!("Delete"), "spec.deletionPolicy: Unsupported value: \"Delete\""),
    ]
}

/// Names, numbers and choices just outside what is allowed.
#[rustfmt::skip] // One row, one line.
fn bounds() -> Vec<Case> {
    let steps = |progress: &[&str]| progress.iter().map(|progress| json!({"progress": progress})).collect::<Value>();
    let histogram = |quantile: Value| json!({"name": "latency", "histogram": {"buckets": "b", "quantile": quantile}, "max": 1});
    let rise = "spec.strategy.steps: steps must rise; each progress must be more than the one before it";
    let two_keys = "must validate one and only one schema (oneOf). Found 2 valid alternatives";
    vec![
        ("/spec/members/0/weight", json!("0"), "spec.members[0].weight in body must be of type integer: \"string\""),
        ("/spec/members/0/weight", json!(10_001), "spec.members[0].weight in body should be less than or equal to 10000"),
        ("/spec/members/0/name", json!("m".repeat(62)), "spec.members[0].name: Too long: may not be more than 61 bytes"),
        ("/spec/members/0/name", json!("EU_1"), "spec.members[0].name in body should match"),
        ("/spec/members/0/name", json!("m".repeat(53)), "spec.services: service and member name together at most 62 characters"),
        ("/spec/members/0", json!({"name": "eu-1"}), "spec.members[0].weight: Required value"),
        ("/spec/strategy/steps", steps(&["10%", "10.0%", "100%"]), rise),
        ("/spec/strategy/steps/0/progress", json!(10), "spec.strategy.steps[0].progress in body must be of type string: \"integer\""),
        ("/spec/strategy/steps/0/wait", json!("Approval"), "spec.strategy.steps[0].wait in body should match"),
        ("/spec/strategy/stages", json!([{"name": "first", "members": ["eu-3", "eu-3"]}]), "spec.strategy.stages[0].members[1]: Duplicate value: \"eu-3\""),
        ("/spec/analysis/metrics/0", histogram(json!(1.0)), "spec.analysis.metrics[0].histogram.quantile in body should be less than or equal to 0.9999"),
        ("/spec/analysis/metrics/0", histogram(json!(0)), "quantile: from 0.01 to 0.9999"),
        ("/spec/analysis/metrics/0/perMember", json!({}), "perMember needs max or min"),
        ("/spec/analysis/metrics/0/max", json!("1"), "spec.analysis.metrics[0].max in body must be of type number: \"string\""),
        ("/spec/analysis/metrics/0/window", json!("25h"), "window: from 1s to 24h"),
        ("/spec/analysis/metrics/0/ratio/numerator", json!(""), "spec.analysis.metrics[0].ratio.numerator in body should be at least 1 chars long"),
        ("/spec/analysis/metrics/0/ratio/numerator", json!("a".repeat(8193)), "spec.analysis.metrics[0].ratio.numerator: Too long: may not be more than 8192 bytes"),
        ("/spec/analysis/interval", json!("500ms"), "spec.analysis.interval: from 1s to 1h"),
        ("/spec/analysis/interval", json!("2h"), "spec.analysis.interval: from 1s to 1h"),
        ("/spec/analysis/unknown", json!({"action": "Advance"}), "spec.analysis.unknown.action: Unsupported value: \"Advance\": supported values: \"Hold\", \"Rollback\""),
        ("/spec/analysis/share", json!({"within": 0}), "within: from 0.1 to 100 points"),
        ("/spec/services/0/port", json!("http"), "spec.services[0].port in body must be of type integer: \"string\""),
        ("/spec/services/0/routes/0/contour", json!({"name": "public"}), two_keys),
        ("/spec/services/0/backend", json!({"externalName": {}, "clusterIP": {}}), two_keys),
        ("/spec/paused", json!("yes"), "spec.paused in body must be of type boolean: \"string\""),
        ("/metadata/name", json!("r".repeat(64)), "metadata.name: at most 63 characters"),
    ]
}
