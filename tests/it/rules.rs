//! The CEL rules of the definitions, evaluated as an API server would after defaulting.

use cutover::api::crd::{definitions, schema};
use kube::core::cel::Validator;
use serde_json::{Value, json};

fn object(spec: &Value) -> Value {
    json!({"apiVersion": "cutover.dev/v1alpha1", "metadata": {"name": "shop"}, "spec": spec})
}

fn said(kind: usize, spec: &Value, old: Option<&Value>) -> Vec<String> {
    let definitions = definitions().unwrap();
    let answer = Validator::new().validate(schema(&definitions[kind]), &object(spec), old.map(object).as_ref());
    answer.err().map(|errors| errors.into_vec().into_iter().map(|error| error.message).collect()).unwrap_or_default()
}

fn rollout() -> Value {
    json!({
        "services": [{"name": "storefront", "port": 80, "routes": [{"gatewayAPI": {"name": "public"}}]}],
        "members": [{"name": "eu-1", "weight": 0, "initialWeight": 100}, {"name": "eu-3", "weight": 100}],
        "analysis": {"metrics": [{"name": "m", "ratio": {"numerator": "a", "denominator": "b"}, "max": 1}]},
    })
}

/// The rollout with the value at a pointer replaced.
fn with(pointer: &str, value: Value) -> Value {
    let mut spec = rollout();
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    match spec.pointer_mut(parent).unwrap() {
        Value::Array(items) => items[key.parse::<usize>().unwrap()] = value,
        other => other[key] = value,
    }
    spec
}

fn refuses(spec: &Value, message: &str) {
    let said = said(0, spec, None);
    assert!(said.iter().any(|one| one == message), "{message}: {said:?} {spec}");
}

#[test]
fn a_right_rollout_passes_every_rule() {
    assert_eq!(said(0, &rollout(), None), Vec::<String>::new());
    let staged = json!({"stages": [{"name": "a", "members": ["eu-3"]}], "steps": [{"progress": "0.5%"}, {"progress": "12.25%"}, {"progress": "100%"}]});
    assert_eq!(said(0, &with("/strategy", staged), None), Vec::<String>::new());
}

