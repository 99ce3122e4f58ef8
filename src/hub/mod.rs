//! The imperative shell: observes the world, asks the core what to do, records that, does it, and announces it.
//!
//! [`run`] is the whole process, and [`run_instance`] what it does once it has a client. One task for each rollout
//! (`task`) makes passes (`reconcile`), whose phases are the files `observe`, `persist`, `execute` and `publish`.
//! Everything is read from watches (`watch`, `cache`, `objects`; docs/adr/0002-watches.md says why these). Every write
//! goes through `calls`, which asks the lease (`lease`) first. What is slow is done in the background
//! (`background_task`): measurements, probes, addresses, tracked ConfigMaps and Secrets, hooks, alerts. `members` keeps the registry, writes members' status and renews their tokens.
//!
//! Guarantee: nothing is done that is not recorded in the rollout's status before, and every write is over the very
//! version from which it was decided. A hook is called for a moment that is recorded, and named by it.

mod addresses;
mod alerts;
mod attempts;
mod background_task;
mod backoff;
mod cache;
mod calls;
mod cleanup;
mod concurrency;
mod config_copies;
mod configs;
mod controller;
mod dependencies;
mod execute;
mod external_names;
#[cfg(test)]
mod fixtures;
mod hooks;
mod instance;
mod lease;
mod leftovers;
mod measuring;
mod members;
mod memory;
mod objects;
mod observe;
mod observed;
mod persist;
mod placed;
mod probes;
mod process;
mod propagation;
mod public_host;
mod publish;
mod reconcile;
mod requests;
mod reread;
mod service_range;
mod slots;
mod subject;
mod task;
mod templates;
#[cfg(test)]
mod tests;
mod trim;
mod turns;
mod unclaimed;
mod user_secrets;
mod wake;
mod watch;

use std::sync::Arc;

use k8s_openapi::api::core::v1::Secret;
use kube::{
    Resource, ResourceExt,
    core::{DeserializeGuard, error_boundary::InvalidObject},
};
use tokio::sync::Notify;

pub use instance::{Instance, run_instance};
pub use process::{HubError, Options, READ_TIMEOUT, run};

pub use crate::object::HostPattern;

use crate::{
    api::{FleetRollout, MemberCluster, MetricTemplate, RolloutRequest},
    clock::Clock,
    http::Network,
    member::Registry,
    text::one_line,
    web::{Metrics, Snapshot},
};
use cache::{Availability, Cache, Change, Key};
use calls::{Caches, Calls};
use concurrency::ConcurrencyLimits;
use lease::Leadership;
use objects::Objects;
use turns::Turns;
use wake::Wakers;

/// An object of a kind that users write: one that cannot be read is reported and stops no other.
type Guarded<K> = DeserializeGuard<K>;

/// Characters that are kept of why an object cannot be read; the error repeats what stands in it.
const ERROR: usize = 512;

/// Why an object cannot be read, on one line.
fn why_unreadable(invalid: &InvalidObject) -> String {
    one_line(&invalid.error, ERROR)
}

/// What all tasks share.
struct Hub {
    /// UID of the hub cluster's namespace kube-system.
    id: String,
    /// This instance of this process.
    leader: String,
    leadership: Leadership,
    calls: Calls,
    turns: Arc<Turns>,
    objects: Arc<Objects>,
    rollouts: Arc<Cache<Guarded<FleetRollout>>>,
    requests: Arc<Cache<Guarded<RolloutRequest>>>,
    templates: Arc<Cache<Guarded<MetricTemplate>>>,
    members: Arc<Cache<Guarded<MemberCluster>>>,
    /// The hub's own namespace.
    namespace: String,
    /// Hosts to which users' Services may lead, beside members' endpoints.
    external_names: Vec<HostPattern>,
    /// Those of that namespace that have a purpose.
    secrets: Arc<Cache<Secret>>,
    /// Rollouts came or went, or a first list is complete.
    changed: Notify,
    wakers: Arc<Wakers>,
    registry: Registry,
    network: Network,
    hook_places: hooks::Places,
    /// How many alerts of one provider are sent at a time.
    alert_limits: Arc<ConcurrencyLimits<Key>>,
    clock: Clock,
    metrics: Metrics,
}

