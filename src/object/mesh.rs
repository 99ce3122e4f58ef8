//! What a mesh of Istio knows beside Services: the hosts of each ServiceEntry, and subsets of hosts.

use std::collections::{BTreeMap, BTreeSet};

use kube::core::DynamicObject;
use serde_json::Value;

/// Below this zone is the host of every ServiceEntry that the hub makes; no other name can be the same.
const ZONE: &str = "cutover.internal";

/// What a mesh knows beside Services.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Mesh {
    /// Nobody has looked yet, or needs to know.
    #[default]
    NotKnown,
    /// The hub may not look.
    Forbidden,
    /// The ports of each host of a ServiceEntry, and the subsets of each host of a DestinationRule, with its namespace.
    Known { entries: BTreeMap<String, BTreeSet<u16>>, subsets: BTreeSet<(String, String)> },
}

impl Mesh {
    /// Of every ServiceEntry and DestinationRule of the cluster.
    pub(crate) fn of<'o>(objects: impl IntoIterator<Item = &'o DynamicObject>) -> Self {
        let (mut entries, mut subsets) = (BTreeMap::<String, BTreeSet<u16>>::new(), BTreeSet::new());
        for object in objects {
            let spec = object.data.get("spec").unwrap_or(&Value::Null);
            let ports = list(spec, "ports").filter_map(|port| u16::try_from(port.get("number")?.as_u64()?).ok());
            let ports: BTreeSet<u16> = ports.collect();
            for host in list(spec, "hosts").filter_map(Value::as_str) {
                entries.entry(host.to_ascii_lowercase()).or_default().extend(&ports);
            }
            let host = spec.get("host").and_then(Value::as_str).unwrap_or_default();
            let named = list(spec, "subsets").filter_map(|subset| subset.get("name")?.as_str());
            subsets.extend(named.map(|subset| (host.to_owned(), subset.to_owned())));
        }
        Self::Known { entries, subsets }
    }

    /// Why requests to this host and port would reach nobody, if so.
    pub(crate) fn misses_host(&self, host: &str, port: u16) -> Option<String> {
        match self {
            Self::NotKnown => None,
            Self::Forbidden => Some("the hub may not list ServiceEntries: give it its role in config/rbac".to_owned()),
            Self::Known { entries, .. } => match entries.get(&host.to_ascii_lowercase()) {
                None => Some(format!("no ServiceEntry has the host {host}, so Istio sends nobody there")),
                Some(ports) if !ports.contains(&port) => Some(format!("the ServiceEntry of {host} has no port {port}")),
                Some(_) => None,
            },
        }
    }

    /// Whether requests to this subset would reach nobody. A DestinationRule may name its host in several ways.
    pub(crate) fn misses_subset(&self, hosts: &[String], subset: &str) -> bool {
        match self {
            Self::NotKnown | Self::Forbidden => false,
            Self::Known { subsets, .. } => {
                !hosts.iter().any(|host| subsets.contains(&(host.clone(), subset.to_owned())))
            }
        }
    }
}

/// The host of the ServiceEntry of this name.
pub(crate) fn entry_host(name: &str, namespace: &str) -> String {
    format!("{name}.{namespace}.{ZONE}")
}

/// The name of the ServiceEntry of this namespace that has this host, if the hub made it.
pub(crate) fn entry_of<'h>(host: &'h str, namespace: &str) -> Option<&'h str> {
    let (name, rest) = host.split_once('.')?;
    (rest.strip_prefix(namespace)?.strip_prefix('.')? == ZONE).then_some(name)
}

fn list<'v>(value: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn mesh() -> Mesh {
        let objects = [
            json!({"metadata": {"name": "a"}, "spec": {"hosts": ["a.example.com", "B.example.com"], "ports": [{"number": 80}, {"number": "x"}]}}),
            json!({"metadata": {"name": "a2"}, "spec": {"hosts": ["a.example.com"], "ports": [{"number": 443}]}}),
            json!({"metadata": {"name": "r"}, "spec": {"host": "shop", "subsets": [{"name": "v1"}, {}]}}),
            json!({"metadata": {"name": "odd"}, "spec": {"hosts": "x", "ports": 7, "subsets": [7]}}),
        ];
        let objects: Vec<DynamicObject> = objects.map(|object| serde_json::from_value(object).unwrap()).into();
        Mesh::of(&objects)
    }

    #[test]
    fn a_host_is_reached_on_the_ports_of_all_its_entries() {
        for (host, port) in
            [("a.example.com", 80), ("a.example.com", 443), ("b.example.com", 80), ("A.example.com", 80)]
        {
            assert_eq!(mesh().misses_host(host, port), None, "{host}:{port}");
        }
        let why = "no ServiceEntry has the host c.example.com, so Istio sends nobody there";
        assert_eq!(mesh().misses_host("c.example.com", 80).as_deref(), Some(why));
        let why = "the ServiceEntry of b.example.com has no port 443";
        assert_eq!(mesh().misses_host("b.example.com", 443).as_deref(), Some(why));
        assert_eq!(Mesh::NotKnown.misses_host("c.example.com", 80), None);
        assert!(Mesh::Forbidden.misses_host("a.example.com", 80).is_some());
    }

    #[test]
    fn a_subset_is_known_by_any_name_of_its_host() {
        let hosts = ["shop.web.svc".to_owned(), "shop".to_owned()];
        assert!(!mesh().misses_subset(&hosts, "v1"));
        assert!(mesh().misses_subset(&hosts, "v2") && mesh().misses_subset(&hosts[..1], "v1"));
    }

    #[test]
    fn the_host_of_an_own_entry_is_its_name_in_a_zone_of_ours() {
        assert_eq!(entry_host("shop-eu-3", "web"), "shop-eu-3.web.cutover.internal");
        assert_eq!(entry_of("shop-eu-3.web.cutover.internal", "web"), Some("shop-eu-3"));
        for host in
            ["shop-eu-3.blog.cutover.internal", "shop-eu-3.web.svc.cluster.local", "shop-eu-3", "web.cutover.internal"]
        {
            assert_eq!(entry_of(host, "web"), None, "{host}");
        }
    }
}