#[test]
fn each_rule_of_a_rollout_refuses_what_it_is_about() {
    let steps = |progress: &[&str]| progress.iter().map(|p| json!({"progress": p})).collect::<Value>();
    let hook = |change: Value| {
        let mut hook = json!({"name": "smoke", "type": "Rollout", "url": "https://t.example.com/"});
        json_patch::merge(&mut hook, &change);
        with("/hooks", json!([hook]))
    };
    let metric = |change: Value| {
        let mut metric = json!({"name": "m", "ratio": {"numerator": "a", "denominator": "b"}, "max": 1});
        for (key, value) in change.as_object().unwrap() {
            metric[key] = value.clone();
        }
        with("/analysis/metrics/0", metric)
    };
    for (spec, message) in [
        (with("/members/1/weight", json!(99)), "spec.members: the weights must sum to weightTotal"),
        (hook(json!({"timeout": "50ms"})), "timeout: from 100ms to 5m"),
        (hook(json!({"timeout": "5m1s"})), "timeout: from 100ms to 5m"),
        (hook(json!({"caBundle": "x", "url": "http://t.example.com/"})), "caBundle belongs to an https url"),
        (with("/members/0/initialWeight", json!(90)), "spec.members: the initial weights must sum to weightTotal"),
        (
            with("/services/0/name", json!("x".repeat(61))),
            "spec.services: service and member name together at most 62 characters",
        ),
        (
            with("/strategy", json!({"stages": [{"name": "a", "members": ["eu-2"]}]})),
            "spec.strategy.stages: every member must be listed in spec.members",
        ),
        (
            with("/strategy", json!({"steps": steps(&["10%", "5%", "100%"])})),
            "spec.strategy.steps: steps must rise; each progress must be more than the one before it",
        ),
        (
            with("/strategy", json!({"steps": steps(&["9%", "9%", "100%"])})),
            "spec.strategy.steps: steps must rise; each progress must be more than the one before it",
        ),
        (with("/strategy", json!({"steps": steps(&["9%", "50%"])})), "spec.strategy.steps: the last step must be 100%"),
        (
            with("/strategy", json!({"ramp": {"iterations": 3, "matches": [{}]}})),
            "spec.strategy.ramp: matches changes the primary while it has traffic; use backends of kind clusterIP",
        ),
        (
            with("/strategy", json!({"ramp": {"stepWeight": 3, "matches": [{}]}})),
            "matches belongs to iterations, without mirror and stepWeightPromotion",
        ),
        (with("/analysis/interval", json!("2h")), "spec.analysis.interval: from 1s to 1h"),
        (with("/analysis/interval", json!("500ms")), "spec.analysis.interval: from 1s to 1h"),
        (with("/analysis/failures", json!({"limit": 5, "within": 3})), "limit must not be more than within"),
        (
            metric(json!({"query": "up"})),
            "a metric has exactly one of ratio, histogram, query, templateRef and builtin",
        ),
        (metric(json!({"variables": {"a": "b"}})), "variables belong to a template; give templateRef"),
        (
            with(
                "/analysis/metrics/0",
                json!({"name": "m", "builtin": {"type": "RequestSuccessRate", "ingress": "Istio", "quantile": 0.9}, "min": 99}),
            ),
            "only a RequestDuration has a quantile",
        ),
        (
            with("/strategy", json!({"windows": [{"from": "09:00", "to": "09:00"}]})),
            "a window's from and to must differ",
        ),
        (metric(json!({"min": 2})), "min must not be more than max"),
        (metric(json!({"window": "25h"})), "window: from 1s to 24h"),
        (metric(json!({"guard": {}})), "a guard needs max or min"),
        (metric(json!({"guard": {"min": 2, "max": 1}})), "min must not be more than max"),
        (metric(json!({"perMember": {}})), "perMember needs max or min"),
        (
            with("/analysis/metrics/0", json!({"name": "m", "query": "up"})),
            "a metric needs a limit: max, min, or perMember",
        ),
        (
            with("/analysis/metrics/0", json!({"name": "m", "query": "up", "max": 1})),
            "a query is judged per member only; put its limits under perMember",
        ),
    ] {
        refuses(&spec, message);
    }
}

#[test]
fn each_rule_of_a_route_refuses_what_it_is_about() {
    for (spec, message) in [
        (
            with("/services/0/routes/0/gatewayAPI", json!({})),
            "name an HTTPRoute to adopt, or use create; one of the two",
        ),
        (
            with(
                "/services/0/routes/0/contour",
                json!({"create": {"host": "a", "timeouts": {"backendRequest": "1s"}}}),
            ),
            "an HTTPProxy bounds an attempt only where it retries; write retries too",
        ),
        (
            with(
                "/services/0/routes/0/contour",
                json!({"create": {"host": "a", "headers": {"request": {"add": [{"name": "a", "value": "b"}]}}}}),
            ),
            "an HTTPProxy adds no value beside those that a header has; write set",
        ),
        (
            with(
                "/services/0/routes/0/contour",
                json!({"create": {"host": "a", "timeouts": {"request": "1s", "backendRequest": "2s"}}}),
            ),
            "backendRequest must not be more than request",
        ),
        (
            with("/services/0/routes/0/contour", json!({"create": {"host": "a", "headers": {"request": {}}}})),
            "write set, add or remove",
        ),
        (
            with(
                "/services/0/routes/0/contour",
                json!({"create": {"host": "a", "cors": {"allowOrigins": ["*", "http://a"], "allowMethods": ["GET"]}}}),
            ),
            "allowOrigins: * stands alone",
        ),
        (
            with("/services/0/routes/0", json!({"istio": {}})),
            "name a VirtualService to adopt, or use create; one of the two",
        ),
        (
            with("/services/0/routes/0", json!({"istio": {"create": {}}})),
            "write hosts; or delegate: true, without hosts",
        ),
        (
            with("/services/0/routes/0", json!({"istio": {"create": {"delegate": true, "gateways": ["mesh"]}}})),
            "a delegate has no gateways, and protocol HTTP",
        ),
        (
            with(
                "/services/0/routes/0",
                json!({"istio": {"create": {"hosts": ["a"], "protocol": "TCP", "timeouts": {"request": "1s"}}}}),
            ),
            "timeouts, retries, headers and cors need protocol HTTP",
        ),
        (
            with(
                "/services/0/routes/0",
                json!({"istio": {"create": {"hosts": ["a"], "timeouts": {"backendRequest": "1s"}}}}),
            ),
            "a VirtualService bounds an attempt only where it retries; write retries too",
        ),
        (
            with("/services/0/routes/0", json!({"contour": {}})),
            "name an HTTPProxy to adopt, or use create; one of the two",
        ),
        (
            with("/services/0/routes/0", json!({"skipper": {}})),
            "name an object to adopt, or use create; one of the two",
        ),
        (
            with(
                "/services/0/routes/0",
                json!({"skipper": {"form": "CanaryIngress", "create": {"hosts": ["shop.example.com"]}}}),
            ),
            "form CanaryIngress goes beside an Ingress that is there: name it",
        ),
    ] {
        refuses(&spec, message);
    }
}

