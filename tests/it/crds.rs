//! The definitions as they are installed.

use cutover::api::crd::{definitions, schema};
use serde_json::json;

use crate::command::{cutover, printed, root};

#[test]
fn the_definitions_in_config_are_those_that_the_binary_prints() {
    let mut all = String::new();
    for name in ["fleetrollouts", "memberclusters", "metrictemplates", "rolloutrequests", "alertproviders"] {
        let kept = std::fs::read_to_string(root().join(format!("config/crd/{name}.yaml"))).unwrap();
        let (_, printed, _) = printed(&cutover(&["crd", name]));
        assert!(kept == printed, "config/crd/{name}.yaml differs: cutover crd {name} > config/crd/{name}.yaml");
        all += &kept;
    }
    let (_, printed, _) = printed(&cutover(&["crd"]));
    assert!(all == printed, "a kind has no file in config/crd");
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
        described("", schema(&definition));
    }
}

#[test]
fn who_may_use_a_member_is_required_and_has_no_default() {
    let definitions = definitions().unwrap();
    let spec = &schema(&definitions[1])["properties"]["spec"];
    let allowed = &spec["properties"]["allowedNamespaces"];
    assert!(spec["required"].as_array().unwrap().contains(&json!("allowedNamespaces")));
    assert_eq!(allowed["required"], json!(["from"]));
    assert!(allowed["default"].is_null() && allowed["properties"]["from"]["default"].is_null(), "{allowed}");
}
