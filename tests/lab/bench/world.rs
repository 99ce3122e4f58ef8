//! One API server, one hub as it is installed, and what both have used so far. Every size of the bench has its own.

use super::{reading::Reading, stub::Stub};
use crate::{
    audit::{Follower, Request},
    cluster::Cluster,
    fleet::{SYSTEM, install_kinds},
    hub::Hub,
    lab::{HUB, HUB_PORT, MEMBERS},
    parts::Parts,
    pki::Pki,
};
use anyhow::Result;
use jiff::Timestamp;
use serde_json::{Value, json};
use std::{
    path::{Path, PathBuf},
    sync::Mutex,
};

/// The account as which deploy/hub.yaml runs the hub. API priority and fairness limits it, as it does not limit administrators.
const ACCOUNT: &str = "cutover-hub";

pub struct World<'b> {
    pub cluster: Cluster,
    pub process: Hub,
    pub stub: &'b Stub,
    journal: Mutex<(Follower, Vec<Request>)>,
}

impl<'b> World<'b> {
    pub async fn start(name: &str, parts: &Parts, folder: &Path, stub: &'b Stub) -> Result<Self> {
        stub.clear();
        let pki = Pki::new(&folder.join(format!("pki-{name}")))?;
        let cluster = Cluster::start(name, HUB, parts, folder, &pki).await?;
        cluster.install_crds(&parts.skipper_crds).await?;
        install_kinds(&cluster).await?;
        for member in MEMBERS {
            cluster.apply("", &member_cluster(member, member).to_string()).await?;
        }
        let account = cluster.kubeconfig_of_account(SYSTEM, ACCOUNT).await?;
        let process = Hub::new(&cluster, folder, name, HUB_PORT)?.installed(binary(), account);
        process.open().await?;
        let journal = Mutex::new((Follower::new(cluster.server.audit_log()), Vec::new()));
        Ok(Self { cluster, process, stub, journal })
    }

    /// Ends it, so that another one can have its addresses.
    pub async fn end(self) -> Result<()> {
        self.process.kill().await?;
        self.cluster.server.stop().await
    }

    /// What both processes have used, and what the hub has counted, until now.
    pub async fn reading(&self) -> Result<Reading> {
        Reading::take(&self.process, &self.cluster.server).await
    }

    /// The requests, of all users, that arrived between two instants.
    pub fn requests(&self, from: Timestamp, to: Timestamp) -> Result<Vec<Request>> {
        let mut journal = self.journal.lock().unwrap();
        let (follower, all) = &mut *journal;
        all.extend(follower.news()?);
        Ok(all.iter().filter(|request| (from..=to).contains(&request.arrived)).cloned().collect())
    }

    /// Those of the hub.
    pub fn of_the_hub(&self, from: Timestamp, to: Timestamp) -> Result<Vec<Request>> {
        let account = format!("system:serviceaccount:{SYSTEM}:{ACCOUNT}");
        let all = self.requests(from, to)?;
        Ok(all.into_iter().filter(|request| request.user.username == account).collect())
    }
}

/// The hub that is measured: `make bench` builds it as it is released, and says where it is.
fn binary() -> PathBuf {
    std::env::var_os("HUB").map_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_cutover")), PathBuf::from)
}

/// A member that is only measured, with the stub of one of the lab's members.
pub fn member_cluster(name: &str, stub: &str) -> Value {
    json!({
        "apiVersion": "cutover.dev/v1alpha1",
        "kind": "MemberCluster",
        "metadata": {"name": name},
        "spec": {
            "endpoints": [{"host": format!("{{{{ service }}}}.{stub}.lab"), "port": 80}],
            "prometheus": {"url": {"address": Stub::prometheus(stub)}},
            "allowedNamespaces": {"from": "All"},
        },
    })
}
