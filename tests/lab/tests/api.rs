//! What a real API server says of our kinds, and of objects that break their rules. Whatever it would take is only tried
//! (`dryRun=All`), and unknown fields are refused as strict clients ask for it.

use crate::{
    apiserver::ADMIN,
    runner::{Scene, Test},
    wait::{eventually, seconds},
};
use anyhow::{Context, Result, ensure};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition as Definition;
use kube::{
    Api,
    api::{Patch, PatchParams},
};
use serde_json::{Value, json};

pub const TESTS: &[Test] = &[
    Test { name: "the_kinds_are_served_with_their_rules", exclusive: false, run: |scene| Box::pin(served(scene)) },
    Test { name: "bad_rollouts_are_refused", exclusive: false, run: |scene| Box::pin(rollouts(scene)) },
    Test { name: "bad_members_are_refused", exclusive: false, run: |scene| Box::pin(members(scene)) },
    Test {
        name: "a_request_is_bound_to_its_author_and_never_changes",
        exclusive: false,
        run: |scene| Box::pin(requests(scene)),
    },
];

/// What is set where (a JSON pointer; below a list's end it is appended), and a part of the answer, written by hand.
type Row = (&'static str, Value, &'static str);

/// Established also means: the rules compile, and their cost is within the API server's limits.
async fn served(scene: Scene) -> Result<()> {
    let definitions = Api::<Definition>::all(scene.hub.client.clone());
    for name in ["fleetrollouts", "memberclusters", "rolloutrequests"] {
        let definition = definitions.get(&format!("{name}.cutover.dev")).await?;
        let conditions = definition.status.and_then(|status| status.conditions).unwrap_or_default();
        let mut holding: Vec<&str> = conditions
            .iter()
            .filter(|condition| condition.status == "True")
            .map(|condition| &*condition.type_)
            .collect();
        holding.sort_unstable();
        ensure!(holding == ["Established", "NamesAccepted"], "{name}: {conditions:?}");
        let schema = serde_json::to_string(&definition.spec.versions[0].schema)?;
        ensure!(schema.contains("x-kubernetes-validations"), "{name} is served without its rules");
    }
    Ok(())
}

async fn rollouts(scene: Scene) -> Result<()> {
    let good = json!({
        "apiVersion": "cutover.dev/v1alpha1",
        "kind": "FleetRollout",
        "metadata": {"name": "shop"},
        "spec": {
            "services": [{"name": "storefront", "port": 80, "routes": [{"gatewayAPI": {"name": "public"}}]}],
            "members": [
                {"name": "eu-1", "weight": 0, "initialWeight": 100},
                {"name": "eu-3", "weight": 100, "initialWeight": 0},
            ],
            "strategy": {"steps": [{"progress": "10%"}, {"progress": "50%"}, {"progress": "100%"}]},
            "analysis": {"metrics": [{"name": "errors", "ratio": {"numerator": "a", "denominator": "b"}, "max": 1}]},
        },
    });
    judge(&scene, "fleetrollouts", &good, [bad_distributions(), bad_steps(), bad_analyses(), bad_services()].concat())
        .await
}

