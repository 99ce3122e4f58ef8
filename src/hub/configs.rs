//! ConfigMaps and Secrets that a rollout tracks; read again and again, in the background.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use futures::future::join_all;
use tokio::{sync::Notify, time::Instant};

use super::{Hub, attempts::Attempts, background_task::BackgroundTask, subject::Subject};
use crate::{
    api::{
        FleetRolloutSpec, Reason, ServiceSpec,
        track::{Configs as Fingerprints, Site, Workload},
    },
    member::Registry,
    rollout::{
        self,
        input::{ConfigCopiesSeen, ConfigsSeen, Observation, Problem},
    },
    tracking::{self, Place, Source},
};

/// A change is noticed within this time. There is no watch: it would need the right to list every Secret.
const READ_EVERY: Duration = Duration::from_secs(30);

/// A service and the cluster in which its workloads run.
type Key = (String, Site);
type Read = BTreeMap<Key, Seen>;

/// What was seen of a service's workloads in one cluster.
#[derive(Clone, PartialEq)]
struct Seen {
    configs: ConfigsSeen,
    /// The copies for the primary, where they are kept.
    copies: Option<Result<Fingerprints, Problem>>,
}

/// What to read where.
struct Wanted {
    workloads: Vec<Workload>,
    copies: bool,
}

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
            let is_known = self.known.get(&key).is_some_and(|known| matches!(known.configs, ConfigsSeen::Found(_)));
            if matches!(seen.configs, ConfigsSeen::Found(_)) || !is_known {
                self.known.insert(key, seen);
            }
        }
    }

    /// What is known.
    pub(super) fn known(&self) -> BTreeMap<Key, ConfigsSeen> {
        self.known.iter().map(|(key, seen)| (key.clone(), seen.configs.clone())).collect()
    }

    /// What is known of the copies for the primary, by service.
    pub(super) fn copies(&self, attempts: &Attempts) -> BTreeMap<String, ConfigCopiesSeen> {
        let of = |((service, _), seen): (&Key, &Seen)| {
            let copies = match seen.copies.clone()? {
                Ok(copies) => ConfigCopiesSeen::Found { copies, failed: attempts.copies_failure(service) },
                Err(problem) => ConfigCopiesSeen::Unusable(problem),
            };
            Some((service.clone(), copies))
        };
        self.known.iter().filter_map(of).collect()
    }

    /// Something was written: the next pass reads all of it again.
    pub(super) fn wrote(&mut self) {
        self.next = None;
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
            let read = places.into_iter().map(async |(key, wanted)| {
                let place = Place { site: &key.1, namespace: &namespace, salt: &salt };
                let seen = read(&registry, &client, &place, &wanted).await;
                (key.clone(), seen)
            });
            join_all(read).await.into_iter().collect()
        });
        self.next
    }
}

/// What is tracked where.
fn places(spec: &FleetRolloutSpec, seen: &Observation) -> Vec<(Key, Wanted)> {
    let tracked = rollout::tracked(spec, &seen.sources).into_iter();
    let of = |(service, site): (&ServiceSpec, Result<Site, Problem>)| {
        let (track, site) = (service.track.as_ref()?, site.ok()?);
        let copies = track.primary_copies && site == Site::Hub;
        Some(((service.name.clone(), site), Wanted { workloads: track.workloads.clone(), copies }))
    };
    tracked.filter_map(of).collect()
}

async fn read(registry: &Registry, client: &kube::Client, place: &Place<'_>, wanted: &Wanted) -> Seen {
    let source = match source(registry, client, place) {
        Ok(source) => source,
        Err(problem) => return Seen { configs: ConfigsSeen::Unusable(problem), copies: None },
    };
    match tracking::read(&source, place, &wanted.workloads).await {
        Err(problem) => Seen { configs: ConfigsSeen::Unusable(problem), copies: None },
        Ok(configs) => {
            let copies = if wanted.copies { Some(tracking::read_copies(&source, place, &configs).await) } else { None };
            Seen { configs: ConfigsSeen::Found(configs), copies }
        }
    }
}

fn source(registry: &Registry, client: &kube::Client, place: &Place<'_>) -> Result<Source, Problem> {
    let name = match place.site {
        Site::Hub => return Ok(Source::Hub(client.clone())),
        Site::Member(name) => name,
    };
    let absent = |why: &str| Problem::new(Reason::MemberNotFound, format!("MemberCluster {name} {why}"));
    let member = registry.member(name).ok_or_else(|| absent(registry.why_absent(name)))?;
    member.consents(place.namespace)?;
    Ok(Source::Member(member))
}
