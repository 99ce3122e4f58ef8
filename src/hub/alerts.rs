//! Delivers the alerts that a rollout's status keeps, in the background: a service that is slow, broken or gone delays no pass, and
//! no alert that goes elsewhere.

mod provider;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use kube::{Client, ResourceExt};
use tokio::{
    sync::{Notify, OwnedSemaphorePermit},
    time::Instant,
};

use super::{Hub, background_task::BackgroundTask, backoff::Backoff, cache::Key, concurrency::ConcurrencyLimits};
use crate::{
    api::{FleetRollout, FleetRolloutStatus},
    clock::Clock,
    http::Network,
    notify::{Alert, Failure, deliver, render},
    rollout::Deliveries,
    web::Metrics,
};

/// The least and the most time between two tries of an alert that cannot be delivered.
const LEAST: Duration = Duration::from_secs(5);
const MOST: Duration = Duration::from_mins(10);
/// Deliveries of one provider at a time.
pub(super) const OF_A_PROVIDER: usize = 4;

/// The alerts of one rollout that are being delivered.
#[derive(Default)]
pub(super) struct Alerts {
    /// By the name of the alert in the spec.
    of: BTreeMap<String, Sending>,
    /// What became of them so far.
    so_far: Deliveries,
    /// The same, as it was when none was under way: what happens together is recorded in one write.
    known: Deliveries,
}

/// The deliveries of one alert of the spec.
struct Sending {
    task: BackgroundTask<Sent>,
    tries: Backoff,
    /// The service wants to be left alone until then.
    not_before: Option<Instant>,
}

impl Default for Sending {
    fn default() -> Self {
        Self { task: BackgroundTask::default(), tries: Backoff::between(LEAST, MOST), not_before: None }
    }
}

/// What came of sending some alerts, in their order.
struct Sent {
    numbers: Vec<u64>,
    failure: Option<Failure>,
}

impl Alerts {
    /// Takes what was delivered.
    pub(super) fn collect(&mut self) {
        let now = Instant::now();
        for (name, sending) in &mut self.of {
            if let Some(sent) = sending.task.take_result() {
                self.so_far.take(name, &sent);
                sending.rest(sent, now);
            }
        }
        if !self.of.values().any(|sending| sending.task.is_running()) {
            self.known.clone_from(&self.so_far);
        }
    }

    /// What became of the alerts, for the decision that records it.
    pub(super) fn known(&self) -> &Deliveries {
        &self.known
    }

    /// Begins to send what the stored status keeps and nobody has sent. Says when the next try is due.
    pub(super) fn start_if_due(&mut self, hub: &Hub, stored: &FleetRollout, wake: &Arc<Notify>) -> Option<Instant> {
        let Some(pending) = stored.status.as_ref().and_then(|status| status.alerts.as_ref()) else {
            self.of.clear();
            return None;
        };
        self.so_far.sent.retain(|(number, name)| {
            pending.pending.iter().any(|alert| alert.number == *number && alert.to.contains(name))
        });
        self.of.retain(|name, _| stored.spec.alerts.iter().any(|alert| alert.name == *name));
        let due = stored.spec.alerts.iter().filter_map(|declared| {
            let alerts = self.so_far.unsent(stored, &declared.name);
            if alerts.is_empty() {
                return None;
            }
            let sending = self.of.entry(declared.name.clone()).or_default();
            sending.start_if_due(
                hub,
                Key::new(stored.namespace().unwrap_or_default(), &declared.provider_ref.name),
                alerts,
                wake,
            )
        });
        due.min()
    }
}

impl Sending {
    fn start_if_due(&mut self, hub: &Hub, provider: Key, alerts: Vec<Alert>, wake: &Arc<Notify>) -> Option<Instant> {
        let now = Instant::now();
        if self.task.is_running() {
            return None;
        }
        if let Some(at) = self.tries.blocked_until(now).max(self.not_before.filter(|at| *at > now)) {
            return Some(at);
        }
        let sender = Sender::of(hub);
        self.task.start("alerts", &hub.metrics, wake, async move { sender.send(&provider, alerts).await });
        None
    }

    /// After a failure it is left alone for a while.
    fn rest(&mut self, sent: Sent, now: Instant) {
        match sent.failure {
            None => *self = Self::default(),
            Some(failure) => {
                self.tries.failed(now);
                self.not_before = failure.retry_after.map(|after| now + after.min(MOST));
            }
        }
    }
}

impl Deliveries {
    fn take(&mut self, name: &str, sent: &Sent) {
        self.sent.extend(sent.numbers.iter().map(|number| (*number, name.to_owned())));
        match &sent.failure {
            Some(failure) => self.failed.insert(name.to_owned(), failure.message.clone()),
            None => self.failed.remove(name),
        };
    }

    /// The alerts that are still to be sent by the alert of this name, oldest first.
    fn unsent(&self, stored: &FleetRollout, name: &str) -> Vec<Alert> {
        let status: Option<&FleetRolloutStatus> = stored.status.as_ref();
        let pending = status.and_then(|status| status.alerts.as_ref()).into_iter().flat_map(|alerts| &alerts.pending);
        let own = pending.filter(|alert| {
            alert.to.iter().any(|to| to == name) && !self.sent.contains(&(alert.number, name.to_owned()))
        });
        own.map(|what| Alert {
            namespace: stored.namespace().unwrap_or_default(),
            rollout: stored.name_any(),
            uid: stored.uid().unwrap_or_default(),
            what: what.clone(),
        })
        .collect()
    }
}

/// What a delivery needs of the hub.
struct Sender {
    client: Client,
    network: Network,
    limits: Arc<ConcurrencyLimits<Key>>,
    clock: Clock,
    metrics: Metrics,
}

impl Sender {
    fn of(hub: &Hub) -> Self {
        Self {
            client: hub.calls.reader(),
            network: hub.network.clone(),
            limits: Arc::clone(&hub.alert_limits),
            clock: hub.clock.clone(),
            metrics: hub.metrics.clone(),
        }
    }

    /// Sends alerts in their order, up to the first that fails.
    async fn send(self, provider: &Key, alerts: Vec<Alert>) -> Sent {
        let mut sent = Sent { numbers: Vec::new(), failure: None };
        for alert in alerts {
            match self.send_one(provider, &alert).await {
                Ok(()) => {
                    self.metrics.count_alert("delivered");
                    sent.numbers.push(alert.what.number);
                }
                Err(failure) => {
                    self.metrics.count_alert("failed");
                    let rollout = format!("{}/{}", alert.namespace, alert.rollout);
                    tracing::warn!(rollout, provider = %provider.name, error = failure.message, "an alert was not delivered");
                    sent.failure = Some(failure);
                    break;
                }
            }
        }
        sent
    }

    async fn send_one(&self, provider: &Key, alert: &Alert) -> Result<(), Failure> {
        let provider_now = provider::read(&self.client, provider).await.map_err(Failure::new)?;
        let _place = self.place(provider, provider_now.target.timeout).await?;
        let request = render(&provider_now.receiver, alert, &provider_now.credentials, self.clock.now());
        deliver(&self.network, &provider_now.target, request).await
    }

    /// A place among the deliveries of this provider, if one becomes free in time.
    async fn place(&self, provider: &Key, patience: Duration) -> Result<OwnedSemaphorePermit, Failure> {
        let busy = || Failure::new("too many alerts of this provider are being sent at a time");
        let place = tokio::time::timeout(patience, self.limits.of(provider).acquire_owned()).await;
        place.map_err(|_| busy())?.map_err(|_| busy())
    }
}
