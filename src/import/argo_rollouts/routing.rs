//! `trafficRouting`: the objects that hold the weights.

use serde_json::Value;

use super::istio::virtual_services;
use crate::{
    api::{
        Route,
        service::{ContourRoute, GatewayApiRoute, StableIngress},
    },
    import::{
        fields::{Fields, ListOf},
        remarks::{Remarks, shown},
    },
};

/// Routers in Argo Rollouts itself that have no route here.
const OTHERS: [&str; 6] = ["alb", "ambassador", "apisix", "appMesh", "smi", "traefik"];
const GATEWAY_API: &str = "argoproj-labs/gatewayAPI";
const CONTOUR: &str = "argoproj-labs/contour";
pub(super) const ROUTE: &str = "spec.services[0].routes[0]";

/// The routes, and the sum of their weights; no routes where one of them is refused.
pub(super) fn routing(fields: &mut Fields<'_>, remarks: &mut Remarks) -> (Option<Vec<Route>>, u32) {
    if !fields.has("trafficRouting") {
        let found = "missing, so Pods are counted instead of requests";
        fields.refuse("trafficRouting", found, "let a route hold the weights (docs/routes.md)", remarks);
    }
    let routing = fields.block("trafficRouting", remarks, |fields, remarks| {
        let total = fields.take::<i64>("maxTrafficWeight", remarks).unwrap_or(100);
        let total = u32::try_from(total).ok().filter(|total| (1..=10_000).contains(total));
        if total.is_none() {
            fields.refuse("maxTrafficWeight", "is not from 1 to 10000", "write 100, 1000 or 10000", remarks);
        }
        fields.any("managedRoutes");
        (routes(fields, remarks), total.unwrap_or(100))
    });
    let (routes, total) = routing.unwrap_or((None, 100));
    if routes.is_some() {
        remarks.note(ROUTE, "Hand it over first (docs/coming-from-argo-rollouts.md).");
    }
    (routes, total)
}

fn routes(fields: &mut Fields<'_>, remarks: &mut Remarks) -> Option<Vec<Route>> {
    let before = remarks.refusals.len();
    let mut routes = fields.block("nginx", remarks, nginx).unwrap_or_default();
    routes.extend(fields.block("istio", remarks, virtual_services).unwrap_or_default());
    routes.extend(fields.block("plugins", remarks, plugins).unwrap_or_default());
    for key in OTHERS {
        if fields.any(key).is_none() {
            continue;
        }
        let found = "has no route in cutover";
        let remedy = "docs/routes.md lists the routes; HTTPRoutes of Gateway API serve many data planes";
        fields.refuse(key, found, remedy, remarks);
    }
    if routes.is_empty() && remarks.refusals.len() == before {
        let found = "names no router, so Pods are counted instead of requests";
        remarks.refusals.push(fields.of().refusal(
            fields.path(),
            found,
            "let a route hold the weights (docs/routes.md)",
        ));
    }
    (remarks.refusals.len() == before).then_some(routes)
}

fn nginx(fields: &mut Fields<'_>, remarks: &mut Remarks) -> Vec<Route> {
    let one = fields.take::<String>("stableIngress", remarks);
    let more = fields.take::<ListOf<String>>("stableIngresses", remarks).map(|ListOf(names)| names).unwrap_or_default();
    let why = "the hub makes <ingress>-canary with the annotations of its Ingress";
    fields.lose(&["additionalIngressAnnotations", "canaryIngressAnnotations"], why, remarks);
    fields.lose(&["annotationPrefix"], "the hub writes nginx.ingress.kubernetes.io", remarks);
    if one.is_none() && more.is_empty() {
        fields.refuse("stableIngress", "missing", "name the Ingress through which clients come", remarks);
    }
    one.into_iter().chain(more).map(|name| Route::Nginx(StableIngress { name })).collect()
}

fn plugins(fields: &mut Fields<'_>, remarks: &mut Remarks) -> Vec<Route> {
    let own = fields.of().namespace().map(str::to_owned);
    let mut routes = Vec::new();
    for name in fields.names() {
        let found = fields.block(&name, remarks, |fields, remarks| match name.as_str() {
            GATEWAY_API => http_routes(fields, own.as_deref(), remarks),
            CONTOUR => http_proxies(fields, own.as_deref(), remarks),
            _ => {
                let found = format!("plugin {} has no route in cutover", shown(&name));
                let remedy = "docs/routes.md lists the routes; HTTPRoutes of Gateway API serve many data planes";
                remarks.refusals.push(fields.of().refusal(fields.path(), found, remedy));
                fields.names().iter().for_each(|key| drop(fields.any(key)));
                Vec::new()
            }
        });
        routes.extend(found.into_iter().flatten());
    }
    routes
}

fn http_routes(fields: &mut Fields<'_>, own: Option<&str>, remarks: &mut Remarks) -> Vec<Route> {
    in_the_namespace(fields, own, remarks);
    let mut names: Vec<String> = fields.take::<String>("httpRoute", remarks).into_iter().collect();
    names.extend(fields.each("httpRoutes", remarks, named).into_iter().flatten());
    for key in ["grpcRoute", "grpcRoutes", "tcpRoute", "tcpRoutes", "tlsRoute", "tlsRoutes"] {
        if fields.any(key).is_some() {
            fields.refuse(key, "only HTTPRoutes have a route in cutover", "move it with httpRoutes", remarks);
        }
    }
    fields.lose(
        &[
            "configMap",
            "skipManagedRouteRemoval",
            "disableInProgressLabel",
            "inProgressLabelKey",
            "inProgressLabelValue",
        ],
        "it is about the plugin",
        remarks,
    );
    names
        .into_iter()
        .map(|name| Route::GatewayApi(GatewayApiRoute { name: Some(name), rules: Vec::new(), create: None }))
        .collect()
}

fn named(fields: &mut Fields<'_>, remarks: &mut Remarks) -> Option<String> {
    fields.any("useHeaderRoutes");
    fields.take("name", remarks)
}

fn http_proxies(fields: &mut Fields<'_>, own: Option<&str>, remarks: &mut Remarks) -> Vec<Route> {
    in_the_namespace(fields, own, remarks);
    let names = fields.any("httpProxies").unwrap_or_default();
    let name = |value: &Value| value.as_str().or_else(|| value["name"].as_str()).map(str::to_owned);
    let names = names.as_array().map(|names| names.iter().filter_map(name).collect::<Vec<_>>()).unwrap_or_default();
    names
        .into_iter()
        .map(|name| Route::Contour(ContourRoute { name: Some(name), rules: Vec::new(), create: None }))
        .collect()
}

/// A rollout's routes are in its own namespace.
fn in_the_namespace(fields: &mut Fields<'_>, own: Option<&str>, remarks: &mut Remarks) {
    let namespace = fields.take::<String>("namespace", remarks);
    if let Some(namespace) = namespace.filter(|namespace| Some(namespace.as_str()) != own && own.is_some()) {
        let found = format!("{} is not the namespace of the Rollout", shown(&namespace));
        fields.refuse("namespace", found, "a rollout's routes are in its own namespace; move one of them", remarks);
    }
}
