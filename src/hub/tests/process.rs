//! One instance of the hub from its first call to its last.

use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep};

use super::{at_target, settled};
use crate::{
    clock::Clock,
    hub::{
        Instance,
        cache::Availability,
        fixtures::{
            self,
            objects::BEGIN,
            world::{World, list},
        },
        lease::Leadership,
        run_instance,
    },
};

#[tokio::test(start_paused = true)]
async fn a_process_that_stops_ends_its_passes_and_gives_the_lease_back_at_once() {
    let world = World::of(at_target(&settled())).await;
    let metadata = json!({"name": "kube-system", "uid": "hub"});
    world.api.store(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}));
    let instance = Instance {
        client: world.api.client(),
        network: world.hub.network.clone(),
        clock: Clock::starting_at(BEGIN.parse().unwrap()),
        name: "hub-1".to_owned(),
        namespace: "cutover-system".to_owned(),
        external_names: Vec::new(),
        leader_election: true,
        listener: None,
    };
    let (began, life) = (Instant::now(), Duration::from_secs(3));
    Box::pin(run_instance(instance, sleep(life))).await.unwrap();
    assert_eq!(began.elapsed(), life);
    let calls = world.api.calls();
    assert_eq!(calls.last().unwrap(), "PUT leases/cutover-hub rv=101");
    for call in ["PUT fleetrollouts/shop/status rv=5", "PATCH memberclusters/eu-1/status rv=3"] {
        assert!(calls.iter().any(|one| one == call), "{call}: {calls:?}");
    }
}

#[tokio::test]
async fn a_process_is_ready_once_everything_that_is_declared_was_listed() {
    let hub = fixtures::hub(fixtures::no_client(), Leadership::alone());
    assert_eq!(hub.missing(), Some("FleetRollouts have not been listed yet"));
    list(&hub.rollouts, Vec::new());
    assert_eq!(hub.missing(), Some("RolloutRequests have not been listed yet"));
    list(&hub.requests, Vec::new());
    assert_eq!(hub.missing(), Some("MetricTemplates have not been listed yet"));
    hub.templates.unavailable(Availability::NotInstalled);
    assert_eq!(hub.missing(), Some("MemberClusters and their Secrets have not been listed yet"));
    assert_eq!(World::of([]).await.hub.missing(), None);
}
