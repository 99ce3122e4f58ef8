//! What a VirtualService that the hub makes does with requests and answers.

use serde_json::{Map, Value, json};

use crate::api::http_settings::{Cors, HeaderChange, HeaderValue, Retries, Timeouts};
use crate::api::istio::{CreateIstio, IstioProtocol};

/// Its `spec`, with one entry that has no destinations yet.
pub(super) fn spec(create: &CreateIstio) -> Value {
    let (list, entry) = match create.protocol {
        IstioProtocol::Http => ("http", http(create)),
        IstioProtocol::Tcp => ("tcp", json!({"route": []})),
        IstioProtocol::Tls => ("tls", json!({"match": [{"sniHosts": create.hosts}], "route": []})),
    };
    let mut spec = json!({ list: [entry] });
    for (key, values) in [("hosts", &create.hosts), ("gateways", &create.gateways)] {
        if !values.is_empty() {
            spec[key] = json!(values);
        }
    }
    spec
}

fn http(create: &CreateIstio) -> Value {
    let timeouts = create.timeouts.unwrap_or_default();
    let headers = create.headers.clone().unwrap_or_default();
    let changes = [("request", headers.request), ("response", headers.response)];
    let changes: Map<String, Value> =
        changes.into_iter().filter_map(|(of, change)| Some((of.to_owned(), changed(&change?)))).collect();
    let policies = [
        ("timeout", timeouts.request.map(|request| json!(request))),
        ("retries", create.retries.as_ref().map(|retries| again(retries, timeouts))),
        ("headers", Some(changes).filter(|changes| !changes.is_empty()).map(Value::Object)),
        ("corsPolicy", create.cors.as_ref().map(cors)),
    ];
    let mut entry = json!({"route": []});
    for (key, policy) in policies.into_iter().filter_map(|(key, policy)| Some((key, policy?))) {
        entry[key] = policy;
    }
    entry
}

fn again(retries: &Retries, timeouts: Timeouts) -> Value {
    let codes: Vec<String> = retries.codes.iter().map(u16::to_string).collect();
    let retry_on = if codes.is_empty() { "5xx".to_owned() } else { codes.join(",") };
    let mut policy = json!({"attempts": retries.attempts, "retryOn": retry_on});
    if let Some(attempt) = timeouts.backend_request {
        policy["perTryTimeout"] = json!(attempt);
    }
    policy
}

fn changed(change: &HeaderChange) -> Value {
    let mut changed = json!({});
    for (key, values) in [("set", &change.set), ("add", &change.add)] {
        if !values.is_empty() {
            changed[key] = values.iter().map(|value| (value.name.clone(), literal(value))).collect();
        }
    }
    if !change.remove.is_empty() {
        changed["remove"] = json!(change.remove);
    }
    changed
}

/// Envoy reads what stands between two of these as the name of something, and refuses a single one.
fn literal(header: &HeaderValue) -> Value {
    header.value.replace('%', "%%").into()
}

fn cors(cors: &Cors) -> Value {
    let mut policy = json!(cors);
    policy["allowOrigins"] = cors.allow_origins.iter().map(|origin| json!({"exact": origin})).collect();
    policy
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(create: Value) -> Value {
        spec(&serde_json::from_value(create).unwrap())
    }

    #[test]
    fn a_made_route_changes_headers_answers_browsers_tries_again_and_bounds_the_time() {
        let create = json!({
            "hosts": ["a.example.com"], "gateways": ["istio-system/public", "mesh"],
            "timeouts": {"request": "10s", "backendRequest": "2s"}, "retries": {"attempts": 3, "codes": [502, 503]},
            "headers": {"request": {"set": [{"name": "x-a", "value": "100%"}], "add": [{"name": "x-b", "value": "2"}]},
                        "response": {"remove": ["server"]}},
            "cors": {"allowOrigins": ["https://b.example.com"], "allowMethods": ["GET"], "maxAge": "10m"}
        });
        let expected = json!({
            "hosts": ["a.example.com"], "gateways": ["istio-system/public", "mesh"],
            "http": [{
                "route": [], "timeout": "10s",
                "retries": {"attempts": 3, "retryOn": "502,503", "perTryTimeout": "2s"},
                "headers": {"request": {"set": {"x-a": "100%%"}, "add": {"x-b": "2"}}, "response": {"remove": ["server"]}},
                "corsPolicy": {"allowOrigins": [{"exact": "https://b.example.com"}], "allowMethods": ["GET"], "maxAge": "10m"}
            }]
        });
        assert_eq!(made(create), expected);
    }

    #[test]
    fn a_made_route_without_settings_has_none() {
        let expected = json!({"hosts": ["a.example.com"], "http": [{"route": []}]});
        assert_eq!(made(json!({"hosts": ["a.example.com"]})), expected);
        assert_eq!(made(json!({"delegate": true})), json!({"http": [{"route": []}]}));
    }

    #[test]
    fn connections_are_divided_by_port_or_by_server_name() {
        let of = |protocol: &str| made(json!({"hosts": ["a.example.com"], "protocol": protocol}));
        assert_eq!(of("TCP"), json!({"hosts": ["a.example.com"], "tcp": [{"route": []}]}));
        let tls = json!([{"match": [{"sniHosts": ["a.example.com"]}], "route": []}]);
        assert_eq!(of("TLS"), json!({"hosts": ["a.example.com"], "tls": tls}));
    }
}
