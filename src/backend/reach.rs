//! Where a member is reached, taken from its declaration and checked: whoever may write a rollout must not be able to
//! point the data plane at the hub cluster itself.

use std::net::IpAddr;

use crate::api::member::{Endpoint, HostHeader};
use crate::api::template::{Unfilled, fill};
use crate::api::{MemberClusterSpec, Reason};
use crate::rollout::input::Problem;

/// Where the hub's data plane reaches a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reach {
    /// A DNS name.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// Name in the SNI extension; `None` where no TLS is spoken.
    pub server_name: Option<String>,
    /// Which Host header the member gets.
    pub host_header: HostHeader,
}

/// The endpoint of a member for one service: the service's own, else the default.
pub fn reach(member: &MemberClusterSpec, namespace: &str, service: &str) -> Result<Reach, Problem> {
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
    match refusal(&name) {
        None => Ok(name),
        Some((reason, why)) => Err(Problem::new(reason, format!("{field}: {name}: {why}"))),
    }
}

fn refusal(name: &str) -> Option<(Reason, &'static str)> {
    let last = name.rsplit('.').next().unwrap_or_default();
    let is_within = |zone: &str| name == zone || name.strip_suffix(zone).is_some_and(|rest| rest.ends_with('.'));
    if name.parse::<IpAddr>().is_ok()
        || last.starts_with("0x")
        || !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit())
    {
        Some((
            Reason::AddressNotAllowed,
            "an address, but a certificate and a change of address need a DNS name: give the member one",
        ))
    } else if ["localhost", "cluster.local", "svc"].into_iter().any(is_within) {
        Some((
            Reason::AddressNotAllowed,
            "leads into the hub cluster itself: give the name under which the member is reached from outside",
        ))
    } else if !is_dns_name(name) {
        Some((
            Reason::InvalidSpec,
            "not a DNS name: lower case letters, digits and hyphens in at least two labels, without a final dot",
        ))
    } else {
        None
    }
}

fn is_dns_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_label = |label: &str| {
        (1..=63).contains(&label.len()) && label.bytes().all(fits) && !label.starts_with('-') && !label.ends_with('-')
    };
    name.len() <= 253 && name.contains('.') && name.split('.').all(is_label)
}