#[rustfmt::skip] // One row, one line.
fn bad_distributions() -> Vec<Row> {
    let crowd = |count: u32| {
        (1..=count).map(|n| json!({"name": format!("m-{n}"), "weight": u32::from(n == 1) * 100})).collect()
    };
    vec![
        ("/spec/members", Value::Null, "spec.members: Required value"),
        ("/spec/members", json!([]), "spec.members in body should have at least 1 items"),
        ("/spec/members", crowd(65), "spec.members: Too many: 65: must have at most 64 items"),
        ("/spec/members/1/weight", json!(99), "spec.members: the weights must sum to weightTotal"),
        ("/spec/members/0/weight", json!(1), "spec.members: the weights must sum to weightTotal"),
        ("/spec/members/1/weight", json!(0), "spec.members: the weights must sum to weightTotal"),
        ("/spec/members/0/initialWeight", json!(99), "spec.members: the initial weights must sum to weightTotal"),
        ("/spec/members/0/weight", json!(1.5), "spec.members[0].weight in body must be of type integer: \"number\""),
        ("/spec/members/0/weight", json!("0"), "spec.members[0].weight in body must be of type integer: \"string\""),
        ("/spec/members/0/weight", json!(-1), "spec.members[0].weight in body should be greater than or equal to 0"),
        ("/spec/members/0/weight", json!(10_001), "spec.members[0].weight in body should be less than or equal to 10000"),
        ("/spec/members/1/name", json!("eu-1"), "spec.members[1]: Duplicate value"),
        ("/spec/members/0/name", json!(""), "spec.members[0].name in body should be at least 1 chars long"),
        ("/spec/members/0/name", json!("m".repeat(62)), "spec.members[0].name: Too long: may not be more than 61 bytes"),
        ("/spec/members/0/name", json!("EU_1"), "spec.members[0].name in body should match"),
        ("/spec/members/0/name", json!("eu-\u{202e}1"), "spec.members[0].name in body should match"),
        ("/spec/members/0/name", json!("eu-1\n"), "spec.members[0].name in body should match"),
        ("/spec/members/0/name", json!("m".repeat(53)), "spec.services: service and member name together at most 62 characters"),
        ("/spec/members/0", json!({"name": "eu-1"}), "spec.members[0].weight: Required value"),
        ("/spec/weightTotal", json!(0), "spec.weightTotal in body should be greater than or equal to 1"),
        ("/spec/weightTotal", json!(1000), "spec.members: the weights must sum to weightTotal"),
    ]
}

#[rustfmt::skip] // One row, one line.
fn bad_steps() -> Vec<Row> {
    let steps = |progress: &[&str]| progress.iter().map(|progress| json!({ "progress": progress })).collect();
    let rise = "spec.strategy.steps: steps rise; each progress must be more than the one before it";
    let pattern = "spec.strategy.steps[0].progress in body should match";
    vec![
        ("/spec/strategy/steps", json!([]), "spec.strategy.steps in body should have at least 1 items"),
        ("/spec/strategy/steps", vec![json!({"progress": "100%"}); 33].into(), "spec.strategy.steps: Too many: 33: must have at most 32 items"),
        ("/spec/strategy/steps", steps(&["10%", "50%", "20%", "100%"]), rise),
        ("/spec/strategy/steps", steps(&["10%", "10%", "100%"]), rise),
        ("/spec/strategy/steps", steps(&["10%", "10.0%", "100%"]), rise),
        ("/spec/strategy/steps", steps(&["10%", "50%"]), "spec.strategy.steps: the last step must be 100%"),
        ("/spec/strategy/steps/0/progress", json!("0%"), pattern),
        ("/spec/strategy/steps/0/progress", json!("101%"), pattern),
        ("/spec/strategy/steps/0/progress", json!("10"), pattern),
        ("/spec/strategy/steps/0/progress", json!("-5%"), pattern),
        ("/spec/strategy/steps/0/progress", json!(10), "spec.strategy.steps[0].progress in body must be of type string: \"integer\""),
        ("/spec/strategy/steps/0/wait", json!("Approval"), "spec.strategy.steps[0].wait in body should match"),
        ("/spec/strategy/steps/0/bake", json!("5 minutes"), "spec.strategy.steps[0].bake in body should match"),
        ("/spec/strategy/steps/0/stepWieght", json!(5), "unknown field \"spec.strategy.steps[0].stepWieght\""),
        ("/spec/strategy/bake", json!("-5m"), "spec.strategy.bake in body should match"),
        ("/spec/strategy/onFailure", json!("Ignore"), "spec.strategy.onFailure: Unsupported value: \"Ignore\": supported values: \"Rollback\", \"Hold\""),
        ("/spec/strategy/stages", json!([{"name": "first", "members": ["eu-9"]}]), "spec.strategy.stages: every member must be listed in spec.members"),
        ("/spec/strategy/stages", json!([{"name": "first", "members": ["eu-3", "eu-3"]}]), "spec.strategy.stages[0].members[1]: Duplicate value: \"eu-3\""),
        ("/spec/strategy/stages", json!([{"name": "first", "members": []}]), "spec.strategy.stages[0].members in body should have at least 1 items"),
    ]
}

