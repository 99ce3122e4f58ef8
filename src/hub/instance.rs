//! One instance of the hub: its parts from the first call to the last.

use std::{fmt::Debug, future::pending, sync::Arc, time::Duration};

use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, Client, Resource, ResourceExt, runtime::watcher};
use serde::de::DeserializeOwned;
use tokio::{
    net::TcpListener,
    sync::{oneshot, watch as channel},
    task::JoinHandle,
};

use super::{
    Guarded, HostPattern, Hub, HubError,
    backoff::Waits,
    cache::{Cache, Change},
    controller,
    lease::{CALL_DEADLINE, Election, Leadership},
    members, unclaimed, watch,
};
use crate::{
    api::RolloutRequest,
    clock::Clock,
    http::Network,
    supervise,
    web::{self, Metrics, Pages},
};

/// The write under way may end after a signal; so does the lease.
const GRACE: Duration = Duration::from_secs(5);
const _: () = assert!(CALL_DEADLINE.as_millis() < GRACE.as_millis());

/// What an instance of the hub is made of.
pub struct Instance {
    /// The hub cluster. It retries nothing by itself.
    pub client: Client,
    /// The way to members.
    pub network: Network,
    /// The time of day.
    pub clock: Clock,
    /// A name that no other instance has.
    pub name: String,
    /// The hub's own namespace: the Secrets of members.
    pub namespace: String,
    /// Hosts to which users' Services of type ExternalName may lead, beside members' endpoints.
    pub external_names: Vec<HostPattern>,
    /// Ask for the Lease of the hub cluster before acting.
    pub leader_election: bool,
    /// Where `/healthz`, `/readyz` and `/metrics` are answered, if anywhere.
    pub listener: Option<TcpListener>,
}

/// Runs until `stop`, and then ends what is under way and gives the lease back.
///
/// # Errors
/// When a part ends that must not.
pub async fn run_instance(instance: Instance, stop: impl Future<Output = ()>) -> Result<(), HubError> {
    tokio::pin!(stop);
    let id = tokio::select! {
        biased;
        () = &mut stop => return Ok(()),
        id = cluster_id(&instance.client) => id,
    };
    Running::start(instance, id).until(stop).await
}

/// The parts of a running process.
struct Running {
    hub: Arc<Hub>,
    web: JoinHandle<()>,
    controller: JoinHandle<()>,
    election: JoinHandle<()>,
    release: oneshot::Sender<()>,
}

impl Running {
    fn start(mut instance: Instance, id: String) -> Self {
        let metrics = Metrics::default();
        let (release, released) = oneshot::channel();
        let (leadership, election) = start_election(&instance, released);
        tracing::info!(leader = instance.name, hub = id, namespace = instance.namespace, "cutover hub begins");
        let (client, namespace, listener) =
            (instance.client.clone(), instance.namespace.clone(), instance.listener.take());
        let hub = Arc::new(Hub::new(instance, id, leadership, metrics));
        let web = serve_pages(&hub, listener);
        watch_all(&hub, &client, &namespace);
        let controller = tokio::spawn(controller::run(hub.clone()));
        Self { hub, web, controller, election, release }
    }

    /// Ends when `stop` does, or when a part ends that must not.
    async fn until(mut self, stop: impl Future<Output = ()>) -> Result<(), HubError> {
        let broken = tokio::select! {
            biased;
            () = stop => None,
            _ = &mut self.election => Some("the election"),
            _ = &mut self.controller => Some("the controller"),
            _ = &mut self.web => Some("the web server"),
        };
        tracing::info!(broken, "stopping: writes under way may end");
        self.hub.leadership.resign();
        wait_for_end("passes", &mut self.controller).await;
        // An election that has ended has nothing to release.
        let _ = self.release.send(());
        wait_for_end("the lease", &mut self.election).await;
        broken.map_or(Ok(()), |part| Err(HubError::Ended(part)))
    }
}

/// Waits for a part to end, but not for long.
async fn wait_for_end(what: &str, part: &mut JoinHandle<()>) {
    if !part.is_finished() && tokio::time::timeout(GRACE, part).await.is_err() {
        tracing::warn!(what, "not ended within {GRACE:?}; the process ends all the same");
    }
}

fn start_election(instance: &Instance, released: oneshot::Receiver<()>) -> (Leadership, JoinHandle<()>) {
    if !instance.leader_election {
        return (Leadership::alone(), tokio::spawn(wait_for_release(released)));
    }
    let (election, leadership) =
        Election::new(&instance.client, instance.clock.clone(), &instance.namespace, &instance.name);
    (leadership, tokio::spawn(election.run(wait_for_release(released))))
}

/// Waits until the lease is to be given back. A sender that is gone means the same.
async fn wait_for_release(released: oneshot::Receiver<()>) {
    let _ = released.await;
}

