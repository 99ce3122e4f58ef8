//! ConfigMaps and Secrets that a rollout tracks; read again and again, in the background.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use futures::future::join_all;
use tokio::{sync::Notify, time::Instant};

use super::{Hub, background_task::BackgroundTask, subject::Subject};
use crate::{
    api::{
        FleetRolloutSpec, Reason,
        track::{Site, Workload},
    },
    member::Registry,
    rollout::{
        self,
        input::{ConfigsSeen, Observation, Problem},
    },
    tracking::{self, Place, Source},
};

/// A change is noticed within this time. There is no watch: it would need the right to list every Secret.
const READ_EVERY: Duration = Duration::from_secs(30);

/// A service and the cluster in which its workloads run.
type Key = (String, Site);
type Read = BTreeMap<Key, ConfigsSeen>;

/// What one rollout tracks, as it was read last.
#[derive(Default)]
pub(super) struct Configs {
    task: BackgroundTask<Read>,
    next: Option<Instant>,
    wanted: BTreeSet<Key>,
    known: Read,
}

impl Configs {
    /// Takes what has been read. What could be read once stays known while it cannot: that says nothing of a change.
    pub(super) fn collect(&mut self) {
        for (key, seen) in self.task.take_result().unwrap_or_default() {
            let is_known = matches!(self.known.get(&key), Some(ConfigsSeen::Found(_)));
            if matches!(seen, ConfigsSeen::Found(_)) || !is_known {
                self.known.insert(key, seen);
            }
        }
    }

    /// What is known.
    pub(super) fn known(&self) -> Read {
        self.known.clone()
    }

    /// Reads again if it is time, or what is new. Says when it is time; `None` where nothing is tracked.
    pub(super) fn start_if_due(
        &mut self,
        hub: &Hub,
        subject: &Subject,
        (spec, seen): (&FleetRolloutSpec, &Observation),
        wake: &Arc<Notify>,
    ) -> Option<Instant> {
        let places = places(spec, seen);
        let wanted: BTreeSet<Key> = places.iter().map(|(key, _)| key.clone()).collect();
        if wanted.is_empty() {
            *self = Self::default();
            return None;
        }
        let now = Instant::now();
        let next = self.next.filter(|next| *next > now && wanted.is_subset(&self.wanted));
        if self.task.is_running() || next.is_some() {
            return next;
        }
        self.next = Some(now + READ_EVERY);
        self.known.retain(|key, _| wanted.contains(key));
        self.wanted = wanted;
        let (registry, client) = (hub.registry.clone(), hub.calls.reader());
        let (namespace, salt, known) = (subject.namespace.clone(), subject.uid.clone(), self.known.clone());
        let is_news = move |read: &Read| read.iter().any(|(key, seen)| known.get(key) != Some(seen));
        self.task.start_and_tell("configs", &hub.metrics, wake, (is_news, now + READ_EVERY), async move {
            let read = places.into_iter().map(async |(key, workloads)| {
                let seen = read(&registry, &client, &namespace, &salt, (&key.1, &workloads)).await;
                (key, seen.map_or_else(ConfigsSeen::Unusable, ConfigsSeen::Found))
            });
            join_all(read).await.into_iter().collect()
        });
        self.next
    }
}

/// What is tracked where.
fn places(spec: &FleetRolloutSpec, seen: &Observation) -> Vec<(Key, Vec<Workload>)> {
    let tracked = rollout::tracked(spec, &seen.sources).into_iter();
    let of = |(service, site): (&crate::api::ServiceSpec, Result<Site, Problem>)| {
        let workloads = service.track.as_ref()?.workloads.clone();
        Some(((service.name.clone(), site.ok()?), workloads))
    };
    tracked.filter_map(of).collect()
}

async fn read(
    registry: &Registry,
    client: &kube::Client,
    namespace: &str,
    salt: &str,
    (site, workloads): (&Site, &[Workload]),
) -> Result<crate::api::track::Configs, Problem> {
    let source = match site {
        Site::Hub => Source::Hub(client.clone()),
        Site::Member(name) => {
            let absent = |why: &str| Problem::new(Reason::MemberNotFound, format!("MemberCluster {name} {why}"));
            let member = registry.member(name).ok_or_else(|| absent(registry.why_absent(name)))?;
            member.consents(namespace)?;
            Source::Member(member)
        }
    };
    tracking::read(&source, &Place { site, namespace, salt }, workloads).await
}
