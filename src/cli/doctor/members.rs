//! Every member: what the hub last saw of it, and what is seen of it from here. The two networks may differ.

use futures::{StreamExt, future::join_all, stream};
use jiff::Timestamp;
use k8s_openapi::api::authorization::v1::ResourceAttributes;
use kube::ResourceExt;

use super::{
    AT_ONCE,
    check::{Check, Outcome, Section},
    endpoints::{self, Endpoint},
    fleet::Fleet,
    read::{Placed, Read},
    right::{listed, rights},
    shipped,
};
use crate::{
    api::{
        MemberCluster, Reason,
        member::PrometheusSource,
        status::{Condition, ConditionStatus},
    },
    cli::{hub_liveness::LeaseSeen, text::age},
    member::inspect::{Seen, Step},
};

/// What is seen from here: each step, and each endpoint.
type Here = Result<(Vec<Seen>, Vec<(Endpoint, Result<(), String>)>), String>;

pub(super) async fn checks(read: &Read, rollouts: &[Placed], fleet: &Fleet, hub: &str, now: Timestamp) -> Vec<Check> {
    let members = stream::iter(&read.members.objects).map(async |member| {
        let name = member.name_any();
        let here = match fleet.member(&name) {
            Err(why) => Err(why),
            Ok(reached) => {
                let endpoints = endpoints::of(member, rollouts);
                let answers = join_all(endpoints.iter().map(|one| one.ask(reached)));
                let needed = needed(member, hub);
                let (steps, answers) = futures::join!(reached.inspect(&needed, now), answers);
                Ok((steps, endpoints.into_iter().zip(answers).collect()))
            }
        };
        let from_hub = from_hub(member, &read.lease, now);
        let outcomes = from_hub.into_iter().chain(from_here(member, &here));
        outcomes.map(|outcome| Check::new(Section::Members, name.as_str(), outcome)).collect::<Vec<_>>()
    });
    members.buffered(AT_ONCE).concat().await
}

/// The rights of config/rbac/member.yaml, for the Prometheus that is declared.
fn needed(member: &MemberCluster, hub: &str) -> Vec<ResourceAttributes> {
    let roles = shipped::MEMBER.roles(hub);
    let mut needed: Vec<_> = roles.iter().flat_map(|role| rights(&role.rules, role.namespace.as_deref())).collect();
    match &member.spec.prometheus.source {
        PrometheusSource::Url(_) => needed.retain(|right| right.subresource.is_none()),
        PrometheusSource::Service(service) => {
            for right in needed.iter_mut().filter(|right| right.subresource.is_some()) {
                right.namespace = Some(service.namespace.clone());
                right.name = Some(format!("http:{}:{}", service.name, service.port));
            }
        }
    }
    needed
}

/// What the hub wrote into the status.
fn from_hub(member: &MemberCluster, lease: &LeaseSeen, now: Timestamp) -> Vec<Outcome> {
    let remedy = "the lines about the hub say what to do about it";
    if let Some(alarm) = lease.at(now).alarm() {
        return vec![Outcome::not_known(format!("from the hub: nothing that is true now: {alarm}"), remedy)];
    }
    let status = member.status.clone().unwrap_or_default();
    if status.observed_generation != member.metadata.generation || status.conditions.is_empty() {
        let generation = member.metadata.generation.unwrap_or_default();
        return vec![Outcome::not_known(
            format!("from the hub: it has not looked at generation {generation} yet"),
            remedy,
        )];
    }
    let is_bad = |condition: &Condition| condition.status == ConditionStatus::False;
    let others_are_bad = status.conditions.iter().any(|one| one.type_ != "Healthy" && is_bad(one));
    let shown = |condition: &&Condition| match condition.type_.as_str() {
        // It follows from the others, unless the cluster is registered twice.
        "Healthy" => is_bad(condition) && !others_are_bad,
        "InUse" => false,
        _ => true,
    };
    status.conditions.iter().filter(shown).map(|condition| of_condition(condition, now)).collect()
}

fn of_condition(condition: &Condition, now: Timestamp) -> Outcome {
    let Condition { type_, status, reason, message, .. } = condition;
    let said = |is: &str| {
        let since = age(condition.last_transition_time, now);
        format!("from the hub: {type_} is {is} for {since}: {message}")
    };
    match (status, reason) {
        (ConditionStatus::True, Reason::CredentialsExpireSoon) => {
            Outcome::bad(said("True"), "cutover member kubeconfig --help: issue new ones")
        }
        (ConditionStatus::True, _) | (ConditionStatus::Unknown, Reason::NoKubeconfig) => {
            Outcome::good(said(if *status == ConditionStatus::True { "True" } else { "Unknown" }))
        }
        (ConditionStatus::False, reason) => Outcome::bad(said("False"), format!("docs/operations.md, {reason}")),
        (ConditionStatus::Unknown, _) => {
            Outcome::not_known(said("Unknown"), "where they can be tried from here, the lines below say more")
        }
    }
}

