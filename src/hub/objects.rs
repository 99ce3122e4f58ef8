//! Routes, Services and whatever else a rollout names: each kind is watched from the moment that it is named.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use kube::{
    Api, Client, ResourceExt,
    core::{ApiResource, DynamicObject},
    runtime::watcher,
};

use super::{
    backoff::Waits,
    cache::{Availability, Cache, Change, Key},
    lease::CALL_DEADLINE,
    trim::{is_cut, trim},
    wake::Wakers,
    watch,
};
use crate::{api::ROLLOUT_LABEL, object::Target, supervise, web::Metrics};

/// Every kind that was named so far.
pub(super) struct Objects {
    client: Client,
    wakers: Arc<Wakers>,
    metrics: Metrics,
    kinds: Mutex<BTreeMap<String, Arc<Kind>>>,
}

/// The objects of one kind.
#[derive(Default)]
struct Kind {
    cache: Arc<Cache<DynamicObject>>,
    /// Objects that were looked up: all of them is kept.
    named: Mutex<BTreeSet<Key>>,
    /// Those of which only a part was kept, and of which the whole is being read.
    awaited: Mutex<BTreeSet<Key>>,
    /// All of them are read together: a change concerns rollouts of every namespace.
    whole: AtomicBool,
}

/// What is known of one object.
#[derive(Clone, Debug)]
pub(super) enum Lookup {
    /// Its kind has not been listed yet.
    Pending,
    /// Its kind is not installed.
    NotInstalled,
    /// The hub's role does not allow to look.
    Forbidden,
    /// There is no such object.
    Absent,
    /// The object.
    Found(Arc<DynamicObject>),
}

impl Objects {
    /// Nothing is watched yet; changes will wake `wakers`.
    pub(super) fn new(client: Client, wakers: Arc<Wakers>, metrics: Metrics) -> Self {
        Self { client, wakers, metrics, kinds: Mutex::default() }
    }

    /// One object, as it is known now. The first lookup of a kind starts to watch it; the first lookup of an object of
    /// which only a part was kept reads it.
    pub(super) fn lookup(&self, resource: &ApiResource, key: &Key) -> Lookup {
        let kind = self.kind(resource);
        lock(&kind.named).insert(key.clone());
        match kind.cache.availability() {
            Availability::Pending => Lookup::Pending,
            Availability::NotInstalled => Lookup::NotInstalled,
            Availability::Forbidden => Lookup::Forbidden,
            Availability::Synced => match kind.cache.get(key) {
                None => Lookup::Absent,
                Some(part) if is_cut(&part) => {
                    self.complete(resource, kind, key);
                    Lookup::Pending
                }
                Some(object) => Lookup::Found(object),
            },
        }
    }

    /// Only a part of this object was kept, and the whole is being read.
    pub(super) fn is_awaited(&self, resource: &ApiResource, key: &Key) -> bool {
        lock(&self.kind(resource).awaited).contains(key)
    }

    /// Reads an object of which only a part was kept, and wakes who waits for it.
    fn complete(&self, resource: &ApiResource, kind: Arc<Kind>, key: &Key) {
        if !lock(&kind.awaited).insert(key.clone()) {
            return;
        }
        let (resource, key, wakers) = (resource.clone(), key.clone(), self.wakers.clone());
        let api = Api::namespaced_with(self.client.clone(), &key.namespace, &resource);
        tokio::spawn(async move {
            let mut waits = Waits::default();
            while kind.cache.get(&key).is_some_and(|known| is_cut(&known)) {
                if !kind.read_whole(&resource, &api, &key).await {
                    tokio::time::sleep(waits.after_failure()).await;
                }
            }
            lock(&kind.awaited).remove(&key);
            wakers.wake(&Change::One(key));
        });
    }

    /// All objects of a kind, as they are known now.
    pub(super) fn all(&self, resource: &ApiResource) -> Vec<Arc<DynamicObject>> {
        let kind = self.kind(resource);
        kind.whole.store(true, Ordering::Relaxed);
        kind.cache.all()
    }

