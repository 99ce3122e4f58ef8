//! What people do in each run, and when it is over.

use serde_json::json;

use super::{
    super::{
        plan::Run,
        status::Status,
        world::{ROLLOUT, World},
    },
    Scenario,
    objects::{members, own_service},
};

impl Scenario {
    /// What people do in this run, looked at again and again.
    pub fn people(&self, world: &World) {
        let Some(rollout) = world.rollout() else { return };
        let status = Status::of(&rollout);
        let at_second_step = status.step() == Some(2);
        if status.reason() == "WaitingForPromotion" && !world.judge().has_requested("Promote") {
            world.ask("Promote");
        }
        let stood = world.judge().stood(world.now());
        match self.run {
            Run::Promotion | Run::Fleet | Run::Mixed | Run::Hooks => {}
            Run::Service => {
                if status.phase() == "Initialized" && !status.has_run() {
                    world.patch("/api/v1/namespaces/shop/services/shop", &own_service("eu-3"), "user");
                }
            }
            Run::Rollback => {
                if at_second_step && stood > 4.0 {
                    world.fleet().member("eu-3").errors = 0.3;
                }
            }
            Run::Retarget => {
                let members = members(&[("eu-1", 50), ("eu-4", 50)]);
                if at_second_step && stood > 2.0 && rollout["metadata"]["generation"] == 1 {
                    world.patch(ROLLOUT, &json!({"spec": {"members": members}}), "user");
                }
            }
            Run::Deletion => {
                if at_second_step && stood > 2.0 && rollout["metadata"].get("deletionTimestamp").is_none() {
                    world.delete(ROLLOUT);
                }
            }
        }
    }
}

/// It came to rest, in whatever way.
pub fn is_over(world: &World) -> bool {
    world.rollout().is_none_or(|rollout| {
        let status = Status::of(&rollout);
        let observed = *status.field("observedGeneration") == rollout["metadata"]["generation"];
        let begun = world.scenario.run != Run::Service || status.has_run();
        observed && begun && ["Initialized", "Succeeded", "Failed", "RolledBack"].contains(&status.phase())
    })
}
