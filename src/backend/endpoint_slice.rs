//! A Service without selector, and `EndpointSlice`s with the addresses that the hub resolved.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use kube::core::DynamicObject;
use serde_json::json;

use super::{DesiredObject, name, ready::SERVICE_NAME};
use crate::api::{Reason, ServiceSpec};
use crate::object::Reach;
use crate::rollout::input::Problem;

/// What the endpoint slice controllers put into one slice.
const MAX_ADDRESSES: usize = 100;
/// A slice holds one family of addresses.
const FAMILIES: [&str; 2] = ["IPv4", "IPv6"];

/// Names of a backend's slices, one a family.
pub(super) fn names(backend: &str) -> impl Iterator<Item = String> {
    FAMILIES.into_iter().map(move |family| format!("{backend}-{}", family.to_lowercase()))
}

/// The Service and the slice of each family. No answer of a resolver ever empties a backend: without any address the
/// slices stay as they are; a family goes only when the other one has addresses.
pub(super) fn objects(
    service: &ServiceSpec,
    member: &str,
    reach: &Reach,
    current: &[Option<Arc<DynamicObject>>],
    addresses: &[IpAddr],
) -> Result<Vec<Option<DesiredObject>>, Problem> {
    let mut objects = vec![Some(selectorless(service, reach))];
    for (index, family) in FAMILIES.into_iter().enumerate() {
        let of_family: BTreeSet<IpAddr> =
            addresses.iter().copied().filter(|address| address.is_ipv4() == (index == 0)).collect();
        let there = current.get(index + 1).is_some_and(Option::is_some);
        let labels = BTreeMap::from([
            (SERVICE_NAME.to_owned(), name(service, member)),
            ("endpointslice.kubernetes.io/managed-by".to_owned(), "cutover".to_owned()),
        ]);
        let ports = json!([{"name": "", "port": reach.port, "protocol": "TCP"}]);
        objects.push(match (of_family.is_empty(), addresses.is_empty() && there) {
            (true, true) => Some(DesiredObject { fields: json!({"ports": ports}), labels }),
            (true, false) => None,
            (false, _) => Some(DesiredObject {
                fields: json!({"addressType": family, "endpoints": endpoints(of_family), "ports": ports}),
                labels,
            }),
        });
    }
    if objects.iter().flatten().count() == 1 {
        let message =
            format!("{} of member {member} has no address yet: make its name resolve from the hub", reach.host);
        return Err(Problem::new(Reason::BackendNotReady, message));
    }
    Ok(objects)
}

fn selectorless(service: &ServiceSpec, reach: &Reach) -> DesiredObject {
    let port = json!({"port": service.port, "targetPort": reach.port, "protocol": "TCP"});
    let fields = json!({"spec": {"type": "ClusterIP", "selector": null, "externalName": null, "ports": [port]}});
    DesiredObject { fields, labels: BTreeMap::new() }
}

fn endpoints(addresses: BTreeSet<IpAddr>) -> serde_json::Value {
    addresses
        .into_iter()
        .take(MAX_ADDRESSES)
        .map(|address| json!({"addresses": [address], "conditions": {"ready": true}}))
        .collect()
}
