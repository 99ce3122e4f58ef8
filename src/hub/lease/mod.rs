//! Who may act: one process of the whole hub cluster at a time, by a Lease in kube-system.
//!
//! A lease is no fence, so every write is conditional as well; the lease keeps two hubs from arguing, and each call of
//! its holder ends before another one could take it.

mod election;
mod seat;
mod turn;

use std::{future::pending, sync::Arc, time::Duration};

use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

pub(super) use election::Election;
use seat::Standing;

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
    standing: watch::Receiver<Standing>,
    /// The hub's own namespace.
    namespace: Arc<str>,
}

/// What this process holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claim {
    /// Nothing.
    None,
    /// The lease, until then on this machine's own clock; counted from before the renewal was sent.
    Until(Instant),
    /// Always the leader: leader election is off.
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

    /// Until no call may begin any more, if nothing is heard of it until then.
    async fn runs_out(self) {
        match self {
            Self::Until(valid) => sleep_until(valid - CALL_DEADLINE + Duration::from_millis(1)).await,
            Self::None | Self::Alone => pending().await,
        }
    }
}

impl Leadership {
    pub(super) fn new(claim: watch::Receiver<Claim>) -> Self {
        let standing = watch::Sender::default().subscribe();
        Self { claim, resigned: Arc::new(watch::Sender::new(false)), standing, namespace: Arc::default() }
    }

    /// Beside news of how this process, of the hub in `namespace`, stands.
    fn with_standing(self, standing: watch::Receiver<Standing>, namespace: &str) -> Self {
        Self { standing, namespace: namespace.into(), ..self }
    }

    /// Why this process could not take over, if it could not: it cannot read the Lease, or belongs to another installation
    /// than the one that leads.
    pub(super) fn obstacle(&self) -> Option<String> {
        match &*self.standing.borrow() {
            Standing::Unread(lease) => {
                Some(format!("Lease {lease} has not been read yet; config/rbac/hub.yaml allows it"))
            }
            Standing::Behind(leader) if leader.is_outside(&self.namespace) => {
                Some(format!("another installation leads: {leader}; remove one of the two"))
            }
            Standing::Free | Standing::Behind(_) => None,
        }
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

    /// Waits until this process may act.
    pub(super) async fn gained(&self) {
        let mut claim = self.claim.clone();
        claim.mark_unchanged();
        while !self.is_current() {
            changed(&mut claim).await;
        }
    }

    /// Waits until this process may not act any more.
    pub(super) async fn lost(&self) {
        let mut claim = self.claim.clone();
        while self.is_current() {
            let now = *claim.borrow_and_update();
            tokio::select! {
                biased;
                () = self.resigned() => {}
                () = changed(&mut claim) => {}
                () = now.runs_out() => {}
            }
        }
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

/// Waits for news of the claim; an election that has ended sends none.
async fn changed(claim: &mut watch::Receiver<Claim>) {
    if claim.changed().await.is_err() {
        pending::<()>().await;
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

    #[tokio::test(start_paused = true)]
    async fn gaining_and_losing_the_lease_is_noticed_at_once() {
        let (claim, began) = (watch::Sender::new(Claim::None), Instant::now());
        let leadership = Leadership::new(claim.subscribe());
        let soon = Duration::from_millis(10);
        assert!(tokio::time::timeout(Duration::from_mins(1), leadership.gained()).await.is_err());
        leadership.lost().await;
        claim.send_replace(Claim::Until(Instant::now() + DURATION));
        tokio::time::timeout(soon, leadership.gained()).await.unwrap();
        assert!(tokio::time::timeout(soon, leadership.lost()).await.is_err());
        claim.send_replace(Claim::None);
        tokio::time::timeout(soon, leadership.lost()).await.unwrap();
        assert_eq!(began.elapsed().as_secs(), 60);
    }

    #[tokio::test(start_paused = true)]
    async fn a_lease_of_which_nothing_is_heard_is_lost_when_no_call_may_begin_any_more() {
        let valid = Instant::now() + DURATION;
        let claim = watch::Sender::new(Claim::Until(valid));
        Leadership::new(claim.subscribe()).lost().await;
        let late = Instant::now() - (valid - CALL_DEADLINE);
        assert!(late < Duration::from_millis(5), "{late:?}");
    }

    #[tokio::test]
    async fn who_resigns_loses_the_lease() {
        let alone = Leadership::alone();
        alone.gained().await;
        alone.resign();
        alone.lost().await;
    }
}
