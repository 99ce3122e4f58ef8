//! P10 and P11: routes and statuses that somebody else writes.

use http::Method;
use serde_json::{Value, json};

use super::super::{
    plan::sorts::{Edit, Reapply},
    world::{ROLLOUT, World},
};

/// The field manager of the tool that puts routes back.
pub const GITOPS: &str = "gitops";

pub fn first_route(world: &World) -> &'static str {
    world.scenario.routes.keys().nth(world.plan.seed as usize % 2).copied().unwrap_or("public")
}

/// A person edits what the hub looks after.
pub fn edit(world: &World, what: Edit) {
    let (route, form) = (first_route(world), world.scenario.form);
    match what {
        Edit::Raise => shift(world, route, 7),
        Edit::Lower => shift(world, route, -7),
        Edit::Host => rewrite(world, route, |object| form.put_host(object, "other.example.com")),
        Edit::Timeout => rewrite(world, route, |object| form.put_timeout(object)),
        Edit::Mark => annotate(world, route, &Value::Null),
        Edit::Forged => forge(world, route),
        Edit::Zero => zero(world, route),
        Edit::Status => {
            world.patch(&format!("{ROLLOUT}/status"), &json!({"status": {"message": "all is well"}}), "kubectl-edit");
        }
    }
}

/// Writes the mark of the route that people know.
fn annotate(world: &World, route: &str, mark: &Value) {
    let patch = json!({"metadata": {"annotations": {"cutover.dev/write": mark}}});
    world.patch(&world.scenario.form.path(route), &patch, "kubectl-edit");
}

/// Marks the route as if the hub had written it a thousand million times more.
fn forge(world: &World, route: &str) {
    let object = world.object(&world.scenario.form.path(route)).unwrap_or_default();
    let mark = object["metadata"]["annotations"]["cutover.dev/write"].as_str().unwrap_or_default();
    let [hub, rollout, run, sequence, rules] = mark.split('/').collect::<Vec<_>>()[..] else { return };
    let ahead = sequence.parse::<u64>().unwrap_or(0) + 1_000_000_000;
    annotate(world, route, &format!("{hub}/{rollout}/{run}/{ahead}/{rules}").into());
}

/// Somebody gives no destination any weight, in a route that is not the rollout's.
pub fn freeze(world: &World) {
    lead_bystander(world, &[("bystander".to_owned(), 0), ("elsewhere".to_owned(), 0)]);
}

pub fn thaw(world: &World) {
    lead_bystander(world, &[("bystander".to_owned(), 100)]);
}

fn lead_bystander(world: &World, backends: &[(String, u32)]) {
    let form = world.scenario.form;
    let route = form.written("bystander", backends);
    world.patch(&form.path("bystander"), &json!({"spec": route["spec"]}), "kubectl-edit");
}

/// Changes the objects of a route by hand.
pub fn rewrite(world: &World, route: &str, edit: impl Fn(&mut Value)) {
    let form = world.scenario.form;
    for (name, mut object) in form.names(route).into_iter().zip(world.route(route)).filter(|(_, one)| one.is_object()) {
        edit(&mut object);
        let patch = json!({"metadata": {"annotations": object["metadata"]["annotations"]}, "spec": object["spec"]});
        world.patch(&form.path(&name), &patch, "kubectl-edit");
    }
}

/// Gives the canary so much more, or less, at the cost of a primary member.
fn shift(world: &World, route: &str, canary: i64) {
    let form = world.scenario.form;
    let service = world.scenario.service_of(route).unwrap_or("shop");
    let objects = world.route(route);
    let mut weights = form.weights(&objects.iter().collect::<Vec<_>>());
    let [loses, gains] = ["eu-1", world.canary()].map(|member| format!("{service}-{member}"));
    let weight = |name: &str| weights.get(name).copied().map(i64::from);
    let (primary, share) = (weight(&loses).unwrap_or(0), weight(&gains));
    let moved = share.map_or(0, |share| canary.clamp(-share, primary));
    for (name, weight) in [(loses, primary - moved), (gains, share.unwrap_or(0) + moved)] {
        weights.insert(name, weight as u32);
    }
    rewrite(world, route, |object| form.put(object, &weights));
}

/// Gives nobody anything. Before the hub has written there is nothing that it could put back.
fn zero(world: &World, route: &str) {
    let form = world.scenario.form;
    let objects = world.route(route);
    let is_written = |object: &Value| object["metadata"]["annotations"]["cutover.dev/write"].is_string();
    if !objects.iter().any(is_written) {
        return;
    }
    let mut weights = form.weights(&objects.iter().collect::<Vec<_>>());
    for weight in weights.values_mut() {
        *weight = 0;
    }
    rewrite(world, route, |object| form.put(object, &weights));
}

/// A GitOps tool puts the original route back.
pub fn reapply(world: &World, how: Reapply) {
    for (name, service) in &world.scenario.routes {
        let path = world.scenario.form.path(name);
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