/// What was seen from here.
fn from_here(member: &MemberCluster, here: &Here) -> Vec<Outcome> {
    let (steps, endpoints) = match here {
        Ok(seen) => seen,
        Err(why) => {
            let remedy = "as somebody who may list the Secrets there, or in the pod of the hub";
            return vec![Outcome::not_known(format!("from here: not tried: {why}"), remedy)];
        }
    };
    let says_good = |type_: &str| {
        let conditions = member.status.iter().flat_map(|status| &status.conditions);
        conditions.into_iter().any(|one| one.type_ == type_ && one.status == ConditionStatus::True)
    };
    let steps = steps.iter().map(|seen| {
        let network = network(&seen.step).filter(|type_| says_good(type_));
        judged(&title(&seen.step), seen.result.as_ref().map(String::as_str), &remedy(&seen.step), network)
    });
    let endpoints = endpoints.iter().map(|(endpoint, answer)| {
        let network = Some("EndpointsReady").filter(|type_| says_good(type_));
        let title = format!("endpoint {endpoint}");
        // The reason begins with the address as well.
        let why = answer.as_ref().err().map(|why| why.strip_prefix(&format!("{endpoint}: ")).unwrap_or(why).to_owned());
        let remedy = "correct spec.endpoints, or start what serves there";
        judged(&title, why.as_ref().map_or(Ok("it answers"), Err), remedy, network)
    });
    steps.chain(endpoints).collect()
}

/// `hub_says` is the condition that is True where the hub, from its own place, reaches what is not reached from here.
fn judged(title: &str, result: Result<&str, &String>, remedy: &str, hub_says: Option<&str>) -> Outcome {
    match (result, hub_says) {
        (Ok(what), _) => Outcome::good(format!("from here: {title}: {what}")),
        (Err(why), None) => Outcome::bad(format!("from here: {title}: {why}"), remedy),
        (Err(why), Some(type_)) => Outcome::not_known(
            format!("from here: {title}: {why}; the hub says otherwise: {type_} is True"),
            "nothing, if only the network of the hub leads there",
        ),
    }
}

fn title(step: &Step) -> String {
    match step {
        Step::Kubeconfig => "kubeconfig".to_owned(),
        Step::Dns => "DNS".to_owned(),
        Step::Tcp => "TCP".to_owned(),
        Step::Tls => "TLS".to_owned(),
        Step::Login => "login".to_owned(),
        Step::Right(right) => format!("right to {}", listed(std::slice::from_ref(right))),
        Step::Prometheus => "Prometheus".to_owned(),
    }
}

/// The condition that is about the same, where it depends on the network.
const fn network(step: &Step) -> Option<&'static str> {
    match step {
        Step::Dns | Step::Tcp | Step::Tls => Some("Reachable"),
        Step::Prometheus => Some("MetricsAvailable"),
        Step::Kubeconfig | Step::Login | Step::Right(_) => None,
    }
}

fn remedy(step: &Step) -> String {
    let text = match step {
        Step::Kubeconfig => "correct the Secret, or make it anew: cutover member kubeconfig --help",
        Step::Dns => "correct the server in its kubeconfig, or its name in DNS",
        Step::Tcp => "does the API server run, and does a firewall stand between?",
        Step::Tls => {
            "the kubeconfig must have the certificate authority of the API server: cutover member kubeconfig --help"
        }
        Step::Login => "make the credentials anew: cutover member kubeconfig --help",
        Step::Right(right) if right.subresource.is_some() => {
            let (namespace, name) = (right.namespace.as_deref(), right.name.as_deref());
            return format!(
                "in the member: apply config/rbac/member.yaml with its Role in namespace {} and resourceNames [{:?}]",
                namespace.unwrap_or_default(),
                name.unwrap_or_default()
            );
        }
        Step::Right(_) => "in the member: kubectl apply -f config/rbac/member.yaml",
        Step::Prometheus => "correct spec.prometheus; docs/troubleshooting.md has a line for each message",
    };
    text.to_owned()
}

#[cfg(test)]
mod tests;
