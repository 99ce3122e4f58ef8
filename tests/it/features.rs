//! What a hub's image is built of: nothing that only the demo needs.

use std::{collections::BTreeSet, process::Command};

/// An API server's validation, certificates, and what comes with them.
const OF_THE_DEMO: [&str; 5] = ["antlr4rust", "cel", "jsonschema", "kube-cel", "rcgen"];

/// The crates that a build with these arguments links.
fn crates(arguments: &[&str]) -> BTreeSet<String> {
    let mut tree = Command::new(env!("CARGO"));
    tree.current_dir(env!("CARGO_MANIFEST_DIR"));
    tree.args(["tree", "--offline", "--locked", "--edges=normal", "--prefix=none", "--format={p}"]).args(arguments);
    let output = tree.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

#[test]
fn without_the_demo_its_crates_are_absent() {
    let (whole, hub) = (crates(&[]), crates(&["--no-default-features"]));
    assert!(hub.is_subset(&whole));
    for name in OF_THE_DEMO {
        assert!(whole.contains(name), "{name} is no dependency any more");
        assert!(!hub.contains(name), "{name} is linked into a hub without the demo");
    }
}

#[test]
fn the_image_is_built_without_the_demo() {
    let dockerfile = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/Dockerfile")).unwrap();
    assert!(dockerfile.contains("cargo build --release --locked --no-default-features"), "{dockerfile}");
}
