//! Connections are divided by an entry of `spec.tcp` or `spec.tls`; clients open a new one for each request.

use super::super::hand_made::{HTTP, Port, TLS, endpoint_slices_on};
use crate::{
    lab::COMMON_NAME,
    load::{Load, Plan, ask},
    rollout::{PATIENCE, Rollout, declaration, promoted_steps, to_eu_3},
    runner::{Place, Scene, Test},
    shares::assert_shares,
    stage::host,
    wait::eventually,
};
use anyhow::{Result, ensure};
use cutover::api::{Phase, Verb};
use rustls::pki_types::{CertificateDer, ServerName, pem::PemObject};
use serde_json::{Value, json};
use std::{net::SocketAddr, sync::Arc, time::Duration};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

pub const TESTS: &[Test] = &[
    Test {
        name: "promotion_by_istio_of_connections",
        place: Place::Shared,
        run: |scene| Box::pin(promote(scene, Entry::Tcp)),
    },
    Test {
        name: "promotion_by_istio_of_tls_connections",
        place: Place::Shared,
        run: |scene| Box::pin(promote(scene, Entry::Tls)),
    },
];

/// Which list of the VirtualService has the weights.
#[derive(Clone, Copy)]
enum Entry {
    Tcp,
    /// By the server name that a client gives; the members end TLS, with a certificate that the client checks.
    Tls,
}

impl Entry {
    const fn list(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Tls => "tls",
        }
    }

    /// Of a listener that no other test has.
    const fn listener(self) -> u16 {
        match self {
            Self::Tcp => 9380,
            Self::Tls => 9443,
        }
    }

    /// Of the members.
    const fn port(self) -> Port {
        match self {
            Self::Tcp => HTTP,
            Self::Tls => TLS,
        }
    }

    /// The host of the VirtualService.
    fn host(self, name: &str) -> String {
        match self {
            Self::Tcp => host(name),
            Self::Tls => COMMON_NAME.to_owned(),
        }
    }

    /// What the listener does with connections.
    fn server(self) -> Value {
        match self {
            Self::Tcp => json!({"port": {"protocol": "TCP"}}),
            Self::Tls => json!({"port": {"protocol": "TLS"}, "tls": {"mode": "PASSTHROUGH"}}),
        }
    }

    fn matches(self) -> Value {
        let port = self.listener();
        match self {
            Self::Tcp => json!([{"port": port}]),
            Self::Tls => json!([{"port": port, "sniHosts": [COMMON_NAME]}]),
        }
    }

    /// What clients send.
    fn plan(self, scene: &Scene, to: SocketAddr) -> Result<Plan> {
        let tls = match self {
            Self::Tcp => None,
            Self::Tls => Some((trust(&scene.pki.ca)?, ServerName::try_from(COMMON_NAME)?)),
        };
        let plan = Plan::new(to, &host(&scene.namespace), u64::MAX);
        Ok(Plan { rate: 300, within: Duration::from_mins(5), keeps_connections: false, tls, ..plan })
    }
}

async fn promote(scene: Scene, entry: Entry) -> Result<()> {
    let name = &scene.namespace;
    let istio = scene.istio().await?;
    let to = SocketAddr::new(istio.address.ip(), entry.listener());
    endpoint_slices_on(&scene, entry.port()).await?;
    declare_route(&scene, entry, to).await?;
    let route = format!("{}#0", entry.list());
    let mut declared = declaration(name, &json!({"istio": {"name": "public", "routes": [route]}}));
    let service = json!({"backend": {"clusterIP": {}}, "port": entry.port().number});
    json_patch::merge(&mut declared["spec"]["services"][0], &service);
    declared["spec"]["strategy"]["steps"] = promoted_steps(&[30, 100]);
    let rollout = Rollout::declare(&scene, name, &declared).await?;
    rollout.phase(Phase::Initialized).await?;
    let plan = entry.plan(&scene, to)?;
    eventually("the listener", PATIENCE, async || {
        let status = ask(&plan, "/").await?;
        ensure!(status == 200, "{status}");
        Ok(())
    })
    .await?;
    let load = Load::start(plan);

    rollout.edit(json!({"members": to_eu_3()})).await?;
    for (step, share) in [(1, 30), (2, 100)] {
        rollout.at_step(step).await?;
        let before = scene.observed(name);
        load.sends(2_100).await?;
        assert_shares(&before, &scene.observed(name), &[("eu-1", 100 - share), ("eu-3", share)])?;
        rollout.phase(Phase::WaitingPromotion).await?;
        rollout.ask(Verb::Promote).await?;
    }
    rollout.phase(Phase::Succeeded).await?;
    load.stop().await.assert_all_ok()
}

/// A Gateway with the listener, and a VirtualService whose only entry leads to eu-1.
async fn declare_route(scene: &Scene, entry: Entry, to: SocketAddr) -> Result<()> {
    let (name, list) = (&scene.namespace, entry.list());
    let mut server = entry.server();
    let listener = json!({
        "port": {"number": entry.listener(), "name": list}, "bind": to.ip().to_string(), "hosts": ["*/*"],
    });
    json_patch::merge(&mut server, &listener);
    let gateway = json!({
        "apiVersion": "networking.istio.io/v1", "kind": "Gateway", "metadata": {"name": list},
        "spec": {"selector": {"istio": "ingressgateway"}, "servers": [server]},
    });
    let destination = json!({"host": format!("{name}-eu-1"), "port": {"number": entry.port().number}});
    let only = json!({"match": entry.matches(), "route": [{"destination": destination}]});
    let route = json!({
        "apiVersion": "networking.istio.io/v1", "kind": "VirtualService", "metadata": {"name": "public"},
        "spec": {"hosts": [entry.host(name)], "gateways": [format!("{name}/{list}")], list: [only]},
    });
    for object in [gateway, route] {
        scene.hub.create(name, &object.to_string()).await?;
    }
    Ok(())
}

/// The lab's authority, and nobody else.
fn trust(ca: &str) -> Result<Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(ca.as_bytes())?)?;
    Ok(Arc::new(ClientConfig::builder().with_root_certificates(roots).with_no_client_auth()))
}
