//! P26: another tenant on the same members, who is busy or means ill.

use serde_json::json;

use super::{
    super::{
        plan::sorts::Tenant,
        scenario::{
            MEMBERS,
            tenant::{self, INTRUDER, NAMESPACE, THEIRS, collection, rollouts},
        },
        world::World,
    },
    members::allow,
};

/// Requests that it sends at once, and then at every moment.
const REQUESTS: [usize; 2] = [100, 2];

pub fn begin(world: &World, what: Tenant) {
    let route = world.scenario.routes.keys().next().copied().unwrap_or_default();
    match what {
        Tenant::SameRoute => world.create(&rollouts("shop"), &tenant::intruder(world.plan.kind, THEIRS[0], route)),
        Tenant::SameService => world.create(&rollouts("shop"), &tenant::intruder(world.plan.kind, "shop", "bystander")),
        Tenant::Busy | Tenant::SlowQueries | Tenant::HugeAnswers => move_in(world),
        Tenant::Requests => {
            move_in(world);
            request(world, REQUESTS[0]);
        }
        Tenant::ForgedMark => {
            move_in(world);
            forge(world);
        }
        Tenant::Withdrawn => {
            move_in(world);
            for name in world.scenario.members() {
                allow(world, name, &json!({"from": "Names", "names": ["shop"]}));
            }
        }
    }
}

pub fn go_on(world: &World, what: Tenant) {
    if what == Tenant::Requests {
        request(world, REQUESTS[1]);
    }
}

/// It deletes its rollouts, and the members allow every namespace again.
pub fn leave(world: &World, what: Tenant) {
    for theirs in THEIRS {
        world.delete(&format!("{}/{theirs}", rollouts(NAMESPACE)));
    }
    world.delete(&format!("{}/{INTRUDER}", rollouts("shop")));
    if what == Tenant::Withdrawn {
        for name in MEMBERS.iter().filter(|name| world.scenario.members().contains(name)) {
            allow(world, name, &json!({"from": "All", "names": null}));
        }
    }
}

fn routes(world: &World) -> String {
    world.scenario.form.collection(NAMESPACE)
}

fn move_in(world: &World) {
    let kind = world.plan.kind;
    for theirs in THEIRS {
        for backend in tenant::backends(kind, theirs) {
            world.create(&collection("/api/v1", NAMESPACE, "services"), &backend);
        }
        world.create(&routes(world), &tenant::route(kind, theirs));
        world.create(&rollouts(NAMESPACE), &tenant::rollout(kind, theirs));
    }
}

/// Requests for a rollout that does not exist.
fn request(world: &World, count: usize) {
    let spec = json!({"rollout": {"name": "nobody", "uid": "0"}, "verb": "Abort", "run": 1, "requestedBy": "eve"});
    let request = json!({"apiVersion": "cutover.dev/v1alpha1", "kind": "RolloutRequest",
                         "metadata": {"generateName": "theirs-", "namespace": NAMESPACE}, "spec": spec});
    for _ in 0..count {
        world.create(&collection("/apis/cutover.dev/v1alpha1", NAMESPACE, "rolloutrequests"), &request);
    }
}

/// A mark of the first rollout, a thousand million writes ahead.
fn forge(world: &World) {
    let mark = format!("hub/{}/1000/1000000000/0", world.judge().uid());
    let patch = json!({"metadata": {"annotations": {"cutover.dev/write": mark}}});
    world.patch(&format!("{}/{}", routes(world), THEIRS[0]), &patch, "user");
}
