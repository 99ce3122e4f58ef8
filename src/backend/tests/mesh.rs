//! Backends that only a mesh knows.

use super::*;

fn entry(name: &str, host: &str, port: u16) -> DynamicObject {
    let spec = json!({"hosts": [host], "ports": [{"number": port}]});
    serde_json::from_value(json!({"metadata": {"name": name}, "spec": spec})).unwrap()
}

/// A world whose service has this route and this backend.
fn served(route: Value, backend: Value) -> World {
    let mut world = World::new(backend);
    world.service.routes = vec![serde_json::from_value(route).unwrap()];
    world.current = vec![None; targets(&world.context(), "eu-1").len()];
    world
}

fn by_requests(backend: Value) -> World {
    served(json!({"istio": {"name": "public"}}), backend)
}

fn by_tls(mut world: World) -> World {
    world.endpoints.get_mut("eu-1").unwrap().server_name = Some("eu-1.example.com".to_owned());
    world
}

fn spec(world: &World, index: usize) -> Option<Value> {
    world.current[index].as_ref().map(|object| object.data["spec"].clone())
}

#[test]
fn an_entry_leads_to_the_endpoint_under_a_host_of_its_own() {
    let mut world = by_requests(json!({"serviceEntry": {}}));
    assert_eq!(world.assess(&[]), BackendSeen::Outdated(None));
    world.write(&[]);
    let expected = json!({
        "hosts": ["shop-eu-1.shop.cutover.internal"], "location": "MESH_EXTERNAL", "resolution": "DNS",
        "ports": [{"number": 8080, "name": "http", "protocol": "HTTP"}],
        "endpoints": [{"address": "gw.eu-1.example.com"}],
    });
    assert_eq!((spec(&world, 0), spec(&world, 1)), (Some(expected), None));
    assert_eq!(world.assess(&[]), BackendSeen::Ready);
    assert_eq!(port(&world.context(), "eu-1"), 8080);
    world.endpoints.get_mut("eu-1").unwrap().host = "new.eu-1.example.com".to_owned();
    assert_eq!(world.assess(&[]), BackendSeen::Outdated(None));
}

#[test]
fn a_member_behind_tls_has_a_rule_that_checks_its_name_and_loses_it_with_the_tls() {
    let mut world = by_tls(by_requests(json!({"serviceEntry": {"credentialName": "members-ca"}})));
    world.write(&[]);
    let tls = json!({"mode": "SIMPLE", "sni": "eu-1.example.com", "subjectAltNames": ["eu-1.example.com"],
                     "credentialName": "members-ca"});
    let expected = json!({"host": "shop-eu-1.shop.cutover.internal", "trafficPolicy": {"tls": tls}});
    assert_eq!(spec(&world, 1), Some(expected));
    world.endpoints.get_mut("eu-1").unwrap().server_name = None;
    assert_eq!(world.assess(&[]), BackendSeen::Outdated(None));
    world.write(&[]);
    assert_eq!((spec(&world, 1), world.assess(&[])), (None, BackendSeen::Ready));
}

#[test]
fn connections_go_through_and_tls_among_them_is_not_begun_anew() {
    for (entry, protocol, has_rule) in [("tcp#0", "TCP", true), ("tls#0", "TLS", false), ("#0", "HTTP", true)] {
        let mut world =
            by_tls(served(json!({"istio": {"name": "public", "routes": [entry]}}), json!({"serviceEntry": {}})));
        world.write(&[]);
        assert_eq!(spec(&world, 0).unwrap()["ports"][0]["protocol"], protocol);
        assert_eq!(spec(&world, 1).is_some(), has_rule, "{entry}");
    }
}

#[test]
fn an_entry_with_addresses_is_never_emptied() {
    let mut world = by_requests(json!({"serviceEntry": {"resolution": "Static"}}));
    assert!(world.service.backend.has_addresses());
    let unresolved = "gw.eu-1.example.com of member eu-1 has no address yet: make its name resolve from the hub";
    assert_eq!(world.refusal(&[]), unresolved);
    world.write(&["203.0.113.2", "203.0.113.1"]);
    let addresses = |world: &World| spec(world, 0).unwrap()["endpoints"].clone();
    assert_eq!(addresses(&world), json!([{"address": "203.0.113.1"}, {"address": "203.0.113.2"}]));
    assert_eq!(spec(&world, 0).unwrap()["resolution"], "STATIC");
    assert_eq!(world.assess(&[]), BackendSeen::Ready, "an empty answer changes nothing");
    world.write(&["203.0.113.3"]);
    assert_eq!(addresses(&world), json!([{"address": "203.0.113.3"}]));
    world.service.backend = serde_json::from_value(json!({"serviceEntry": {}})).unwrap();
    world.write(&[]);
    world.service.backend = serde_json::from_value(json!({"serviceEntry": {"resolution": "Static"}})).unwrap();
    assert_eq!(world.refusal(&[]), unresolved, "a name is no address");
}

