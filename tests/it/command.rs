//! The binary as a user runs it.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// Runs `cutover` in the repository's root.
pub(crate) fn cutover(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cutover")).args(arguments).current_dir(root()).output().unwrap()
}

/// What it printed, its exit status first.
pub(crate) fn printed(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

#[test]
fn wrong_usage_is_an_error_and_help_is_not() {
    assert_eq!(cutover(&["--help"]).status.code(), Some(0));
    assert_eq!(cutover(&["validate", "--help"]).status.code(), Some(0));
    assert_eq!(cutover(&["--version"]).status.code(), Some(0));
    assert_eq!(cutover(&["no-such-verb"]).status.code(), Some(1));
    assert_eq!(cutover(&["plan"]).status.code(), Some(1));
}

#[test]
fn every_verb_shows_an_example_in_its_help() {
    let (_, help, _) = printed(&cutover(&["--help"]));
    let verbs = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let verbs: Vec<&str> = verbs
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(verbs.contains(&"validate") && verbs.contains(&"plan") && verbs.contains(&"crd"), "{verbs:?}");
    for verb in verbs.into_iter().filter(|verb| *verb != "help") {
        let (_, help, _) = printed(&cutover(&[verb, "--help"]));
        assert!(help.contains("Example"), "{verb}");
        assert!(help.contains("Exit status"), "{verb} does not say its exit statuses");
    }
}

#[test]
fn every_verb_on_a_rollout_says_its_exit_statuses() {
    for verb in ["get", "why", "wait", "history", "promote", "pause", "resume", "abort", "retry", "rollback", "adopt"] {
        let (_, help, _) = printed(&cutover(&[verb, "--help"]));
        assert!(help.contains("Exit status"), "{verb}\n{help}");
    }
}

#[test]
fn every_verb_on_a_rollout_takes_the_name_as_kubectl_does() {
    for verb in ["get", "why", "wait", "history", "promote", "pause", "resume", "abort", "retry", "rollback", "adopt"] {
        let (_, _, said) = printed(&cutover(&[verb, "pods/shop"]));
        assert!(said.contains("invalid value 'pods/shop'"), "{verb}: {said}");
    }
}

#[test]
fn abort_and_rollback_each_say_when_the_other_is_meant() {
    let help = |verb: &str| printed(&cutover(&[verb, "--help"])).1.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help("abort").contains("To go back from a run that works, but is not wanted, use rollback"));
    assert!(help("rollback").contains("In an emergency use abort"));
}

#[test]
fn completions_are_for_the_shell_that_is_named() {
    let (status, script, _) = printed(&cutover(&["completions", "bash"]));
    assert_eq!(status, Some(0));
    assert!(script.contains("_clap_complete_cutover()") && script.contains("CUTOVER_COMPLETE=\"bash\""), "{script}");
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let (status, said, _) = printed(&cutover(&["validate", "no-such-file.yaml"]));
    assert_eq!((status, said.as_str()), (Some(1), "no-such-file.yaml:1: file: does not exist; correct the name\n"));
    let (status, _, said) = printed(&cutover(&["plan", "no-such-file.yaml"]));
    assert_eq!(
        (status, said.as_str()),
        (Some(1), "cutover: no-such-file.yaml: No such file or directory (os error 2)\n")
    );
}

/// Writes a file into a folder of its own, which goes when the test ends.
struct Scratch(PathBuf);

impl Scratch {
    fn with(test: &str, file: &str, content: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("cutover-{}-{test}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(file), content).unwrap();
        Self(folder)
    }

    fn run(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_cutover")).args(arguments).current_dir(&self.0).output().unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// With three mistakes, of which the first alone takes more than a line.
const WRONG: &str = "\
apiVersion: cutover.dev/v1alpha1
kind: FleetRollout
metadata: {name: shop}
spec:
  services:
    - name: storefront
      port: 80
      routes:
        - skipper: {form: Ingress, name: shop}
  members: [{name: eu-1, weight: 100}]
  strategy:
    steps: [{progress: 10%}, {progress: 5%}, {progress: 100%}]
  anlysis: {}
";

#[test]
fn validate_prints_every_mistake_with_file_and_line_and_breaks_long_lines() {
    let scratch = Scratch::with("validate", "shop.yaml", WRONG);
    let (status, output, _) = printed(&scratch.run(&["validate", "shop.yaml"]));
    assert_eq!(status, Some(1));
    assert_eq!(
        output,
        "\
shop.yaml:4: spec.analysis: missing; give a mapping with failures, interval, lag, metrics, settle,
    share, unknown
    such as:
      analysis:
        metrics:
          - name: success
            builtin: {type: RequestSuccessRate, ingress: Contour}
            min: 99                          # percent
            guard: {min: 80}                 # one check below it rolls back
shop.yaml:9: spec.services[0].routes[0]: skipper Ingress weights are ignored for ExternalName
    members (all traffic would go to one of them); use the RouteGroup form or backend kind
    EndpointSlice
shop.yaml:12: spec.strategy.steps[1].progress: 5 is not more than the step before it (10); steps
    must rise
shop.yaml:13: spec.anlysis: unknown field; did you mean analysis?
not checked: whether members eu-1 exist: no MemberCluster is in these files
"
    );
}

#[test]
fn validate_as_json_has_file_line_path_found_and_allowed() {
    let scratch = Scratch::with("json", "shop.yaml", WRONG);
    let (status, output, _) = printed(&scratch.run(&["validate", "-o", "json", "shop.yaml"]));
    let output: serde_json::Value = serde_json::from_str(&output).unwrap();
    assert_eq!(status, Some(1));
    assert_eq!(
        output["problems"][3],
        serde_json::json!({
            "file": "shop.yaml", "line": 13, "severity": "Error", "path": "spec.anlysis",
            "found": "unknown field", "allowed": "did you mean analysis?",
        })
    );
}

#[test]
fn warnings_alone_are_no_error_and_secrets_are_passed_over() {
    let rollout = std::fs::read_to_string(root().join("examples/first-rollout/rollout.yaml")).unwrap();
    let text = rollout.replace("interval: 1m", "interval: 5s")
        + "---\napiVersion: v1\nkind: Secret\nmetadata: {name: token}\n";
    let scratch = Scratch::with("warnings", "shop.yaml", &text);
    let (status, output, _) = printed(&scratch.run(&["validate", "."]));
    assert_eq!(status, Some(0));
    assert_eq!(
        output,
        "\
./shop.yaml:25: warning: spec.analysis.interval: 5s is shorter than most scrape intervals; a check
    may see the same samples again; 10s or more is usual
not checked: Secret/token
not checked: whether members eu-1, eu-3 exist: no MemberCluster is in these files
"
    );
}

#[test]
fn a_plan_is_refused_with_the_first_mistake_and_where_to_see_all() {
    let scratch = Scratch::with("plan", "shop.yaml", WRONG);
    let (status, _, said) = printed(&scratch.run(&["plan", "shop.yaml"]));
    assert_eq!(status, Some(1));
    assert!(said.starts_with("cutover: shop.yaml:4: spec.analysis: missing"), "{said}");
    assert!(said.ends_with("(all mistakes: cutover validate shop.yaml)\n"), "{said}");
}
