//! A member's Prometheus: a real one that scrapes its gateway, reachable through its API server's Service proxy.

use crate::{
    cluster::Cluster,
    gateway::METRICS_PORT,
    parts::Parts,
    process::Process,
    wait::{answers, eventually, seconds},
};
use anyhow::{Context, Result};
use serde_json::Value;
use std::{
    fs,
    net::Ipv4Addr,
    path::{Path, PathBuf},
};
use tokio::{process::Command, sync::Mutex};

pub const PORT: u16 = 9090;

/// Listens on port 9090 of the member's address and scrapes twice a second.
pub struct Prometheus {
    address: Ipv4Addr,
    binary: PathBuf,
    folder: PathBuf,
    log: PathBuf,
    process: Mutex<Option<Process>>,
}

impl Prometheus {
    pub async fn start(parts: &Parts, folder: &Path, member: &Cluster) -> Result<Self> {
        let home = folder.join(&member.name).join("prometheus");
        fs::create_dir_all(&home)?;
        fs::write(home.join("prometheus.yml"), configuration(member.address))?;
        let prometheus = Self {
            address: member.address,
            binary: parts.prometheus.clone(),
            folder: home,
            log: folder.join(format!("logs/prometheus-{}.log", member.name)),
            process: Mutex::new(None),
        };
        prometheus.open().await?;
        member.apply("monitoring", &reachable(member.address)).await?;
        Ok(prometheus)
    }

    /// Starts it (again, with what it stored) and waits until it is ready.
    pub async fn open(&self) -> Result<()> {
        *self.process.lock().await = Some(Process::spawn("prometheus", self.command(), &self.log)?);
        let url = format!("{}/-/ready", self.url());
        eventually("prometheus", seconds(30), async || {
            self.process.lock().await.as_mut().context("it was stopped")?.check()?;
            answers(&url).await
        })
        .await
    }

    /// SIGKILL: connections are refused from now on.
    pub async fn close(&self) -> Result<()> {
        match self.process.lock().await.take() {
            Some(mut process) => process.kill().await,
            None => Ok(()),
        }
    }

    pub fn url(&self) -> String {
        format!("http://{}:{PORT}", self.address)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.binary);
        command
            .arg("--config.file")
            .arg(self.folder.join("prometheus.yml"))
            .arg("--storage.tsdb.path")
            .arg(self.folder.join("data"))
            .args(["--web.listen-address", &format!("{}:{PORT}", self.address), "--log.level", "warn"]);
        command
    }
}

/// An instant query through the member's API server, with the administrator's rights: the value of its only series.
pub async fn query(member: &Cluster, promql: &str) -> Result<f64> {
    let query = url_encode(promql);
    let path =
        format!("/api/v1/namespaces/monitoring/services/http:prometheus:{PORT}/proxy/api/v1/query?query={query}");
    let answer: Value = member.client.request(http::Request::get(path).body(Vec::new())?).await?;
    let value = answer["data"]["result"][0]["value"][1].as_str();
    value.with_context(|| format!("no value for {promql}: {answer}"))?.parse().context("a number")
}

fn url_encode(text: &str) -> String {
    text.bytes().fold(String::new(), |encoded, byte| encoded + &format!("%{byte:02X}"))
}

fn configuration(address: Ipv4Addr) -> String {
    format!(
        "global: {{scrape_interval: 500ms, scrape_timeout: 500ms}}\n\
         scrape_configs: [{{job_name: gateway, static_configs: [{{targets: ['{address}:{METRICS_PORT}']}}]}}]\n"
    )
}

/// The Service proxy goes only to addresses that are Pods: there is no node, so the lab says where the Pod runs.
fn reachable(address: Ipv4Addr) -> String {
    format!(
        "\
apiVersion: v1
kind: Namespace
metadata: {{name: monitoring}}
---
apiVersion: v1
kind: Service
metadata: {{name: prometheus}}
spec: {{ports: [{{name: web, port: {PORT}, targetPort: {PORT}}}]}}
---
apiVersion: v1
kind: Pod
metadata: {{name: prometheus-0}}
spec: {{nodeName: lab, containers: [{{name: prometheus, image: prometheus}}]}}
status: {{phase: Running, podIP: {address}, podIPs: [{{ip: {address}}}]}}
---
apiVersion: v1
kind: Endpoints
metadata: {{name: prometheus}}
subsets:
- addresses: [{{ip: {address}, targetRef: {{kind: Pod, name: prometheus-0, namespace: monitoring}}}}]
  ports: [{{name: web, port: {PORT}}}]
"
    )
}
