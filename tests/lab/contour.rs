//! Contour and Envoy as the hub's data plane, for Gateway API (Gateway `projectcontour/public`) and HTTPProxy.

use crate::{
    apiserver::ADMIN,
    cluster::Cluster,
    parts::Parts,
    process::Process,
    prometheus::Scraped,
    requirements::run,
    wait::{eventually, seconds},
};
use anyhow::{Context, Result};
use std::{
    fs,
    net::{Ipv4Addr, SocketAddr},
    path::Path,
};
use tokio::{net::TcpStream, process::Command};

const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 3);
const XDS_PORT: &str = "8103";

pub struct Contour {
    /// Where clients connect: Envoy's plain HTTP listener.
    pub address: SocketAddr,
    _processes: [Process; 2],
}

impl Contour {
    pub async fn start(parts: &Parts, folder: &Path, hub: &Cluster) -> Result<Self> {
        let home = folder.join("contour");
        fs::create_dir_all(&home)?;
        fs::write(home.join("contour.yaml"), CONFIGURATION)?;
        hub.apply("projectcontour", GATEWAY).await?;
        let mut contour = Process::spawn("contour", serve(parts, &home, hub)?, &folder.join("logs/contour.log"))?;
        let bootstrap = home.join("envoy.json").display().to_string();
        let admin = home.join("envoy.sock").display().to_string();
        let binary = parts.contour.display().to_string();
        run(
            &binary,
            &["bootstrap", &bootstrap, "--admin-address", &admin, "--xds-address", "127.0.0.1", "--xds-port", XDS_PORT],
        )?;
        let mut command = Command::new(&parts.envoy);
        command.args(["-c", &bootstrap, "--service-cluster", "lab", "--service-node", "lab"]);
        command.args(["--log-level", "warning", "--concurrency", "1", "--disable-hot-restart"]);
        let mut envoy = Process::spawn("envoy", command, &folder.join("logs/envoy.log"))?;
        // A Gateway's port 80 becomes Envoy's port 8080.
        let address = SocketAddr::from((ADDRESS, 8080));
        eventually("the Gateway's listener in Envoy", seconds(60), async || {
            contour.check()?;
            envoy.check()?;
            TcpStream::connect(address).await.context("Envoy does not listen")?;
            Ok(())
        })
        .await?;
        Ok(Self { address, _processes: [contour, envoy] })
    }
}

impl Contour {
    /// Those of Envoy, where Contour has it serve them.
    pub fn metrics() -> Scraped {
        Scraped { address: (ADDRESS, 8002).into(), path: "/stats/prometheus" }
    }
}

fn serve(parts: &Parts, home: &Path, hub: &Cluster) -> Result<Command> {
    let mut command = Command::new(&parts.contour);
    command
        .arg("serve")
        .arg("--kubeconfig")
        .arg(hub.kubeconfig_file(ADMIN)?)
        .arg("--config-path")
        .arg(home.join("contour.yaml"))
        .args(["--xds-address", "127.0.0.1", "--xds-port", XDS_PORT, "--insecure", "--disable-leader-election"])
        // These kinds are served in newer versions only than the ones that Contour reads.
        .args(
            ["tlsroutes", "grpcroutes", "tcproutes", "backendtlspolicies"]
                .map(|kind| format!("--disable-feature={kind}")),
        );
    Ok(command)
}

const CONFIGURATION: &str = "\
enableExternalNameService: true
accesslog-level: error
gateway: {gatewayRef: {namespace: projectcontour, name: public}}
";

const GATEWAY: &str = "\
apiVersion: v1
kind: Namespace
metadata: {name: projectcontour}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: contour}
spec: {controllerName: projectcontour.io/gateway-controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: public}
spec:
  gatewayClassName: contour
  listeners:
  - {name: http, protocol: HTTP, port: 80, allowedRoutes: {namespaces: {from: All}}}
---
# Envoy listens only while there is a route; this one is always there.
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: up}
spec:
  virtualhost: {fqdn: up.example.com}
  routes: [{conditions: [{prefix: /}], directResponsePolicy: {statusCode: 200}}]
";
