//! The custom resource definitions as they are applied to an API server.

use kube::CustomResourceExt;
use serde_json::{Value, json};

use super::{AlertProvider, FleetRollout, MemberCluster, MetricTemplate, RolloutRequest};

/// Every kind's definition, as JSON: `FleetRollout`, `MemberCluster`, `MetricTemplate`, `RolloutRequest`, `AlertProvider`.
///
/// What the schema generator writes and an API server should not see is taken out: `nullable`, because an explicit null
/// would else be kept and count as given in CEL's `has()`; and formats that an API server does not know.
pub fn definitions() -> Result<Vec<Value>, serde_json::Error> {
    [FleetRollout::crd(), MemberCluster::crd(), MetricTemplate::crd(), RolloutRequest::crd(), AlertProvider::crd()]
        .into_iter()
        .map(|crd| {
            let mut definition = serde_json::to_value(crd)?;
            tidy(&mut definition);
            whole_status(&mut definition);
            Ok(definition)
        })
        .collect()
}

/// The schema of a definition's objects.
pub fn schema(definition: &Value) -> &Value {
    &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
}

/// Takes `nullable` and unsigned formats out of every schema below.
fn tidy(value: &mut Value) {
    retain(value, &|key, field| {
        let unknown_format = key == "format" && field.as_str().is_some_and(|format| format.starts_with("uint"));
        !(unknown_format || (key == "nullable" && field.is_boolean()))
    });
}

/// Makes the status one value without rules, if there is one.
fn whole_status(definition: &mut Value) {
    let place = "/spec/versions/0/schema/openAPIV3Schema/properties/status";
    let Some(status) = definition.pointer_mut(place) else { return };
    retain(status, &|key, _| key != "x-kubernetes-validations");
    status["x-kubernetes-map-type"] = json!("atomic");
}

/// Keeps of every object below only these fields.
fn retain(value: &mut Value, keeps: &impl Fn(&str, &Value) -> bool) {
    match value {
        Value::Object(fields) => {
            fields.retain(|key, field| keeps(key, field));
            fields.values_mut().for_each(|field| retain(field, keeps));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| retain(item, keeps)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::{definitions, schema};

    #[test]
    fn nothing_is_nullable_and_no_format_is_unknown_to_an_api_server() {
        for definition in definitions().unwrap() {
            let text = schema(&definition).to_string();
            assert!(!text.contains("nullable") && !text.contains("\"uint"), "{}", definition["metadata"]["name"]);
        }
    }

    #[test]
    fn a_status_costs_an_api_server_no_rules_and_no_owner_of_each_field() {
        for definition in definitions().unwrap() {
            let Some(status) = schema(&definition)["properties"].get("status") else { continue };
            assert_eq!(status["x-kubernetes-map-type"], "atomic", "{}", definition["metadata"]["name"]);
            assert!(!status.to_string().contains("x-kubernetes-validations"), "{}", definition["metadata"]["name"]);
        }
    }
}
