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
    }
}

#[test]
fn completions_are_for_the_shell_that_is_named() {
    let (status, script, _) = printed(&cutover(&["completions", "bash"]));
    assert_eq!(status, Some(0));
    assert!(script.contains("_cutover()"));
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let (status, _, said) = printed(&cutover(&["validate", "no-such-file.yaml"]));
    assert_eq!(
        (status, said.as_str()),
        (Some(1), "cutover: no-such-file.yaml: No such file or directory (os error 2)\n")
    );
}
