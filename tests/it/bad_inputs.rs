//! What is wrong with a declaration, in the words that a user reads. The messages are written by hand.

use cutover::validate::file;

/// A rollout that is right; each case changes one thing in it.
const RIGHT: &str = "\
apiVersion: cutover.dev/v1alpha1
kind: FleetRollout
metadata: {name: shop, namespace: shop}
spec:
  services:
    - name: storefront
      port: 80
      backend: {externalName: {}}
      routes:
        - gatewayAPI: {name: public}
  members:
    - {name: eu-1, weight: 0, initialWeight: 100}
    - {name: eu-3, weight: 100}
  strategy:
    steps:
      - {progress: 10%}
      - {progress: 50%}
      - {progress: 100%}
  analysis:
    metrics:
      - name: errors
        ratio:
          numerator: 'sum(increase(http_requests_total{service=\"{{ service }}\",code=~\"5..\"}[{{ window }}]))'
          denominator: 'sum(increase(http_requests_total{service=\"{{ service }}\"}[{{ window }}]))'
        max: 1
";

fn problems(text: &str) -> Vec<String> {
    file(text).problems.iter().map(|found| format!("{}: {}", found.line, found.problem)).collect()
}

/// The problems after `from` became `to`.
fn changed(from: &str, to: &str) -> Vec<String> {
    assert!(RIGHT.contains(from), "{from}");
    problems(&RIGHT.replacen(from, to, 1))
}

#[test]
fn the_declaration_that_the_cases_change_is_right() {
    assert_eq!(problems(RIGHT), Vec::<String>::new());
}

