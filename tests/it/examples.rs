//! Every example is read, validated without a word, and planned.

use std::path::PathBuf;

use cutover::{
    api::Mode,
    rollout::{
        declared, initial,
        plan::{Ends, plan_run, primary_and_canary},
    },
    validate::file,
};

use crate::command::{cutover, printed, root};

fn folders() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> =
        root().join("examples").read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.retain(|path| path.is_dir());
    folders.sort();
    folders
}

#[test]
fn every_example_is_valid_and_has_a_plan_that_ends_at_the_target() {
    let folders = folders();
    assert!(folders.len() >= 4);
    for folder in folders {
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
        assert!(read("README.md").starts_with("# "));
        let (rollouts, members) = (file(&read("rollout.yaml")), file(&read("members.yaml")));
        assert!(
            rollouts.problems.is_empty() && members.problems.is_empty(),
            "{folder:?}: {:?} {:?}",
            rollouts.problems,
            members.problems
        );
        assert_eq!(rollouts.hints, [], "{folder:?}");
        assert!(!rollouts.rollouts.is_empty());
        for (name, spec) in &rollouts.rollouts {
            let primary = primary_and_canary(0, spec.weight_total);
            let (start, target) = match spec.mode() {
                Mode::Member => (initial(spec).unwrap(), declared(spec)),
                Mode::Service => (primary.clone(), primary),
            };
            let ends = Ends { start: &start, rollback_to: &start, target: &target };
            let steps = plan_run(spec, ends, "").unwrap();
            assert!(steps.last().unwrap().split.weights.same_as(&target), "{name}");
        }
    }
}

#[test]
fn every_member_of_an_example_is_registered_in_it() {
    for folder in folders() {
        let members = std::fs::read_to_string(folder.join("members.yaml")).unwrap();
        let rollouts = file(&std::fs::read_to_string(folder.join("rollout.yaml")).unwrap()).rollouts;
        for member in rollouts.iter().flat_map(|(_, spec)| &spec.members) {
            assert!(members.contains(&format!("  name: {}\n", member.name)), "{folder:?} {}", member.name);
        }
    }
}

/// Examples are copied, so none of them says more than it needs.
#[test]
fn the_members_of_an_example_allow_the_namespace_of_its_rollouts_alone() {
    for folder in folders() {
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
        let (members, rollouts) = (read("members.yaml"), read("rollout.yaml"));
        let namespace = rollouts.lines().find_map(|line| line.strip_prefix("  namespace: ")).unwrap();
        let allowed = format!("\n  allowedNamespaces: {{from: Names, names: [{namespace}]}}\n");
        assert_eq!(members.matches(&allowed).count(), members.matches("kind: MemberCluster").count(), "{folder:?}");
    }
}

#[test]
fn the_first_rollout_is_shown_step_by_step() {
    let (status, table, _) = printed(&cutover(&["plan", "examples/first-rollout/rollout.yaml"]));
    assert_eq!(status, Some(0));
    assert_eq!(
        table,
        "\
storefront: storefront of 100 in total
STEP   PROGRESS  eu-1  eu-3  GATES
start        0%   100     0
1            5%    95     5  settle 30s, bake 5m, wait Promotion
2           25%    75    25  settle 30s, bake 5m
3           50%    50    50  settle 30s, bake 5m
4          100%     0   100  settle 30s, bake 5m
least time 22m, and one promotion by a person
"
    );
}

#[test]
fn a_plan_as_json_has_stage_progress_and_weights_of_each_step() {
    let (_, text, _) = printed(&cutover(&["plan", "-o", "json", "examples/big-shift/rollout.yaml"]));
    let plan: serde_json::Value = serde_json::from_str(&text).unwrap();
    let step = &plan["steps"][3];
    assert_eq!((&step["stage"], &step["progress"]), (&"rest".into(), &"5%".into()));
    assert_eq!(
        step["weights"],
        serde_json::json!({"dc-1": 456, "dc-2": 304, "cloud-a": 200, "cloud-b": 20, "cloud-c": 20})
    );
}

#[test]
fn a_plan_without_a_declared_start_asks_for_it_and_takes_it() {
    let folder = std::env::temp_dir().join(format!("cutover-plan-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let rollout = folder.join("rollout.yaml");
    let text = std::fs::read_to_string(root().join("examples/first-rollout/rollout.yaml")).unwrap();
    std::fs::write(&rollout, text.replace(", initialWeight: 100", "").replace(", initialWeight: 0", "")).unwrap();
    let rollout = rollout.to_str().unwrap();
    let (status, _, said) = printed(&cutover(&["plan", rollout]));
    let (taken, table, _) = printed(&cutover(&["plan", rollout, "--from", "eu-1=80,eu-3=20"]));
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(status, Some(1));
    assert_eq!(
        said,
        "cutover: storefront: the start is not declared; add --from eu-1=100, or set initialWeight in spec.members\n"
    );
    assert_eq!(taken, Some(0));
    assert!(table.contains("\n2           25%    60    40  "), "{table}");
}
