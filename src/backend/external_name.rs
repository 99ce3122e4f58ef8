//! A Service of type ExternalName per member.

use std::collections::BTreeMap;

use serde_json::json;

use super::DesiredObject;
use crate::object::Reach;

/// The Service. Data planes connect to the port that the route names, and some read the scheme from the target port:
/// both are the endpoint's.
pub(super) fn service(reach: &Reach) -> DesiredObject {
    let name = if reach.server_name.is_some() { "https" } else { "http" };
    let port = json!({"name": name, "port": reach.port, "targetPort": reach.port, "protocol": "TCP"});
    DesiredObject {
        fields: json!({"spec": {"type": "ExternalName", "externalName": reach.host, "ports": [port]}}),
        labels: BTreeMap::new(),
    }
}