#[rustfmt::skip] // One row, one line.
fn bad_analyses() -> Vec<Row> {
    let one_kind = "a metric has exactly one of ratio, histogram and query";
    let histogram =
        |quantile: Value| json!({"name": "latency", "histogram": {"buckets": "b", "quantile": quantile}, "max": 1});
    let plain = json!({"name": "errors", "query": "up", "max": 1});
    let limitless = json!({"name": "errors", "ratio": {"numerator": "a", "denominator": "b"}});
    vec![
        ("/spec/analysis", Value::Null, "spec.analysis: Required value"),
        ("/spec/analysis/metrics", json!([]), "spec.analysis.metrics in body should have at least 1 items"),
        ("/spec/analysis/metrics/0/query", json!("up"), one_kind),
        ("/spec/analysis/metrics/0", json!({"name": "errors", "max": 1}), one_kind),
        ("/spec/analysis/metrics/0", limitless, "a metric needs a limit: max, min, or perMember"),
        ("/spec/analysis/metrics/0", plain, "a query is judged per member only; put its limits under perMember"),
        ("/spec/analysis/metrics/0", histogram(json!(1)), "spec.analysis.metrics[0].histogram.quantile in body should be less than or equal to 0.9999"),
        ("/spec/analysis/metrics/0", histogram(json!(0)), "quantile: from 0.01 to 0.9999"),
        ("/spec/analysis/metrics/0/min", json!(2), "min must not be more than max"),
        ("/spec/analysis/metrics/0/guard", json!({"min": 2, "max": 1}), "min must not be more than max"),
        ("/spec/analysis/metrics/0/guard", json!({"minSamples": 5}), "a guard needs max or min"),
        ("/spec/analysis/metrics/0/perMember", json!({}), "perMember needs max or min"),
        ("/spec/analysis/metrics/0/max", json!("1"), "spec.analysis.metrics[0].max in body must be of type number: \"string\""),
        ("/spec/analysis/metrics/0/window", json!("25h"), "window: from 1s to 24h"),
        ("/spec/analysis/metrics/0/ratio/numerator", json!(""), "spec.analysis.metrics[0].ratio.numerator in body should be at least 1 chars long"),
        ("/spec/analysis/metrics/0/ratio/numerator", json!("a".repeat(8193)), "spec.analysis.metrics[0].ratio.numerator: Too long: may not be more than 8192 bytes"),
        ("/spec/analysis/failures", json!({"limit": 11, "within": 10}), "limit must not be more than within"),
        ("/spec/analysis/failures", json!({"limit": 0}), "spec.analysis.failures.limit in body should be greater than or equal to 1"),
        ("/spec/analysis/interval", json!("500ms"), "spec.analysis.interval: from 1s to 1h"),
        ("/spec/analysis/interval", json!("2h"), "spec.analysis.interval: from 1s to 1h"),
        ("/spec/analysis/unknown", json!({"action": "Advance"}), "spec.analysis.unknown.action: Unsupported value: \"Advance\": supported values: \"Hold\", \"Rollback\""),
        ("/spec/analysis/share", json!({"within": 0}), "within: from 0.1 to 100 points"),
    ]
}

