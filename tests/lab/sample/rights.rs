//! What the hub may do in a plan: what config/rbac/hub.yaml allows, with every plan's own namespace and Lease for the hub's.

use anyhow::Result;
use serde_json::Value;

use crate::{apiserver::HUB_USER, fleet::bound};

/// The roles for single namespaces, for all namespaces and names.
pub fn everywhere() -> Result<String> {
    let objects: Vec<Value> = serde_yaml::from_multiple(&bound("config/rbac/hub.yaml", HUB_USER)?)?;
    let of_namespace = |object: &Value| object["kind"] == "Role" || object["kind"] == "RoleBinding";
    let wide = objects.into_iter().filter(of_namespace).map(|mut object| {
        object["kind"] = format!("Cluster{}", object["kind"].as_str().unwrap_or_default()).into();
        let name = format!("{NAME}-{}", object["metadata"]["namespace"].as_str().unwrap_or_default());
        if object.get("roleRef").is_some() {
            object["roleRef"]["kind"] = "ClusterRole".into();
            object["roleRef"]["name"] = name.clone().into();
        }
        object["metadata"] = serde_json::json!({"name": name});
        let rules = object.get_mut("rules").and_then(Value::as_array_mut);
        for rule in rules.into_iter().flatten().filter_map(Value::as_object_mut) {
            rule.remove("resourceNames");
        }
        object.to_string()
    });
    Ok(wide.collect::<Vec<_>>().join("\n---\n"))
}

const NAME: &str = "cutover-hub-of-a-plan";
