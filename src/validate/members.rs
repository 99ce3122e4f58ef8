//! Members: their weights in a rollout, and how a `MemberCluster` says that it is reached.

use super::{
    problem::{Problem, quoted},
    promql::filled,
};
use crate::{
    api::{
        FleetRolloutSpec, MemberClusterSpec, Mode,
        member::{AllowedNamespaces, Endpoint, NamespacesFrom, PrometheusSource, PrometheusUrl},
    },
    backend,
};

/// Longest name of a backend: a DNS label, less the dash between service and member.
const LONGEST_NAMES: usize = 62;

/// Sums of the weights. (Added up as they are listed: a name that occurs twice is another mistake.)
pub(super) fn weights(spec: &FleetRolloutSpec) -> Vec<Problem> {
    let total = spec.weight_total;
    if spec.mode() == Mode::Service {
        return Vec::new();
    }
    let unequal = |path: &str, what: &str, found: u32| {
        (found != total).then(|| {
            Problem::error(path, format!("{what} sum to {found}"), format!("make them sum to weightTotal, {total}"))
        })
    };
    let sum = spec.members.iter().fold(0_u32, |sum, member| sum.saturating_add(member.weight));
    let mut problems: Vec<Problem> = unequal("spec.members", "the weights", sum).into_iter().collect();
    let initial = spec.members.iter().filter_map(|member| member.initial_weight);
    problems.extend(
        initial.reduce(u32::saturating_add).and_then(|sum| unequal("spec.members", "the initial weights", sum)),
    );
    problems
}

/// Service and member names that are too long together.
pub(super) fn long_names(spec: &FleetRolloutSpec) -> Vec<Problem> {
    let Some(member) = spec.members.iter().max_by_key(|member| member.name.len()) else { return Vec::new() };
    let services =
        spec.services.iter().enumerate().map(|(i, service)| (i, service, service.name.len() + member.name.len()));
    services
        .filter(|(.., length)| *length > LONGEST_NAMES)
        .map(|(i, service, length)| {
            let found = format!(
                "{} and member {} have {length} characters together",
                quoted(&service.name),
                quoted(&member.name)
            );
            let allowed = format!("a backend is named <service>-<member>; at most {LONGEST_NAMES} are allowed");
            Problem::error(format!("spec.services[{i}].name"), found, allowed)
        })
        .collect()
}

/// Everything that is wrong with a member's spec and needs no cluster to be seen; paths begin with `spec`.
pub fn member(spec: &MemberClusterSpec) -> Vec<Problem> {
    let mut problems: Vec<Problem> =
        spec.endpoints.iter().enumerate().flat_map(|(i, one)| endpoint(&format!("spec.endpoints[{i}]"), one)).collect();
    problems.extend(endpoints_for_one_service(&spec.endpoints));
    problems.extend(match &spec.prometheus.source {
        PrometheusSource::Service(_) if spec.kubeconfig_secret_ref.is_none() => Some(Problem::error(
            "spec.prometheus.service",
            "is reached through the member's API server, but there is no kubeconfigSecretRef",
            "give spec.kubeconfigSecretRef, or use spec.prometheus.url",
        )),
        PrometheusSource::Service(_) => None,
        PrometheusSource::Url(url) => address(url),
    });
    problems.extend(namespaces(&spec.allowed_namespaces));
    problems
}

fn endpoint(path: &str, endpoint: &Endpoint) -> Vec<Problem> {
    let server_name = endpoint.tls.as_ref().map(|tls| ("tls.serverName", tls.server_name.as_str()));
    [("host", endpoint.host.as_str())]
        .into_iter()
        .chain(server_name)
        .filter_map(|(field, name)| dns_name(&format!("{path}.{field}"), name))
        .collect()
}

/// Names that a backend may lead to: public DNS names, never the hub cluster itself.
fn dns_name(path: &str, name: &str) -> Option<Problem> {
    let plain = match filled(path, name, &[("service", "service"), ("namespace", "namespace")]) {
        Ok(plain) => plain,
        Err(problem) => return Some(problem),
    };
    let refusal = backend::refusal(&plain)?;
    Some(Problem::error(path, format!("{} {}", quoted(name), refusal.found()), refusal.remedy()))
}

fn endpoints_for_one_service(endpoints: &[Endpoint]) -> Vec<Problem> {
    let first = |endpoint: &Endpoint| endpoints.iter().position(|other| other.service == endpoint.service);
    endpoints
        .iter()
        .enumerate()
        .filter_map(|(i, endpoint)| first(endpoint).filter(|first| *first < i).map(|first| (i, first, endpoint)))
        .map(|(i, first, endpoint)| {
            let whom = endpoint.service.as_ref().map_or_else(
                || "without a service, the default".to_owned(),
                |service| format!("for {}/{}", service.namespace, service.name),
            );
            Problem::error(
                format!("spec.endpoints[{i}]"),
                format!("is the second one {whom}"),
                format!("spec.endpoints[{first}] is the first; keep one of them"),
            )
        })
        .collect()
}

fn address(url: &PrometheusUrl) -> Option<Problem> {
    let path = "spec.prometheus.url.address";
    let with_credentials = url.bearer_token_secret_ref.is_some() || url.basic_auth_secret_ref.is_some();
    let Ok(parsed) = url.address.parse::<http::Uri>() else {
        return Some(Problem::error(path, "is not an address", "write https://host[:port][/prefix]"));
    };
    if parsed.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return Some(Problem::error(
            path,
            "carries credentials",
            "put them in a Secret and name it in basicAuthSecretRef",
        ));
    }
    if url.address.contains(['?', '#']) {
        return Some(Problem::error(path, "has a query or fragment", "write https://host[:port][/prefix]"));
    }
    if with_credentials && parsed.scheme_str() == Some("http") {
        return Some(Problem::error(path, "would send credentials in the clear", "use https"));
    }
    (url.bearer_token_secret_ref.is_some() && url.basic_auth_secret_ref.is_some()).then(|| {
        Problem::error(
            "spec.prometheus.url",
            "bearerTokenSecretRef and basicAuthSecretRef are both given",
            "give one of them",
        )
    })
}

fn namespaces(allowed: &AllowedNamespaces) -> Option<Problem> {
    let path = "spec.allowedNamespaces.names";
    match allowed.from {
        NamespacesFrom::All if !allowed.names.is_empty() => {
            Some(Problem::error(path, "has no effect with from: All", "write from: Names, or leave names out"))
        }
        NamespacesFrom::Names if allowed.names.is_empty() => Some(Problem::error(
            path,
            "is empty, so no rollout may use this member",
            "name the namespaces, or write from: All",
        )),
        NamespacesFrom::All | NamespacesFrom::Names => None,
    }
}
