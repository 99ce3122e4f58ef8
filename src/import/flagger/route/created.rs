//! Routes that the hub creates, with the settings that they can have.

use std::collections::BTreeMap;

use crate::{
    api::{
        Duration,
        http_settings::{Cors, HeaderChange, HeaderValue, Headers, Retries, Timeouts},
        service::{ContourRoute, CreateContour, CreateGatewayApi, GatewayApiRoute},
    },
    import::{
        fields::{Fields, ListOf},
        flagger::canary::Context,
        go_duration::go_duration,
        remarks::{Remarks, shown},
    },
};

/// An HTTPRoute with the name of the service.
pub(super) fn http_route(
    fields: &mut Fields<'_>,
    context: &Context<'_, '_>,
    remarks: &mut Remarks,
) -> Option<GatewayApiRoute> {
    let hosts = hosts(fields, remarks);
    let namespace = context.of.namespace();
    let gateways: Vec<String> = fields
        .each("gatewayRefs", remarks, |gateway, remarks| place(gateway, namespace, remarks))
        .into_iter()
        .flatten()
        .collect();
    if gateways.is_empty() {
        let remedy = "name at least one Gateway, or adopt the HTTPRoute: import without --create-routes";
        fields.refuse("gatewayRefs", "no Gateway is given", remedy, remarks);
    }
    let timeouts = timeouts(fields, &["timeout", "backendTimeout"], remarks);
    let headers = fields.block("headers", remarks, headers).flatten();
    let cors = fields.block("corsPolicy", remarks, cors).flatten();
    everything(fields, remarks);
    fields.lose(
        &["rewrite", "mirror", "apex"],
        "an HTTPRoute that the hub makes has nothing like it; adopt one that has",
        remarks,
    );
    fields.lose(&["retries"], "the standard channel of Gateway API has no retries", remarks);
    let create = Some(CreateGatewayApi { hosts: hosts?, gateways, timeouts, headers, cors });
    Some(GatewayApiRoute { name: None, rules: Vec::new(), create })
}

/// An HTTPProxy with the name of the service.
pub(super) fn http_proxy(fields: &mut Fields<'_>, remarks: &mut Remarks) -> Option<ContourRoute> {
    let hosts = hosts(fields, remarks);
    if let Some([_, others @ ..]) = hosts.as_deref()
        && !others.is_empty()
    {
        remarks.lose(
            fields.at("hosts"),
            format!("an HTTPProxy has one host, so it is made without {}", shown(&others.join(", "))),
        );
    }
    let mut timeouts = timeouts(fields, &["timeout"], remarks);
    let retries = fields.block("retries", remarks, |fields, remarks| retries(fields, &mut timeouts, remarks)).flatten();
    everything(fields, remarks);
    fields.lose(
        &["rewrite", "mirror", "apex"],
        "an HTTPProxy that the hub makes has nothing like it; adopt one that has",
        remarks,
    );
    fields.lose(&["headers", "corsPolicy", "backendTimeout"], "Flagger's provider contour does not use it", remarks);
    let host = hosts?.into_iter().next()?;
    let create = CreateContour { host, ingress_class: None, timeouts, retries, headers: None, cors: None };
    Some(ContourRoute { name: None, rules: Vec::new(), create: Some(create) })
}

fn hosts(fields: &mut Fields<'_>, remarks: &mut Remarks) -> Option<Vec<String>> {
    let hosts =
        fields.take::<ListOf<String>>("hosts", remarks).map(|ListOf(hosts)| hosts).filter(|hosts| !hosts.is_empty());
    if hosts.is_none() {
        let remedy = "write the host names that clients use, or adopt the route: import without --create-routes";
        fields.refuse("hosts", "no host is given", remedy, remarks);
    }
    hosts
}

/// `namespace/name` of a Gateway.
fn place(gateway: &mut Fields<'_>, own: Option<&str>, remarks: &mut Remarks) -> Option<String> {
    let mut text = |key: &str| gateway.take::<String>(key, remarks);
    let (kind, name, namespace) = (text("kind"), text("name"), text("namespace"));
    text("group");
    if let Some(kind) = kind.filter(|kind| kind != "Gateway") {
        let remedy = "adopt the HTTPRoute, which keeps its parents: import without --create-routes";
        gateway.refuse(
            "kind",
            format!("an HTTPRoute that the hub makes has no {} as its parent", shown(&kind)),
            remedy,
            remarks,
        );
        return None;
    }
    gateway.lose(
        &["port", "sectionName"],
        "an HTTPRoute that the hub makes attaches to every listener that lets it",
        remarks,
    );
    let namespace = namespace.or_else(|| own.map(str::to_owned));
    if namespace.is_none() {
        gateway.refuse(
            "namespace",
            "missing, and the Canary names none",
            "write the namespace of the Gateway",
            remarks,
        );
    }
    Some(format!("{}/{}", namespace?, name?))
}

/// Request and attempt, in this order.
pub(super) fn timeouts(fields: &mut Fields<'_>, keys: &[&str], remarks: &mut Remarks) -> Option<Timeouts> {
    let mut time = |key: Option<&&str>| key.and_then(|key| duration(fields, key, remarks));
    let (request, backend_request) = (time(keys.first()), time(keys.get(1)));
    (request.is_some() || backend_request.is_some()).then_some(Timeouts { request, backend_request })
}

