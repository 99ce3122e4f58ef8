//! Routes, Services and whatever else a rollout names: each kind is watched from the moment that it is named.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use kube::{
    Api, Client,
    core::{ApiResource, DynamicObject},
    runtime::watcher,
};

use super::{
    cache::{Availability, Cache, Key},
    supervise,
    wake::Wakers,
    watch,
};
use crate::{api::ROLLOUT_LABEL, web::Metrics};

/// Every kind that was named so far.
pub(super) struct Objects {
    client: Client,
    wakers: Arc<Wakers>,
    metrics: Metrics,
    kinds: Mutex<BTreeMap<String, Arc<Cache<DynamicObject>>>>,
}

/// What a look at one object shows.
#[derive(Clone, Debug)]
pub(super) enum Look {
    /// Its kind has not been listed yet.
    Pending,
    /// Its kind is not installed.
    NotInstalled,
    /// The hub's role does not allow to look.
    Forbidden,
    /// There is no such object.
    Absent,
    /// There it is.
    Found(Arc<DynamicObject>),
}

impl Objects {
    /// Nothing is watched yet; changes will wake `wakers`.
    pub(super) fn new(client: Client, wakers: Arc<Wakers>, metrics: Metrics) -> Self {
        Self { client, wakers, metrics, kinds: Mutex::default() }
    }

    /// One object, as it is known now. The first look at a kind begins to watch it.
    pub(super) fn look(&self, resource: &ApiResource, key: &Key) -> Look {
        let kind = self.kind(resource);
        match kind.availability() {
            Availability::Pending => Look::Pending,
            Availability::NotInstalled => Look::NotInstalled,
            Availability::Forbidden => Look::Forbidden,
            Availability::Synced => kind.get(key).map_or(Look::Absent, Look::Found),
        }
    }

    /// The cache of one kind.
    pub(super) fn kind(&self, resource: &ApiResource) -> Arc<Cache<DynamicObject>> {
        let name = format!("{}/{}", resource.api_version, resource.plural);
        let mut kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        kinds.entry(name.clone()).or_insert_with(|| self.begin(name, resource)).clone()
    }

    fn begin(&self, name: String, resource: &ApiResource) -> Arc<Cache<DynamicObject>> {
        let cache: Arc<Cache<DynamicObject>> = Arc::default();
        let (filled, wakers, metrics) = (cache.clone(), self.wakers.clone(), self.metrics.clone());
        let api = Api::all_with(self.client.clone(), resource);
        let (config, trim) = watched(resource);
        tracing::debug!(kind = name, "watching");
        tokio::spawn(async move {
            let fill = || watch::fill(api.clone(), config.clone(), filled.clone(), trim, |change| wakers.wake(change));
            supervise::forever(&name, &metrics, fill).await;
        });
        cache
    }
}

/// Clusters have many Services and EndpointSlices: of the first only what is read is kept, of the second only the hub's own.
fn watched(resource: &ApiResource) -> (watcher::Config, fn(&mut DynamicObject)) {
    let all = watcher::Config::default();
    match resource.kind.as_str() {
        "Service" => (all, |object| {
            object.metadata.managed_fields = None;
            if let Some(fields) = object.data.as_object_mut() {
                fields.remove("status");
            }
        }),
        "EndpointSlice" => (all.labels(ROLLOUT_LABEL), |_| {}),
        _ => (all, |_| {}),
    }
}
