//! Which Service is meant, and which objects hold its weights.

use super::Known;
use crate::{
    api::{
        Route,
        istio::IstioRoute,
        service::{GatewayApiRoute, StableIngress},
    },
    import::{
        fields::Fields,
        remarks::{Remarks, shown},
    },
};

const ROUTE: &str = "spec.services[0].routes[0]";

/// A Service and its routes.
pub(super) struct Routed {
    pub(super) service: String,
    pub(super) routes: Vec<Route>,
}

impl Routed {
    /// Whether a canary Ingress holds the weights.
    pub(super) fn is_ingress(&self) -> bool {
        self.routes.iter().any(|route| matches!(route, Route::Nginx(_) | Route::AliyunAlb(_)))
    }
}

/// Reads `trafficRoutings`, or the TrafficRouting that is named.
pub(super) fn routed(fields: &mut Fields<'_>, known: &Known<'_>, remarks: &mut Remarks) -> Option<Routed> {
    let before = remarks.refusals.len();
    let mut routed = fields.each("trafficRoutings", remarks, one);
    if let Some(name) = fields.take::<String>("trafficRoutingRef", remarks) {
        routed.extend(referred(fields, &name, known, remarks));
    }
    if routed.is_empty() && remarks.refusals.len() == before {
        let found = "no traffic routing is given, so Pods are counted instead of requests";
        remarks.refusals.push(fields.of().refusal(
            fields.path(),
            found,
            "let a route hold the weights: trafficRoutings",
        ));
    }
    let mut routed = routed.into_iter().flatten();
    let mut first = routed.next().filter(|_| remarks.refusals.len() == before)?;
    for other in routed {
        if other.service == first.service {
            first.routes.extend(other.routes);
        } else {
            let found = format!("{} is another Service than {}", shown(&other.service), shown(&first.service));
            fields.refuse("trafficRoutings", found, "write one Rollout for each", remarks);
        }
    }
    remarks.note(ROUTE, "Let the Rollout be at rest, and delete it first: it takes its canary objects away.");
    Some(first)
}

/// The references of a TrafficRouting; its own strategy is that of the Rollout's steps.
fn referred(fields: &Fields<'_>, name: &str, known: &Known<'_>, remarks: &mut Remarks) -> Vec<Option<Routed>> {
    let Some(routing) = known.routing(fields.of().namespace(), name) else {
        let found = format!("TrafficRouting {} is in none of these files", shown(name));
        fields.refuse("trafficRoutingRef", found, "name its file too", remarks);
        return Vec::new();
    };
    let mut own = Remarks::default();
    let mut spec = routing.spec(&mut own);
    spec.lose(&["strategy"], "the steps of the Rollout say what moves", &mut own);
    let routed = spec.each("objectRef", &mut own, one);
    spec.name_the_rest(&mut own);
    remarks.absorb(own, &routing.title());
    routed
}

fn one(fields: &mut Fields<'_>, remarks: &mut Remarks) -> Option<Routed> {
    let before = remarks.refusals.len();
    let service = fields.take::<String>("service", remarks);
    fields.lose(
        &["gracePeriodSeconds"],
        "a weight counts when the data plane accepted it, and settle comes after that",
        remarks,
    );
    let mut routes = Vec::new();
    routes.extend(fields.block("ingress", remarks, ingress).flatten());
    routes.extend(fields.block("gateway", remarks, gateway).flatten());
    routes.extend(fields.each("customNetworkRefs", remarks, custom).into_iter().flatten());
    if service.is_none() {
        fields.refuse("service", "missing", "name the Service whose traffic moves", remarks);
    }
    if routes.is_empty() && remarks.refusals.len() == before {
        let found = "no object that holds weights is named";
        remarks.refusals.push(fields.of().refusal(
            fields.path(),
            found,
            "name one: ingress, gateway or a VirtualService",
        ));
    }
    Some(Routed { service: service?, routes })
}

fn ingress(fields: &mut Fields<'_>, remarks: &mut Remarks) -> Option<Route> {
    let class = fields.take::<String>("classType", remarks).unwrap_or_else(|| "nginx".to_owned());
    let name = fields.take::<String>("name", remarks);
    if name.is_none() {
        fields.refuse("name", "missing", "name the Ingress through which clients come", remarks);
    }
    let ingress = StableIngress { name: name? };
    match class.as_str() {
        "nginx" => Some(Route::Nginx(ingress)),
        "aliyun-alb" => Some(Route::AliyunAlb(ingress)),
        other => {
            let found = format!("{:?} has no route in cutover", shown(other));
            fields.refuse("classType", found, "docs/routes.md lists the routes", remarks);
            None
        }
    }
}

fn gateway(fields: &mut Fields<'_>, remarks: &mut Remarks) -> Option<Route> {
    let name = fields.take::<String>("httpRouteName", remarks);
    if name.is_none() {
        fields.refuse("httpRouteName", "missing", "name the HTTPRoute", remarks);
    }
    Some(Route::GatewayApi(GatewayApiRoute { name: Some(name?), rules: Vec::new(), create: None }))
}

fn custom(fields: &mut Fields<'_>, remarks: &mut Remarks) -> Option<Route> {
    let mut text = |key: &str| fields.take::<String>(key, remarks).unwrap_or_default();
    let (version, kind, name) = (text("apiVersion"), text("kind"), text("name"));
    match (version.starts_with("networking.istio.io/"), kind.as_str()) {
        (true, "VirtualService") => {
            let text = format!(
                "Of VirtualService {} the only route is adopted; where it has several, name those that lead to the service: routes.",
                shown(&name)
            );
            remarks.note(ROUTE, text);
            Some(Route::Istio(IstioRoute { name: Some(name), routes: Vec::new(), create: None }))
        }
        (true, "DestinationRule") => {
            let why = "the primary and the canary are Services, and not subsets of one";
            remarks.lose(format!("{} ({})", fields.path(), shown(&name)), why);
            None
        }
        _ => {
            let found = format!("{} {} has no route in cutover", shown(&kind), shown(&name));
            remarks.refusals.push(fields.of().refusal(fields.path(), found, "docs/routes.md lists the routes"));
            None
        }
    }
}
