//! Where requests go: routes and Services in, destinations out. Pure.

use std::{collections::BTreeMap, net::SocketAddr, sync::Arc};

use k8s_openapi::api::core::v1::Service;
use kube::{ResourceExt, core::DynamicObject};
use serde_json::Value;

use super::Names;

/// Destinations by host.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Table(BTreeMap<String, Vec<(Destination, u64)>>);

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
        let backends = self.0.get(host)?;
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
}

/// The table, and a verdict on each route, in their order.
pub(super) fn program(
    routes: &[Arc<DynamicObject>],
    services: &[Arc<Service>],
    names: &Names,
) -> (Table, Vec<Verdict>) {
    let mut table = Table::default();
    let verdicts = routes.iter().map(|route| {
        let (backends, verdict) = match backends(route) {
            Ok(refs) => resolve(route, refs, services, names),
            Err(refused) => (Vec::new(), Verdict { refused: Some(refused), unresolved: Vec::new() }),
        };
        if verdict.refused.is_none() {
            let hosts = items(&route.data, "/spec/hostnames").iter().filter_map(Value::as_str);
            table.0.extend(hosts.map(|host| (host.to_owned(), backends.clone())));
        }
        verdict
    });
    let verdicts = verdicts.collect();
    (table, verdicts)
}

/// The weighted Services of a route with one plain rule; others are more than this data plane can do.
fn backends(route: &DynamicObject) -> Result<&[Value], String> {
    let [rule] = items(&route.data, "/spec/rules") else { return Err("one rule is supported".to_owned()) };
    let is_plain = |part: &str| {
        let catch_all = rule["matches"].as_array().is_some_and(|all| all.iter().all(|one| one["path"]["value"] == "/"));
        rule.get(part).is_none() || (part == "matches" && catch_all)
    };
    match ["matches", "filters"].into_iter().find(|part| !is_plain(part)) {
        Some(part) => Err(format!("{part} are not supported")),
        None => Ok(items(rule, "/backendRefs")),
    }
}

fn resolve(
    route: &DynamicObject,
    refs: &[Value],
    services: &[Arc<Service>],
    names: &Names,
) -> (Vec<(Destination, u64)>, Verdict) {
    let mut verdict = Verdict::default();
    let backends = refs.iter().map(|backend| {
        let weight = backend["weight"].as_u64().unwrap_or(1);
        let destination = address(route, backend, services, names).map_or(Destination::Unresolved, Destination::At);
        if destination == Destination::Unresolved {
            verdict.unresolved.extend(backend["name"].as_str().map(ToOwned::to_owned));
        }
        (destination, weight)
    });
    let backends = backends.collect();
    (backends, verdict)
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
        let count = |wanted| (0..1000).filter(|drawn| table.destination("shop.test", *drawn) == wanted).count();
        assert_eq!([at(81), Some(Destination::Unresolved), at(83), at(84)].map(count), [700, 250, 50, 0]);
        assert_eq!(table.destination("other.test", 1), None);
    }

    #[test]
    fn a_route_without_any_weight_answers_nobody() {
        let (table, _) = programmed(&json!([{"backendRefs": [{"name": "shop-eu-1", "port": 80, "weight": 0}]}]));
        assert_eq!(table.destination("shop.test", 3), None);
    }

    #[test]
    fn what_cannot_be_obeyed_is_refused() {
        for (rules, why) in [
            (json!([]), "one rule is supported"),
            (json!([{}, {}]), "one rule is supported"),
            (json!([{"filters": [{}]}]), "filters are not supported"),
            (json!([{"matches": [{"path": {"value": "/a"}}]}]), "matches are not supported"),
        ] {
            let (table, verdict) = programmed(&rules);
            assert_eq!((verdict.refused.as_deref(), table), (Some(why), Table::default()));
        }
    }
}