impl Hub {
    fn new(instance: Instance, id: String, leadership: Leadership, metrics: Metrics) -> Self {
        let Instance { client, network, clock, name: leader, namespace, external_names, .. } = instance;
        let wakers: Arc<Wakers> = Arc::default();
        let objects = Arc::new(Objects::new(client.clone(), wakers.clone(), metrics.clone()));
        let (rollouts, requests, members, secrets) = (Arc::default(), Arc::default(), Arc::default(), Arc::default());
        let caches = Caches {
            objects: Arc::clone(&objects),
            rollouts: Arc::clone(&rollouts),
            requests: Arc::clone(&requests),
            members: Arc::clone(&members),
            secrets: Arc::clone(&secrets),
        };
        let turns = Turns::new(metrics.clone());
        let calls = Calls::new(client, leadership.clone(), Arc::clone(&turns), caches);
        Self {
            id,
            leader,
            leadership,
            calls,
            turns,
            objects,
            rollouts,
            requests,
            templates: Arc::default(),
            members,
            namespace,
            external_names,
            secrets,
            changed: Notify::new(),
            wakers,
            registry: Registry::default(),
            network,
            hook_places: hooks::Places::default(),
            alert_limits: Arc::new(ConcurrencyLimits::new(alerts::OF_A_PROVIDER)),
            clock,
            metrics,
        }
    }

    /// What has not been listed yet; nothing is decided before.
    fn missing(&self) -> Option<&'static str> {
        if !self.rollouts.availability().is_synced() {
            Some("FleetRollouts have not been listed yet")
        } else if !self.requests.availability().is_synced() {
            Some("RolloutRequests have not been listed yet")
        } else if self.templates.availability() == Availability::Pending {
            Some("MetricTemplates have not been listed yet")
        } else if self.registry.changes().borrow().is_none() {
            Some("MemberClusters and their Secrets have not been listed yet")
        } else {
            None
        }
    }

    /// Why this process is not ready. A standby is, if it can take over.
    fn unready(&self) -> Option<String> {
        self.missing().map(str::to_owned).or_else(|| self.leadership.obstacle())
    }

    /// What is known now, to be shown.
    fn snapshot(&self) -> Snapshot {
        let (rollouts, members) = (self.rollouts.all(), self.members.all());
        Snapshot { now: self.clock.now(), rollouts, members, waiting: self.turns.waiting() }
    }

    /// Something that every rollout of a namespace may use changed.
    fn declarations_changed(&self, change: &Change) {
        self.wakers.wake(change);
        if *change != Change::Nothing {
            self.changed.notify_one();
        }
    }

    /// Rollouts changed. What one declares concerns all of its namespace, for they may not name the same; what it says of
    /// itself concerns it and those that depend on it.
    fn rollouts_changed(&self, change: &Change) {
        let Change::One(key) = change else { return self.declarations_changed(change) };
        let known = self.rollouts.get(key);
        let metadata = known.as_ref().map(|rollout| rollout.meta());
        let uid = metadata.and_then(|metadata| metadata.uid.clone());
        let generation = metadata.and_then(|metadata| metadata.generation);
        if known.is_none() || self.wakers.is_declared_anew(key, uid, generation) {
            self.declarations_changed(change);
        } else {
            self.wakers.wake_one(key);
            dependencies::wake_all_of(self, key);
        }
    }

    /// Requests changed. Each is for one rollout.
    fn requests_changed(&self, change: &Change) {
        let Change::One(key) = change else { return self.declarations_changed(change) };
        let request = self.requests.get(key);
        if let Some(Ok(request)) = request.as_ref().map(|guarded| &guarded.0) {
            self.wakers.wake_one(&Key::new(&key.namespace, &request.spec.rollout.name));
        }
    }

    /// The rollout with this uid, if it exists.
    fn rollout_of(&self, uid: &str) -> Option<Key> {
        let all = self.rollouts.all();
        all.iter().find(|rollout| rollout.uid().as_deref() == Some(uid)).map(|rollout| Key::of(rollout.as_ref()))
    }

    /// The task of a rollout ended: it is gone, or another one has its name.
    fn task_ended(&self, key: &Key) {
        if self.rollouts.get(key).is_some() {
            self.changed.notify_one();
        } else {
            self.metrics.forget_rollout(&key.namespace, &key.name);
            self.wakers.forget(key);
        }
    }
}
