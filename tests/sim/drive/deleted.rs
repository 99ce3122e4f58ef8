//! What a rollout that is deleted leaves behind.

use std::collections::BTreeSet;

use cutover::{api::DeletionPolicy, sandbox::api::Verb};
use serde_json::Value;

use super::super::world::World;

/// I16: what a deletion leaves: routes without a trace of the hub and Services that are nobody's; with `Revert` no Service
/// that the hub made, unless a route names it.
pub fn left_behind(world: &World) -> Vec<String> {
    let (backends, made) = {
        let judge = world.judge();
        let made = judge.written.keys().filter(|(verb, _)| *verb == Verb::Create);
        let made = made.filter_map(|(_, object)| object.strip_prefix("services/")).map(str::to_owned);
        (judge.backends().clone(), made.collect::<BTreeSet<_>>())
    };
    let form = world.scenario.form;
    let routes: Vec<Vec<Value>> = world.scenario.routes.keys().map(|name| world.route(name)).collect();
    let weights = |objects: &Vec<Value>| form.weights(&objects.iter().collect::<Vec<_>>());
    let named: BTreeSet<String> = routes.iter().flat_map(|objects| weights(objects).into_keys()).collect();
    // What names another rollout was left by one that was deleted past its finalizer.
    let uid = world.judge().uid().to_owned();
    let marked = routes.iter().flatten().filter_map(|object| {
        let metadata = &object["metadata"];
        let fields = ["annotations", "labels"].into_iter().filter_map(|fields| metadata[fields].as_object()).flatten();
        let is_ours =
            |(key, value): &(&String, &Value)| key.starts_with("cutover.dev/") && value.to_string().contains(&uid);
        fields.into_iter().find(is_ours).map(|(key, _)| format!("I16: {} still carries {key}", metadata["name"]))
    });
    let owned = backends.iter().filter_map(|name| {
        let service = world.object(&format!("/api/v1/namespaces/shop/services/{name}"))?;
        let owner = service.pointer("/metadata/labels/cutover.dev~1rollout-uid")?;
        (*owner == *uid).then(|| format!("I16: {name} still belongs to the rollout that is gone"))
    });
    let reverts = world.scenario.deletion_policy == DeletionPolicy::Revert;
    let left = made.iter().filter(|name| reverts && backends.contains(*name) && !named.contains(*name));
    let left = left.map(|name| format!("I16: {name} is left, which the hub made and no route names"));
    marked.chain(owned).chain(left).collect()
}
