//! Where requests go: routes and Services in, destinations out. Pure.

use std::{collections::BTreeMap, net::SocketAddr, sync::Arc};

use k8s_openapi::api::core::v1::Service;
use kube::{ResourceExt, core::DynamicObject};
use serde_json::Value;

use super::Names;

/// What becomes of requests, by host.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Table(BTreeMap<String, Row>);

#[derive(Clone, Debug, Default, PartialEq)]
struct Row {
    /// Who answers, by weight.
    backends: Vec<(Destination, u64)>,
    /// Who gets a copy.
    copied: Vec<SocketAddr>,
}

/// Where one request goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Destination {
    At(SocketAddr),
    /// No such Service, or its name leads nowhere: the answer is 500, as Gateway API wants it.
    Unresolved,
}

/// What is to be said of a route.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Verdict {
    /// Why it is not obeyed.
    pub(super) refused: Option<String>,
    /// The backends that lead nowhere.
    pub(super) unresolved: Vec<String>,
}

impl Table {
    /// The destination of a request to this host; `drawn` is any number, each as likely as the others.
    pub(super) fn destination(&self, host: &str, drawn: u64) -> Option<Destination> {
        let backends = &self.0.get(host)?.backends;
        let total: u64 = backends.iter().map(|(_, weight)| weight).sum();
        let mut left = drawn.checked_rem(total)?;
        for (destination, weight) in backends {
            match left.checked_sub(*weight) {
                None => return Some(*destination),
                Some(rest) => left = rest,
            }
        }
        None
    }

    /// Who gets a copy of a request to this host.
    pub(super) fn copied(&self, host: &str) -> &[SocketAddr] {
        self.0.get(host).map_or(&[], |row| &row.copied)
    }
}

/// The table, and a verdict on each route, in their order.
pub(super) fn program(
    routes: &[Arc<DynamicObject>],
    services: &[Arc<Service>],
    names: &Names,
) -> (Table, Vec<Verdict>) {
    let mut table = Table::default();
    let verdicts = routes.iter().map(|route| {
        let (row, verdict) = match rule(route) {
            Ok(rule) => resolve(route, rule, services, names),
            Err(refused) => (Row::default(), Verdict { refused: Some(refused), unresolved: Vec::new() }),
        };
        if verdict.refused.is_none() {
            let hosts = items(&route.data, "/spec/hostnames").iter().filter_map(Value::as_str);
            table.0.extend(hosts.map(|host| (host.to_owned(), row.clone())));
        }
        verdict
    });
    let verdicts = verdicts.collect();
    (table, verdicts)
}

/// The one rule of a route, for all requests, with weighted Services and copies of all; others are more than this data
/// plane can do.
fn rule(route: &DynamicObject) -> Result<&Value, String> {
    let [rule] = items(&route.data, "/spec/rules") else { return Err("one rule is supported".to_owned()) };
    let catches_all = items(rule, "/matches").iter().all(|one| one["path"]["value"] == "/");
    let copies_only = items(rule, "/filters").iter().all(copies_all);
    match (catches_all, copies_only) {
        (false, _) => Err("matches are not supported".to_owned()),
        (true, false) => Err("of filters, only RequestMirror of all requests is supported".to_owned()),
        (true, true) => Ok(rule),
    }
}

fn copies_all(filter: &Value) -> bool {
    let mirror = &filter["requestMirror"];
    filter["type"] == "RequestMirror" && mirror.get("percent").is_none() && mirror.get("fraction").is_none()
}

fn resolve(route: &DynamicObject, rule: &Value, services: &[Arc<Service>], names: &Names) -> (Row, Verdict) {
    let mut verdict = Verdict::default();
    let mut at = |backend: &Value| {
        let address = address(route, backend, services, names);
        if address.is_none() {
            verdict.unresolved.extend(backend["name"].as_str().map(ToOwned::to_owned));
        }
        address
    };
    let weighted = items(rule, "/backendRefs").iter().map(|backend| {
        let weight = backend["weight"].as_u64().unwrap_or(1);
        (at(backend).map_or(Destination::Unresolved, Destination::At), weight)
    });
    let backends = weighted.collect();
    let copied = items(rule, "/filters").iter().filter_map(|filter| at(&filter["requestMirror"]["backendRef"]));
    let copied = copied.collect();
    (Row { backends, copied }, verdict)
}

