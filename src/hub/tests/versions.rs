//! What another version of the hub left.

use serde_json::{Value, json};

use super::{ROLLBACK, at_step_1};
use crate::hub::{
    fixtures::{objects::request, world::World},
    reconcile::Ended,
};

/// The world at step 1, with a field that this version does not know in each part of the rollout's status.
fn with_unknown_fields() -> Vec<Value> {
    let mut objects = at_step_1();
    let parts =
        ["", "/desired", "/desired/split", "/routes/0", "/run", "/run/pinned", "/run/plan/0", "/run/state/stepping"];
    for part in parts {
        objects[0].pointer_mut(&format!("/status{part}")).unwrap()["ofANewerVersion"] = json!({"since": "2.0"});
    }
    objects
}

#[tokio::test(start_paused = true)]
async fn a_run_goes_on_from_a_status_with_fields_of_a_newer_version() {
    let mut world = World::of(with_unknown_fields()).await;
    assert!(matches!(world.passes().await, Ended::Rest(Some(_))));
    assert_eq!(world.rollout().status.unwrap().run.unwrap().step(), 1);
}

#[tokio::test(start_paused = true)]
async fn and_a_person_can_end_it() {
    let mut world = World::of(with_unknown_fields().into_iter().chain([request("abort", "Abort")])).await;
    assert_eq!(world.calls_of_a_pass().await, ROLLBACK);
}
