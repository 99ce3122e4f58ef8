//! The addresses of members' endpoints, for backends that hold addresses; resolved again and again.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
    sync::Arc,
    time::Duration,
};

use futures::future::join_all;
use tokio::{sync::Notify, time::Instant};

use super::{Hub, background_task::BackgroundTask, placed::Placed, subject::Subject};
use crate::http;

/// A change of an address is followed within this time.
const REFRESH_EVERY: Duration = Duration::from_secs(30);

/// The addresses of one rollout's endpoints, by host.
#[derive(Default)]
pub(super) struct Addresses {
    task: BackgroundTask<BTreeMap<String, Vec<IpAddr>>>,
    next: Option<Instant>,
    hosts: BTreeSet<String>,
    known: BTreeMap<String, Vec<IpAddr>>,
}

impl Addresses {
    /// The addresses of one member's endpoint; none until they are known.
    pub(super) fn of(&self, placed: &Placed, member: &str) -> &[IpAddr] {
        let known = placed.endpoints.get(member).and_then(|reach| self.known.get(&reach.host));
        known.map_or(&[], Vec::as_slice)
    }

    /// Takes answers that have come back. A host without an answer keeps the addresses that it had.
    pub(super) fn collect(&mut self) {
        self.known.extend(self.task.take_result().unwrap_or_default());
    }

    /// Asks again if it is time, or for hosts that are new. Says when it is time; `None` where no address is needed.
    pub(super) fn start_if_due(&mut self, hub: &Hub, subject: &Subject, wake: &Arc<Notify>) -> Option<Instant> {
        let hosts = hosts(subject);
        if hosts.is_empty() {
            *self = Self::default();
            return None;
        }
        let now = Instant::now();
        let next = self.next.filter(|next| *next > now && hosts.is_subset(&self.hosts));
        if self.task.is_running() || next.is_some() {
            return next;
        }
        self.next = Some(now + REFRESH_EVERY);
        self.hosts.clone_from(&hosts);
        let network = hub.network.clone();
        self.task.start("addresses", &hub.metrics, wake, async move {
            let answers = hosts.into_iter().map(async |host| {
                let answer = tokio::time::timeout(http::DEADLINE, network.resolve(&host)).await;
                Some((host, answer.ok()?.ok()?))
            });
            join_all(answers).await.into_iter().flatten().collect()
        });
        self.next
    }
}

fn hosts(subject: &Subject) -> BTreeSet<String> {
    let needed = subject.services.iter().filter(|placed| placed.spec.backend.has_addresses());
    needed.flat_map(|placed| placed.endpoints.values().map(|reach| reach.host.clone())).collect()
}

#[cfg(test)]
mod tests;
