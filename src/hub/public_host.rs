//! The host name that clients use: what a member gets where the Host header is preserved.

use std::sync::Arc;

use kube::core::DynamicObject;

use crate::api::Route;

/// Where each kind of route keeps its host names.
const PLACES: [&str; 4] = ["/spec/hostnames/0", "/spec/virtualhost/fqdn", "/spec/hosts/0", "/spec/rules/0/host"];

/// The first host name of a route: that of the live object, else of the one that the hub creates. A wildcard is no
/// name that a client sends.
pub(super) fn of(route: &Route, found: &[Option<Arc<DynamicObject>>]) -> Option<String> {
    let live =
        found.iter().flatten().find_map(|object| PLACES.iter().find_map(|place| object.data.pointer(place)?.as_str()));
    live.or_else(|| to_create(route)).filter(|host| !host.contains('*')).map(str::to_owned)
}

fn to_create(route: &Route) -> Option<&str> {
    match route {
        Route::GatewayApi(route) => route.create.as_ref()?.hosts.first().map(String::as_str),
        Route::Contour(route) => route.create.as_ref().map(|create| create.host.as_str()),
        Route::Istio(route) => route.create.as_ref()?.hosts.first().map(String::as_str),
        Route::Skipper(route) => route.create.as_ref()?.hosts.first().map(String::as_str),
        Route::Nginx(_) | Route::AliyunAlb(_) | Route::Kubernetes(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn host(spec: &Value) -> Option<String> {
        let resource = kube::core::ApiResource::erase::<k8s_openapi::api::networking::v1::Ingress>(&());
        let object = DynamicObject::new("public", &resource).data(json!({ "spec": spec }));
        let route = serde_json::from_value(json!({"skipper": {"create": {"hosts": ["made.example.com"]}}})).unwrap();
        of(&route, &[None, Some(object.into())])
    }

    #[test]
    fn every_kind_of_route_says_its_host_in_its_own_way() {
        for spec in [
            json!({"hostnames": ["shop.example.com", "b"]}),
            json!({"virtualhost": {"fqdn": "shop.example.com"}}),
            json!({"hosts": ["shop.example.com"]}),
            json!({"rules": [{"host": "shop.example.com"}]}),
        ] {
            assert_eq!(host(&spec), Some("shop.example.com".to_owned()), "{spec}");
        }
    }

    #[test]
    fn a_route_that_is_still_to_be_made_has_its_host_in_the_rollout_and_a_wildcard_is_none() {
        assert_eq!(host(&json!({})), Some("made.example.com".to_owned()));
        assert_eq!(host(&json!({"hostnames": ["*.example.com"]})), None);
    }
}
