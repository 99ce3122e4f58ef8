//! What is stored in the API server, as far as the world must know it. It follows the changes, and keeps no history.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use cutover::sandbox::api::{Change, Verb};
use http::Method;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::{rollout::Rollout, world::World};

/// Namespace and name.
pub type Key = (String, String);

/// Who writes as the hub.
const HUB: &str = "cutover";

#[derive(Default)]
pub struct Stored {
    seen: usize,
    pub rollouts: BTreeMap<Key, Arc<Value>>,
    pub routes: BTreeMap<Key, Arc<Value>>,
    /// What people requested; whether each is answered.
    pub requests: BTreeMap<Key, bool>,
    /// Oldest first.
    events: VecDeque<(Timestamp, Key)>,
    pub events_made: u64,
    /// The last write of the hub but for its Lease, and to what.
    pub hub_wrote: Option<(Timestamp, String)>,
}

impl Stored {
    /// Follows the changes since the last look, and gives them.
    pub fn look(&mut self, world: &World) -> Vec<Arc<Change>> {
        let changes = world.api.history(self.seen);
        self.seen += changes.len();
        for change in &changes {
            self.see(change);
        }
        changes
    }

    fn see(&mut self, change: &Change) {
        let key = (change.namespace.clone(), change.name.clone());
        match change.plural.as_str() {
            "fleetrollouts" => put(&mut self.rollouts, key, change.after.clone()),
            "httproutes" => put(&mut self.routes, key, change.after.clone()),
            "rolloutrequests" => {
                let is_answered = |request: Arc<Value>| request["status"]["state"].is_string();
                put(&mut self.requests, key, change.after.clone().map(is_answered));
            }
            "events" if change.verb == Verb::Create => {
                self.events_made += 1;
                self.events.push_back((change.at, key));
            }
            _ => {}
        }
        if change.author.manager == HUB && change.plural != "leases" {
            self.hub_wrote = Some((change.at, format!("{} {}/{}", change.plural, change.namespace, change.name)));
        }
    }

    /// Removes the events that are older, as an API server does.
    pub fn expire_events(&mut self, world: &World, ttl: SignedDuration) {
        let now = world.now();
        while let Some((_, (namespace, name))) = self.events.pop_front_if(|(at, _)| *at + ttl < now) {
            world.call(Method::DELETE, &format!("/api/v1/namespaces/{namespace}/events/{name}"), None);
        }
    }

    pub fn events(&self) -> usize {
        self.events.len()
    }

    /// Runs that ended, of all rollouts together.
    pub fn runs(&self) -> u64 {
        self.rollouts.values().map(|rollout| Rollout(rollout).runs()).sum()
    }

    /// Runs that are live.
    pub fn live_runs(&self) -> usize {
        self.rollouts.values().filter(|rollout| Rollout(rollout).has_live_run()).count()
    }

    /// Bytes of the largest status, as JSON.
    pub fn largest_status(&self) -> usize {
        self.rollouts.values().map(|rollout| Rollout(rollout).status_bytes()).max().unwrap_or_default()
    }

    /// Records of the longest history.
    pub fn longest_history(&self) -> usize {
        self.rollouts.values().map(|rollout| Rollout(rollout).records()).max().unwrap_or_default()
    }
}

fn put<T>(map: &mut BTreeMap<Key, T>, key: Key, value: Option<T>) {
    match value {
        Some(value) => map.insert(key, value),
        None => map.remove(&key),
    };
}
