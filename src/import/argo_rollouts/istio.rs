//! `trafficRouting.istio`: each VirtualService, whose routes lead to the stable and the canary Service.

use super::routing::ROUTE;
use crate::{
    api::{Route, istio::IstioRoute},
    import::{
        fields::{Fields, ListOf},
        remarks::{Remarks, shown},
    },
};

pub(super) fn virtual_services(fields: &mut Fields<'_>, remarks: &mut Remarks) -> Vec<Route> {
    if fields.any("destinationRule").is_some() {
        let found = "two subsets of one Service are weighted, which only its Pods tell apart";
        let remedy = "lead the routes to stableService and canaryService";
        fields.refuse("destinationRule", found, remedy, remarks);
    }
    let one = fields.block("virtualService", remarks, virtual_service).flatten();
    let more = fields.each("virtualServices", remarks, virtual_service).into_iter().flatten();
    let routes: Vec<IstioRoute> = one.into_iter().chain(more).collect();
    if routes.is_empty() {
        fields.refuse("virtualService", "missing", "name the VirtualService through which clients come", remarks);
    }
    if routes.iter().any(|route| route.routes.is_empty()) {
        let text = "Without routes the only one of a VirtualService is adopted; where it has several, name those that lead to the service.";
        remarks.note(ROUTE, text);
    }
    routes.into_iter().map(Route::Istio).collect()
}

fn virtual_service(fields: &mut Fields<'_>, remarks: &mut Remarks) -> Option<IstioRoute> {
    let name = fields.take::<String>("name", remarks);
    if name.is_none() {
        fields.refuse("name", "missing", "name the VirtualService", remarks);
    }
    for (key, list) in [("tcpRoutes", "tcp"), ("tlsRoutes", "tls")] {
        if fields.any(key).is_some() {
            let found = "they are found by their port or host, and here by their place";
            let remedy = format!("leave them out, and write routes: [{list}#0] for the first");
            fields.refuse(key, found, remedy, remarks);
        }
    }
    let routes = fields.take::<ListOf<String>>("routes", remarks).map(|ListOf(names)| names).unwrap_or_default();
    let name = in_the_namespace(name?, fields, remarks)?;
    Some(IstioRoute { name: Some(name), routes, create: None })
}

/// A name may have a namespace behind a dot.
fn in_the_namespace(name: String, fields: &Fields<'_>, remarks: &mut Remarks) -> Option<String> {
    let own = fields.of().namespace();
    match name.split_once('.') {
        None => Some(name),
        Some((name, namespace)) if own.is_none_or(|own| own == namespace) => Some(name.to_owned()),
        Some((_, namespace)) => {
            let found = format!("{} is not the namespace of the Rollout", shown(namespace));
            let remedy = "a rollout's routes are in its own namespace; move one of them";
            fields.refuse("name", found, remedy, remarks);
            None
        }
    }
}
