#![allow(clippy::needless_pass_by_value)] // `json!` reads best as an argument

use std::net::IpAddr;

use kube::ResourceExt;
use serde_json::json;

use super::*;
use crate::api::member::HostHeader;
use crate::api::{MemberClusterSpec, ServiceCopy};
use crate::object::{AllowedHosts, Mesh, Reach, shared};

mod bad_services;
mod mesh;
mod writes;

/// Member mode.
static NO_COPIES: BTreeMap<String, ServiceCopy> = BTreeMap::new();

fn spec(endpoints: Value) -> MemberClusterSpec {
    let prometheus = json!({"url": {"address": "http://prometheus.example.com"}});
    let spec = json!({"endpoints": endpoints, "prometheus": prometheus, "allowedNamespaces": {"from": "All"}});
    serde_json::from_value(spec).unwrap()
}

fn reached(host: &str) -> Result<Reach, Problem> {
    reach(&spec(json!([{"host": host, "port": 443}])), "shop", "storefront")
}

#[test]
fn a_services_own_endpoint_comes_before_the_default() {
    let member = spec(json!([
        {"host": "{{ service }}.{{namespace}}.eu-3.example.com", "port": 443, "tls": {"serverName": "{{ service }}.example.com"}, "hostHeader": "Endpoint"},
        {"service": {"namespace": "shop", "name": "checkout"}, "host": "checkout.example.com", "port": 8443}
    ]));
    let default = Reach {
        host: "storefront.shop.eu-3.example.com".to_owned(),
        port: 443,
        server_name: Some("storefront.example.com".to_owned()),
        host_header: HostHeader::Endpoint,
    };
    let own = Reach {
        host: "checkout.example.com".to_owned(),
        port: 8443,
        server_name: None,
        host_header: HostHeader::Preserve,
    };
    assert_eq!(reach(&member, "shop", "storefront"), Ok(default));
    assert_eq!(reach(&member, "shop", "checkout"), Ok(own));
}

#[test]
fn a_host_that_could_lead_into_the_hub_is_refused() {
    let address = "is an address; give the DNS name of the member's gateway";
    let inside = "leads into the hub cluster; give the DNS name of the member's gateway";
    let malformed = "is not a DNS name; write lower-case letters, digits, \"-\" and dots, at least two labels, \
                     without a dot at the end";
    let table = [
        (address, vec!["10.0.0.1", "169.254.169.254", "::1", "127.1", "0x7f.0x1", "2130706433", "a.0"]),
        (
            inside,
            vec![
                "localhost",
                "x.localhost",
                "api.kube-system.svc",
                "api.kube-system.svc.cluster.local",
                "cluster.local",
                "svc",
            ],
        ),
        (
            malformed,
            vec![
                "gateway",
                "a..b",
                "a.b.",
                "-a.example.com",
                "A.example.com",
                "a_b.example.com",
                "a b.example.com",
                "a.example.com/x",
                "",
                "é.example.com",
            ],
        ),
    ];
    for (why, hosts) in table {
        for host in hosts {
            assert_eq!(
                reached(host).map_err(|problem| problem.message),
                Err(format!("spec.endpoints[0].host: {host:?} {why}"))
            );
        }
    }
    assert!(reached(&format!("{}.example.com", "a".repeat(64))).is_err());
    assert!(reached("svc.example.com").is_ok());
}

#[test]
fn an_unknown_variable_or_service_is_named() {
    let message = |result: Result<Reach, Problem>| result.unwrap_err().message;
    assert_eq!(
        message(reached("{{ cluster }}.example.com")),
        "spec.endpoints[0].host: {{ cluster }} is not known: use {{ service }} and {{ namespace }}"
    );
    let member = spec(
        json!([{"service": {"namespace": "shop", "name": "checkout"}, "host": "checkout.example.com", "port": 8443}]),
    );
    assert_eq!(
        message(reach(&member, "shop", "storefront")),
        "spec.endpoints: none is for service shop/storefront and none is the default: add one"
    );
}

/// One member, eu-1, and its backend.
struct World {
    service: ServiceSpec,
    endpoints: BTreeMap<String, Reach>,
    allowed_hosts: AllowedHosts,
    mesh: Mesh,
    uid: &'static str,
    current: Vec<Option<DynamicObject>>,
}

impl World {
    fn new(backend: Value) -> Self {
        let service =
            json!({"name": "shop", "port": 80, "backend": backend, "routes": [{"contour": {"name": "public"}}]});
        let endpoint = Reach {
            host: "gw.eu-1.example.com".to_owned(),
            port: 8080,
            server_name: None,
            host_header: HostHeader::Preserve,
        };
        let mut world = Self {
            service: serde_json::from_value(service).unwrap(),
            endpoints: BTreeMap::from([("eu-1".to_owned(), endpoint)]),
            allowed_hosts: AllowedHosts::new(["gw.eu-1.example.com".to_owned()], &[]),
            mesh: Mesh::NotKnown,
            uid: "uid-1",
            current: Vec::new(),
        };
        world.current = vec![None; targets(&world.context(), "eu-1").len()];
        world
    }

