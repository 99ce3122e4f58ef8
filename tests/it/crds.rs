//! The definitions as they are installed.

use cutover::api::crd::definitions;

use crate::command::{cutover, printed, root};

#[test]
fn the_definitions_in_config_are_those_that_the_binary_prints() {
    let (_, printed, _) = printed(&cutover(&["crd"]));
    let kept = std::fs::read_to_string(root().join("config/crd/cutover.yaml")).unwrap();
    assert!(kept == printed, "config/crd/cutover.yaml differs; write it anew: cutover crd > config/crd/cutover.yaml");
}

#[test]
fn every_field_that_a_user_writes_is_described() {
    fn described(path: &str, schema: &serde_json::Value) {
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            let path = format!("{path}.{name}");
            assert!(field["description"].is_string(), "{path}");
            described(&path, field);
            described(&path, &field["items"]);
        }
    }
    for definition in definitions().unwrap() {
        described("", cutover::api::crd::schema(&definition));
    }
}
