//! Where a member is reached, taken from its declaration and checked: whoever may write a rollout must not be able to
//! point the data plane at the hub cluster itself.

use crate::api::member::{Endpoint, HostHeader};
use crate::api::template::{Unfilled, fill};
use crate::api::{MemberClusterSpec, Reason, ServiceCopy, ServiceSpec};
use crate::object::Reach;
use crate::object::host_name::{Refusal, refusal};
use crate::rollout::input::Problem;

/// The endpoint of a member for one service: the service's own, else the default.
pub(crate) fn reach(member: &MemberClusterSpec, namespace: &str, service: &str) -> Result<Reach, Problem> {
    let (index, endpoint) = find(member, namespace, service).ok_or_else(|| {
        let message =
            format!("spec.endpoints: none is for service {namespace}/{service} and none is the default: add one");
        Problem::new(Reason::InvalidSpec, message)
    })?;
    let path = format!("spec.endpoints[{index}]");
    let fill = |text: &str, field: &str| dns_name(&format!("{path}.{field}"), text, namespace, service);
    Ok(Reach {
        host: fill(&endpoint.host, "host")?,
        port: endpoint.port,
        server_name: endpoint.tls.as_ref().map(|tls| fill(&tls.server_name, "tls.serverName")).transpose()?,
        host_header: endpoint.host_header,
    })
}

/// Where a Service of service mode leads: its external name, with the TLS that its member's endpoint speaks; else the
/// Service itself.
#[must_use]
pub(crate) fn reach_of(
    copy: &ServiceCopy,
    service: &ServiceSpec,
    namespace: &str,
    member: Option<&MemberClusterSpec>,
) -> Reach {
    let endpoint = member.and_then(|member| reach(member, namespace, &service.name).ok());
    let host = copy.external_name().map_or_else(|| format!("{}.{namespace}.svc", service.name), str::to_owned);
    Reach {
        host,
        port: service.port,
        server_name: endpoint.as_ref().and_then(|endpoint| endpoint.server_name.clone()),
        host_header: endpoint.map_or(HostHeader::Preserve, |endpoint| endpoint.host_header),
    }
}

/// The hosts of all endpoints of a member that are for this service, or for any.
pub(crate) fn hosts(member: &MemberClusterSpec, namespace: &str, service: &str) -> Vec<String> {
    let is_for = |endpoint: &&Endpoint| {
        endpoint.service.as_ref().is_none_or(|of| of.namespace == namespace && of.name == service)
    };
    let host = |endpoint: &Endpoint| dns_name("spec.endpoints[].host", &endpoint.host, namespace, service).ok();
    member.endpoints.iter().filter(is_for).filter_map(host).collect()
}

fn find<'m>(member: &'m MemberClusterSpec, namespace: &str, service: &str) -> Option<(usize, &'m Endpoint)> {
    let own = |endpoint: &Endpoint| {
        endpoint.service.as_ref().is_some_and(|of| of.namespace == namespace && of.name == service)
    };
    let endpoints = || member.endpoints.iter().enumerate();
    endpoints()
        .find(|(_, endpoint)| own(endpoint))
        .or_else(|| endpoints().find(|(_, endpoint)| endpoint.service.is_none()))
}

fn dns_name(field: &str, text: &str, namespace: &str, service: &str) -> Result<String, Problem> {
    let known = |variable: &str| match variable {
        "service" => Some(service),
        "namespace" => Some(namespace),
        _ => None,
    };
    let name = fill(text, known).map_err(|unfilled| {
        let what = match unfilled {
            Unfilled::Unknown(variable) => format!("{{{{ {variable} }}}} is not known"),
            Unfilled::Open => "{{ is never closed".to_owned(),
        };
        let message = format!("{field}: {what}: use {{{{ service }}}} and {{{{ namespace }}}}");
        Problem::new(Reason::InvalidSpec, message)
    })?;
    let Some(refusal) = refusal(&name) else { return Ok(name) };
    let reason = match refusal {
        Refusal::Address | Refusal::HubCluster => Reason::AddressNotAllowed,
        Refusal::NotAName => Reason::InvalidSpec,
    };
    Err(Problem::new(reason, format!("{field}: {name:?} {}; {}", refusal.found(), refusal.remedy())))
}
