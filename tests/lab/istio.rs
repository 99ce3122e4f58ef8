//! istiod, and an ordinary Envoy as its ingress gateway, for each VirtualService on the Gateway `istio-system/public`. Only the tests
//! that need them wait for them.

use crate::{
    apiserver::ADMIN,
    cluster::Cluster,
    load::get,
    process::Process,
    wait::{answers, eventually, seconds},
};
use anyhow::{Context, Result, ensure};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::{
    fs,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
};
use tokio::{process::Command, sync::Mutex};

const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 4);
const XDS_PORT: u16 = 15010;
/// Of every address, for Gateway API names none.
const GATEWAY_API_PORT: u16 = 8280;
const HTTP: &str = "127.0.0.1:8180";
/// Who the gateway is: istiod shows it the Secrets that this account may list.
const ACCOUNT: &str = "ingress";
const AUDIENCE: &str = "istio-ca";

/// What both are started from.
pub struct Sources {
    pub istiod: PathBuf,
    pub envoy: PathBuf,
    pub folder: PathBuf,
}

pub struct Istio {
    /// Where clients connect: the gateway's plain HTTP listener.
    pub address: SocketAddr,
    /// The listener of the Gateway of Gateway API, of class `istio`.
    pub gateway_api: SocketAddr,
    sources: Sources,
    kubeconfig: PathBuf,
    istiod: Mutex<Process>,
    _envoy: Process,
}

impl Istio {
    pub async fn start(sources: Sources, hub: &Cluster, ca: &str) -> Result<Self> {
        let home = sources.folder.join("istio");
        fs::create_dir_all(&home)?;
        fs::write(home.join("mesh.yaml"), MESH)?;
        hub.apply("istio-system", GATEWAY).await?;
        hub.apply("istio-system", GATEWAY_API).await?;
        hub.apply("istio-system", &json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "lab-ca"}, "stringData": {"ca.crt": ca}}).to_string()).await?;
        let kubeconfig = hub.kubeconfig_file(ADMIN)?;
        let mut istiod = istiod(&sources, &kubeconfig)?;
        eventually("istiod", seconds(60), async || {
            istiod.check()?;
            answers(&format!("http://{HTTP}/ready")).await
        })
        .await?;
        let token = hub.token_of_account("istio-system", ACCOUNT, AUDIENCE).await?;
        fs::write(home.join("envoy.json"), bootstrap(&home, &token).to_string())?;
        let mut command = Command::new(&sources.envoy);
        command.arg("-c").arg(home.join("envoy.json"));
        command.args(["--log-level", "warning", "--concurrency", "1", "--disable-hot-restart"]);
        let mut envoy = Process::spawn("gateway", command, &sources.folder.join("logs/istio-gateway.log"))?;
        let address = SocketAddr::from((ADDRESS, 80));
        eventually("the gateway of Istio", seconds(60), async || {
            istiod.check()?;
            envoy.check()?;
            let status = get(address, "up.example.com", "/").await?;
            ensure!(status == 200, "{status}");
            Ok(())
        })
        .await?;
        let gateway_api = SocketAddr::from((ADDRESS, GATEWAY_API_PORT));
        Ok(Self { address, gateway_api, sources, kubeconfig, istiod: Mutex::new(istiod), _envoy: envoy })
    }

    /// SIGKILL; the gateway goes on with what it has.
    pub async fn kill_istiod(&self) -> Result<()> {
        let mut istiod = self.istiod.lock().await;
        istiod.signal(Signal::KILL)?;
        eventually("istiod's end", seconds(10), async || istiod.has_ended()).await
    }

    /// A new one, which is ready when this returns.
    pub async fn start_istiod(&self) -> Result<()> {
        let mut process = self.istiod.lock().await;
        *process = istiod(&self.sources, &self.kubeconfig)?;
        eventually("istiod", seconds(60), async || {
            process.check()?;
            answers(&format!("http://{HTTP}/ready")).await
        })
        .await
    }
}

