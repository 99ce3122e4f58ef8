//! What is wrong with a declaration, in the words that a user reads. The messages are written by hand.

use cutover::validate::file;

use crate::bad_rollouts::{RIGHT, cases};

pub(crate) fn problems(text: &str) -> Vec<String> {
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
    let wrong: Vec<String> = cases()
        .map(|(from, to, expected)| (changed(from, to), *expected, to))
        .filter(|(found, expected, _)| found != expected)
        .map(|(found, expected, to)| format!("{to}\n  found    {found:#?}\n  expected {expected:#?}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_ramp_has_one_form_and_mirrors_where_its_route_can() {
    let members = "  members:\n    - {name: eu-1, weight: 0, initialWeight: 100}\n    - {name: eu-3, weight: 100}\n";
    let steps = "    steps:\n      - {progress: 10%}\n      - {progress: 50%}\n      - {progress: 100%}\n";
    let service = RIGHT.replacen(members, "", 1);
    let found = |ramp: &str| problems(&service.replacen(steps, &format!("    ramp: {ramp}\n"), 1));
    for right in ["{stepWeight: 10, mirror: true}", "{iterations: 5, mirror: true}", "{iterations: 5}"] {
        assert_eq!(found(right), Vec::<String>::new(), "{right}");
    }
    for (ramp, expected) in [
        (
            "{mirror: true}",
            "12: spec.strategy.ramp: has none of stepWeight, stepWeights and iterations; give one of them",
        ),
        ("{stepWeight: 10, iterations: 5}", "12: spec.strategy.ramp: has stepWeight and iterations; keep one of them"),
        (
            "{stepWeight: 10, mirrorWeight: 20}",
            "12: spec.strategy.ramp: mirrorWeight belongs to mirror: true; set mirror: true, or leave mirrorWeight out",
        ),
    ] {
        assert_eq!(found(ramp), [expected], "{ramp}");
    }
}

#[test]
fn users_are_kept_where_the_route_can_and_nothing_sends_them_elsewhere() {
    let steps = "    steps:\n      - {progress: 10%}\n      - {progress: 50%}\n      - {progress: 100%}\n";
    let with = |affinity: &str, steps_: &str| {
        problems(&RIGHT.replacen(steps, &format!("    sessionAffinity: {affinity}\n{steps_}"), 1))
    };
    assert_eq!(with("{cookieName: shop, maxAge: 2h}", steps), Vec::<String>::new());
    for (affinity, expected) in [
        (
            "{cookieName: shop, maxAge: 500ms}",
            "15: spec.strategy.sessionAffinity.maxAge: 500ms is not allowed; write a time of 1s or more, such as 24h",
        ),
        (
            "{maxAge: 2h}",
            "15: spec.strategy.sessionAffinity.cookieName: missing; give a text of at most 64 characters that matches ^[A-Za-z0-9_-]+$",
        ),
        (
            "{cookieName: 'a; Domain=b'}",
            "15: spec.strategy.sessionAffinity.cookieName: \"a; Domain=b\" is not allowed; write a text of at most 64 characters that matches ^[A-Za-z0-9_-]+$",
        ),
    ] {
        assert_eq!(with(affinity, steps), [expected], "{affinity}");
    }
    let chosen = "    steps:\n      - {matches: [{headers: [{name: a, exact: b}]}]}\n      - {progress: 100%}\n";
    assert_eq!(
        with("{cookieName: shop}", chosen),
        [
            "15: spec.strategy.sessionAffinity: keeps users on one member, but a step with matches sends their requests to another; leave one of them out"
        ]
    );
    let many: Vec<String> = (1..=20).map(|step| format!("      - {{progress: {}%}}\n", step * 5)).collect();
    assert_eq!(
        with("{cookieName: shop}", &format!("    steps:\n{}", many.concat())),
        [
            "10: spec.services[0].routes[0]: strategy.sessionAffinity would divide users into 20 bins; gatewayAPI supports 16: declare fewer steps, or move fewer members in one run"
        ]
    );
    let proxy = RIGHT.replacen("gatewayAPI", "contour", 1);
    let proxy = proxy.replacen(steps, &format!("    sessionAffinity: {{cookieName: shop}}\n{steps}"), 1);
    assert_eq!(
        problems(&proxy),
        [
            "10: spec.services[0].routes[0]: strategy.sessionAffinity is declared; contour does not support it; docs/routes.md says what each route supports"
        ]
    );
}

#[test]
fn nothing_declared_is_said_and_does_not_crash() {
    let head = "apiVersion: cutover.dev/v1alpha1\nkind: FleetRollout\nmetadata: {name: shop}\n";
    for (spec, expected) in [
        ("", vec!["1: spec: missing; declare the spec"]),
        (
            "spec:\n",
            vec![
                "4: spec: is null, which an API server drops silently; give it a value, or leave it out if it is optional",
            ],
        ),
        (
            "spec: []\n",
            vec![
                "4: spec: a list is not allowed; write a mapping with alerts, analysis, deletionPolicy, dependsOn, hooks, members, paused, services, skipAnalysis, strategy, suspend, weightTotal",
            ],
        ),
    ] {
        assert_eq!(problems(&format!("{head}{spec}")), expected);
    }
    assert_eq!(problems(""), ["1: file: is empty; write at least one object"]);
    assert_eq!(
        problems("{}"),
        ["1: kind: missing; give one of FleetRollout, MemberCluster, MetricTemplate, RolloutRequest, AlertProvider"]
    );
    assert_eq!(
        problems("- a\n- b\n"),
        ["1: kind: missing; give one of FleetRollout, MemberCluster, MetricTemplate, RolloutRequest, AlertProvider"]
    );
}

#[test]
fn all_mistakes_are_reported_at_once_by_line() {
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

#[test]
fn too_many_of_anything_is_one_problem_with_the_cap() {
    let steps = "      - {progress: 10%}\n".repeat(10_000);
    assert_eq!(
        changed("      - {progress: 10%}\n", &steps)[0],
        "15: spec.strategy.steps: 10002 entries given; at most 32 entries are allowed"
    );
    let members: String = (0..65).fold(String::new(), |list, i| list + &format!("    - {{name: m{i}, weight: 0}}\n"));
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
            "2: file: not readable as YAML: unclosed bracket '['; close every [ and { that is opened, and put a comma between two entries"
        ]
    );
    assert_eq!(
        changed("  members:\n", "  weightTotal: 100\n  weightTotal: 10\n  members:\n"),
        ["12: file: a key is given twice; \"weightTotal\" may occur once"]
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
