//! The VirtualService of Flagger's provider istio: adopted by its name, or made anew.

use super::{
    super::{canary::Context, service::Exposed},
    ROUTE, adopted,
    created::{everything, headers, retries, timeouts},
};
use crate::{
    api::{
        http_settings::{Cors, Headers},
        istio::{CreateIstio, IstioProtocol, IstioRoute},
    },
    import::{
        fields::{Fields, ListOf},
        flagger::route::created,
        remarks::{Remarks, shown},
        services::Reached,
    },
};

/// All sidecars of the mesh, which Flagger takes where no gateway is given.
const MESH: &str = "mesh";

pub(super) fn virtual_service(
    fields: &mut Fields<'_>,
    exposed: &Exposed,
    context: &Context<'_, '_>,
    remarks: &mut Remarks,
) -> Option<IstioRoute> {
    if context.target.reached == Reached::ByName {
        let text = "For Istio an ExternalName Service is another name of its target: each target needs a ServiceEntry.";
        remarks.note("spec.services[0].backend", text);
    }
    if context.known.options.create_routes {
        let create = made(fields, exposed, context, remarks)?;
        return Some(IstioRoute { name: None, routes: Vec::new(), create: Some(create) });
    }
    let has_policy = fields.any("trafficPolicy").is_some();
    let name = adopted("VirtualService", fields, exposed, context, remarks);
    if has_policy {
        let service = shown(&context.target.name);
        let text =
            format!("DestinationRules {service}-primary and {service}-canary stay too, with their trafficPolicy.");
        remarks.note(ROUTE, text);
    }
    let keeps_users = context.of.document.value["spec"]["analysis"]["sessionAffinity"].is_object();
    if keeps_users && !context.divides_connections() {
        let text =
            "Take out its route for the cookie of Flagger's last run: the users who have it would stay on the primary.";
        remarks.note(ROUTE, text);
    }
    let routes = if context.divides_connections() { vec!["tcp#0".to_owned()] } else { Vec::new() };
    Some(IstioRoute { name: Some(name), routes, create: None })
}

fn made(
    fields: &mut Fields<'_>,
    exposed: &Exposed,
    context: &Context<'_, '_>,
    remarks: &mut Remarks,
) -> Option<CreateIstio> {
    let delegate = fields.take("delegation", remarks).unwrap_or(false);
    let (hosts, gateways) = if delegate {
        (Vec::new(), Vec::new())
    } else {
        (hosts(fields, exposed, remarks), gateways(fields, context.of.namespace(), remarks)?)
    };
    let service = shown(&context.target.name);
    let why = format!("write a DestinationRule for {service}-primary, and one for {service}-canary");
    fields.lose(&["trafficPolicy"], &why, remarks);
    let why = "a VirtualService that the hub makes has nothing like it; adopt one that has";
    fields.lose(&["rewrite", "mirror", "apex"], why, remarks);
    let common = CreateIstio {
        hosts,
        gateways,
        protocol: IstioProtocol::Http,
        delegate,
        timeouts: None,
        retries: None,
        headers: None,
        cors: None,
    };
    if context.divides_connections() {
        let why = "with appProtocol tcp connections are divided, which have nothing like it";
        fields.lose(&["match", "timeout", "retries", "headers", "corsPolicy"], why, remarks);
        return Some(CreateIstio { protocol: IstioProtocol::Tcp, ..common });
    }
    everything(fields, remarks);
    let mut timeouts = timeouts(fields, &["timeout"], remarks);
    let retries = fields.block("retries", remarks, |fields, remarks| retries(fields, &mut timeouts, remarks)).flatten();
    let headers = fields.block("headers", remarks, plain_headers).flatten();
    let cors = fields.block("corsPolicy", remarks, cors).flatten();
    Some(CreateIstio { timeouts, retries, headers, cors, ..common })
}

/// Those that are given, and the name of the route, which Flagger adds.
fn hosts(fields: &mut Fields<'_>, exposed: &Exposed, remarks: &mut Remarks) -> Vec<String> {
    let mut hosts = fields.take::<ListOf<String>>("hosts", remarks).map(|ListOf(hosts)| hosts).unwrap_or_default();
    if hosts.iter().any(|host| host == "*") {
        let remedy = "write the host names that clients use, or adopt the route: import without --create-routes";
        fields.refuse("hosts", "a VirtualService that the hub makes does not take all hosts", remedy, remarks);
    }
    if !hosts.contains(&exposed.apex) {
        hosts.push(exposed.apex.clone());
    }
    hosts
}

/// A name without a namespace is one of the Canary's.
fn gateways(fields: &mut Fields<'_>, own: Option<&str>, remarks: &mut Remarks) -> Option<Vec<String>> {
    let given = fields.take::<ListOf<String>>("gateways", remarks).map(|ListOf(names)| names).unwrap_or_default();
    let place = |name: String| match own {
        _ if name == MESH || name.contains('/') => Some(name),
        _ if name.contains('.') => None,
        Some(namespace) => Some(format!("{namespace}/{name}")),
        None => None,
    };
    let places: Option<Vec<String>> = given.into_iter().map(place).collect();
    if places.is_none() {
        fields.refuse("gateways", "a Gateway is named without its namespace", "write namespace/name", remarks);
    }
    places.map(|places| if places == [MESH] { Vec::new() } else { places })
}

/// In Flagger's VirtualService Envoy puts in what stands between two percent signs.
fn plain_headers(fields: &mut Fields<'_>, remarks: &mut Remarks) -> Option<Headers> {
    let found = headers(fields, remarks)?;
    let changes = [&found.request, &found.response].into_iter().flatten();
    if changes.flat_map(|change| change.set.iter().chain(&change.add)).any(|header| header.value.contains('%')) {
        remarks.lose(fields.path(), "a value with % is sent as it stands; nothing is put in");
    }
    Some(found)
}

fn cors(fields: &mut Fields<'_>, remarks: &mut Remarks) -> Option<Cors> {
    let given = fields.each("allowOrigins", remarks, |origin, remarks| {
        let exact = origin.take::<String>("exact", remarks);
        let why = "origins are written out here; name each of them, or adopt the route";
        origin.lose(&["prefix", "regex"], why, remarks);
        exact
    });
    let exact: Vec<String> = given.into_iter().flatten().collect();
    let older = fields.take::<ListOf<String>>("allowOrigin", remarks).map(|ListOf(origins)| origins);
    let origins = if exact.is_empty() { older.unwrap_or_default() } else { exact };
    created::cors_of(fields, origins, remarks)
}
