//! One check of a member: its API server, its endpoints, its Prometheus.

use futures::{future::join_all, join};
use jiff::Timestamp;

use super::{Member, NotRenewed, client::ApiServer};
use crate::{
    api::{
        Reason,
        member::Endpoint,
        status::ConditionStatus::{self, False, True, Unknown},
    },
    prometheus::Began,
    rollout::input::Problem,
};

/// What a check found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Health {
    /// UID of its namespace kube-system; kept from earlier checks with the same credentials while it cannot be read.
    pub cluster_id: Option<String>,
    /// Version of its API server, kept like the cluster id.
    pub kubernetes_version: Option<String>,
    /// One for each condition but Healthy, which follows from them.
    pub findings: Vec<Finding>,
}

impl Health {
    /// The conditions that hold.
    pub(super) fn holding(&self) -> impl Iterator<Item = &'static str> {
        self.findings.iter().filter(|finding| finding.status == True).map(|finding| finding.condition)
    }
}

/// What a check found about one condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// Type of the condition.
    pub condition: &'static str,
    /// Whether it holds.
    pub status: ConditionStatus,
    /// Why.
    pub reason: Reason,
    /// In one sentence.
    pub message: String,
}

impl Finding {
    fn new(condition: &'static str, status: ConditionStatus, reason: Reason, message: impl Into<String>) -> Self {
        Self { condition, status, reason, message: message.into() }
    }

    fn problem(condition: &'static str, status: ConditionStatus, problem: Problem) -> Self {
        Self::new(condition, status, problem.reason, problem.message)
    }
}

/// Asks everything at once, each with its own deadline.
pub(super) async fn check(member: &Member, now: Timestamp) -> Health {
    let (mut health, endpoints, metrics) = join!(api_server(member, now), endpoints(member), metrics(member, now));
    health.findings.insert(1, endpoints);
    health.findings.insert(2, metrics);
    let before = member.health().unwrap_or_default();
    health.cluster_id = health.cluster_id.or(before.cluster_id);
    health.kubernetes_version = health.kubernetes_version.or(before.kubernetes_version);
    health
}

/// The findings Reachable and `CredentialsValid`, with the cluster's id and version.
async fn api_server(member: &Member, now: Timestamp) -> Health {
    let api = match &member.api {
        None => return neither(Unknown, Reason::NoKubeconfig, "no kubeconfig: the member is only measured"),
        Some(Err(problem)) => return unusable(problem.clone()),
        Some(Ok(api)) => api,
    };
    let (version, cluster) = join!(api.version(), api.cluster_id());
    let reachable = match &version {
        Ok(version) => {
            Finding::new("Reachable", True, Reason::ApiServerAnswers, format!("the API server is {version}"))
        }
        // It did answer, with a refusal.
        Err(problem) if problem.reason == Reason::CredentialsRefused => {
            Finding::new("Reachable", True, Reason::ApiServerAnswers, "the API server answers")
        }
        Err(problem) => Finding::problem("Reachable", False, problem.clone()),
    };
    let credentials = match &cluster {
        Ok(_) => in_force(api, member.not_renewed.borrow().as_ref(), now),
        Err(problem) => {
            let status = if problem.reason == Reason::CredentialsRefused { False } else { Unknown };
            Finding::problem("CredentialsValid", status, problem.clone())
        }
    };
    Health { cluster_id: cluster.ok(), kubernetes_version: version.ok(), findings: vec![reachable, credentials] }
}

fn in_force(api: &ApiServer, not_renewed: Option<&NotRenewed>, now: Timestamp) -> Finding {
    let day = |at: Timestamp| at.strftime("%Y-%m-%d").to_string();
    let (what, end) = (api.expires.what, day(api.expires.at));
    let renewal = match (not_renewed, api.expires.renewal) {
        (Some(why), _) => format!("; the hub did not renew the token: {why}"),
        (None, Some(due)) => format!("; its renewal by the hub is due on {}", day(due)),
        (None, None) => String::new(),
    };
    if !api.expires.is_soon(now) {
        let message = format!("the credentials are good; the {what} ends on {end}{renewal}");
        return Finding::new("CredentialsValid", True, Reason::CredentialsGood, message);
    }
    let message = format!("the {what} of the kubeconfig ends on {end}; issue a new one{renewal}");
    Finding::new("CredentialsValid", True, Reason::CredentialsExpireSoon, message)
}

fn neither(status: ConditionStatus, reason: Reason, message: &str) -> Health {
    let findings = ["Reachable", "CredentialsValid"].map(|condition| Finding::new(condition, status, reason, message));
    Health { findings: findings.into(), ..Health::default() }
}

/// A kubeconfig that is not there or not allowed says nothing about the API server, and an address nothing about the
/// credentials.
fn unusable(problem: Problem) -> Health {
    let (reachable, credentials) = match problem.reason {
        Reason::SecretNotFound | Reason::SecretNotAllowed | Reason::KubeconfigRefused => (Unknown, False),
        _ => (False, Unknown),
    };
    let findings = vec![
        Finding::problem("Reachable", reachable, problem.clone()),
        Finding::problem("CredentialsValid", credentials, problem),
    ];
    Health { findings, ..Health::default() }
}

async fn endpoints(member: &Member) -> Finding {
    let server_name = |endpoint: &Endpoint| endpoint.tls.as_ref().is_some_and(|tls| tls.server_name.contains("{{"));
    let fixed = |endpoint: &&Endpoint| !endpoint.host.contains("{{") && !server_name(endpoint);
    let probed: Vec<&Endpoint> = member.spec().endpoints.iter().filter(fixed).collect();
    if probed.is_empty() {
        let message = "every endpoint depends on the service; the rollouts probe them";
        return Finding::new("EndpointsReady", Unknown, Reason::EndpointsAnswer, message);
    }
    let answers = join_all(probed.iter().map(|endpoint| probe(member, endpoint))).await;
    match answers.into_iter().find_map(Result::err) {
        None => {
            let message = format!("{} of {} endpoints answer", probed.len(), probed.len());
            Finding::new("EndpointsReady", True, Reason::EndpointsAnswer, message)
        }
        Some(problem) => Finding::problem("EndpointsReady", False, problem),
    }
}

/// No route is known here, so the endpoint's host stands for the public one: any answer below 500 is good.
async fn probe(member: &Member, endpoint: &Endpoint) -> Result<(), Problem> {
    let server_name = endpoint.tls.as_ref().map(|tls| tls.server_name.as_str());
    let probe = member.probe(&endpoint.host, endpoint.port, server_name, &endpoint.host)?;
    probe.ask(&member.network).await.map_err(|why| Problem::new(Reason::EndpointUnreachable, why))
}

pub(super) async fn metrics(member: &Member, now: Timestamp) -> Finding {
    let answer = match member.prometheus() {
        Err(problem) => return Finding::problem("MetricsAvailable", False, problem),
        Ok(prometheus) => prometheus.query("vector(1)", now, Began::now(now)).await,
    };
    match answer.and_then(|answer| answer.number(now)) {
        Ok(Some(_)) => Finding::new("MetricsAvailable", True, Reason::MetricsAnswer, "Prometheus answers"),
        Ok(None) => {
            Finding::new("MetricsAvailable", False, Reason::MetricsUnreachable, "Prometheus gives vector(1) no value")
        }
        Err(missing) => Finding::new("MetricsAvailable", False, Reason::MetricsUnreachable, missing.to_string()),
    }
}
