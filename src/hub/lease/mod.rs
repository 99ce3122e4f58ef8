//! Who may act: one process at a time, by a Lease in the hub cluster.
//!
//! A lease is no fence, so every write is conditional as well; the lease keeps two hubs from arguing, and each call of
//! its holder ends before another one could take it.

mod election;
mod turn;

use std::{sync::Arc, time::Duration};

use tokio::{sync::watch, time::Instant};

pub(super) use election::Election;

/// Another process may act this long after the last renewal.
pub(super) const DURATION: Duration = Duration::from_secs(15);
/// The holder renews this often.
const RENEW_EVERY: Duration = Duration::from_secs(5);
/// The others look this often.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// Every call that changes something ends within this time.
pub(super) const CALL_DEADLINE: Duration = Duration::from_secs(4);

// Two renewals may fail, each as slowly as it can, and there is still time for a call.
const _: () = assert!(2 * RENEW_EVERY.as_millis() + CALL_DEADLINE.as_millis() < DURATION.as_millis());

/// Whether this process may act, and until when. Cheap to clone.
#[derive(Clone)]
pub(super) struct Leadership {
    claim: watch::Receiver<Claim>,
    resigned: Arc<watch::Sender<bool>>,
}

/// What this process holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claim {
    /// Nothing.
    None,
    /// The lease, until then on this machine's own clock; counted from before the renewal was sent.
    Until(Instant),
    /// Nobody else is asked: leader election is off.
    Alone,
}

impl Claim {
    /// When a call that begins `now` must have ended: before the lease could.
    fn deadline(self, now: Instant) -> Option<Instant> {
        let end = now + CALL_DEADLINE;
        let may = match self {
            Self::None => false,
            Self::Until(valid) => end <= valid,
            Self::Alone => true,
        };
        may.then_some(end)
    }
}

impl Leadership {
    fn new(claim: watch::Receiver<Claim>) -> Self {
        Self { claim, resigned: Arc::new(watch::Sender::new(false)) }
    }

    /// Leader election is off: this process acts.
    pub(super) fn alone() -> Self {
        Self::new(watch::Sender::new(Claim::Alone).subscribe())
    }

    /// When a call that begins now must have ended; `None` if it must not begin.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.claim.borrow().deadline(Instant::now()).filter(|_| !*self.resigned.borrow())
    }

    /// This process may act now.
    pub(super) fn is_current(&self) -> bool {
        self.deadline().is_some()
    }

    /// No call begins from now on; those that are under way end by their deadlines.
    pub(super) fn resign(&self) {
        self.resigned.send_replace(true);
    }

    /// Waits until this process has resigned.
    pub(super) async fn resigned(&self) {
        let mut resigned = self.resigned.subscribe();
        // An error means that the sender is gone, and it lives in `self`.
        let _ = resigned.wait_for(|resigned| *resigned).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_begins_only_if_it_ends_before_the_lease_could() {
        let now = Instant::now();
        let claim = Claim::Until(now + DURATION);
        assert_eq!(claim.deadline(now), Some(now + CALL_DEADLINE));
        let last = now + DURATION - CALL_DEADLINE;
        assert_eq!(claim.deadline(last), Some(now + DURATION));
        assert_eq!(claim.deadline(last + Duration::from_millis(1)), None);
    }

    #[tokio::test]
    async fn who_holds_nothing_or_has_resigned_does_not_act() {
        assert!(!Leadership::new(watch::Sender::new(Claim::None).subscribe()).is_current());
        let alone = Leadership::alone();
        assert!(alone.is_current());
        alone.clone().resign();
        assert!(!alone.is_current());
        alone.resigned().await;
    }
}