fn istiod(sources: &Sources, kubeconfig: &Path) -> Result<Process> {
    let mut command = Command::new(&sources.istiod);
    command.arg("discovery").arg("--kubeconfig").arg(kubeconfig);
    command.arg("--meshConfig").arg(sources.folder.join("istio/mesh.yaml"));
    command.args(["--httpAddr", HTTP, "--grpcAddr", &format!("127.0.0.1:{XDS_PORT}")]);
    command.args(["--secureGRPCAddr", "", "--httpsAddr", "", "--monitoringAddr", "127.0.0.1:15014"]);
    command.envs([
        ("POD_NAME", "istiod"),
        ("POD_NAMESPACE", "istio-system"),
        // Filters that only Istio's own build of Envoy has.
        ("PILOT_ENABLE_ALPN_FILTER", "false"),
        ("PILOT_ENABLE_METADATA_EXCHANGE", "false"),
        // Nobody needs its certificates, which it would write into every namespace.
        ("ENABLE_CA_SERVER", "false"),
        ("PILOT_CERT_PROVIDER", "none"),
        ("PILOT_ENABLE_GATEWAY_API_DEPLOYMENT_CONTROLLER", "false"),
        ("XDS_AUTH_PLAINTEXT", "true"),
    ]);
    Process::spawn("istiod", command, &sources.folder.join("logs/istiod.log")).context("istiod")
}

/// What the agent of a gateway writes: who it is, and where it asks for everything.
fn bootstrap(home: &Path, token: &str) -> Value {
    let xds = json!({
        "name": "xds", "type": "STATIC", "connect_timeout": "1s",
        "typed_extension_protocol_options": {"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
            "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
            "explicit_http_config": {"http2_protocol_options": {}}}},
        "load_assignment": {"cluster_name": "xds", "endpoints": [{"lb_endpoints": [
            {"endpoint": {"address": {"socket_address": {"address": "127.0.0.1", "port_value": XDS_PORT}}}}]}]},
    });
    let authorization = json!([{"key": "authorization", "value": format!("Bearer {token}")}]);
    let ads = json!({"ads": {}, "resource_api_version": "V3"});
    json!({
        "node": {
            "id": format!("router~{ADDRESS}~ingress-1.istio-system~istio-system.svc.cluster.local"),
            "cluster": "ingress.istio-system",
            "metadata": {"CLUSTER_ID": "Kubernetes", "NAMESPACE": "istio-system", "SERVICE_ACCOUNT": ACCOUNT,
                         "INSTANCE_IPS": ADDRESS.to_string(), "LABELS": {"istio": "ingressgateway"}},
        },
        "admin": {"address": {"pipe": {"path": home.join("envoy.sock").display().to_string()}}},
        // As Istio sets it: a regular expression may be large.
        "layered_runtime": {"layers": [{"name": "istio", "static_layer": {"re2.max_program_size.error_level": 32768}}]},
        "static_resources": {"clusters": [xds]},
        "dynamic_resources": {
            "lds_config": ads, "cds_config": ads,
            "ads_config": {"api_type": "DELTA_GRPC", "transport_api_version": "V3", "set_node_on_first_message_only": true,
                           "grpc_services": [{"envoy_grpc": {"cluster_name": "xds"}, "initial_metadata": authorization}]},
        },
    })
}

/// Envoy has no certificates of a mesh here.
const MESH: &str = "\
enableAutoMtls: false
accessLogFile: \"\"
";

const GATEWAY: &str = "\
apiVersion: v1
kind: Namespace
metadata: {name: istio-system}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: ingress}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: ingress}
rules: [{apiGroups: [\"\"], resources: [secrets], verbs: [get, list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: ingress}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: ingress}
subjects: [{kind: ServiceAccount, name: ingress, namespace: istio-system}]
---
apiVersion: networking.istio.io/v1
kind: Gateway
metadata: {name: public}
spec:
  selector: {istio: ingressgateway}
  servers:
  - {port: {number: 80, name: http, protocol: HTTP}, bind: 10.77.0.4, hosts: [\"*/*\"]}
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: up}
spec:
  hosts: [up.example.com]
  gateways: [public]
  http: [{directResponse: {status: 200}}]
";

/// istiod starts no data plane here: the Gateway names the Service of the one that is there.
const GATEWAY_API: &str = "\
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: istio}
spec: {controllerName: istio.io/gateway-controller}
---
apiVersion: v1
kind: Service
metadata: {name: ingress}
spec:
  selector: {istio: ingressgateway}
  ports: [{name: http, port: 8280, targetPort: 8280}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: public}
spec:
  gatewayClassName: istio
  addresses: [{type: Hostname, value: ingress.istio-system.svc.cluster.local}]
  listeners:
  - {name: http, port: 8280, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}
";
