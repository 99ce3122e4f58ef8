//! P16 and P17: what is deleted, and what stands in the way of that.

use serde_json::json;

use super::{
    super::{
        plan::sorts::{Deleted, FinalizerFault},
        scenario::{CRDS, MEMBER_PATH, SECRETS},
        world::{ROLLOUT, World},
    },
    edits::first_route,
};

pub fn delete(world: &World, what: Deleted) {
    match what {
        Deleted::Rollout => world.delete(ROLLOUT),
        Deleted::Route => world.delete(&world.scenario.form.path(first_route(world))),
        Deleted::Member => world.delete(&format!("{MEMBER_PATH}/{}", world.canary())),
        Deleted::Secret => world.delete(&format!("{SECRETS}/{}", world.canary())),
        Deleted::Service => world.delete(&format!("/api/v1/namespaces/shop/services/shop-{}", world.canary())),
        Deleted::Namespace => world.delete("/api/v1/namespaces/shop"),
        Deleted::Kind => world.delete(&format!("{CRDS}/memberclusters.cutover.dev")),
    }
}

pub fn finalizers(world: &World, what: FinalizerFault) {
    match what {
        FinalizerFault::OursRemoved => {
            world.patch(ROLLOUT, &json!({"metadata": {"finalizers": null}}), "kubectl-edit");
        }
        FinalizerFault::Foreign => {
            let Some(rollout) = world.rollout() else { return };
            let mut finalizers = rollout["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
            finalizers.push("example.com/never".into());
            world.patch(ROLLOUT, &json!({"metadata": {"finalizers": finalizers}}), "kubectl-edit");
            world.delete(ROLLOUT);
        }
        FinalizerFault::DeletedInRollback => {
            world.ask("Abort");
            world.delete(ROLLOUT);
        }
        FinalizerFault::Terminating => world.delete("/api/v1/namespaces/shop"),
    }
}
