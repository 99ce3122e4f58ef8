//! One API server, one hub as it is installed, and what both have used so far. Every size of the bench has its own.

use super::{memory::InMemory, reading::Reading, server::Server, stub::Stub};
use crate::{
    audit::Request,
    hub::Hub,
    lab::{HUB_PORT, MEMBERS},
    parts::Parts,
};
use anyhow::Result;
use jiff::Timestamp;
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, GroupVersionKind, PostParams},
};
use serde_json::{Value, json};
use std::{
    path::{Path, PathBuf},
    sync::Mutex,
};

/// As the API server knows the hub.
pub const HUB_USER: &str = "system:serviceaccount:cutover-system:cutover-hub";
/// A real API server on two cores holds fewer.
const MOST_FOR_A_REAL_ONE: usize = 5000;

pub struct World<'b> {
    pub client: Client,
    pub process: Hub,
    pub stub: &'b Stub,
    server: Server,
    journal: Mutex<Vec<Request>>,
}

impl<'b> World<'b> {
    /// For so many rollouts.
    pub async fn start(name: &str, rollouts: usize, parts: &Parts, folder: &Path, stub: &'b Stub) -> Result<Self> {
        stub.clear();
        let server = if rollouts > MOST_FOR_A_REAL_ONE {
            println!("bench: {rollouts} rollouts on the sandbox's API server, in this process, instead of a real one");
            Server::InMemory(InMemory::start(folder, parts).await?)
        } else {
            Server::real(name, parts, folder).await?
        };
        let client = server.client();
        for member in MEMBERS {
            create(&client, member_cluster(member, member)).await?;
        }
        let process = Hub::installed(&binary(), &server.kubeconfig().await?, folder, name, HUB_PORT);
        process.open().await?;
        Ok(Self { client, process, stub, server, journal: Mutex::default() })
    }

    /// Ends it, so that another one can have its addresses.
    pub async fn end(self) -> Result<()> {
        self.process.kill().await?;
        self.server.stop().await
    }

    /// What both processes have used, and what the hub has counted, until now.
    pub async fn reading(&self) -> Result<Reading> {
        Reading::take(&self.process, self.server.id().await?).await
    }

    /// The requests, of all users, that arrived between two instants.
    pub fn requests(&self, from: Timestamp, to: Timestamp) -> Result<Vec<Request>> {
        let mut journal = self.journal.lock().unwrap();
        journal.extend(self.server.news()?);
        Ok(journal.iter().filter(|request| (from..=to).contains(&request.arrived)).cloned().collect())
    }

    /// Those of the hub.
    pub fn of_the_hub(&self, from: Timestamp, to: Timestamp) -> Result<Vec<Request>> {
        let all = self.requests(from, to)?;
        Ok(all.into_iter().filter(|request| request.user.username == HUB_USER).collect())
    }
}

/// The hub that is measured: `make bench` builds it as it is released, and says where it is.
fn binary() -> PathBuf {
    std::env::var_os("HUB").map_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_cutover")), PathBuf::from)
}

/// Creates one object without a namespace.
pub async fn create(client: &Client, object: Value) -> Result<()> {
    let object: DynamicObject = serde_json::from_value(object)?;
    let kind = GroupVersionKind::try_from(object.types.clone().unwrap_or_default())?;
    let api = Api::<DynamicObject>::all_with(client.clone(), &ApiResource::from_gvk(&kind));
    api.create(&PostParams::default(), &object).await?;
    Ok(())
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
