//! Hubs of several installations, and of the version before, in one hub cluster.

use super::*;

/// A process of the hub that is installed in `namespace`.
struct Process {
    leadership: Leadership,
    stop: oneshot::Sender<()>,
}

fn start(api: &ApiServer, namespace: &str, name: &str) -> Process {
    let clock = Clock::starting_at("2026-01-01T00:00:00Z".parse().unwrap());
    let (election, leadership) = Election::new(&api.client(), clock, namespace, name);
    let (stop, stopped) = oneshot::channel::<()>();
    tokio::spawn(election.run(async { drop(stopped.await) }));
    Process { leadership, stop }
}

impl Process {
    fn leads(&self) -> bool {
        self.leadership.is_current()
    }

    fn obstacle(&self) -> Option<String> {
        self.leadership.obstacle()
    }
}

/// A Lease in the hub's own namespace, as the version before this one holds it or has given it back.
fn of_the_version_before(holder: Option<&str>, version: u64) -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "cutover-hub", "namespace": "cutover-system", "resourceVersion": version.to_string()},
        "spec": {"holderIdentity": holder, "leaseDurationSeconds": 15, "leaseTransitions": 1},
    })
}

/// Who holds the Lease in each namespace.
fn holders(api: &ApiServer) -> Vec<Option<String>> {
    let leases = api.stored("Lease");
    leases.iter().map(|lease| lease["spec"]["holderIdentity"].as_str().map(str::to_owned)).collect()
}

#[tokio::test(start_paused = true)]
async fn of_two_installations_one_leads_and_the_other_says_which_and_since_when() {
    let api = ApiServer::default();
    let first = start(&api, "cutover-system", "hub-1");
    sleep(seconds(1)).await;
    let second = start(&api, "traffic", "hub-2");
    for second_of_time in 0..40 {
        sleep(seconds(1)).await;
        assert!(first.leads() && !second.leads(), "after {second_of_time} s");
    }
    let said = "another installation leads: cutover-system/hub-1 holds Lease kube-system/cutover-hub since \
                2026-01-01T00:00:00Z; remove one of the two";
    assert_eq!((first.obstacle(), second.obstacle().as_deref()), (None, Some(said)));
    first.stop.send(()).unwrap();
    sleep(seconds(3)).await;
    assert!(second.leads() && second.obstacle().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_standby_of_the_same_installation_can_take_over() {
    let api = ApiServer::default();
    let first = start(&api, "cutover-system", "hub-1");
    sleep(seconds(1)).await;
    let standby = start(&api, "cutover-system", "hub-2");
    sleep(seconds(1)).await;
    assert!(first.leads() && !standby.leads());
    assert_eq!(standby.obstacle(), None);
}

#[tokio::test(start_paused = true)]
async fn a_hub_does_not_lead_beside_one_of_the_version_before() {
    let api = ApiServer::default();
    let process = start(&api, "cutover-system", "hub-1");
    for version in 1..40 {
        api.store(&of_the_version_before(Some("cutover-hub-7d9f"), version));
        sleep(seconds(1)).await;
        assert!(!process.leads(), "renewal {version}");
    }
    assert_eq!(process.obstacle(), None, "it is the same installation");
    api.store(&of_the_version_before(None, 40));
    sleep(seconds(3)).await;
    assert!(process.leads());
    let holder = Some("cutover-system/hub-1".to_owned());
    assert_eq!(holders(&api), [holder.clone(), holder], "so one of the version before waits as well");
}

#[tokio::test(start_paused = true)]
async fn who_may_not_read_a_lease_cannot_take_over() {
    let api = ApiServer::default();
    api.script(LOOK, Code(403));
    let process = start(&api, "cutover-system", "hub-1");
    sleep(seconds(1)).await;
    let said = "Lease kube-system/cutover-hub has not been read yet; config/rbac/hub.yaml allows it";
    assert_eq!(process.obstacle().as_deref(), Some(said));
    sleep(seconds(2)).await;
    assert!(process.leads() && process.obstacle().is_none());
}

#[tokio::test(start_paused = true)]
async fn who_loses_either_lease_does_not_lead() {
    for namespace in ["kube-system", "cutover-system"] {
        let api = ApiServer::default();
        let process = start(&api, "cutover-system", "hub-1");
        sleep(seconds(1)).await;
        assert!(process.leads());
        let mut stolen = of_the_version_before(Some("somebody"), 900);
        stolen["metadata"]["namespace"] = json!(namespace);
        api.store(&stolen);
        sleep(seconds(5)).await;
        assert!(!process.leads(), "{namespace}");
    }
}

#[tokio::test(start_paused = true)]
async fn both_leases_are_given_back() {
    let api = ApiServer::default();
    let process = start(&api, "cutover-system", "hub-1");
    sleep(seconds(1)).await;
    process.stop.send(()).unwrap();
    sleep(seconds(1)).await;
    assert_eq!(holders(&api), [None, None]);
    assert_eq!(api.calls()[4..], [renewal(101), renewal(102)]);
}

#[tokio::test(start_paused = true)]
async fn who_ends_without_a_word_is_succeeded_when_one_lease_would_have_run_out() {
    let api = ApiServer::default();
    let clock = Clock::starting_at("2026-01-01T00:00:00Z".parse().unwrap());
    let (election, first) = Election::new(&api.client(), clock, "cutover-system", "hub-1");
    let first_task = tokio::spawn(election.run(std::future::pending()));
    sleep(seconds(1)).await;
    assert!(first.is_current());
    let second = start(&api, "cutover-system", "hub-2");
    sleep(seconds(1)).await;
    first_task.abort();
    sleep(seconds(20)).await;
    assert!(second.leads());
}
