//! One instance of the hub from its first call to its last.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use tokio::{
    sync::watch as channel,
    time::{Instant, sleep},
};

use super::{at_target, settled};
use crate::{
    clock::Clock,
    hub::{
        Hub, Instance,
        cache::Availability,
        fixtures::{
            self,
            api_server::ApiServer,
            objects::BEGIN,
            world::{World, list, until},
        },
        lease::{Election, Leadership},
        members::keep_registry,
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
    assert!(calls.ends_with(&["PUT leases/cutover-hub rv=101".to_owned(), "PUT leases/cutover-hub rv=102".to_owned()]));
    for call in ["PUT fleetrollouts/shop/status rv=5", "PATCH memberclusters/eu-1/status rv=3"] {
        assert!(calls.iter().any(|one| one == call), "{call}: {calls:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_process_is_not_ready_while_another_installation_leads() {
    let api = ApiServer::default();
    api.store(&json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "cutover-hub", "namespace": "kube-system", "resourceVersion": "3"},
        "spec": {"holderIdentity": "traffic/hub-7", "leaseDurationSeconds": 15, "acquireTime": "2026-01-01T00:00:00.5Z"},
    }));
    let (election, leadership) = Election::new(&api.client(), Clock::default(), "cutover-system", "hub-1");
    let hub = Arc::new(fixtures::hub(fixtures::no_client(), leadership));
    list_nothing(&hub).await;
    assert!(hub.unready().is_some_and(|why| why.contains("has not been read yet")));
    tokio::spawn(election.run(std::future::pending()));
    sleep(Duration::from_secs(1)).await;
    let expected = "another installation leads: traffic/hub-7 holds Lease kube-system/cutover-hub since \
                    2026-01-01T00:00:00Z; remove one of the two";
    assert_eq!(hub.unready().as_deref(), Some(expected));
    sleep(Duration::from_secs(20)).await;
    assert_eq!(hub.unready(), None, "it leads, for the other is silent");
}

/// Everything that is declared was listed, and there is nothing.
async fn list_nothing(hub: &Arc<Hub>) {
    list(&hub.rollouts, Vec::new());
    list(&hub.requests, Vec::new());
    list(&hub.templates, Vec::new());
    list(&hub.members, Vec::new());
    list(&hub.secrets, Vec::new());
    let (keeping, leading) = (hub.clone(), channel::Sender::new(false).subscribe());
    tokio::spawn(async move { keep_registry(&keeping, leading).await });
    until("the members are registered", || hub.registry.changes().borrow().is_some()).await;
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
