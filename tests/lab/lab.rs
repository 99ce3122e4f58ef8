//! The lab as tests see it: the hub's cluster, the members, the data planes.

use crate::{
    apiserver::{ADMIN, start_etcd},
    cluster::Cluster,
    contour::Contour,
    dns::Dns,
    fleet,
    gateway::Gateway,
    hub::Hub,
    istio::{Istio, Sources},
    parts::Parts,
    pki::Pki,
    process::Process,
    prometheus::Prometheus,
    shares::Observed,
    skipper::Skipper,
};
use anyhow::{Context, Result};
use futures::future::try_join_all;
use std::{
    collections::BTreeMap,
    net::Ipv4Addr,
    path::{Path, PathBuf},
    time::Instant,
};
use tokio::sync::OnceCell;

pub const MEMBERS: [&str; 3] = ["eu-1", "eu-2", "eu-3"];
/// The TLS server name for which every member has a certificate, beside that for its own.
pub const COMMON_NAME: &str = "members.lab";
pub const HUB: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
/// Where the shared hub process answers for itself.
pub const HUB_PORT: u16 = 8201;

/// One more API server, which the sample of plans starts for itself.
pub const SAMPLE: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 21);

/// Another one, the hub cluster of the tutorial.
pub const TUTORIAL: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 22);

/// The hub, Skipper, Envoy, the members, the sample, the tutorial, the gateway of Istio. Not loopback, which the hub process and the Service proxy refuse.
pub const ADDRESSES: [Ipv4Addr; 9] = [
    HUB,
    Ipv4Addr::new(10, 77, 0, 2),
    Ipv4Addr::new(10, 77, 0, 3),
    Ipv4Addr::new(10, 77, 0, 11),
    Ipv4Addr::new(10, 77, 0, 12),
    Ipv4Addr::new(10, 77, 0, 13),
    SAMPLE,
    TUTORIAL,
    Ipv4Addr::new(10, 77, 0, 4),
];

/// eu-1 has 10.77.0.11, and so on.
pub fn member_address(member: &str) -> Ipv4Addr {
    let index = MEMBERS.iter().position(|name| *name == member).expect("a member of the lab");
    ADDRESSES[index + 3]
}

/// Everything that runs; it ends with this value.
pub struct Lab {
    pub folder: PathBuf,
    pub pki: Pki,
    pub dns: Dns,
    pub hub: Cluster,
    pub members: BTreeMap<&'static str, Member>,
    pub skipper: Skipper,
    pub contour: Contour,
    /// The `cutover hub` that all tests share.
    pub process: Hub,
    /// The binary of the version before this one.
    pub former_cutover: PathBuf,
    /// The binary of an Alertmanager.
    pub alertmanager: PathBuf,
    istio: OnceCell<Istio>,
    istiod: Option<PathBuf>,
    envoy: PathBuf,
    _etcd: Process,
}

/// One member: its API server, its ingress, its Prometheus.
pub struct Member {
    pub cluster: Cluster,
    pub gateway: Gateway,
    pub prometheus: Prometheus,
}

impl Lab {
    pub async fn up(parts: Parts, folder: &Path) -> Result<Self> {
        let since = Instant::now();
        let pki = Pki::new(&folder.join("pki"))?;
        let dns = Dns::start().await?;
        let etcd = start_etcd(&parts, folder)?;
        let (hub, members) = tokio::try_join!(
            Cluster::start("hub", HUB, &parts, folder, &pki),
            try_join_all(MEMBERS.map(|name| Member::start(name, &parts, folder, &pki))),
        )?;
        println!("lab: four API servers and three members are up after {:.1?}", since.elapsed());
        for crds in [&parts.gateway_api_crds, &parts.contour_crds, &parts.skipper_crds, &parts.istio_crds] {
            hub.install_crds(crds).await?;
        }
        let ca = pki.ca_file();
        let (skipper, contour) =
            tokio::try_join!(Skipper::start(&parts, folder, &hub, &ca), Contour::start(&parts, folder, &hub),)?;
        let members = MEMBERS.into_iter().zip(members).collect();
        fleet::install(&hub, &members, &pki).await.context("cutover cannot be installed")?;
        let process = Hub::new(&hub, folder, "shared", HUB_PORT)?;
        process.open().await?;
        println!("lab: everything is up after {:.1?}", since.elapsed());
        let (istio, folder) = (OnceCell::new(), folder.to_owned());
        let Parts { former_cutover, alertmanager, istiod, envoy, .. } = parts;
        Ok(Self {
            folder,
            pki,
            dns,
            hub,
            members,
            skipper,
            contour,
            process,
            former_cutover,
            alertmanager,
            istio,
            istiod,
            envoy,
            _etcd: etcd,
        })
    }

    /// istiod and its gateway; the first who asks starts them.
    pub async fn istio(&self) -> Result<&Istio> {
        self.istio
            .get_or_try_init(async || {
                let istiod = self.istiod.clone().context("istiod is not there: cargo test --test lab parts")?;
                let sources = Sources { istiod, envoy: self.envoy.clone(), folder: self.folder.clone() };
                Istio::start(sources, &self.hub, &self.pki.ca).await
            })
            .await
    }

    pub fn member(&self, name: &str) -> &Member {
        self.members.get(name).unwrap_or_else(|| panic!("no member {name} in the lab"))
    }

    /// Requests of a service that each member has counted so far.
    pub fn observed(&self, service: &str) -> Observed {
        self.members.iter().map(|(name, member)| (*name, member.gateway.tally().observed(service))).collect()
    }

    /// For one who wants to look around.
    pub fn describe(&self) {
        let clusters = self.members.values().map(|member| &member.cluster);
        for cluster in std::iter::once(&self.hub).chain(clusters) {
            let kubeconfig = cluster
                .kubeconfig_file(ADMIN)
                .map_or_else(|error| error.to_string(), |file| file.display().to_string());
            println!("lab: {:5} {}  {kubeconfig}", cluster.name, cluster.address);
        }
        println!("lab: Skipper {}  Envoy {}", self.skipper.address, self.contour.address);
        println!("lab: a shell in it: nsenter --preserve-credentials -U -n -m -p -t $(pgrep -nf 'lab.* inside')");
        println!("lab: ^C ends it");
    }
}

impl Member {
    async fn start(name: &'static str, parts: &Parts, folder: &Path, pki: &Pki) -> Result<Self> {
        let address = member_address(name);
        let server_name = format!("{name}.lab");
        let (own, common) = (pki.serve(&[&server_name])?, pki.serve(&[&format!("{name}.common"), COMMON_NAME])?);
        let certificates = [(server_name.as_str(), &own), (COMMON_NAME, &common)];
        let gateway = Gateway::start(address, &certificates).await.context(name)?;
        let cluster = Cluster::start(name, address, parts, folder, pki).await?;
        let prometheus = Prometheus::start(parts, folder, &cluster, gateway.metrics()).await?;
        Ok(Self { cluster, gateway, prometheus })
    }
}