#[test]
fn every_mistake_is_named_with_line_field_value_and_remedy() {
    let cases: &[(&str, &str, &[&str])] = &[
        // Steps.
        (
            "      - {progress: 10%}\n      - {progress: 50%}\n      - {progress: 100%}\n",
            "      []\n",
            &["15: spec.strategy.steps: 0 entries given; write at least 1 entry, or leave it out for the default"],
        ),
        (
            "progress: 50%",
            "progress: 5%",
            &["17: spec.strategy.steps[1].progress: 5 is not more than the step before it (10); steps rise"],
        ),
        (
            "progress: 50%",
            "progress: 10%",
            &["17: spec.strategy.steps[1].progress: 10 is not more than the step before it (10); steps rise"],
        ),
        (
            "      - {progress: 100%}\n",
            "",
            &[
                "17: spec.strategy.steps[1].progress: the last step goes only 50% of the way; the last step must be 100%",
            ],
        ),
        (
            "progress: 10%",
            "progress: 0%",
            &["16: spec.strategy.steps[0].progress: \"0%\" is not allowed; write a percentage, such as 25% or 12.5%"],
        ),
        (
            "progress: 10%",
            "progress: 10",
            &["16: spec.strategy.steps[0].progress: 10 is not allowed; write a percentage, such as 25% or 12.5%"],
        ),
        (
            "{progress: 10%}",
            "{progress: 10%, wait: forever}",
            &["16: spec.strategy.steps[0].wait: \"forever\" is not allowed; write Promotion, or a time such as 10m"],
        ),
        (
            "{progress: 10%}",
            "{progress: 10%, wait: }",
            &[
                "16: spec.strategy.steps[0].wait: has no value (null), which an API server drops without a word; give it one, or leave it out",
            ],
        ),
        (
            "progress: 10%",
            "progress: 0.5%",
            &[
                "16: spec.strategy.steps[0].progress: 0.5% of the way leaves \"eu-3\" at 0 of 100; scale the weights to weightTotal 200, or take a larger step",
            ],
        ),
        // Weights and members.
        (
            "weight: 100}",
            "weight: 99}",
            &["11: spec.members: the weights sum to 99; make them sum to weightTotal, 100"],
        ),
        ("weight: 100}", "weight: 0}", &["11: spec.members: the weights sum to 0; make them sum to weightTotal, 100"]),
        (
            "weight: 100}",
            "weight: 1.5}",
            &["13: spec.members[1].weight: 1.5 is not allowed; write a whole number from 0 to 10000"],
        ),
        (
            "weight: 100}",
            "weight: -1}",
            &["13: spec.members[1].weight: -1 is not allowed; write a whole number from 0 to 10000"],
        ),
        (
            "weight: 100}",
            "weight: .nan}",
            &["13: spec.members[1].weight: is not a finite number; write a plain number"],
        ),
        (
            "initialWeight: 100}",
            "initialWeight: 90}",
            &["11: spec.members: the initial weights sum to 90; make them sum to weightTotal, 100"],
        ),
        ("name: eu-3", "name: eu-1", &["13: spec.members[1].name: \"eu-1\" is there twice; each may be there once"]),
        (
            "name: eu-3",
            "name: EU_3",
            &[
                "13: spec.members[1].name: \"EU_3\" is not allowed; write a name of lower-case letters, digits and \"-\" of at most 61 characters",
            ],
        ),
        (
            "  members:\n    - {name: eu-1, weight: 0, initialWeight: 100}\n    - {name: eu-3, weight: 100}\n",
            "",
            &["4: spec.members: missing; give a list"],
        ),
        // Stages.
        (
            "  strategy:\n",
            "  strategy:\n    stages: [{name: first, members: [eu-2]}]\n",
            &[
                "15: spec.strategy.stages[0].members[0]: \"eu-2\" is not in spec.members; did you mean eu-3?",
                "15: spec.strategy.stages: \"eu-3\" gains weight but is in no stage; add it to one",
            ],
        ),
        (
            "  strategy:\n",
            "  strategy:\n    stages: [{name: a, members: [eu-3]}, {name: b, members: [eu-3]}]\n",
            &["15: spec.strategy.stages[1].members[0]: \"eu-3\" is named more than once; leave it in one stage"],
        ),
        // Unknown and missing.
        (
            "  analysis:",
            "  anlysis:",
            &[
                "4: spec.analysis: missing; give a mapping with failures, interval, lag, metrics, settle, share, unknown",
                "19: spec.anlysis: unknown field; did you mean analysis?",
            ],
        ),
        (
            "progress: 10%",
            "stepWeight: 5, progress: 10%",
            &["16: spec.strategy.steps[0].stepWeight: unknown field; known here: bake, progress, wait"],
        ),
        (
            "kind: FleetRollout",
            "kind: FleetRolout",
            &["2: kind: \"FleetRolout\" is not known; did you mean FleetRollout?"],
        ),
        (
            "cutover.dev/v1alpha1",
            "cutover.dev/v1",
            &["1: apiVersion: \"cutover.dev/v1\" is not known; write cutover.dev/v1alpha1"],
        ),
        (
            "metadata: {name: shop, namespace: shop}",
            "metadata: {namespace: shop}",
            &["3: metadata.name: missing; give the object a name"],
        ),
        // Services and routes.
        (
            "port: 80",
            "port: 70000",
            &["7: spec.services[0].port: 70000 is not allowed; write a whole number from 1 to 65535"],
        ),
        (
            "gatewayAPI: {name: public}",
            "gatewayAPI: {name: public}\n          contour: {name: public}",
            &[
                "10: spec.services[0].routes[0]: gatewayAPI and contour are both given; give exactly one of gatewayAPI, contour, skipper",
            ],
        ),
        (
            "gatewayAPI: {name: public}",
            "nginx: {name: public}",
            &[
                "10: spec.services[0].routes[0].nginx: unknown field; known here: contour, gatewayAPI, skipper",
                "10: spec.services[0].routes[0]: nothing is chosen; give exactly one of gatewayAPI, contour, skipper",
            ],
        ),
        (
            "gatewayAPI: {name: public}",
            "skipper: {form: Ingress, name: shop}",
            &[
                "10: spec.services[0].routes[0]: skipper Ingress weights are ignored for ExternalName members (all traffic would go to one of them); \
             use the RouteGroup form or backend kind EndpointSlice",
            ],
        ),
        (
            "        - gatewayAPI: {name: public}\n",
            "        - gatewayAPI: {name: public}\n        - gatewayAPI: {name: public, rules: [main]}\n",
            &[
                "11: spec.services[0].routes[1]: HTTPRoute \"public\" already holds the weights of spec.services[0].routes[0]; name other rules, or another route",
            ],
        ),
        (
            "{externalName: {}}",
            "{clusterIP: {existing: {eu-1: old, eu-3: old}}}",
            &[
                "8: spec.services[0].backend.clusterIP.existing.eu-3: \"old\" already leads to \"eu-1\"; weights would have no effect; give each member a Service of its own",
            ],
        ),
        (
            "{externalName: {}}",
            "{externalName: {existing: {eu-33: old}}}",
            &[
                "8: spec.services[0].backend.externalName.existing.eu-33: \"eu-33\" is not in spec.members; did you mean eu-3?",
            ],
        ),
        // Analysis.
        (
            "  analysis:\n",
            "  analysis:\n    interval: 5s\n",
            &[
                "20: warning: spec.analysis.interval: 5s is shorter than most scrape intervals; a check may see the same samples again; 10s or more is usual",
            ],
        ),
        (
            "  analysis:\n",
            "  analysis:\n    interval: 2h\n",
            &[
                "14: warning: spec.strategy.bake: 5m is shorter than the 2h window of metric \"errors\"; old traffic would be judged, so each bake takes 2h; say so",
                "20: spec.analysis.interval: 2h is not allowed; write a time from 1s to 1h",
            ],
        ),
        (
            "  analysis:\n",
            "  analysis:\n    interval: -5m\n",
            &["20: spec.analysis.interval: \"-5m\" is not allowed; write a time in whole h, m, s or ms, such as 1h30m"],
        ),
        (
            "  strategy:\n",
            "  strategy:\n    bake: 10s\n",
            &[
                "15: warning: spec.strategy.bake: 10s is shorter than the 1m window of metric \"errors\"; old traffic would be judged, so each bake takes 1m; say so",
            ],
        ),
        (
            "  strategy:\n",
            "  strategy:\n    progressDeadline: 10m\n",
            &[
                "15: spec.strategy.progressDeadline: 10m is less than the 16m30s that settle and bake of the steps take; give it more than 16m30s, or leave it out",
            ],
        ),
        (
            "  analysis:\n",
            "  analysis:\n    failures: {limit: 5, within: 3}\n",
            &[
                "20: spec.analysis.failures.limit: 5 failures among the last 3 checks cannot happen; at most 3, or a larger within",
            ],
        ),
        (
            "        max: 1\n",
            "",
            &["21: spec.analysis.metrics[0]: has no limit, so it would never fail; give max, min or perMember"],
        ),
        (
            "        max: 1\n",
            "        min: 5\n        max: 1\n",
            &["25: spec.analysis.metrics[0].min: 5 is more than max (1); min is at most max"],
        ),
        (
            "        max: 1\n",
            "        max: 1e400\n",
            &["25: spec.analysis.metrics[0].max: is not a finite number; write a plain number"],
        ),
        (
            "        max: 1\n",
            "        max: 1000\n",
            &["25: spec.analysis.metrics[0].max: 1000 is no share; a ratio is judged in percent, from 0 to 100"],
        ),
        (
            "        max: 1\n",
            "        max: 1\n        guard: {max: 0.5}\n",
            &[
                "26: warning: spec.analysis.metrics[0].guard.max: 0.5 is stricter than the metric's own max (1); one check beyond a guard rolls back; make it the worse limit",
            ],
        ),
        (
            "        max: 1\n",
            "        max: 1\n        query: up\n",
            &[
                "21: spec.analysis.metrics[0]: ratio and query are both given; give exactly one of ratio, histogram, query",
            ],
        ),
        (
            "denominator: 'sum(increase(http_requests_total",
            "denominator: 'sum(increase(requests_total",
            &[
                "23: warning: spec.analysis.metrics[0].ratio.numerator: counts \"http_requests_total\", but the denominator counts \"requests_total\"; a share is meant to be of the same series",
            ],
        ),
        (
            "code=~\"5..\"}[{{ window }}]",
            "code=~\"5..\"}[{{ windw }}]",
            &[
                "23: spec.analysis.metrics[0].ratio.numerator: variable \"windw\" is not known; did you mean {{ window }}?",
            ],
        ),
        (
            "code=~\"5..\"}[{{ window }}]",
            "code=~\"5..\"}[5m]",
            &[
                "23: warning: spec.analysis.metrics[0].ratio.numerator: covers a fixed time, so samples of earlier weights may be judged; use [{{ window }}]",
            ],
        ),
    ];
    let wrong: Vec<String> = cases
        .iter()
        .map(|(from, to, expected)| (changed(from, to), *expected, to))
        .filter(|(found, expected, _)| found != expected)
        .map(|(found, expected, to)| format!("{to}\n  found    {found:#?}\n  expected {expected:#?}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn nothing_declared_is_said_and_does_not_crash() {
    let head = "apiVersion: cutover.dev/v1alpha1\nkind: FleetRollout\nmetadata: {name: shop}\n";
    for (spec, expected) in [
        ("", vec!["1: spec: missing; declare what is wanted"]),
        (
            "spec:\n",
            vec![
                "4: spec: has no value (null), which an API server drops without a word; give it one, or leave it out",
            ],
        ),
        (
            "spec: []\n",
            vec![
                "4: spec: a list is not allowed; write a mapping with analysis, deletionPolicy, members, paused, services, strategy, suspend, weightTotal",
            ],
        ),
    ] {
        assert_eq!(problems(&format!("{head}{spec}")), expected);
    }
    assert_eq!(problems(""), ["1: file: is empty; write at least one object"]);
    assert_eq!(problems("{}"), ["1: kind: missing; give one of FleetRollout, MemberCluster, RolloutRequest"]);
    assert_eq!(problems("- a\n- b\n"), ["1: kind: missing; give one of FleetRollout, MemberCluster, RolloutRequest"]);
}

#[test]
fn all_mistakes_are_told_at_once_by_line() {
    let text = RIGHT
        .replace("progress: 50%", "progress: 5%")
        .replace("analysis:", "anlysis:")
        .replace("weight: 100}", "weight: 99}");
    let text = text.replace("port: 80", "port: 0").replace("gatewayAPI: {name: public}", "gatewayAPI: {}");
    let lines: Vec<String> =
        problems(&text).iter().filter_map(|problem| problem.split(": ").nth(1).map(str::to_owned)).collect();
    for path in [
        "spec.services[0].port",
        "spec.services[0].routes[0].gatewayAPI",
        "spec.members",
        "spec.strategy.steps[1].progress",
        "spec.anlysis",
    ] {
        assert!(lines.iter().any(|line| line == path), "{path} is not in {lines:?}");
    }
}

const MEMBER: &str = "\
apiVersion: cutover.dev/v1alpha1
kind: MemberCluster
metadata: {name: eu-3}
spec:
  kubeconfigSecretRef: {name: eu-3-kubeconfig, key: value}
  endpoints:
    - {host: eu-3.example.com, port: 443, tls: {serverName: eu-3.example.com}}
  prometheus:
    url: {address: https://prometheus.example.com, bearerTokenSecretRef: {name: token, key: token}}
";

#[test]
fn members_that_cannot_be_reached_or_measured_are_refused() {
    assert_eq!(problems(MEMBER), Vec::<String>::new());
    for (from, to, expected) in [
        (
            "host: eu-3.example.com",
            "host: 10.0.0.1",
            "7: spec.endpoints[0].host: \"10.0.0.1\" is an address; give the DNS name of the member's gateway",
        ),
        (
            "host: eu-3.example.com",
            "host: localhost",
            "7: spec.endpoints[0].host: \"localhost\" leads into the hub cluster; give the DNS name of the member's gateway",
        ),
        (
            "host: eu-3.example.com",
            "host: shop.other.svc.cluster.local",
            "7: spec.endpoints[0].host: \"shop.other.svc.cluster.local\" leads into the hub cluster; give the DNS name of the member's gateway",
        ),
        (
            "host: eu-3.example.com",
            "host: 'https://eu-3.example.com'",
            "7: spec.endpoints[0].host: \"https://eu-3.example.com\" is not a DNS name; write lower-case letters, digits, \"-\" and dots, without a dot at the end",
        ),
        (
            "host: eu-3.example.com",
            "host: '{{ svc }}.example.com'",
            "7: spec.endpoints[0].host: variable \"svc\" is not known; known are {{ service }}, {{ namespace }}",
        ),
        (
            "  prometheus:\n",
            "    - {host: other.example.com, port: 80}\n  prometheus:\n",
            "8: spec.endpoints[1]: is the second one without a service, the default; spec.endpoints[0] is the first; leave one of them",
        ),
        (
            "https://prometheus",
            "http://prometheus",
            "9: spec.prometheus.url.address: would send credentials in the clear; use https",
        ),
        (
            "https://prometheus",
            "https://me:secret@prometheus",
            "9: spec.prometheus.url.address: carries credentials; put them in a Secret and name it in basicAuthSecretRef",
        ),
        (
            "url: {address",
            "service: {namespace: a, name: b, port: 1}\n    url: {address",
            "8: spec.prometheus: service and url are both given; give exactly one of service, url",
        ),
        (
            "{name: eu-3}",
            "{name: EU.3}",
            "3: metadata.name: \"EU.3\" is not a name that is allowed; write lower-case letters, digits and \"-\", at most 61 characters",
        ),
        (
            "{name: eu-3}",
            "{name: eu-3, namespace: shop}",
            "3: metadata.namespace: a MemberCluster is in no namespace; leave namespace out",
        ),
    ] {
        assert!(MEMBER.contains(from), "{from}");
        assert_eq!(problems(&MEMBER.replacen(from, to, 1)), [expected]);
    }
}

#[test]
fn a_measured_service_needs_the_members_kubeconfig() {
    let text = MEMBER.replace("  kubeconfigSecretRef: {name: eu-3-kubeconfig, key: value}\n", "");
    let text = text.replace(
        "url: {address: https://prometheus.example.com, bearerTokenSecretRef: {name: token, key: token}}",
        "service: {namespace: a, name: b, port: 1}",
    );
    assert_eq!(
        problems(&text),
        [
            "8: spec.prometheus.service: is reached through the member's API server, but there is no kubeconfigSecretRef; \
          give spec.kubeconfigSecretRef, or use spec.prometheus.url"
        ]
    );
}

#[test]
fn requests_name_a_step_with_promote_and_only_then() {
    let request = |verb: &str, step: &str| {
        problems(&format!(
            "apiVersion: cutover.dev/v1alpha1\nkind: RolloutRequest\nmetadata: {{generateName: shop-}}\n\
             spec:\n  rollout: {{name: shop, uid: u}}\n  verb: {verb}\n  run: 1\n  requestedBy: me\n{step}"
        ))
    };
    assert_eq!(request("Promote", "  step: 1\n"), Vec::<String>::new());
    assert_eq!(request("Promote", ""), ["4: spec.step: missing; say which step's wait Promote shall open"]);
    assert_eq!(request("Abort", "  step: 1\n"), ["9: spec.step: Abort is not about a step; leave step out"]);
    assert_eq!(
        request("Stop", ""),
        ["6: spec.verb: \"Stop\" is not allowed; write one of Abort, Rollback, Pause, Resume, Promote, Retry, Adopt"]
    );
}

#[test]
fn too_many_of_anything_is_one_problem_with_the_cap() {
    let steps: String = (0..10_000).map(|_| "      - {progress: 10%}\n").collect();
    assert_eq!(
        changed("      - {progress: 10%}\n", &steps)[0],
        "15: spec.strategy.steps: 10002 entries given; at most 32 entries are allowed"
    );
    let members: String = (0..65).map(|i| format!("    - {{name: m{i}, weight: 0}}\n")).collect();
    assert!(
        changed("    - {name: eu-3, weight: 100}\n", &format!("{members}    - {{name: eu-3, weight: 100}}\n"))
            .contains(&"11: spec.members: 67 entries given; at most 64 entries are allowed".to_owned())
    );
    let metrics = "      - {name: m, query: up, perMember: {max: 1}}\n".repeat(2000);
    let said = changed("  analysis:\n    metrics:\n", &format!("  analysis:\n    metrics:\n{metrics}"));
    assert!(
        said.len() < 20
            && said
                .contains(&"20: spec.analysis.metrics: 2001 entries given; at most 16 entries are allowed".to_owned())
    );
}

#[test]
fn strange_text_is_shown_escaped_and_short() {
    let said = changed("name: public}", "name: 7, \"\\u202Eevil\\n\": 1}");
    assert!(said.iter().any(|line| line.contains("[\"\\u{202e}evil\\n\"]: unknown field")), "{said:?}");
    let long = "x".repeat(65_536);
    for line in changed("name: eu-3", &format!("name: {long}"))
        .iter()
        .chain(&changed("weight: 100}", &format!("weight: 100, {long}: 1}}")))
    {
        assert!(line.chars().count() < 400 && !line.contains('\n'), "{line}");
    }
}

#[test]
fn what_is_not_yaml_is_said_with_its_line() {
    assert_eq!(
        problems("a: 1\nb: [\n"),
        [
            "2: file: not readable as YAML (indentation, quotes, brackets, or a tag); correct it at or just before this line"
        ]
    );
    assert_eq!(
        changed("  members:\n", "  weightTotal: 100\n  weightTotal: 10\n  members:\n"),
        ["12: file: a key is given twice; \"weightTotal\" may be there once"]
    );
    let deep = format!("a: {}", "[".repeat(200));
    assert_eq!(problems(&deep).len(), 1);
}

#[test]
fn objects_of_other_kinds_are_passed_over_by_name() {
    let report = file("apiVersion: v1\nkind: Secret\nmetadata: {name: eu-1}\ndata: {token: }\n");
    assert!(report.problems.is_empty());
    assert_eq!(report.passed_over, ["Secret/eu-1"]);
}