    /// The object, if it is known to be there.
    pub(super) fn known(&self, target: &Target) -> Option<Arc<DynamicObject>> {
        match self.lookup(&target.resource, &Key::new(&target.namespace, &target.name)) {
            Lookup::Found(object) => Some(object),
            Lookup::Pending | Lookup::NotInstalled | Lookup::Forbidden | Lookup::Absent => None,
        }
    }

    /// Whether objects of this kind can be looked at. The first question starts to watch it.
    pub(super) fn availability(&self, resource: &ApiResource) -> Availability {
        self.kind(resource).cache.availability()
    }

    /// The objects of a kind in a namespace that carry the uid of this rollout.
    pub(super) fn of_rollout(&self, resource: &ApiResource, namespace: &str, uid: &str) -> Vec<Arc<DynamicObject>> {
        let own = |object: &Arc<DynamicObject>| object.labels().get(ROLLOUT_LABEL).is_some_and(|label| label == uid);
        self.kind(resource).cache.in_namespace(namespace).into_iter().filter(own).collect()
    }

    /// Takes what an own write answered. The watch will not report it as a change, so tasks that read all objects of the
    /// kind are woken now.
    pub(super) fn wrote(&self, resource: &ApiResource, mut object: DynamicObject) {
        let kind = self.kind(resource);
        kind.trim(resource, &mut object);
        kind.cache.wrote(object);
        if kind.whole.load(Ordering::Relaxed) {
            self.wakers.wake_all();
        }
    }

    /// Removes an object that an own call found missing, or deleted.
    pub(super) fn gone(&self, resource: &ApiResource, key: &Key) {
        self.kind(resource).cache.gone(key);
    }

    fn kind(&self, resource: &ApiResource) -> Arc<Kind> {
        let name = kind_of(resource);
        let mut kinds = lock(&self.kinds);
        kinds.entry(name.clone()).or_insert_with(|| self.start_watch(name, resource)).clone()
    }

    fn start_watch(&self, name: String, resource: &ApiResource) -> Arc<Kind> {
        let kind: Arc<Kind> = Arc::default();
        let (filled, wakers, metrics) = (kind.clone(), self.wakers.clone(), self.metrics.clone());
        let api = Api::all_with(self.client.clone(), resource);
        let resource = resource.clone();
        tracing::debug!(kind = name, "watching");
        tokio::spawn(async move {
            let trimmed = |object: &mut DynamicObject| filled.trim(&resource, object);
            let changed = |change: &Change| match change {
                Change::One(_) if filled.whole.load(Ordering::Relaxed) => wakers.wake_all(),
                Change::Nothing | Change::One(_) | Change::All => wakers.wake_for_object(&name, change),
            };
            let fill = || watch::fill(api.clone(), selection(&resource), filled.cache.clone(), trimmed, changed);
            supervise::run_forever(&name, &metrics, fill).await;
        });
        kind
    }
}

/// Names a kind.
pub(super) fn kind_of(resource: &ApiResource) -> String {
    format!("{} {}", resource.api_version, resource.kind)
}

impl Kind {
    fn trim(&self, resource: &ApiResource, object: &mut DynamicObject) {
        let named = lock(&self.named).contains(&Key::of(object));
        trim(resource, object, named);
    }

