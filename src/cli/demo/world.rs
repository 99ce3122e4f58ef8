//! Everything that the demo starts. It all ends with the value.

use std::{collections::BTreeMap, io, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use futures::FutureExt;
use kube::Client;
use tower::Service;

use super::{
    declared::{EXAMPLE, NAMESPACE, Plan, gateway, host},
    folder::Folder,
    gate::Gate,
    hub::Hub,
    objects,
};
use crate::{
    clock::Clock,
    sandbox::{
        api::ApiServer,
        load::{Load, Totals},
        member::{self, Member},
        proxy::Proxy,
        server::{ANY, Server},
    },
};

/// Requests per second and service: a share of 2,000 is there within two seconds.
pub(super) const RATE: u32 = 1100;
/// The same for the service of the example: enough for its `minSamples` at 5 %.
const EXAMPLE_RATE: u32 = 300;
/// The file in which the hub's log is.
const LOG: &str = "hub.log";
const KUBECONFIG: &str = "kubeconfig";
/// Port of the gateways in examples/first-rollout/members.yaml.
const GATEWAY_PORT: u16 = 30080;

/// Requests counted at the members, by service and member.
pub(super) type Counts = BTreeMap<String, BTreeMap<String, u64>>;

/// Why the world does not turn.
#[derive(Debug, thiserror::Error)]
pub(super) enum WorldError {
    /// No free port, no folder, no process.
    #[error("the demo cannot start here: {0}")]
    Io(#[from] io::Error),
    /// The API server in memory refused an object.
    #[error("the sandbox's API server: {0}")]
    Kube(Box<kube::Error>),
    /// A definition cannot be written.
    #[error("the kinds cannot be written: {0}")]
    Json(#[from] serde_json::Error),
}

impl From<kube::Error> for WorldError {
    fn from(error: kube::Error) -> Self {
        Self::Kube(Box::new(error))
    }
}

pub(super) struct World {
    pub(super) client: Client,
    pub(super) members: Vec<Member>,
    pub(super) hub: Hub,
    pub(super) gate: Gate,
    load: Load,
    services: Vec<String>,
    folder: Folder,
    _served: Server,
    proxy: Proxy,
}

impl World {
    /// Members, API server, data plane, clients, hub, in the order in which they need each other.
    pub(super) async fn start(plan: &Plan) -> Result<Self, WorldError> {
        let folder = Folder::new()?;
        let mut members = Vec::new();
        for (number, name) in (1..).zip(&plan.members) {
            members.push(member(name, number).await?);
        }
        let api = ApiServer::new(Arc::new(|| Clock::default().now()), 0);
        let client = api.client();
        let served = Server::start(None, move |request| api.clone().call(request).map(|Ok(answer)| answer)).await?;
        std::fs::write(folder.file(KUBECONFIG), kubeconfig(served.address))?;
        for object in objects::kinds()?.into_iter().chain(objects::world(plan, &members)) {
            objects::create(&client, object).await?;
        }
        let gateways: BTreeMap<_, _> =
            members.iter().map(|one| (gateway(one.name()), one.addresses().gateway.ip())).collect();
        let proxy = Proxy::start(client.clone(), gateways.clone()).await?;
        let hosts: Vec<String> = plan.services.iter().map(|service| host(service)).collect();
        while !hosts.iter().all(|host| proxy.serves(host)) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let load = Load::start(proxy.address(), hosts, RATE);
        let servers = plan.members.iter().map(|name| (member::server_name(name), ANY.ip()));
        let aliases = gateways.into_iter().chain(servers);
        let hub = Hub::new(folder.file(KUBECONFIG), folder.file(LOG), plan.elects, aliases);
        hub.start().await?;
        let gate = Gate::start().await.map_err(io::Error::other)?;
        let services = plan.services.clone();
        Ok(Self { client, members, hub, gate, load, services, folder, _served: served, proxy })
    }

    pub(super) fn member(&self, name: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.name() == name)
    }

    /// What the members counted so far.
    pub(super) fn observed(&self) -> Counts {
        let by_member = |service: &String| {
            let counted = self.members.iter().map(|one| (one.name().to_owned(), one.observed(service)));
            (service.clone(), counted.collect())
        };
        self.services.iter().map(by_member).collect()
    }

    /// Clients of the service of examples/first-rollout, whose route leads to eu-1 until that is applied; nothing where its
    /// members are not these.
    pub(super) fn clients_of_example(&self) -> Option<Load> {
        let has_its_port = |one: &&Member| one.addresses().gateway.port() == GATEWAY_PORT;
        let can = EXAMPLE.members.iter().all(|name| self.member(name).as_ref().is_some_and(has_its_port));
        can.then(|| Load::start(self.proxy.address(), vec![host(EXAMPLE.service)], EXAMPLE_RATE))
    }

    /// What clients saw so far.
    pub(super) fn seen_by_clients(&self) -> Totals {
        self.load.so_far()
    }

    pub(super) fn kubeconfig(&self) -> PathBuf {
        self.folder.file(KUBECONFIG)
    }

    /// The end of the hub's log.
    pub(super) fn hub_says(&self) -> String {
        self.folder.last_lines(LOG, 6)
    }
}

/// A member whose gateway has the port that the example names, at a loopback address of its own. It has another port where
/// that port is taken, or 127.0.0.1 is the only such address.
async fn member(name: &str, number: u8) -> io::Result<Member> {
    let [.., high, low] = std::process::id().to_be_bytes();
    let own = SocketAddr::from(([127, high, low, number], GATEWAY_PORT));
    match Member::start(name, own).await {
        Ok(member) => Ok(member),
        Err(_) => Member::start(name, ANY).await,
    }
}

fn kubeconfig(api_server: SocketAddr) -> String {
    serde_json::json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "demo",
        "clusters": [{"name": "demo", "cluster": {"server": format!("http://{api_server}")}}],
        "contexts": [{"name": "demo", "context": {"cluster": "demo", "user": "demo", "namespace": NAMESPACE}}],
        "users": [{"name": "demo", "user": {}}],
    })
    .to_string()
}
