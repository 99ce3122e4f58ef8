//! Takes part in the election until this process stops.

use futures::future::join_all;
use kube::Client;
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

use super::{
    Claim, LOOK_EVERY, Leadership, RENEW_EVERY,
    seat::{Seat, Standing},
};
use crate::{api::HUB_LEASE_NAMESPACE, clock::Clock};

/// One process's part in the election.
pub(in crate::hub) struct Election {
    /// The Lease of the hub cluster, which one process holds whatever its namespace; then that of its own namespace, for
    /// which alone hubs of the version before this one ask. Who leads holds both.
    seats: Vec<Seat>,
    clock: Clock,
    namespace: String,
    holder: String,
    claim: watch::Sender<Claim>,
    standing: watch::Sender<Standing>,
}

impl Election {
    /// Enters the election as the process `name` of the hub in `namespace`; no request is sent before [`Election::run`].
    pub(in crate::hub) fn new(client: &Client, clock: Clock, namespace: &str, name: &str) -> (Self, Leadership) {
        let (claim, claims) = watch::channel(Claim::None);
        let mut places = vec![HUB_LEASE_NAMESPACE, namespace];
        places.dedup();
        let seats: Vec<Seat> = places.into_iter().map(|place| Seat::new(client.clone(), place)).collect();
        let (namespace, holder) = (namespace.to_owned(), format!("{namespace}/{name}"));
        let (standing, standings) =
            watch::channel(seats.first().map(|seat| seat.standing(&holder)).unwrap_or_default());
        let leadership = Leadership::new(claims).with_standing(standings, &namespace);
        (Self { seats, clock, namespace, holder, claim, standing }, leadership)
    }

    /// Looks, takes and renews until `stop`, and then gives the leases back.
    pub(in crate::hub) async fn run(mut self, stop: impl Future<Output = ()>) {
        tokio::pin!(stop);
        loop {
            let sent = Instant::now();
            self.turn().await;
            let pause = if self.held_until().is_some() { RENEW_EVERY } else { LOOK_EVERY };
            tokio::select! {
                biased;
                () = &mut stop => break,
                () = sleep_until(sent + pause) => {}
            }
        }
        self.release().await;
    }

    /// One turn: who leads renews its leases together, so that neither waits for the other; who does not takes the second
    /// only with the first, but looks at it meanwhile, so that both are known to have run out at one time.
    async fn turn(&mut self) {
        let (holder, wall, holds) = (self.holder.as_str(), self.clock.now(), self.held_until().is_some());
        if holds {
            join_all(self.seats.iter_mut().map(|seat| seat.turn(holder, wall))).await;
        } else {
            let mut has_all_before = true;
            for seat in &mut self.seats {
                if has_all_before {
                    seat.turn(holder, wall).await;
                } else {
                    seat.watch().await;
                }
                has_all_before &= seat.held_until().is_some();
            }
        }
        self.change(self.held_until().map_or(Claim::None, Claim::Until));
        self.announce_standing();
    }

    /// Until when all leases are this process's, if they are now.
    fn held_until(&self) -> Option<Instant> {
        let ends: Option<Vec<Instant>> = self.seats.iter().map(Seat::held_until).collect();
        ends?.into_iter().min()
    }

    fn change(&self, claim: Claim) {
        let before = self.claim.send_replace(claim);
        match (before, claim) {
            (Claim::None, Claim::Until(_)) => tracing::info!(holder = self.holder, "leading"),
            (Claim::Until(_), Claim::None) => tracing::warn!(holder = self.holder, "no longer leading"),
            (Claim::None, Claim::None | Claim::Alone) | (Claim::Until(_) | Claim::Alone, _) => {}
        }
    }

    /// Says who leads instead, once for each that does.
    fn announce_standing(&self) {
        let awaited = self.seats.iter().find(|seat| seat.held_until().is_none());
        let standing = awaited.map(|seat| seat.standing(&self.holder)).unwrap_or_default();
        if self.standing.send_replace(standing.clone()) == standing {
            return;
        }
        match standing {
            Standing::Behind(leader) if leader.is_outside(&self.namespace) => {
                tracing::warn!(%leader, "this hub cluster has another installation, and that one leads; remove one of them");
            }
            Standing::Behind(leader) => tracing::info!(%leader, "standing by"),
            Standing::Free | Standing::Unread(_) => {}
        }
    }

    async fn release(self) {
        self.change(Claim::None);
        let wall = self.clock.now();
        join_all(self.seats.into_iter().map(|seat| seat.release(wall))).await;
    }
}

#[cfg(test)]
mod tests;
