//! The endpoints of a member that can be tried: those that are the same for every service, and those of the rollouts.

use std::{collections::BTreeSet, fmt};

use kube::ResourceExt;

use super::read::Placed;
use crate::{
    api::{MemberCluster, member},
    member::Member,
    object::Reach,
};

/// Where a member is reached. The Host header is the host, for no route is known here.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Endpoint {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) server_name: Option<String>,
}

/// Each endpoint once.
pub(super) fn of(member: &MemberCluster, rollouts: &[Placed]) -> Vec<Endpoint> {
    let name = member.name_any();
    let fixed = member.spec.endpoints.iter().filter_map(Endpoint::fixed);
    let places = rollouts.iter().flat_map(|rollout| rollout.places.iter().flatten());
    let used = places.flat_map(|place| place.clusters().filter(|(_, cluster, _)| *cluster == name));
    fixed.chain(used.map(|(_, _, reach)| Endpoint::of(reach))).collect::<BTreeSet<_>>().into_iter().collect()
}

impl Endpoint {
    /// One that does not depend on the service.
    fn fixed(endpoint: &member::Endpoint) -> Option<Self> {
        let server_name = endpoint.tls.as_ref().map(|tls| tls.server_name.clone());
        let depends =
            [Some(&endpoint.host), server_name.as_ref()].into_iter().flatten().any(|name| name.contains("{{"));
        (!depends).then(|| Self { host: endpoint.host.clone(), port: endpoint.port, server_name })
    }

    fn of(reach: &Reach) -> Self {
        Self { host: reach.host.clone(), port: reach.port, server_name: reach.server_name.clone() }
    }

    /// Whether it answers.
    pub(super) async fn ask(&self, member: &Member) -> Result<(), String> {
        member.answers((&self.host, self.port), self.server_name.as_deref(), &self.host).await
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}
