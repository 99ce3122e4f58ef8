//! Takes part in the election until this process stops.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client, api::PostParams};
use tokio::{sync::watch, time::Instant};

use super::{
    CALL_DEADLINE, Claim, DURATION, LOOK_EVERY, Leadership, RENEW_EVERY,
    turn::{self, Known, Turn},
};
use crate::{
    api::{FIELD_MANAGER, HUB_LEASE},
    clock::Clock,
};

/// One process's part in the election.
pub(in crate::hub) struct Election {
    leases: Api<Lease>,
    clock: Clock,
    holder: String,
    claim: watch::Sender<Claim>,
    known: Option<Known>,
    /// The last write may have been taken although no answer came.
    unsure: bool,
}

impl Election {
    /// Enters the election as `holder`; no request is sent before [`Election::run`].
    pub(in crate::hub) fn new(client: Client, clock: Clock, namespace: &str, holder: &str) -> (Self, Leadership) {
        let (claim, receiver) = watch::channel(Claim::None);
        let leases = Api::namespaced(client, namespace);
        (
            Self { leases, clock, holder: holder.to_owned(), claim, known: None, unsure: false },
            Leadership::new(receiver),
        )
    }

    /// Looks, takes and renews until `stop`, and then gives the lease back.
    pub(in crate::hub) async fn run(mut self, stop: impl Future<Output = ()>) {
        tokio::pin!(stop);
        loop {
            let sent = Instant::now();
            self.turn(sent).await;
            let pause = if self.holds() { RENEW_EVERY } else { LOOK_EVERY };
            tokio::select! {
                biased;
                () = &mut stop => break,
                () = tokio::time::sleep_until(sent + pause) => {}
            }
        }
        self.release().await;
    }

    /// One turn. What is held runs out by itself if the API server is silent.
    async fn turn(&mut self, sent: Instant) {
        match within_deadline(self.attempt(sent)).await {
            Ok(true) => self.change(Claim::Until(sent + DURATION)),
            Ok(false) => self.change(Claim::None),
            Err(error) => {
                tracing::warn!(%error, "the lease was neither renewed nor looked at");
                self.unsure = true;
                if !self.holds() {
                    self.change(Claim::None);
                }
            }
        }
    }

    /// True if the lease is this process's now. Written past the door for all other writes, which asks for the lease:
    /// within the same deadline, and over the version that was seen.
    async fn attempt(&mut self, now: Instant) -> kube::Result<bool> {
        if self.unsure || !self.holds() {
            self.look(now).await?;
        }
        let params = params();
        let written = match turn::next(&self.holder, self.known.as_ref(), now, self.clock.now()) {
            Turn::Create(mut lease) => {
                lease.metadata.name = Some(HUB_LEASE.to_owned());
                self.leases.create(&params, &lease).await
            }
            Turn::Replace(lease) => self.leases.replace(HUB_LEASE, &params, &lease).await,
            Turn::Wait => return Ok(false),
        };
        match written {
            Ok(lease) => self.known = Some(Known { lease, since: now }),
            Err(kube::Error::Api(status)) if status.is_conflict() || status.is_already_exists() => {
                self.look(now).await?;
                return Ok(false);
            }
            Err(error) => return Err(error),
        }
        Ok(true)
    }

    async fn look(&mut self, now: Instant) -> kube::Result<()> {
        let found = self.leases.get_opt(HUB_LEASE).await?;
        self.unsure = false;
        let known = self.known.take();
        self.known = found.map(|lease| turn::learn(known, lease, now));
        Ok(())
    }

    fn holds(&self) -> bool {
        matches!(*self.claim.borrow(), Claim::Until(valid) if valid > Instant::now())
    }

    fn change(&self, claim: Claim) {
        let before = self.claim.send_replace(claim);
        match (before, claim) {
            (Claim::None, Claim::Until(_)) => tracing::info!(holder = self.holder, "leading"),
            (Claim::Until(_), Claim::None) => tracing::warn!(holder = self.holder, "no longer leading"),
            (Claim::None, Claim::None | Claim::Alone) | (Claim::Until(_) | Claim::Alone, _) => {}
        }
    }

    async fn release(mut self) {
        let held = self.holds();
        self.change(Claim::None);
        let Some(known) = self.known.take().filter(|_| held) else { return };
        let lease = turn::released(&known.lease, self.clock.now());
        if let Err(error) = within_deadline(self.leases.replace(HUB_LEASE, &params(), &lease)).await {
            tracing::warn!(%error, "the lease was not given back; it runs out by itself");
        }
    }
}

fn params() -> PostParams {
    PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() }
}

/// Why there is no news of the lease.
#[derive(Debug, thiserror::Error)]
enum NoNews {
    /// The API server refused, or could not be reached.
    #[error(transparent)]
    Failed(#[from] kube::Error),
    /// It did not answer in time.
    #[error("no answer within {0:?}")]
    Late(Duration),
}

async fn within_deadline<T>(call: impl Future<Output = kube::Result<T>>) -> Result<T, NoNews> {
    match tokio::time::timeout(CALL_DEADLINE, call).await {
        Ok(answer) => Ok(answer?),
        Err(_) => Err(NoNews::Late(CALL_DEADLINE)),
    }
}

#[cfg(test)]
mod tests;
