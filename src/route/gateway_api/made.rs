//! What an HTTPRoute that the hub makes does with requests and answers. The standard channel of Gateway API 1.6 has no retries.

use serde_json::{Value, json};

use crate::api::http_settings::{Cors, HeaderChange};
use crate::api::service::CreateGatewayApi;

/// Its one rule, which has no backends yet.
pub(super) fn rule(create: &CreateGatewayApi) -> Value {
    let headers = create.headers.clone().unwrap_or_default();
    let changes = [("RequestHeaderModifier", headers.request), ("ResponseHeaderModifier", headers.response)];
    let changes = changes.into_iter().filter_map(|(kind, change)| Some(modifier(kind, &change?)));
    let filters: Vec<Value> = changes.chain(create.cors.as_ref().map(cors)).collect();
    let mut rule = json!({"backendRefs": []});
    if !filters.is_empty() {
        rule["filters"] = filters.into();
    }
    if let Some(timeouts) = &create.timeouts {
        rule["timeouts"] = json!(timeouts);
    }
    rule
}

fn modifier(kind: &str, change: &HeaderChange) -> Value {
    let field = format!("{}{}", kind[..1].to_ascii_lowercase(), &kind[1..]);
    json!({"type": kind, field: change})
}

fn cors(cors: &Cors) -> Value {
    let mut fields = json!(cors);
    if let Some(age) = cors.max_age {
        fields["maxAge"] = (age.as_millis() / 1000).into();
    }
    json!({"type": "CORS", "cors": fields})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_made_route_changes_headers_answers_browsers_and_bounds_the_time() {
        let create = serde_json::from_value(json!({
            "hosts": ["a.example.com"], "gateways": ["infra/public"],
            "timeouts": {"request": "10s", "backendRequest": "2s"},
            "headers": {"request": {"set": [{"name": "x-a", "value": "1"}], "add": [{"name": "x-b", "value": "2"}]},
                        "response": {"remove": ["server"]}},
            "cors": {"allowOrigins": ["https://b.example.com"], "allowMethods": ["GET"], "allowCredentials": true, "maxAge": "10m"}
        }));
        let expected = json!({
            "backendRefs": [],
            "timeouts": {"request": "10s", "backendRequest": "2s"},
            "filters": [
                {"type": "RequestHeaderModifier", "requestHeaderModifier":
                    {"set": [{"name": "x-a", "value": "1"}], "add": [{"name": "x-b", "value": "2"}]}},
                {"type": "ResponseHeaderModifier", "responseHeaderModifier": {"remove": ["server"]}},
                {"type": "CORS", "cors": {"allowOrigins": ["https://b.example.com"], "allowMethods": ["GET"],
                                          "allowCredentials": true, "maxAge": 600}}
            ]
        });
        assert_eq!(rule(&create.unwrap()), expected);
    }

    #[test]
    fn a_made_route_without_settings_has_none() {
        let create = json!({"hosts": ["a.example.com"], "gateways": ["infra/public"]});
        assert_eq!(rule(&serde_json::from_value(create).unwrap()), json!({"backendRefs": []}));
    }
}