fn serve_pages(hub: &Arc<Hub>, listener: Option<TcpListener>) -> JoinHandle<()> {
    let Some(listener) = listener else { return tokio::spawn(pending()) };
    let (probed, shown) = (hub.clone(), hub.clone());
    let ready = Arc::new(move || probed.unready().map_or(Ok(()), Err));
    let known = Arc::new(move || shown.leadership.is_current().then(|| shown.snapshot()));
    tokio::spawn(web::serve(listener, Pages { metrics: hub.metrics.clone(), ready, known }))
}

/// Begins the watches that last as long as the process.
pub(super) fn watch_all(hub: &Arc<Hub>, client: &Client, namespace: &str) {
    let all = watcher::Config::default;
    fill("rollouts", hub, Api::all(client.clone()), all(), &hub.rollouts, |_| {}, Hub::rollouts_changed);
    fill("requests", hub, Api::all(client.clone()), all(), &hub.requests, trim_request, Hub::requests_changed);
    fill("templates", hub, Api::all(client.clone()), all(), &hub.templates, |_| {}, Hub::declarations_changed);
    // What follows from these wakes by itself: the registry, and how its members are.
    fill("members", hub, Api::all(client.clone()), all(), &hub.members, |_| {}, |_, _| {});
    let own = Api::namespaced(client.clone(), namespace);
    fill("secrets", hub, own, members::watched_secrets(), &hub.secrets, |_| {}, |_, _| {});
    let leading = channel::Sender::new(false);
    let (keeping, receiver) = (hub.clone(), leading.subscribe());
    tokio::spawn(async move {
        let keep = || members::keep_registry(&keeping, receiver.clone());
        supervise::run_forever("registry", &keeping.metrics, keep).await;
    });
    spawn("member objects", hub, |hub| Box::pin(members::keep_objects(hub)));
    spawn("member tokens", hub, |hub| Box::pin(members::keep_tokens(hub)));
    spawn("unclaimed requests", hub, |hub| Box::pin(unclaimed::keep_requests(hub)));
    tokio::spawn(wake_on_member_changes(hub.clone()));
    tokio::spawn(announce_leadership(hub.clone(), leading));
}

/// Begins a part that lasts as long as the process.
fn spawn(name: &'static str, hub: &Arc<Hub>, part: for<'h> fn(&'h Hub) -> BoxFuture<'h, ()>) {
    let hub = hub.clone();
    tokio::spawn(async move { supervise::run_forever(name, &hub.metrics, || part(&hub)).await });
}

/// Nobody reads these of a request, and its status is written without them.
fn trim_request(request: &mut Guarded<RolloutRequest>) {
    let metadata = request.meta_mut();
    (metadata.annotations, metadata.managed_fields) = (None, None);
}

/// Keeps a cache filled from a watch; `trim` drops what nobody reads.
fn fill<K>(
    name: &'static str,
    hub: &Arc<Hub>,
    api: Api<K>,
    config: watcher::Config,
    cache: &Arc<Cache<K>>,
    trim: fn(&mut K),
    changed: fn(&Hub, &Change),
) where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
{
    let (hub, cache) = (hub.clone(), cache.clone());
    tokio::spawn(async move {
        let fill = || watch::fill(api.clone(), config.clone(), cache.clone(), trim, |change| changed(&hub, change));
        supervise::run_forever(name, &hub.metrics, fill).await;
    });
}

/// A member that changed may concern every rollout.
async fn wake_on_member_changes(hub: Arc<Hub>) {
    let mut changes = hub.registry.changes();
    while changes.changed().await.is_ok() {
        hub.wakers.wake_all();
        hub.changed.notify_one();
    }
}

/// Says whether this process leads: to the metric, and to those that only ask members.
async fn announce_leadership(hub: Arc<Hub>, leading: channel::Sender<bool>) {
    let announce = |leads| {
        hub.metrics.set_leader(leads);
        leading.send_replace(leads);
    };
    loop {
        hub.leadership.gained().await;
        announce(true);
        hub.leadership.lost().await;
        announce(false);
    }
}

/// UID of the namespace kube-system, which identifies the cluster. Tries until there is an answer.
async fn cluster_id(client: &Client) -> String {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let mut waits = Waits::default();
    loop {
        match tokio::time::timeout(CALL_DEADLINE, namespaces.get("kube-system")).await {
            Ok(Ok(namespace)) => return namespace.uid().unwrap_or_default(),
            Ok(Err(error)) => tracing::warn!(%error, "the UID of namespace kube-system cannot be read; trying again"),
            Err(_) => tracing::warn!("the hub cluster does not answer; trying again"),
        }
        tokio::time::sleep(waits.after_failure()).await;
    }
}
