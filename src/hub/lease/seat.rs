//! One Lease, as the process sees it that wants it.

use std::{fmt, time::Duration};

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client, api::PostParams};
use tokio::time::Instant;

use super::{
    CALL_DEADLINE, DURATION,
    turn::{self, Known, Turn},
};
use crate::api::{FIELD_MANAGER, HUB_LEASE};

/// A Lease, and what this process holds of it.
pub(super) struct Seat {
    leases: Api<Lease>,
    namespace: String,
    known: Option<Known>,
    /// The API server has said at least once what the Lease is, or that there is none.
    is_read: bool,
    /// The last write may have been taken although no answer came.
    unsure: bool,
    held_until: Option<Instant>,
}

/// How a process stands that may not lead.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::hub) enum Standing {
    /// Nobody else leads, as far as it knows.
    #[default]
    Free,
    /// It has not read this Lease yet.
    Unread(String),
    /// Another process leads.
    Behind(Leader),
}

/// Who holds a Lease instead of this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::hub) struct Leader {
    /// Namespace and name of the process.
    holder: String,
    since: Option<Timestamp>,
    /// Namespace of the Lease.
    lease: String,
}

impl Seat {
    /// The hub's Lease in this namespace; no request is sent yet.
    pub(super) fn new(client: Client, namespace: &str) -> Self {
        let leases = Api::namespaced(client, namespace);
        Self { leases, namespace: namespace.to_owned(), known: None, is_read: false, unsure: false, held_until: None }
    }

    /// Until when the Lease is this process's, if it is now.
    pub(super) fn held_until(&self) -> Option<Instant> {
        self.held_until.filter(|until| *until > Instant::now())
    }

    /// Takes, renews or looks at the Lease. What is held runs out by itself if the API server is silent.
    pub(super) async fn turn(&mut self, holder: &str, wall: Timestamp) {
        let sent = Instant::now();
        match within_deadline(self.attempt(holder, wall)).await {
            Ok(true) => self.held_until = Some(sent + DURATION),
            Ok(false) => self.held_until = None,
            Err(error) => {
                tracing::warn!(%error, lease = %self, "the lease was neither renewed nor looked at");
                self.unsure = true;
            }
        }
    }

    /// Looks at the Lease, and takes nothing.
    pub(super) async fn watch(&mut self) {
        if let Err(error) = within_deadline(self.look()).await {
            tracing::debug!(%error, lease = %self, "the lease was not looked at");
        }
    }

    /// Gives the Lease back, if it is held.
    pub(super) async fn release(self, wall: Timestamp) {
        let held = self.held_until().is_some();
        let Some(known) = self.known.as_ref().filter(|_| held) else { return };
        let lease = turn::released(&known.lease, wall);
        if let Err(error) = within_deadline(self.leases.replace(HUB_LEASE, &params(), &lease)).await {
            tracing::warn!(%error, lease = %self, "the lease was not given back; it runs out by itself");
        }
    }

    /// How this process, `own`, stood towards the Lease when it was last looked at.
    pub(super) fn standing(&self, own: &str) -> Standing {
        match self.leader(own) {
            _ if !self.is_read => Standing::Unread(self.to_string()),
            Some(leader) => Standing::Behind(leader),
            None => Standing::Free,
        }
    }

    fn leader(&self, own: &str) -> Option<Leader> {
        let spec = self.known.as_ref()?.lease.spec.as_ref()?;
        let holder = spec.holder_identity.clone().filter(|holder| !holder.is_empty() && holder != own)?;
        let since = spec.acquire_time.as_ref().map(|time| time.0);
        Some(Leader { holder, since, lease: self.namespace.clone() })
    }

    /// True if the lease is this process's now. Written past the door for all other writes, which asks for the lease:
    /// within the same deadline, and over the version that was seen. It is made by PUT: such a request has a name, so a
    /// role can allow it for this name alone.
    async fn attempt(&mut self, holder: &str, wall: Timestamp) -> kube::Result<bool> {
        if self.unsure || self.held_until().is_none() {
            self.look().await?;
        }
        let (lease, made) = match turn::next(holder, self.known.as_ref(), Instant::now(), wall) {
            Turn::Create(mut lease) => {
                lease.metadata.name = Some(HUB_LEASE.to_owned());
                (lease, true)
            }
            Turn::Replace(lease) => (lease, false),
            Turn::Wait => return Ok(false),
        };
        match self.leases.replace(HUB_LEASE, &params(), &lease).await {
            Ok(lease) => self.known = Some(Known { lease, since: Instant::now() }),
            // 422: another process made it, so that a version is missing.
            Err(kube::Error::Api(status)) if status.is_conflict() || made && status.code == 422 => {
                self.look().await?;
                return Ok(false);
            }
            Err(error) => return Err(error),
        }
        Ok(true)
    }

    /// The time of the answer counts: what it says may have been written while the request was under way.
    async fn look(&mut self) -> kube::Result<()> {
        let found = self.leases.get_opt(HUB_LEASE).await?;
        (self.is_read, self.unsure) = (true, false);
        let known = self.known.take();
        self.known = found.map(|lease| turn::learn(known, lease, Instant::now()));
        Ok(())
    }
}

impl fmt::Display for Seat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{HUB_LEASE}", self.namespace)
    }
}

impl Leader {
    /// It is a hub that is installed in another namespace than this one.
    pub(super) fn is_outside(&self, namespace: &str) -> bool {
        self.holder.split_once('/').is_some_and(|(other, _)| other != namespace)
    }
}

impl fmt::Display for Leader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let since = self.since.map(|since| format!(" since {since:.0}")).unwrap_or_default();
        write!(f, "{} holds Lease {}/{HUB_LEASE}{since}", self.holder, self.lease)
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