    fn context(&self) -> Context<'_> {
        let Self { service, endpoints, allowed_hosts, mesh, uid, .. } = self;
        Context {
            namespace: "shop",
            rollout: "fleet",
            uid,
            hub: "hub-1",
            service,
            total: 100,
            endpoints,
            copies: &NO_COPIES,
            allowed_hosts,
            neighbours: &[],
            mesh,
        }
    }

    fn assess(&self, addresses: &[&str]) -> BackendSeen {
        assess(&self.context(), "eu-1", &shared(&self.current), &ips(addresses))
    }

    fn refusal(&self, addresses: &[&str]) -> String {
        match self.assess(addresses) {
            BackendSeen::NotReady(problem) | BackendSeen::Missing(problem) => problem.message,
            seen @ (BackendSeen::Ready | BackendSeen::Outdated(_)) => panic!("{seen:?}"),
        }
    }

    fn write(&mut self, addresses: &[&str]) {
        let writes = render(&self.context(), "eu-1", &shared(&self.current), &ips(addresses)).unwrap();
        self.apply(writes);
    }

    fn release(&mut self, policy: DeletionPolicy, still_named: bool) {
        let writes = release(&self.context(), "eu-1", &shared(&self.current), policy, still_named);
        self.apply(writes);
    }

    fn apply(&mut self, writes: Vec<Write>) {
        for write in writes {
            let written = write.target();
            let object = match write {
                Write::Create(object) | Write::Replace(object) => Some(object),
                Write::Delete { .. } => None,
            };
            let index = targets(&self.context(), "eu-1").iter().position(|target| *target == written).unwrap();
            self.current[index] = object;
        }
    }

    fn put(&mut self, spec: Value) {
        let object = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "shop-eu-1", "namespace": "shop"}, "spec": spec});
        self.current[0] = Some(serde_json::from_value(object).unwrap());
    }

    fn addresses(&self, index: usize) -> Vec<String> {
        let endpoints = self.current[index].as_ref().map_or(&Value::Null, |slice| &slice.data["endpoints"]);
        endpoints
            .as_array()
            .into_iter()
            .flatten()
            .map(|endpoint| endpoint["addresses"][0].as_str().unwrap().to_owned())
            .collect()
    }
}

fn ips(addresses: &[&str]) -> Vec<IpAddr> {
    addresses.iter().map(|address| address.parse().unwrap()).collect()
}

#[test]
fn an_external_name_leads_to_the_endpoint_and_stays_ready() {
    let mut world = World::new(json!({"externalName": {}}));
    assert_eq!(world.assess(&[]), BackendSeen::Outdated(None));
    world.write(&[]);
    assert_eq!(world.assess(&[]), BackendSeen::Ready);
    let service = serde_json::to_value(&world.current[0]).unwrap();
    assert_eq!(
        service,
        json!({"apiVersion": "v1", "kind": "Service",
            "metadata": {"name": "shop-eu-1", "namespace": "shop", "labels": {
                "app.kubernetes.io/managed-by": "cutover", "app.kubernetes.io/instance": "fleet",
                "cutover.dev/member": "eu-1", "cutover.dev/rollout-uid": "uid-1"}},
            "spec": {"type": "ExternalName", "externalName": "gw.eu-1.example.com",
                "ports": [{"name": "http", "port": 8080, "targetPort": 8080, "protocol": "TCP"}]}})
    );
    assert_eq!(port(&world.context(), "eu-1"), 8080);
    world.endpoints.get_mut("eu-1").unwrap().host = "new.eu-1.example.com".to_owned();
    assert_eq!(world.assess(&[]), BackendSeen::Outdated(None));
}

#[test]
fn a_backend_that_is_not_this_rollouts_is_a_conflict() {
    let mut world = World::new(json!({"externalName": {}}));
    world.write(&[]);
    world.uid = "uid-2";
    assert!(
        world.refusal(&[]).starts_with(
            "Service shop-eu-1 belongs to the rollout with uid uid-1: remove it, or name the Service to use"
        )
    );
    world.put(json!({"type": "ExternalName", "externalName": "other.example.com"}));
    assert!(world.refusal(&[]).starts_with("Service shop-eu-1 was not made by cutover and leads elsewhere"));
    world.put(json!({"type": "ExternalName", "externalName": "gw.eu-1.example.com", "sessionAffinity": "None",
        "ports": [{"name": "http", "port": 8080, "targetPort": 8080, "protocol": "TCP"}]}));
    assert_eq!(world.assess(&[]), BackendSeen::Ready, "made by hand, and right");
}