/// Where a backend's ExternalName leads.
fn address(route: &DynamicObject, backend: &Value, services: &[Arc<Service>], names: &Names) -> Option<SocketAddr> {
    let name = backend["name"].as_str()?;
    let is_meant = |service: &&Arc<Service>| service.name_any() == name && service.namespace() == route.namespace();
    let target = services.iter().find(is_meant)?.spec.as_ref()?.external_name.as_ref()?;
    let port = u16::try_from(backend["port"].as_u64()?).ok()?;
    Some(SocketAddr::new(*names.get(target)?, port))
}

fn items<'v>(value: &'v Value, pointer: &str) -> &'v [Value] {
    value.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn route(rules: &Value) -> Arc<DynamicObject> {
        let route = json!({
            "apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute",
            "metadata": {"name": "public", "namespace": "shop"},
            "spec": {"hostnames": ["shop.test"], "rules": rules},
        });
        Arc::new(serde_json::from_value(route).unwrap())
    }

    fn service(name: &str, namespace: &str) -> Arc<Service> {
        let metadata = json!({"name": name, "namespace": namespace});
        let spec = json!({"type": "ExternalName", "externalName": "gateway.eu-1.test"});
        Arc::new(serde_json::from_value(json!({"metadata": metadata, "spec": spec})).unwrap())
    }

    fn programmed(rules: &Value) -> (Table, Verdict) {
        let names = Names::from([("gateway.eu-1.test".to_owned(), [127, 0, 0, 1].into())]);
        let services = [service("shop-eu-1", "shop"), service("shop-eu-9", "other")];
        let (table, mut verdicts) = program(&[route(rules)], &services, &names);
        (table, verdicts.remove(0))
    }

    #[test]
    fn requests_are_divided_by_weight() {
        let backend = |name: &str, port: u16, weight: u16| json!({"name": name, "port": port, "weight": weight});
        let (table, verdict) = programmed(&json!([{"backendRefs": [
            backend("shop-eu-1", 81, 70), backend("shop-eu-9", 82, 25), backend("shop-eu-1", 83, 5), backend("shop-eu-1", 84, 0),
        ]}]));
        assert_eq!(verdict, Verdict { refused: None, unresolved: vec!["shop-eu-9".to_owned()] });
        let at = |port| Some(Destination::At(([127, 0, 0, 1], port).into()));
        let count = |expected| (0..1000).filter(|drawn| table.destination("shop.test", *drawn) == expected).count();
        assert_eq!([at(81), Some(Destination::Unresolved), at(83), at(84)].map(count), [700, 250, 50, 0]);
        assert_eq!(table.destination("other.test", 1), None);
    }

    #[test]
    fn copies_go_where_a_mirror_says() {
        let mirror =
            |name: &str| json!({"type": "RequestMirror", "requestMirror": {"backendRef": {"name": name, "port": 82}}});
        let (table, verdict) = programmed(&json!([{
            "backendRefs": [{"name": "shop-eu-1", "port": 81}], "filters": [mirror("shop-eu-1"), mirror("shop-eu-9")],
        }]));
        assert_eq!(verdict, Verdict { refused: None, unresolved: vec!["shop-eu-9".to_owned()] });
        assert_eq!(table.copied("shop.test"), [([127, 0, 0, 1], 82).into()]);
        assert_eq!(table.copied("other.test"), []);
    }

    #[test]
    fn a_route_without_any_weight_answers_nobody() {
        let (table, _) = programmed(&json!([{"backendRefs": [{"name": "shop-eu-1", "port": 80, "weight": 0}]}]));
        assert_eq!(table.destination("shop.test", 3), None);
    }

    const FILTERS: &str = "of filters, only RequestMirror of all requests is supported";

    #[test]
    fn what_cannot_be_obeyed_is_refused() {
        for (rules, why) in [
            (json!([]), "one rule is supported"),
            (json!([{}, {}]), "one rule is supported"),
            (json!([{"filters": [{}]}]), FILTERS),
            (json!([{"filters": [{"type": "RequestMirror", "requestMirror": {"percent": 20}}]}]), FILTERS),
            (json!([{"matches": [{"path": {"value": "/a"}}]}]), "matches are not supported"),
        ] {
            let (table, verdict) = programmed(&rules);
            assert_eq!((verdict.refused.as_deref(), table), (Some(why), Table::default()));
        }
    }
}
