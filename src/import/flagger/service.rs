//! `spec.service`: the port and the name of the route. A Service target has its own Service; Flagger generates none.

use super::canary::Context;
use crate::import::{
    fields::Fields,
    remarks::{Remarks, shown},
};

/// How clients reach the Service.
pub(super) struct Exposed {
    pub(super) port: u16,
    /// The name of the route object that Flagger makes.
    pub(super) apex: String,
}

/// What Flagger applies only to Services that it generates itself.
const GENERATED: [&str; 7] =
    ["portName", "targetPort", "portDiscovery", "headless", "primary", "canary", "unmanagedMetadata"];

pub(super) fn exposed(fields: &mut Fields<'_>, context: &Context<'_, '_>, remarks: &mut Remarks) -> Option<Exposed> {
    let target = shown(&context.target.name);
    let apex = fields.take::<String>("name", remarks).unwrap_or_else(|| context.target.name.clone());
    if apex != context.target.name {
        let why = format!(
            "with a Service target Flagger leads its route to {0}-primary and {0}-canary, and makes {target}-primary and \
             {target}-canary; here the Services are named after {target}",
            shown(&apex)
        );
        remarks.lose(fields.at("name"), why);
    }
    let why = format!("Flagger does not apply it to a Service target; the copies have what Service {target} has");
    fields.lose(&GENERATED, &why, remarks);
    if context.divides_connections() {
        fields.any("appProtocol");
    }
    let why = format!("write it into Service {target}; the copies have what it has");
    fields.lose(&["trafficDistribution", "appProtocol"], &why, remarks);
    if !fields.has("port") {
        fields.refuse("port", "missing", "write the port that routes send to", remarks);
    }
    let port = fields.take::<i64>("port", remarks)?;
    let port = u16::try_from(port).ok().filter(|port| *port > 0);
    if port.is_none() {
        fields.refuse("port", "is no TCP port", "write a number from 1 to 65535", remarks);
    }
    Some(Exposed { port: port?, apex })
}