#[test]
fn a_service_that_the_user_named_is_looked_at_and_never_changed() {
    for kind in ["externalName", "clusterIP", "endpointSlice"] {
        let mut world = World::new(json!({kind: {"existing": {"eu-1": "legacy"}}}));
        assert!(world.refusal(&[]).starts_with("Service legacy for member eu-1 does not exist"));
        world.put(
            json!({"type": "ClusterIP", "ports": [{"port": 8080, "protocol": "TCP"}, {"port": 80, "protocol": "UDP"}]}),
        );
        assert_eq!(
            world.refusal(&[]),
            "Service legacy has no TCP port 80 (it has 8080/TCP, 80/UDP): add it, or correct spec.services[].port"
        );
        world.put(json!({"type": "ClusterIP", "ports": [{"port": 80}]}));
        assert_eq!(world.assess(&[]), BackendSeen::Ready);
        assert_eq!(port(&world.context(), "eu-1"), 80);
        world.release(DeletionPolicy::Revert, false);
        assert!(world.current[0].is_some());
    }
}

#[test]
fn an_external_name_is_no_cluster_ip() {
    let mut world = World::new(json!({"clusterIP": {}}));
    world.put(json!({"type": "ExternalName", "externalName": "gw.eu-1.example.com", "ports": [{"port": 80}]}));
    assert!(
        world
            .refusal(&[])
            .starts_with("Service shop-eu-1 is of type ExternalName, for which some data planes ignore weights")
    );
}

#[test]
fn slices_hold_the_addresses_and_are_never_emptied() {
    let mut world = World::new(json!({"endpointSlice": {}}));
    assert_eq!(
        world.refusal(&[]),
        "gw.eu-1.example.com of member eu-1 has no address yet: make its name resolve from the hub"
    );
    world.write(&["203.0.113.2", "203.0.113.1", "203.0.113.2", "2001:db8::1"]);
    assert_eq!(
        (world.addresses(1), world.addresses(2)),
        (vec!["203.0.113.1".to_owned(), "203.0.113.2".to_owned()], vec!["2001:db8::1".to_owned()])
    );
    let slice = world.current[1].as_ref().unwrap();
    assert_eq!(slice.labels()["kubernetes.io/service-name"], "shop-eu-1");
    assert_eq!(slice.labels()["endpointslice.kubernetes.io/managed-by"], "cutover");
    assert_eq!(slice.data["ports"], json!([{"name": "", "port": 8080, "protocol": "TCP"}]));
    assert_eq!(port(&world.context(), "eu-1"), 80);

    assert_eq!(world.assess(&[]), BackendSeen::Ready, "an empty answer changes nothing");
    world.write(&["203.0.113.3"]);
    assert_eq!((world.addresses(1), world.addresses(2)), (vec!["203.0.113.3".to_owned()], vec![]));
    assert_eq!(world.assess(&["203.0.113.3"]), BackendSeen::Ready);
}

#[test]
fn a_backend_is_given_back_or_removed_but_never_under_a_route() {
    for backend in [json!({"externalName": {}}), json!({"endpointSlice": {}})] {
        let mut world = World::new(backend);
        world.write(&["203.0.113.1"]);
        world.release(DeletionPolicy::Revert, true);
        assert!(world.current[0].is_some(), "a route still names it");
        world.uid = "uid-2";
        assert_eq!(
            world.assess(&["203.0.113.1"]),
            BackendSeen::Outdated(None),
            "a rollout of the same name takes it again"
        );
        world.write(&["203.0.113.1"]);
        world.release(DeletionPolicy::Revert, false);
        assert!(world.current.iter().all(Option::is_none));
    }
}

#[test]
fn a_service_that_its_user_named_and_that_is_gone_is_missing() {
    for backend in [json!({"clusterIP": {}}), json!({"externalName": {"existing": {"eu-1": "legacy"}}})] {
        let mut world = World::new(backend);
        let missing = |world: &World| matches!(world.assess(&[]), BackendSeen::Missing(_));
        assert!(missing(&world), "{:?}", world.assess(&[]));
        world.put(json!({"type": "ClusterIP", "ports": [{"port": 9}]}));
        assert!(!missing(&world) && world.refusal(&[]).contains("has no TCP port"), "{:?}", world.assess(&[]));
    }
    assert_eq!(World::new(json!({"externalName": {}})).assess(&[]), BackendSeen::Outdated(None), "the hub makes it");
}

#[test]
fn a_backend_that_was_made_for_another_member_is_left_alone() {
    let mut world = World::new(json!({"externalName": {}}));
    world.write(&[]);
    let labels = |world: &mut World, key: &str, value: Option<&str>| {
        let labels = world.current[0].as_mut().unwrap().metadata.labels.as_mut().unwrap();
        match value {
            Some(value) => drop(labels.insert(key.to_owned(), value.to_owned())),
            None => drop(labels.remove(key)),
        }
    };
    labels(&mut world, MEMBER_LABEL, Some("x-eu-1"));
    assert!(world.refusal(&[]).contains("was made for member x-eu-1"), "{:?}", world.assess(&[]));
    labels(&mut world, crate::api::ROLLOUT_LABEL, None);
    assert!(world.refusal(&[]).contains("was made for member x-eu-1"), "also when it was given back");
}
