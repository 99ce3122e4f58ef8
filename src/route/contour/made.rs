//! What an HTTPProxy that the hub makes does with requests and answers.

use serde_json::{Value, json};

use crate::api::http_settings::{Cors, HeaderChange, Retries, Timeouts};
use crate::api::service::CreateContour;

/// Its `spec`, with one route that has no services yet.
pub(super) fn spec(create: &CreateContour) -> Value {
    let mut spec = json!({"virtualhost": {"fqdn": create.host}, "routes": [route(create)]});
    if let Some(class) = &create.ingress_class {
        spec["ingressClassName"] = class.as_str().into();
    }
    if let Some(cors) = &create.cors {
        spec["virtualhost"]["corsPolicy"] = policy(cors);
    }
    spec
}

fn route(create: &CreateContour) -> Value {
    let headers = create.headers.clone().unwrap_or_default();
    let timeouts = create.timeouts.unwrap_or_default();
    let policies = [
        ("timeoutPolicy", timeouts.request.map(|request| json!({"response": request}))),
        ("retryPolicy", create.retries.as_ref().map(|retries| again(retries, timeouts))),
        ("requestHeadersPolicy", headers.request.as_ref().map(changes)),
        ("responseHeadersPolicy", headers.response.as_ref().map(changes)),
    ];
    let mut route = json!({"services": []});
    for (key, policy) in policies.into_iter().filter_map(|(key, policy)| Some((key, policy?))) {
        route[key] = policy;
    }
    route
}

fn again(retries: &Retries, timeouts: Timeouts) -> Value {
    let mut policy = json!({"count": retries.attempts, "retryOn": ["5xx"]});
    if !retries.codes.is_empty() {
        policy["retryOn"] = json!(["retriable-status-codes"]);
        policy["retriableStatusCodes"] = json!(retries.codes);
    }
    if let Some(attempt) = timeouts.backend_request {
        policy["perTryTimeout"] = json!(attempt);
    }
    policy
}

/// An HTTPProxy adds no value beside another one: that is refused.
fn changes(change: &HeaderChange) -> Value {
    let mut policy = json!({});
    if !change.set.is_empty() {
        policy["set"] = json!(change.set);
    }
    if !change.remove.is_empty() {
        policy["remove"] = json!(change.remove);
    }
    policy
}

fn policy(cors: &Cors) -> Value {
    let mut policy = json!(cors);
    if let Some(fields) = policy.as_object_mut()
        && let Some(origins) = fields.remove("allowOrigins")
    {
        fields.insert("allowOrigin".to_owned(), origins);
    }
    policy
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_made_proxy_changes_headers_answers_browsers_tries_again_and_bounds_the_time() {
        let create = serde_json::from_value(json!({
            "host": "a.example.com", "ingressClass": "public",
            "timeouts": {"request": "10s", "backendRequest": "2s"}, "retries": {"attempts": 3, "codes": [502, 503]},
            "headers": {"request": {"set": [{"name": "x-a", "value": "1"}]}, "response": {"remove": ["server"]}},
            "cors": {"allowOrigins": ["https://b.example.com"], "allowMethods": ["GET"], "maxAge": "10m"}
        }));
        let expected = json!({
            "virtualhost": {"fqdn": "a.example.com", "corsPolicy":
                {"allowOrigin": ["https://b.example.com"], "allowMethods": ["GET"], "maxAge": "10m"}},
            "ingressClassName": "public",
            "routes": [{
                "services": [], "timeoutPolicy": {"response": "10s"},
                "retryPolicy": {"count": 3, "retryOn": ["retriable-status-codes"], "retriableStatusCodes": [502, 503], "perTryTimeout": "2s"},
                "requestHeadersPolicy": {"set": [{"name": "x-a", "value": "1"}]},
                "responseHeadersPolicy": {"remove": ["server"]}
            }]
        });
        assert_eq!(spec(&create.unwrap()), expected);
    }

    #[test]
    fn a_made_proxy_without_settings_has_none() {
        let made = spec(&serde_json::from_value(json!({"host": "a.example.com"})).unwrap());
        assert_eq!(made, json!({"virtualhost": {"fqdn": "a.example.com"}, "routes": [{"services": []}]}));
    }
}