#[test]
fn each_rule_of_a_member_refuses_what_it_is_about() {
    let member = |endpoints: Value, prometheus: Value, allowed: Value| {
        said(1, &json!({"endpoints": endpoints, "prometheus": prometheus, "allowedNamespaces": allowed}), None)
    };
    let (one, url) = (json!({"host": "a.example.com", "port": 443}), json!({"url": {"address": "https://p"}}));
    let (named, all) = (json!({"name": "s", "key": "k"}), json!({"from": "All"}));
    assert_eq!(member(json!([one]), url.clone(), json!({"from": "Names", "names": ["shop"]})), Vec::<String>::new());
    assert_eq!(
        member(json!([one]), json!({"service": {"namespace": "m", "name": "p", "port": 1}}), all.clone()),
        [
            "spec.prometheus.service is reached through the member's API server and needs kubeconfigSecretRef; or give prometheus.url"
        ]
    );
    assert_eq!(
        member(json!([one, one]), url.clone(), all.clone()),
        ["spec.endpoints: at most one endpoint without service, the default"]
    );
    for allowed in [json!({"from": "Names"}), json!({"from": "All", "names": ["shop"]})] {
        let expected = ["names is required with from: Names, and only then"];
        assert_eq!(member(json!([one]), url.clone(), allowed), expected);
    }
    let both = json!({"url": {"address": "https://p", "bearerTokenSecretRef": named, "basicAuthSecretRef": named}});
    assert_eq!(member(json!([one]), both, all), ["bearerTokenSecretRef or basicAuthSecretRef, not both"]);
}

#[test]
fn a_template_measures_one_thing() {
    let spec = json!({"variables": [{"name": "code", "default": "5.."}], "query": "up"});
    assert_eq!(said(2, &spec, None), Vec::<String>::new());
    let both = json!({"query": "up", "ratio": {"numerator": "a", "denominator": "b"}});
    assert_eq!(said(2, &both, None), ["a template has exactly one of ratio, histogram and query"]);
}

#[test]
fn a_request_cannot_be_changed() {
    let request =
        |run: u32| json!({"rollout": {"name": "shop", "uid": "u"}, "verb": "Abort", "run": run, "requestedBy": "me"});
    assert_eq!(said(3, &request(1), Some(&request(1))), Vec::<String>::new());
    assert_eq!(said(3, &request(2), Some(&request(1))), ["spec: a request cannot be changed; create a new one"]);
}
