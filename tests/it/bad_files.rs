//! Several files together: nothing that was not checked looks as if it had been; the words are written by hand.

use std::{fs, path::Path, process::Command};

use cutover::validate::{file, files};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{bad_inputs::problems, bad_rollouts::RIGHT, command::printed};

const MEMBER: &str = "\
apiVersion: cutover.dev/v1alpha1
kind: MemberCluster
metadata: {name: eu-3}
spec:
  endpoints: [{host: eu-3.example.com, port: 443}]
  prometheus: {url: {address: https://prometheus.example.com}}
  allowedNamespaces: {from: Names, names: [shop]}
";

/// A folder with these files; those in folders of their own have a path.
fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn validate(folder: &Path, words: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cutover"));
    let (status, text, said) = printed(&command.arg("validate").args(words).current_dir(folder).output().unwrap());
    assert_eq!(said, "");
    (status, text)
}

#[test]
fn a_kind_of_cutover_under_another_group_is_a_mistake() {
    for (version, kind, expected) in [
        (
            "cutover.io/v1alpha1",
            "FleetRollout",
            "1: apiVersion: \"cutover.io/v1alpha1\" is not known; write cutover.dev/v1alpha1",
        ),
        ("apps/v1", "MemberCluster", "1: apiVersion: \"apps/v1\" is not known; write cutover.dev/v1alpha1"),
        ("cutover.io/v1", "FleetRolout", "2: kind: \"FleetRolout\" is not known; did you mean FleetRollout?"),
    ] {
        let text = format!("apiVersion: {version}\nkind: {kind}\nmetadata: {{name: shop}}\nspec: {{}}\n");
        assert_eq!(problems(&text), [expected]);
    }
    let other = file("apiVersion: flagger.app/v1beta1\nkind: MetricTemplate\nmetadata: {name: errors}\n");
    assert_eq!((other.problems.len(), other.passed_over), (0, vec!["MetricTemplate/errors".to_owned()]));
    assert_eq!(
        problems("kind: FleetRollout\nmetadata: {name: shop}\nspec: {}\n"),
        ["1: apiVersion: missing; write cutover.dev/v1alpha1"]
    );
}

#[test]
fn the_objects_of_a_list_are_checked_each_with_its_line() {
    let item =
        |text: &str| text.lines().fold(String::new(), |all, line| format!("{all}  {line}\n")).replacen("  ", "- ", 1);
    let wrong = RIGHT.replace("weight: 100}", "weight: 99}");
    let list =
        format!("apiVersion: v1\nkind: List\nitems:\n{}{}", item(&wrong), item(&MEMBER.replace("eu-3}", "eu-1}")));
    assert_eq!(
        problems(&list),
        [
            "14: spec.members: the weights sum to 99; make them sum to weightTotal, 100",
            "16: warning: spec.members[1].name: no MemberCluster \"eu-3\" is declared in these files; did you mean eu-1?",
        ]
    );
    assert_eq!(file(&list).checked, 2);
    let other = file("apiVersion: v1\nkind: ServiceList\nitems: [{metadata: {name: shop}}]\n");
    assert_eq!((other.problems.len(), other.passed_over), (0, vec!["ServiceList/".to_owned()]));
}

#[test]
fn a_block_that_is_missing_or_no_block_at_all_is_answered_with_lines_that_could_stand_there() {
    let examples = |from: &str, to: &str| -> Vec<Option<&str>> {
        assert!(RIGHT.contains(from), "{from}");
        let problems = file(&RIGHT.replacen(from, to, 1)).problems;
        problems.iter().map(|found| found.problem.example.and_then(|lines| lines.lines().next())).collect()
    };
    let members = "  members:\n    - {name: eu-1, weight: 0, initialWeight: 100}\n    - {name: eu-3, weight: 100}\n";
    assert_eq!(examples(members, "  members: {eu-1: 0, eu-3: 100}\n"), [Some("members:")]);
    assert_eq!(examples("        - gatewayAPI: {name: public}\n", "        []\n"), [Some("routes:")]);
    assert_eq!(examples("  analysis:\n    metrics:\n", "  analysis:\n    metric:\n"), [Some("metrics:"), None]);
    assert_eq!(examples("weight: 100}", "weight: 99}"), [None]);
}

#[test]
fn an_object_that_is_declared_twice_is_named_with_its_first_place() {
    let found = |texts: &[(&str, &str)]| -> Vec<Vec<String>> {
        let reports = files(texts.iter().copied());
        reports
            .iter()
            .map(|one| one.problems.iter().map(|found| format!("{}: {}", found.line, found.problem)).collect())
            .collect()
    };
    let twice =
        "3: metadata.name: MemberCluster \"eu-3\" is declared twice; a.yaml:1 is the first one; keep one of them";
    assert_eq!(found(&[("a.yaml", MEMBER), ("b.yaml", MEMBER)]), [vec![], vec![twice.to_owned()]]);
    let both = format!("{MEMBER}---\n{MEMBER}");
    let twice =
        "11: metadata.name: MemberCluster \"eu-3\" is declared twice; a.yaml:1 is the first one; keep one of them";
    assert_eq!(found(&[("a.yaml", &both)]), [vec![twice.to_owned()]]);
    let elsewhere = RIGHT.replace("namespace: shop}", "namespace: other}");
    assert_eq!(found(&[("a.yaml", RIGHT), ("b.yaml", &elsewhere)]), [vec![""; 0], vec![]]);
}

#[test]
fn members_are_looked_up_where_any_is_declared() {
    let with = |member: &str| problems(&format!("{RIGHT}---\n{member}"));
    let missing =
        "12: warning: spec.members[0].name: no MemberCluster \"eu-1\" is declared in these files; did you mean eu-3?";
    assert_eq!(with(MEMBER), [missing]);
    let closed = MEMBER.replace("names: [shop]", "names: [web]");
    let refused = "13: spec.members[1].name: MemberCluster \"eu-3\" does not allow namespace \"shop\"; add it to spec.allowedNamespaces.names of the MemberCluster";
    assert_eq!(with(&closed), [missing, refused]);
    assert_eq!(file(RIGHT).members, ["eu-1", "eu-3"], "what was not looked up is said");
}

#[test]
fn where_nothing_was_checked_the_exit_status_is_1() {
    let folder = folder(&[("a.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: shop}\n")]);
    let said = "not checked: Service/shop\nnothing was checked: no object of cutover.dev is in these files\n";
    assert_eq!(validate(folder.path(), &["a.yaml"]), (Some(1), said.to_owned()));
    let (status, json) = validate(folder.path(), &["a.yaml", "-o", "json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((status, json), (Some(1), json!({"checked": 0, "notChecked": ["Service/shop"], "problems": []})));
}

#[test]
fn folders_are_walked_and_what_cannot_be_read_hides_nothing() {
    let wrong = MEMBER.replace("port: 443", "port: 0");
    let folder = folder(&[
        ("all/a/bad.yml", "kind: [\n---\napiVersion: cutover.dev/v1alpha1\nkind: X\n"),
        ("all/b/c/member.yaml", &wrong),
        ("all/d.json", "{\"apiVersion\": \"v1\", \"kind\": \"Service\"}"),
        ("all/.hidden/e.yaml", "["),
        ("all/notes.txt", "["),
        ("empty/notes.txt", "["),
    ]);
    fs::write(folder.path().join("all/latin.yaml"), b"a: \xff\n").unwrap();
    let expected = "\
all/a/bad.yml:1:7: file: not readable as YAML: unclosed bracket '['; close every [ and { that is
    opened, and put a comma between two entries
    1 | kind: [
              ^
all/a/bad.yml:4: kind: \"X\" is not known; known are: FleetRollout, MemberCluster, MetricTemplate,
    RolloutRequest, AlertProvider
all/b/c/member.yaml:5: spec.endpoints[0].port: 0 is not allowed; write a whole number from 1 to
    65535
all/latin.yaml:1: file: is not UTF-8; save it as UTF-8
empty:1: file: no .yaml, .yml or .json file is in this folder or below it; name another folder
gone.yaml:1: file: does not exist; correct the name
not checked: Service/
";
    assert_eq!(validate(folder.path(), &["all", "empty", "gone.yaml"]), (Some(1), expected.to_owned()));
}

#[test]
fn sarif_has_a_rule_a_level_and_a_place_for_each_problem() {
    let text = RIGHT
        .replace("weight: 100}", "weight: 99}")
        .replace("        max: 1\n", "        max: 1\n        guard: {max: 0.5}\n");
    let folder = folder(&[("my shop.yaml", &text), ("bad.yaml", "a: [\n")]);
    let (status, text) = validate(folder.path(), &["my shop.yaml", "bad.yaml", "-o", "sarif"]);
    let sarif: Value = serde_json::from_str(&text).unwrap();
    let run = &sarif["runs"][0];
    assert_eq!(
        (status, &sarif["version"], &run["tool"]["driver"]["name"]),
        (Some(1), &json!("2.1.0"), &json!("cutover"))
    );
    let results = run["results"].as_array().unwrap();
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    for result in results {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(rules[index]["id"], result["ruleId"]);
    }
    let place = |result: &Value| result["locations"][0]["physicalLocation"].clone();
    let rows: Vec<Value> = results.iter().map(|one| json!([one["ruleId"], one["level"], place(one)])).collect();
    assert_eq!(
        rows,
        [
            json!(["spec.members", "error", {"artifactLocation": {"uri": "my%20shop.yaml"}, "region": {"startLine": 11}}]),
            json!(["spec.analysis.metrics.guard.max", "warning", {"artifactLocation": {"uri": "my%20shop.yaml"}, "region": {"startLine": 26}}]),
            json!(["file", "error", {"artifactLocation": {"uri": "bad.yaml"}, "region": {"startLine": 1, "startColumn": 4}}]),
        ]
    );
    assert_eq!(results[0]["message"]["text"], "spec.members: the weights sum to 99; make them sum to weightTotal, 100");
}

/// The hints after `from` became `to`, with their lines.
fn hints(changes: &[(&str, &str)]) -> Vec<String> {
    let text = changes.iter().fold(RIGHT.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replacen(from, to, 1)
    });
    let report = file(&text);
    assert!(
        report.problems.iter().all(|found| found.problem.to_string().starts_with("warning: ")),
        "{:?}",
        report.problems
    );
    report.hints.iter().map(|found| format!("{}: {}", found.line, found.problem)).collect()
}

#[test]
fn what_is_legal_and_unwise_is_a_hint() {
    let guard = ("        max: 1\n", "        max: 1\n        guard: {max: 20}\n");
    assert_eq!(hints(&[guard]), [""; 0]);
    for (changes, expected) in [
        (
            &[][..],
            "20: hint: spec.analysis.metrics: no metric has a guard, so even a canary that fails every request needs 3 failed checks; add one, such as guard: {max: 20}: one check beyond it rolls back at once",
        ),
        (
            &[("        max: 1\n", "        max: 1\n        guard: {max: 20}\n        window: 30s\n")],
            "27: hint: spec.analysis.metrics[0].window: a window of 30s is shorter than 4 scrapes at a usual interval of 15s; write 1m or more, 4 times the scrape interval of your members, so that one missed scrape does no harm",
        ),
        (
            &[
                ("  analysis:\n", "  analysis:\n    interval: 30s\n"),
                (
                    "        max: 1\n",
                    "        max: 1\n        guard: {max: 20}\n      - {name: b, query: up, perMember: {max: 1}}\n",
                ),
            ],
            "20: hint: spec.analysis.interval: a window of 30s is shorter than 4 scrapes at a usual interval of 15s; write 1m or more, 4 times the scrape interval of your members, so that one missed scrape does no harm",
        ),
        (
            &[("        max: 1\n", "        max: 1\n        guard: {max: 20}\n        minSamples: 90000\n")],
            "27: hint: spec.analysis.metrics[0].minSamples: 90000 samples in 1m at the 10.0 % of step 1 need 15000 requests per second in all; with fewer the check is Unknown and the step holds; write less, or a longer window",
        ),
        (
            &[
                guard,
                (
                    "gatewayAPI: {name: public}",
                    "gatewayAPI: {create: {hosts: [a.example.com], gateways: [infra/public]}}",
                ),
            ],
            "19: hint: spec.analysis: share is not given, so the share that members count is not compared with their weights; where no other route leads to these services, write share: {within: 5}",
        ),
        (
            &[
                guard,
                ("weight: 0, initialWeight: 100}", "weight: 85, initialWeight: 100}"),
                ("weight: 100}", "weight: 15}"),
            ],
            "16: hint: spec.strategy.steps[0].progress: \"eu-3\" gets 1 of 100, but exactly it would be 1.5; with weightTotal 1000, and all weights ten times as large, it is nearer",
        ),
    ] {
        assert_eq!(hints(changes), [expected]);
    }
}

#[test]
fn an_empty_list_of_metrics_is_legal_and_what_then_judges_is_said() {
    let (before, after) = RIGHT.split_once("    metrics:\n").unwrap();
    let indented = |line: &&str| line.starts_with("      ");
    let rest: Vec<&str> = after.lines().skip_while(indented).collect();
    let report = file(&format!("{before}    metrics: []\n{}", rest.join("\n")));
    assert!(report.problems.is_empty(), "{:?}", report.problems);
    let said: Vec<String> = report.hints.iter().map(|found| format!("{}: {}", found.line, found.problem)).collect();
    let expected = "20: hint: spec.analysis.metrics: is empty, so nothing is measured: only the endpoint probes and the \
                    time judge; a canary that answers its probes and fails its users is promoted; declare a metric, or \
                    mean it";
    assert_eq!(said, [expected]);
}

#[test]
fn hints_and_warnings_change_no_exit_status() {
    let folder = folder(&[("a.yaml", RIGHT)]);
    let (status, text) = validate(folder.path(), &["a.yaml"]);
    assert_eq!(status, Some(0));
    assert!(text.starts_with("a.yaml:20: hint: ") && text.ends_with("1 object checked, no mistakes\n"), "{text}");
}
