//! How each run ends when nothing goes wrong.

use std::sync::Arc;

use serde_json::{Value, json};

use super::super::{
    plan::Run,
    scenario::MEMBER_PATH,
    status::Status,
    world::{ROLLOUT, World},
};

/// P0: what is otherwise than it was meant, beside the weights of the routes.
pub fn ends_otherwise(world: &World) -> Vec<String> {
    let rollout = Arc::new(world.object(ROLLOUT).unwrap_or_default());
    let status = Status::of(&rollout);
    let (phase, outcome) = match world.scenario.run {
        Run::Promotion | Run::Fleet | Run::Retarget | Run::Service | Run::Mixed | Run::Hooks => {
            ("Succeeded", Some("Succeeded"))
        }
        Run::Rollback => ("Failed", Some("Failed")),
        Run::Deletion => ("", None),
    };
    let finalizers = if phase.is_empty() { Value::Null } else { json!(["cutover.dev/finalizer"]) };
    let found = [
        ("phase", json!(status.phase()), json!(phase)),
        ("outcome", json!(status.outcome()), json!(outcome)),
        ("finalizers", rollout["metadata"]["finalizers"].clone(), finalizers),
        ("live run", json!(status.has_live_run()), json!(false)),
    ];
    let otherwise = found.into_iter().filter(|(_, found, meant)| found != meant);
    let otherwise = otherwise.map(|(what, found, meant)| format!("I5: {what} ends as {found}, not as {meant}"));
    otherwise.chain(unhealthy(world)).collect()
}

/// I10: members that are not said to be healthy, though nothing was ever wrong with them.
fn unhealthy(world: &World) -> Vec<String> {
    let is_healthy = |name: &&&str| {
        let member = world.object(&format!("{MEMBER_PATH}/{name}")).unwrap_or_default();
        let conditions = member["status"]["conditions"].as_array().cloned().unwrap_or_default();
        conditions.iter().any(|condition| condition["type"] == "Healthy" && condition["status"] == "True")
    };
    let members = world.scenario.members().iter().filter(|name| !is_healthy(name));
    members.map(|name| format!("I10: {name} is not said to be healthy")).collect()
}

/// I17: in service mode the primary leads where the user's own Service does, once a run has succeeded.
pub fn is_not_promoted(world: &World) -> Option<String> {
    if world.scenario.run != Run::Service {
        return None;
    }
    let leads = |name: &str| {
        let service = world.object(&format!("/api/v1/namespaces/shop/services/{name}")).unwrap_or_default();
        service["spec"]["externalName"].clone()
    };
    let (own, primary) = (leads("shop"), leads("shop-primary"));
    (own != primary).then(|| format!("I17: Succeeded, and the primary leads to {primary}, not to {own}"))
}
