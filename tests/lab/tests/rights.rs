//! The hub's roles, held against what it did in all tests before.

use crate::{
    apiserver::HUB_USER,
    audit::ObjectRef,
    fleet::{SYSTEM, hub_roles, source},
    runner::{Place, Scene, Test},
};
use anyhow::{Result, ensure};
use serde_json::Value;
use std::collections::BTreeSet;

/// Runs after all others.
pub const LAST: Test = Test {
    name: "every_right_of_the_hub_is_used",
    place: Place::Alone,
    run: |scene| Box::pin(async move { used(&scene) }),
};

/// A resource, with its subresource, and a verb.
type Right = (String, String);

/// The API server shows a PUT that makes a Lease as an update, though it needs `create` too; and requests are removed a day
/// after they were answered.
const NOT_SHOWN: [(&str, &str); 2] = [("leases", "create"), ("rolloutrequests", "delete")];

fn used(scene: &Scene) -> Result<()> {
    let requests = scene.hub.requests(HUB_USER)?;
    // What optional roles give in a namespace of users, tests withhold at first to see what is said then.
    let optional = |object: &ObjectRef| {
        ["configmaps", "secrets"].contains(&object.resource.as_str()) && object.namespace != SYSTEM
    };
    let refused = requests.iter().find(|request| request.is_beyond_rights() && !optional(&request.object_ref));
    ensure!(refused.is_none(), "the hub's roles lack a right: {refused:?}");
    let used: BTreeSet<Right> = requests
        .into_iter()
        .map(|request| {
            let object = request.object_ref;
            let below = if object.subresource.is_empty() { String::new() } else { format!("/{}", object.subresource) };
            (format!("{}{below}", object.resource), request.verb)
        })
        .collect();
    let mut granted = BTreeSet::new();
    for file in hub_roles()? {
        let objects: Vec<Value> = serde_yaml::from_multiple(&std::fs::read_to_string(source(&file))?)?;
        granted.extend(objects.iter().flat_map(rights));
    }
    for (resource, verb) in NOT_SHOWN {
        granted.remove(&(resource.to_owned(), verb.to_owned()));
    }
    let unused: Vec<&Right> = granted.difference(&used).collect();
    ensure!(unused.is_empty(), "no test used these rights of the hub: {unused:?}");
    Ok(())
}

/// The rights that a role grants.
fn rights(role: &Value) -> Vec<Right> {
    let texts = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let of_rule = |rule: &Value| {
        let verbs = texts(&rule["verbs"]);
        let pairs = |resource: String| verbs.iter().map(|verb| (resource.clone(), verb.clone())).collect::<Vec<_>>();
        texts(&rule["resources"]).into_iter().flat_map(pairs).collect::<Vec<_>>()
    };
    role["rules"].as_array().into_iter().flatten().flat_map(of_rule).collect()
}
