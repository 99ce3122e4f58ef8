//! A member's Prometheus: a real one that scrapes its gateway, reachable through its API server's Service proxy.

use crate::{
    cluster::Cluster,
    parts::Parts,
    process::Process,
    wait::{answers, eventually, seconds},
};
use anyhow::{Context, Result};
use serde_json::Value;
use std::{
    fs,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
};
use tokio::{process::Command, sync::Mutex};

pub const PORT: u16 = 9090;

/// Metrics that somebody serves.
#[derive(Clone, Copy)]
pub struct Scraped {
    pub address: SocketAddr,
    pub path: &'static str,
}

/// Listens on port 9090 of its address and scrapes twice a second.
pub struct Prometheus {
    address: IpAddr,
    binary: PathBuf,
    folder: PathBuf,
    log: PathBuf,
    process: Mutex<Option<Process>>,
}

impl Prometheus {
    /// That of a member, which scrapes its gateway.
    pub async fn start(parts: &Parts, folder: &Path, member: &Cluster, gateway: Scraped) -> Result<Self> {
        let prometheus =
            Self::scraping(parts.prometheus.clone(), folder, &member.name, member.address.into(), &[gateway], "")
                .await?;
        member.apply("monitoring", &reachable(member.address)).await?;
        Ok(prometheus)
    }

    /// Another one, which scrapes these, on an address where none listens yet.
    pub async fn beside(&self, folder: &Path, name: &str, address: IpAddr, scraped: &[Scraped]) -> Result<Self> {
        Self::scraping(self.binary.clone(), folder, name, address, scraped, "").await
    }

    /// The same, with the groups of rules of a file.
    pub async fn with_rules(
        &self,
        folder: &Path,
        name: &str,
        address: IpAddr,
        scraped: &[Scraped],
        rules: &str,
    ) -> Result<Self> {
        Self::scraping(self.binary.clone(), folder, name, address, scraped, rules).await
    }

    async fn scraping(
        binary: PathBuf,
        folder: &Path,
        name: &str,
        address: IpAddr,
        scraped: &[Scraped],
        rules: &str,
    ) -> Result<Self> {
        let home = folder.join(name).join("prometheus");
        fs::create_dir_all(&home)?;
        fs::write(home.join("prometheus.yml"), configuration(scraped))?;
        fs::write(home.join("rules.yml"), if rules.is_empty() { "groups: []" } else { rules })?;
        let log = folder.join(format!("logs/prometheus-{name}.log"));
        let prometheus = Self { address, binary, folder: home, log, process: Mutex::new(None) };
        prometheus.open().await?;
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

    /// What it answers at this path of its API.
    pub async fn get(&self, path: &str, parameters: &[(&str, &str)]) -> Result<Value> {
        let pairs: Vec<String> = parameters.iter().map(|(key, value)| format!("{key}={}", url_encode(value))).collect();
        let answer = reqwest::get(format!("{}/api/v1/{path}?{}", self.url(), pairs.join("&"))).await?;
        let answer: Value = serde_json::from_str(&answer.text().await?)?;
        Ok(answer["data"].clone())
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

fn configuration(scraped: &[Scraped]) -> String {
    let job = |(number, Scraped { address, path }): (usize, &Scraped)| {
        format!("{{job_name: job-{number}, metrics_path: {path}, static_configs: [{{targets: ['{address}']}}]}}")
    };
    let jobs: Vec<String> = scraped.iter().enumerate().map(job).collect();
    let global = "global: {scrape_interval: 500ms, scrape_timeout: 500ms, evaluation_interval: 1s}";
    format!("{global}\nrule_files: [rules.yml]\nscrape_configs: [{}]\n", jobs.join(", "))
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