fn duration(fields: &mut Fields<'_>, key: &str, remarks: &mut Remarks) -> Option<Duration> {
    let text = fields.take::<String>(key, remarks)?;
    let time = go_duration(&text);
    if time.is_none() {
        fields.refuse(key, format!("{:?} is not a duration", shown(&text)), "write one such as 15s", remarks);
    }
    time
}

/// The hub makes a route for all paths; nothing is lost where that was meant.
pub(super) fn everything(fields: &mut Fields<'_>, remarks: &mut Remarks) {
    let matches = fields.any("match");
    if matches.is_some_and(|matches| matches != serde_json::json!([{"uri": {"prefix": "/"}}])) {
        remarks.lose(fields.at("match"), "a route that the hub makes takes all paths; adopt one that takes these");
    }
}

pub(super) fn retries(
    fields: &mut Fields<'_>,
    timeouts: &mut Option<Timeouts>,
    remarks: &mut Remarks,
) -> Option<Retries> {
    let attempts = fields.take::<i64>("attempts", remarks).unwrap_or(1);
    if let Some(each) = duration(fields, "perTryTimeout", remarks) {
        timeouts.get_or_insert_with(Timeouts::default).backend_request = Some(each);
    }
    let on = fields.take::<String>("retryOn", remarks).unwrap_or_default();
    let codes = codes(&on);
    let others: Vec<&str> = conditions(&on).filter(|one| codes_of(one).is_none() && *one != ANY_ERROR).collect();
    if !others.is_empty() {
        let instead = if codes.is_empty() {
            "every 5xx is sent again, and what has no answer".to_owned()
        } else {
            let codes: Vec<String> = codes.iter().map(u16::to_string).collect();
            format!("what is answered with {} is sent again", codes.join(", "))
        };
        remarks.lose(fields.at("retryOn"), format!("{} has no counterpart; {instead}", shown(&others.join(", "))));
    }
    Some(Retries { attempts: u32::try_from(attempts).ok()?, codes })
}

/// Every 5xx, and no answer: what is sent again where nothing else is said.
const ANY_ERROR: &str = "5xx";

fn conditions(on: &str) -> impl Iterator<Item = &str> {
    on.split(',').map(str::trim).filter(|one| !one.is_empty())
}

/// The answers that are sent again; none where every 5xx is.
fn codes(on: &str) -> Vec<u16> {
    if conditions(on).any(|one| one == ANY_ERROR) {
        return Vec::new();
    }
    let mut codes: Vec<u16> = conditions(on).filter_map(codes_of).flatten().collect();
    codes.sort_unstable();
    codes.dedup();
    codes
}

/// The answers that one condition of Envoy means.
fn codes_of(condition: &str) -> Option<Vec<u16>> {
    match condition {
        "gateway-error" => Some(vec![502, 503, 504]),
        code => code.parse().ok().filter(|code| (400..=599).contains(code)).map(|code| vec![code]),
    }
}

pub(super) fn headers(fields: &mut Fields<'_>, remarks: &mut Remarks) -> Option<Headers> {
    let request = fields.block("request", remarks, changes).flatten();
    let response = fields.block("response", remarks, changes).flatten();
    (request.is_some() || response.is_some()).then_some(Headers { request, response })
}

fn changes(fields: &mut Fields<'_>, remarks: &mut Remarks) -> Option<HeaderChange> {
    let mut values = |key: &str| -> Vec<HeaderValue> {
        let given = fields.take::<BTreeMap<String, String>>(key, remarks).unwrap_or_default();
        given.into_iter().map(|(name, value)| HeaderValue { name, value }).collect()
    };
    let (set, add) = (values("set"), values("add"));
    let remove = fields.take::<ListOf<String>>("remove", remarks).map(|ListOf(names)| names).unwrap_or_default();
    let is_empty = set.is_empty() && add.is_empty() && remove.is_empty();
    (!is_empty).then_some(HeaderChange { set, add, remove })
}

fn cors(fields: &mut Fields<'_>, remarks: &mut Remarks) -> Option<Cors> {
    let origins = fields.take::<ListOf<String>>("allowOrigin", remarks).map(|ListOf(origins)| origins);
    fields.lose(&["allowOrigins"], "Flagger's provider gatewayapi reads allowOrigin alone", remarks);
    cors_of(fields, origins.unwrap_or_default(), remarks)
}

/// The rest of it, for pages of these origins.
pub(super) fn cors_of(fields: &mut Fields<'_>, allow_origins: Vec<String>, remarks: &mut Remarks) -> Option<Cors> {
    let mut list = |key: &str| fields.take::<ListOf<String>>(key, remarks).map(|ListOf(list)| list).unwrap_or_default();
    let (allow_methods, allow_headers, expose_headers) =
        (list("allowMethods"), list("allowHeaders"), list("exposeHeaders"));
    let allow_credentials = fields.take("allowCredentials", remarks).unwrap_or(false);
    let max_age = duration(fields, "maxAge", remarks);
    if allow_origins.is_empty() || allow_methods.is_empty() {
        remarks.lose(fields.path(), "it needs allowOrigin and allowMethods");
        return None;
    }
    Some(Cors { allow_origins, allow_methods, allow_headers, expose_headers, allow_credentials, max_age })
}
