//! Endpoints that a kind of route cannot reach as they are declared, in one wording for all kinds.

use crate::api::member::HostHeader;
use crate::api::{Backend, Reason};
use crate::object::Context;
use crate::object::Reach;
use crate::rollout::input::Problem;

/// Refuses every member for which `why` has an answer: the field of its endpoint, and what is wrong and would help.
pub(super) fn refuse(context: &Context<'_>, why: impl Fn(&Reach) -> Option<String>) -> Vec<Problem> {
    let service = &context.service.name;
    let refuse = |(member, reach)| {
        let message = format!("MemberCluster {member}, endpoint of service {service}: {}", why(reach)?);
        Some(Problem::new(Reason::CannotCarryWeights, message))
    };
    context.endpoints.iter().filter_map(refuse).collect()
}

/// `hostHeader: Endpoint` where the kind cannot set a backend's Host.
pub(super) fn no_host(reach: &Reach, why: &str) -> Option<String> {
    (reach.host_header == HostHeader::Endpoint).then(|| {
        format!(
            "hostHeader: Endpoint: {why}: say hostHeader: Preserve and let the member accept the public name, or use contour or skipper"
        )
    })
}

/// `tls` where the kind cannot speak it to a backend.
pub(super) fn no_tls(reach: &Reach, why: &str) -> Option<String> {
    let name = reach.server_name.as_ref()?;
    Some(format!("tls.serverName: {name}: {why}: leave tls out, or use contour or skipper"))
}

/// `tls` where the name in the SNI extension is always the endpoint's host.
pub(super) fn other_sni(reach: &Reach) -> Option<String> {
    let name = reach.server_name.as_ref().filter(|name| **name != reach.host)?;
    let host = &reach.host;
    Some(format!("tls.serverName: {name}: the data plane sends its host {host} as SNI: give both the same name"))
}

/// What only one member's endpoint asks for, where a kind treats all backends alike. Services that are there already
/// are the user's own affair, but for the Host that the hub's probes would send.
pub(super) fn same_for_all(context: &Context<'_>, reach: &Reach, why: &str) -> Option<String> {
    match context.service.backend {
        Backend::ClusterIp(_) | Backend::ServiceEntry(_) | Backend::Subset(_) => no_host(reach, why),
        Backend::ExternalName(_) | Backend::EndpointSlice(_) => no_tls(reach, why).or_else(|| no_host(reach, why)),
    }
}