#[rustfmt::skip] // One row, one line.
fn bad_services() -> Vec<Row> {
    let two_keys = "must validate one and only one schema (oneOf). Found 2 valid alternatives";
    let both = json!({"name": "public", "create": {"hosts": ["a.example.com"], "gateways": ["istio/public"]}});
    vec![
        ("/spec", Value::Null, "spec: Required value"),
        ("/spec/services", json!([]), "spec.services in body should have at least 1 items"),
        ("/spec/services/0/name", json!("1st"), "spec.services[0].name in body should match"),
        ("/spec/services/0/port", json!(65_536), "spec.services[0].port in body should be less than or equal to 65535"),
        ("/spec/services/0/port", json!("http"), "spec.services[0].port in body must be of type integer: \"string\""),
        ("/spec/services/0/routes", json!([]), "spec.services[0].routes in body should have at least 1 items"),
        ("/spec/services/0/routes/0", json!({"istio": {"name": "public"}}), "unknown field \"spec.services[0].routes[0].istio\""),
        ("/spec/services/0/routes/0/contour", json!({"name": "public"}), two_keys),
        ("/spec/services/0/routes/0/gatewayAPI", both, "name an HTTPRoute to adopt, or say create; one of the two"),
        ("/spec/services/0/routes/0/gatewayAPI", json!({}), "name an HTTPRoute to adopt, or say create; one of the two"),
        ("/spec/services/0/backend", json!({"externalName": {}, "clusterIP": {}}), two_keys),
        ("/spec/deletionPolicy", json!("Delete"), "spec.deletionPolicy: Unsupported value: \"Delete\": supported values: \"Retain\", \"Revert\""),
        ("/spec/paused", json!("yes"), "spec.paused in body must be of type boolean: \"string\""),
        ("/spec/suspended", json!(true), "unknown field \"spec.suspended\""),
        ("/metadata/name", json!("r".repeat(64)), "metadata.name: at most 63 characters"),
    ]
}

#[rustfmt::skip] // One row, one line.
async fn members(scene: Scene) -> Result<()> {
    let good = json!({
        "apiVersion": "cutover.dev/v1alpha1",
        "kind": "MemberCluster",
        "metadata": {"name": "us-1"},
        "spec": {
            "endpoints": [{"host": "us-1.example.com", "port": 443}],
            "prometheus": {"url": {"address": "https://prometheus.us-1.example.com"}},
        },
    });
    let (secret, service) =
        (json!({"name": "a", "key": "b"}), json!({"namespace": "monitoring", "name": "prometheus", "port": 9090}));
    let rows = vec![
        ("/spec/endpoints", json!([]), "spec.endpoints in body should have at least 1 items"),
        ("/spec/endpoints/-", json!({"host": "b.example.com", "port": 80}), "spec.endpoints: at most one endpoint without service, the default"),
        ("/spec/endpoints/0/port", json!(0), "spec.endpoints[0].port in body should be greater than or equal to 1"),
        ("/spec/endpoints/0/host", json!(""), "spec.endpoints[0].host in body should be at least 1 chars long"),
        ("/spec/endpoints/0/hostHeader", json!("Drop"), "spec.endpoints[0].hostHeader: Unsupported value: \"Drop\": supported values: \"Preserve\", \"Endpoint\""),
        ("/spec/endpoints/0/tls", json!({}), "spec.endpoints[0].tls.serverName: Required value"),
        ("/spec/probe", json!({"path": "healthz"}), "spec.probe.path in body should match"),
        ("/spec/prometheus", json!({}), "must validate one and only one schema (oneOf). Found none valid"),
        ("/spec/prometheus/service", service.clone(), "must validate one and only one schema (oneOf). Found 2 valid alternatives"),
        ("/spec/prometheus", json!({"service": service}), "spec.prometheus.service is reached through the member's API server and needs kubeconfigSecretRef"),
        ("/spec/prometheus/url/address", json!("file:///etc/passwd"), "spec.prometheus.url.address in body should match"),
        ("/spec/prometheus/url", json!({"address": "https://p", "bearerTokenSecretRef": secret, "basicAuthSecretRef": secret}), "bearerTokenSecretRef or basicAuthSecretRef, not both"),
        ("/spec/allowedNamespaces", json!({"from": "Names"}), "names is given with from: Names, and only then"),
        ("/spec/allowedNamespaces", json!({"from": "Some"}), "spec.allowedNamespaces.from: Unsupported value: \"Some\": supported values: \"All\", \"Names\""),
        ("/spec/kubeconfigSecretRef", json!({"name": "a"}), "spec.kubeconfigSecretRef.key: Required value"),
        ("/spec/state", json!("Drained"), "unknown field \"spec.state\""),
        ("/metadata/name", json!("us.1"), "metadata.name: a DNS label of at most 61 characters"),
        ("/metadata/name", json!("u".repeat(62)), "metadata.name: a DNS label of at most 61 characters"),
    ];
    judge(&scene, "memberclusters", &good, rows).await
}