    /// True if there was an answer.
    async fn read_whole(&self, resource: &ApiResource, api: &Api<DynamicObject>, key: &Key) -> bool {
        match tokio::time::timeout(CALL_DEADLINE, api.get_opt(&key.name)).await {
            Ok(Ok(Some(mut object))) => {
                self.trim(resource, &mut object);
                self.cache.replace_if(object, is_cut);
                true
            }
            Ok(Ok(None)) => {
                self.cache.gone(key);
                true
            }
            Ok(Err(error)) => {
                tracing::warn!(%key, %error, "an object that a rollout names could not be read; trying again");
                false
            }
            Err(_) => false,
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Clusters have many slices of endpoints; the hub reads its own.
fn selection(resource: &ApiResource) -> watcher::Config {
    match resource.kind.as_str() {
        "EndpointSlice" => watcher::Config::default().labels(ROLLOUT_LABEL),
        _ => watcher::Config::default(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tokio::time::{Duration, sleep, timeout};

    use super::*;
    use crate::hub::fixtures::{
        api_server::{Answer::Code, ApiServer},
        no_client,
        objects::backend,
    };

    fn service() -> ApiResource {
        ApiResource::erase::<k8s_openapi::api::core::v1::Service>(&())
    }

    #[test]
    fn of_all_kinds_only_the_slices_of_others_are_left_out() {
        let slices = ApiResource::erase::<k8s_openapi::api::discovery::v1::EndpointSlice>(&());
        assert_eq!(selection(&slices).label_selector.as_deref(), Some(ROLLOUT_LABEL));
        assert_eq!(selection(&service()).label_selector, None);
    }

    #[tokio::test]
    async fn an_own_write_wakes_everybody_where_all_objects_of_a_kind_are_read_together() {
        let wakers: Arc<Wakers> = Arc::default();
        let task = wakers.of(&Key::new("billing", "fleet"));
        let objects = Objects::new(no_client(), wakers, Metrics::default());
        let write = |version| objects.wrote(&service(), serde_json::from_value(backend("eu-1", version)).unwrap());
        write("1");
        assert!(timeout(Duration::ZERO, task.notified()).await.is_err());
        objects.all(&service());
        write("2");
        assert!(timeout(Duration::ZERO, task.notified()).await.is_ok());
        objects.gone(&service(), &Key::new("shop", "shop-eu-1"));
        assert!(objects.all(&service()).is_empty());
    }

    /// A Service that some user made.
    fn of_a_user(name: &str) -> Value {
        json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {"name": name, "namespace": "shop", "resourceVersion": "3", "annotations": {"team": "web"}},
            "spec": {"type": "ClusterIP"},
        })
    }

    /// The Services of a cluster, of which shop-eu-1 is named before they are listed.
    async fn listed() -> (ApiServer, Arc<Wakers>, Objects) {
        let (api, wakers) = (ApiServer::default(), Arc::<Wakers>::default());
        for name in ["shop-eu-1", "shop-eu-2"] {
            api.store(&of_a_user(name));
        }
        let objects = Objects::new(api.client(), wakers.clone(), Metrics::default());
        assert!(matches!(objects.lookup(&service(), &Key::new("shop", "shop-eu-1")), Lookup::Pending));
        sleep(Duration::from_millis(1)).await;
        (api, wakers, objects)
    }

    /// The annotation of an object that is known, if it is.
    fn team(lookup: &Lookup) -> Option<&str> {
        let Lookup::Found(object) = lookup else { return None };
        object.annotations().get("team").map(String::as_str)
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_named_before_it_is_listed_is_known_whole_without_a_call() {
        let (api, _, objects) = listed().await;
        assert_eq!(team(&objects.lookup(&service(), &Key::new("shop", "shop-eu-1"))), Some("web"));
        assert_eq!(api.calls(), [""; 0]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_named_later_is_read_once_and_wakes_who_named_it() {
        let (api, wakers, objects) = listed().await;
        let (late, task) = (Key::new("shop", "shop-eu-2"), wakers.of(&Key::new("shop", "shop")));
        assert!(objects.all(&service()).iter().any(|object| is_cut(object)), "nobody has named it yet");
        api.script("GET services/shop-eu-2", Code(500));
        for _ in 0..2 {
            assert!(matches!(objects.lookup(&service(), &late), Lookup::Pending));
        }
        timeout(Duration::from_secs(2), task.notified()).await.unwrap();
        assert_eq!(team(&objects.lookup(&service(), &late)), Some("web"));
        assert_eq!(api.calls(), ["GET services/shop-eu-2"; 2], "the first was answered with an error");
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_named_later_and_is_gone_is_absent() {
        let (api, _, objects) = listed().await;
        let late = Key::new("shop", "shop-eu-2");
        api.script("GET services/shop-eu-2", Code(404));
        assert!(matches!(objects.lookup(&service(), &late), Lookup::Pending));
        sleep(Duration::from_millis(1)).await;
        assert!(matches!(objects.lookup(&service(), &late), Lookup::Absent));
    }
}
