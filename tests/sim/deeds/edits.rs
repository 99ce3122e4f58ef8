//! P10 and P11: routes and statuses that somebody else writes.

use http::Method;
use serde_json::{Value, json};

use super::super::{
    plan::sorts::{Edit, Reapply},
    scenario::ROUTES,
    world::{ROLLOUT, World},
};

/// The field manager of the tool that puts routes back.
pub const GITOPS: &str = "gitops";

pub fn first_route(world: &World) -> String {
    let name = world.scenario.routes.keys().nth(world.plan.seed as usize % 2).copied().unwrap_or("public");
    format!("{ROUTES}/{name}")
}

/// A person edits what the hub looks after.
pub fn edit(world: &World, what: Edit) {
    let path = first_route(world);
    let Some(route) = world.object(&path) else { return };
    match what {
        Edit::Raise => shift(world, &path, &route, 7),
        Edit::Lower => shift(world, &path, &route, -7),
        Edit::Host => {
            world.patch(&path, &json!({"spec": {"hostnames": ["other.example.com"]}}), "kubectl-edit");
        }
        Edit::Timeout => {
            let mut rules = route["spec"]["rules"].clone();
            rules[0]["timeouts"]["request"] = "30s".into();
            world.patch(&path, &json!({"spec": {"rules": rules}}), "kubectl-edit");
        }
        Edit::Mark => {
            world.patch(&path, &json!({"metadata": {"annotations": {"cutover.dev/write": null}}}), "kubectl-edit");
        }
        Edit::Forged => forge(world, &path, &route),
        Edit::Status => {
            world.patch(&format!("{ROLLOUT}/status"), &json!({"status": {"message": "all is well"}}), "kubectl-edit");
        }
    }
}

/// Marks the route as if the hub had written it a thousand million times more.
fn forge(world: &World, path: &str, route: &Value) {
    let mark = route["metadata"]["annotations"]["cutover.dev/write"].as_str().unwrap_or_default();
    let [hub, rollout, run, sequence, rules] = mark.split('/').collect::<Vec<_>>()[..] else { return };
    let ahead = sequence.parse::<u64>().unwrap_or(0) + 1_000_000_000;
    let forged = format!("{hub}/{rollout}/{run}/{ahead}/{rules}");
    world.patch(path, &json!({"metadata": {"annotations": {"cutover.dev/write": forged}}}), "kubectl-edit");
}

/// Gives the canary so much more, or less, at the cost of a primary member.
fn shift(world: &World, path: &str, route: &Value, canary: i64) {
    let name = path.rsplit('/').next().unwrap_or_default();
    let service = world.scenario.service_of(name).unwrap_or("shop");
    let mut spec = route["spec"].clone();
    let Some(backends) = spec.pointer_mut("/rules/0/backendRefs").and_then(Value::as_array_mut) else { return };
    let of = |name: &str| format!("{service}-{name}");
    let weight = |backends: &[Value], name: &str| {
        backends.iter().find(|one| one["name"] == of(name)).and_then(|one| one["weight"].as_i64()).unwrap_or(0)
    };
    let gains = world.canary();
    let (primary, share) = (weight(backends, "eu-1"), weight(backends, gains));
    let there = backends.iter().any(|backend| backend["name"] == of(gains));
    let moved = if there { canary.clamp(-share, primary) } else { 0 };
    for backend in backends.iter_mut() {
        if backend["name"] == of("eu-1") {
            backend["weight"] = (primary - moved).into();
        } else if backend["name"] == of(gains) {
            backend["weight"] = (share + moved).into();
        }
    }
    world.patch(path, &json!({"spec": spec}), "kubectl-edit");
}

/// A GitOps tool puts the original route back.
pub fn reapply(world: &World, how: Reapply) {
    for (name, service) in &world.scenario.routes {
        let path = format!("{ROUTES}/{name}");
        let (Some(live), mut wanted) = (world.object(&path), world.scenario.route(name, service)) else { continue };
        match how {
            // Everything that the hub added goes, its mark too.
            Reapply::Put => {
                wanted["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"].clone();
                world.call(Method::PUT, &path, Some(&wanted), GITOPS);
            }
            Reapply::Merge => {
                world.patch(&path, &json!({"spec": wanted["spec"]}), GITOPS);
            }
            Reapply::Apply => world.apply(&path, &wanted, GITOPS),
        }
    }
}