async fn requests(scene: Scene) -> Result<()> {
    let good = json!({
        "apiVersion": "cutover.dev/v1alpha1",
        "kind": "RolloutRequest",
        "metadata": {"name": "abort"},
        "spec": {"rollout": {"name": "shop", "uid": "u"}, "verb": "Abort", "run": 1, "requestedBy": ADMIN},
    });
    let rows = vec![
        ("/spec/verb", json!("Explode"), "spec.verb: Unsupported value: \"Explode\""),
        ("/spec/run", json!(-1), "spec.run in body should be greater than or equal to 0"),
        ("/spec/step", json!(0), "spec.step in body should be greater than or equal to 1"),
        ("/spec/rollout", json!({"name": "shop"}), "spec.rollout.uid: Required value"),
        ("/spec/reason", json!("r".repeat(257)), "spec.reason: Too long: may not be more than 256 bytes"),
        ("/spec/requestedBy", json!("somebody-else"), "spec.requestedBy: somebody-else is not you; write lab-admin"),
    ];
    judge(&scene, "rolloutrequests", &good, rows).await?;
    scene.hub.create(&scene.namespace, &good.to_string()).await?;
    let requests = scene.hub.api("cutover.dev/v1alpha1", "RolloutRequest", &scene.namespace).await?;
    let change = Patch::Merge(json!({"spec": {"verb": "Rollback"}}));
    let refusal = requests.patch("abort", &PatchParams::default(), &change).await.err().context("it was changed")?;
    ensure!(refusal.to_string().contains("spec: a request cannot be changed; make a new one"), "{refusal}");
    Ok(())
}

/// The good object is taken; with one thing set otherwise each is refused, and the answer says what is wrong.
async fn judge(scene: &Scene, plural: &str, good: &Value, rows: Vec<Row>) -> Result<()> {
    // The admission policy may not be ready right after the start.
    eventually("a good object", seconds(20), async || {
        answer(scene, plural, good.to_string()).await.map_err(Into::into)
    })
    .await?;
    let mut wrong = Vec::new();
    for (pointer, value, expected) in rows {
        let operation = json!([{"op": "add", "path": pointer, "value": value}]);
        let mut object = good.clone();
        json_patch::patch(&mut object, &serde_json::from_value::<json_patch::Patch>(operation)?)?;
        match answer(scene, plural, object.to_string()).await {
            Err(refusal) if refusal.to_string().contains(expected) => {}
            other => wrong.push(format!("{pointer} = {value:.80}\n    wanted {expected}\n    got    {other:?}")),
        }
    }
    ensure!(wrong.is_empty(), "{} answers are not as expected:\n  {}", wrong.len(), wrong.join("\n  "));
    Ok(())
}

/// What the API server says of a text that is sent as it is.
async fn answer(scene: &Scene, plural: &str, body: String) -> kube::Result<()> {
    let within = if plural == "memberclusters" { String::new() } else { format!("namespaces/{}/", scene.namespace) };
    let path = format!("/apis/cutover.dev/v1alpha1/{within}{plural}?dryRun=All&fieldValidation=Strict");
    let request = http::Request::post(path).header(http::header::CONTENT_TYPE, "application/json");
    let request = request.body(body.into_bytes()).map_err(kube::Error::HttpError)?;
    scene.hub.client.request::<Value>(request).await.map(drop)
}