#[test]
fn an_entry_and_its_rule_are_released_together() {
    for (policy, still_named, left) in
        [(DeletionPolicy::Revert, false, 0), (DeletionPolicy::Revert, true, 2), (DeletionPolicy::Retain, false, 2)]
    {
        let mut world = by_tls(by_requests(json!({"serviceEntry": {}})));
        world.write(&[]);
        world.release(policy, still_named);
        assert_eq!(world.current.iter().flatten().count(), left, "{policy:?} {still_named}");
        world.uid = "uid-2";
        assert_eq!(world.assess(&[]), BackendSeen::Outdated(None), "a rollout of the same name takes it up");
    }
}

#[test]
fn a_host_that_the_user_named_must_have_an_entry() {
    let mut world = by_requests(json!({"serviceEntry": {"existing": {"eu-1": "gw.eu-1.example.com"}}}));
    assert!(targets(&world.context(), "eu-1").is_empty());
    assert_eq!(world.assess(&[]), BackendSeen::Ready, "nobody knows yet");
    world.mesh = Mesh::of(&[entry("gw", "gw.eu-1.example.com", 80)]);
    assert_eq!(world.assess(&[]), BackendSeen::Ready);
    world.mesh = Mesh::of(&[entry("gw", "gw.eu-1.example.com", 443)]);
    assert_eq!(
        world.refusal(&[]),
        "backend of member eu-1: the ServiceEntry of gw.eu-1.example.com has no port 80: make one, or correct \
         spec.services[].backend.serviceEntry.existing"
    );
    world.service.backend =
        serde_json::from_value(json!({"serviceEntry": {"existing": {"eu-1": "legacy.shop.svc.cluster.local"}}}))
            .unwrap();
    assert_eq!(world.assess(&[]), BackendSeen::Ready, "a Service needs none");
}

#[test]
fn an_external_name_that_istio_serves_must_have_an_entry_for_its_target() {
    let mut world = by_requests(json!({"externalName": {}}));
    world.write(&[]);
    world.mesh = Mesh::of(&[entry("gw", "gw.eu-1.example.com", 8080)]);
    assert_eq!(world.assess(&[]), BackendSeen::Ready);
    world.mesh = Mesh::of(&[]);
    assert_eq!(
        world.refusal(&[]),
        "Service shop-eu-1 for member eu-1: no ServiceEntry has the host gw.eu-1.example.com, so Istio sends nobody there: \
         make one, or say backend: {serviceEntry: {}}"
    );
    world.mesh = Mesh::Forbidden;
    assert!(world.refusal(&[]).contains("the hub may not list ServiceEntries"));
    world.service.routes = vec![serde_json::from_value(json!({"contour": {"name": "public"}})).unwrap()];
    assert_eq!(world.assess(&[]), BackendSeen::Ready, "others resolve it themselves");
}

#[test]
fn a_subset_is_the_endpoints_of_one_cluster() {
    let mut world = by_requests(json!({"subset": {}}));
    world.write(&[]);
    let labels = json!({"topology.istio.io/cluster": "eu-1"});
    assert_eq!(spec(&world, 0), Some(json!({"host": "shop", "subsets": [{"name": "shop-eu-1", "labels": labels}]})));
    assert_eq!(world.assess(&[]), BackendSeen::Ready);
    let subset = json!({"host": "web.shop.svc.cluster.local", "label": "site", "values": {"eu-1": "frankfurt"}});
    let mut world = by_requests(json!({ "subset": subset }));
    world.write(&[]);
    let subsets = json!([{"name": "shop-eu-1", "labels": {"site": "frankfurt"}}]);
    assert_eq!(spec(&world, 0), Some(json!({"host": "web.shop.svc.cluster.local", "subsets": subsets})));
}

#[test]
fn a_subset_that_the_user_named_must_be_declared() {
    let mut world = by_requests(json!({"subset": {"existing": {"eu-1": "v1"}}}));
    let rule = json!({"metadata": {"name": "shop"}, "spec": {"host": "shop.shop.svc.cluster.local", "subsets": [{"name": "v1"}]}});
    world.mesh = Mesh::of(&[serde_json::from_value(rule).unwrap()]);
    assert_eq!(world.assess(&[]), BackendSeen::Ready);
    world.mesh = Mesh::of(&[]);
    assert_eq!(
        world.refusal(&[]),
        "no DestinationRule of shop has the subset v1 for member eu-1: make it, or correct spec.services[].backend.subset.existing"
    );
}
