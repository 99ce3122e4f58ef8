//! Routes, Services and whatever else a rollout names: each kind is watched from the moment that it is named.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use kube::{
    Api, Client, ResourceExt,
    core::{ApiResource, DynamicObject, TypeMeta},
    runtime::watcher,
};

use super::{
    cache::{Availability, Cache, Change, Key},
    wake::Wakers,
    watch,
};
use crate::{
    api::ROLLOUT_LABEL,
    object::{Target, owner::is_made_by_cutover},
    supervise,
    web::Metrics,
};

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

    /// One object, as it is known now. The first lookup of a kind starts to watch it.
    pub(super) fn lookup(&self, resource: &ApiResource, key: &Key) -> Lookup {
        let kind = &self.kind(resource).cache;
        match kind.availability() {
            Availability::Pending => Lookup::Pending,
            Availability::NotInstalled => Lookup::NotInstalled,
            Availability::Forbidden => Lookup::Forbidden,
            Availability::Synced => kind.get(key).map_or(Lookup::Absent, Lookup::Found),
        }
    }

    /// All objects of a kind, as they are known now.
    pub(super) fn all(&self, resource: &ApiResource) -> Vec<Arc<DynamicObject>> {
        let kind = self.kind(resource);
        kind.whole.store(true, Ordering::Relaxed);
        kind.cache.all()
    }

    /// The object, if it is known to be there.
    pub(super) fn known(&self, target: &Target) -> Option<DynamicObject> {
        match self.lookup(&target.resource, &Key::new(&target.namespace, &target.name)) {
            Lookup::Found(object) => Some(object.as_ref().clone()),
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
        trim(resource, &mut object);
        let kind = self.kind(resource);
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
        let name = format!("{} {}", resource.api_version, resource.kind);
        let mut kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        kinds.entry(name.clone()).or_insert_with(|| self.start_watch(name, resource)).clone()
    }

    fn start_watch(&self, name: String, resource: &ApiResource) -> Arc<Kind> {
        let kind: Arc<Kind> = Arc::default();
        let (filled, wakers, metrics) = (kind.clone(), self.wakers.clone(), self.metrics.clone());
        let api = Api::all_with(self.client.clone(), resource);
        let resource = resource.clone();
        tracing::debug!(kind = name, "watching");
        tokio::spawn(async move {
            let trimmed = |object: &mut DynamicObject| trim(&resource, object);
            let changed = |change: &Change| match change {
                Change::One(_) if filled.whole.load(Ordering::Relaxed) => wakers.wake_all(),
                Change::Nothing | Change::One(_) | Change::All => wakers.wake(change),
            };
            let fill = || watch::fill(api.clone(), selection(&resource), filled.cache.clone(), trimmed, changed);
            supervise::run_forever(&name, &metrics, fill).await;
        });
        kind
    }
}

/// Clusters have many slices of endpoints; the hub reads its own.
fn selection(resource: &ApiResource) -> watcher::Config {
    match resource.kind.as_str() {
        "EndpointSlice" => watcher::Config::default().labels(ROLLOUT_LABEL),
        _ => watcher::Config::default(),
    }
}

/// Objects of a list do not say their kind, and clusters have many Services, of which only the spec is read; and who
/// writes those that a route may be, or that the hub made.
fn trim(resource: &ApiResource, object: &mut DynamicObject) {
    let (api_version, kind) = (resource.api_version.clone(), resource.kind.clone());
    object.types.get_or_insert(TypeMeta { api_version, kind });
    if resource.kind == "Service" {
        let is_switched = object.data.pointer("/spec/type").is_some_and(|kind| kind == "ExternalName");
        let is_edited = is_switched || is_made_by_cutover(object);
        object.metadata.managed_fields = object.metadata.managed_fields.take().filter(|_| is_edited);
        if let Some(fields) = object.data.as_object_mut() {
            fields.remove("status");
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tokio::time::{Duration, timeout};

    use super::*;
    use crate::hub::fixtures::{no_client, objects::backend};

    fn service() -> ApiResource {
        ApiResource::erase::<k8s_openapi::api::core::v1::Service>(&())
    }

    /// What is kept of an object of this kind: whether its managed fields and its status are.
    fn kept(resource: &ApiResource, mut object: Value) -> (bool, bool) {
        object["metadata"]["managedFields"] = json!([{"manager": "kubectl"}]);
        object["status"] = json!({"loadBalancer": {}});
        let mut object: DynamicObject = serde_json::from_value(object).unwrap();
        trim(resource, &mut object);
        (object.metadata.managed_fields.is_some(), object.data.get("status").is_some())
    }

    #[test]
    fn of_a_service_only_what_is_read_is_kept() {
        let of_a_user = |kind: &str| json!({"metadata": {"name": "shop"}, "spec": {"type": kind}});
        assert_eq!(kept(&service(), of_a_user("ClusterIP")), (false, false));
        assert_eq!(kept(&service(), of_a_user("ExternalName")), (true, false));
        let mut made = backend("eu-1", "1");
        made["spec"]["type"] = json!("ClusterIP");
        assert_eq!(kept(&service(), made), (true, false));
        let ingress = ApiResource::erase::<k8s_openapi::api::networking::v1::Ingress>(&());
        assert_eq!(kept(&ingress, of_a_user("ClusterIP")), (true, true));
    }

    #[test]
    fn an_object_of_a_list_gets_the_kind_of_the_list() {
        let mut object: DynamicObject = serde_json::from_value(json!({"metadata": {"name": "shop"}})).unwrap();
        trim(&service(), &mut object);
        assert_eq!(
            object.types.map(|types| (types.api_version, types.kind)),
            Some(("v1".to_owned(), "Service".to_owned()))
        );
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
}
