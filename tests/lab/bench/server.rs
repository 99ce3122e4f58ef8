//! The API server of a world: a real one, or for very many rollouts the sandbox's.

use super::memory::InMemory;
use crate::{
    audit::{Follower, Request},
    cluster::Cluster,
    fleet::{SYSTEM, install_kinds},
    lab::HUB,
    parts::Parts,
    pki::Pki,
};
use anyhow::Result;
use kube::Client;
use std::{
    path::{Path, PathBuf},
    sync::Mutex,
};

/// The account as which deploy/hub.yaml runs the hub. API priority and fairness limits it, as it does not limit administrators.
const ACCOUNT: &str = "cutover-hub";

pub enum Server {
    Real { cluster: Box<Cluster>, journal: Mutex<Follower> },
    InMemory(InMemory),
}

impl Server {
    /// With cutover's kinds and Skipper's.
    pub async fn real(name: &str, parts: &Parts, folder: &Path) -> Result<Self> {
        let pki = Pki::new(&folder.join(format!("pki-{name}")))?;
        let cluster = Cluster::start(name, HUB, parts, folder, &pki).await?;
        cluster.install_crds(&parts.skipper_crds).await?;
        install_kinds(&cluster).await?;
        let journal = Mutex::new(Follower::new(cluster.server.audit_log()));
        Ok(Self::Real { cluster: Box::new(cluster), journal })
    }

    /// An administrator's client.
    pub fn client(&self) -> Client {
        match self {
            Self::Real { cluster, .. } => cluster.client.clone(),
            Self::InMemory(memory) => memory.client.clone(),
        }
    }

    /// The hub's own kubeconfig.
    pub async fn kubeconfig(&self) -> Result<PathBuf> {
        match self {
            Self::Real { cluster, .. } => cluster.kubeconfig_of_account(SYSTEM, ACCOUNT).await,
            Self::InMemory(memory) => Ok(memory.kubeconfig.clone()),
        }
    }

    /// The id of its process, where it has one of its own.
    pub async fn id(&self) -> Result<Option<u32>> {
        match self {
            Self::Real { cluster, .. } => cluster.server.id().await.map(Some),
            Self::InMemory(_) => Ok(None),
        }
    }

    /// The requests of all users since the last call.
    pub fn news(&self) -> Result<Vec<Request>> {
        match self {
            Self::Real { journal, .. } => journal.lock().unwrap().news(),
            Self::InMemory(memory) => Ok(memory.news()),
        }
    }

    pub async fn stop(self) -> Result<()> {
        match self {
            Self::Real { cluster, .. } => cluster.server.stop().await,
            Self::InMemory(_) => Ok(()),
        }
    }
}
