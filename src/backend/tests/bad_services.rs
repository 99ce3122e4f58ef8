//! Services that cannot be a member's backend, and the words for each, written by hand.

use super::*;
use crate::rollout::input::SourceSeen;

#[test]
fn a_named_service_with_a_bad_destination_is_refused() {
    let external = |name: &str| json!({"type": "ExternalName", "externalName": name, "ports": [{"port": 80}]});
    let ports = |ports: Value| json!({"type": "ClusterIP", "ports": ports});
    let inside = |name: &str| {
        format!(
            "Service legacy: spec.externalName: {name:?} leads into the hub cluster; give the DNS name of the member's gateway"
        )
    };
    let address = |name: &str| {
        format!("Service legacy: spec.externalName: {name:?} is an address; give the DNS name of the member's gateway")
    };
    let foreign = |name: &str| {
        format!(
            "Service legacy: spec.externalName: {name:?} is no endpoint of a MemberCluster that allows namespace shop; \
             correct it, add it to spec.endpoints of the MemberCluster, or start the hub with --allow-external-names"
        )
    };
    let port = |has: &str| {
        format!("Service legacy has no TCP port 80 (it has {has}): add it, or correct spec.services[].port")
    };
    for (case, spec, expected) in [
        ("this machine", external("localhost"), inside("localhost")),
        ("a Service of another namespace", external("x.other.svc.cluster.local"), inside("x.other.svc.cluster.local")),
        ("the same, shorter", external("x.other.svc"), inside("x.other.svc")),
        ("the same with a dot", external("x.other.svc.cluster.local."), inside("x.other.svc.cluster.local.")),
        ("the same with dots", external("X.other.SVC.Cluster.Local..."), inside("X.other.SVC.Cluster.Local...")),
        ("the cloud's metadata", external("169.254.169.254"), address("169.254.169.254")),
        ("the same with a dot", external("169.254.169.254."), address("169.254.169.254.")),
        ("its name", external("metadata.google.internal"), foreign("metadata.google.internal")),
        ("a name that a search domain completes", external("kubernetes"), foreign("kubernetes")),
        ("a host that belongs to no member", external("evil.example.com"), foreign("evil.example.com")),
        ("no name", external(""), foreign("")),
        ("an address in another spelling", external("0x7f000001"), address("0x7f000001")),
        ("no port", ports(json!([])), port("none")),
        ("another port", ports(json!([{"name": "http", "port": 8080}])), port("8080/TCP")),
        ("UDP", ports(json!([{"port": 80, "protocol": "UDP"}])), port("80/UDP")),
        ("a name that is the number", ports(json!([{"name": "80", "port": 81}])), port("81/TCP")),
    ] {
        let mut world = World::new(json!({"externalName": {"existing": {"eu-1": "legacy"}}}));
        world.put(spec);
        assert_eq!(world.refusal(&[]), expected, "{case}");
    }
}

#[test]
fn a_service_of_a_user_leads_to_an_endpoint_of_a_member_in_any_spelling() {
    for host in ["gw.eu-1.example.com", "GW.EU-1.Example.COM", "gw.eu-1.example.com.", "gw.eu-1.example.com.."] {
        let spec = json!({"type": "ExternalName", "externalName": host, "ports": [{"port": 80}]});
        let mut world = World::new(json!({"externalName": {"existing": {"eu-1": "legacy"}}}));
        world.put(spec.clone());
        assert_eq!(world.assess(&[]), BackendSeen::Ready, "{host}");
        let declared = source(&world.context(), world.current[0].as_ref());
        assert!(matches!(declared, SourceSeen::Found(_)), "{host}: {declared:?}");
    }
}

#[test]
fn in_service_mode_neither_the_declared_service_nor_the_primary_leads_anywhere_else() {
    for (host, found) in [
        ("kubernetes.default.svc.cluster.local.", "leads into the hub cluster"),
        ("Kubernetes.Default.Svc..", "leads into the hub cluster"),
        ("metadata.google.internal.", "is no endpoint of a MemberCluster that allows namespace shop"),
        ("gw.eu-2.example.com", "is no endpoint of a MemberCluster that allows namespace shop"),
    ] {
        let mut world = World::new(json!({"externalName": {}}));
        world.put(json!({"type": "ExternalName", "externalName": host, "ports": [{"port": 80}]}));
        let object = world.current[0].clone().unwrap();
        let SourceSeen::Unusable(problem) = source(&world.context(), Some(&object)) else { panic!("{host}") };
        assert_eq!(problem.reason, Reason::AddressNotAllowed);
        assert!(
            problem.message.starts_with(&format!("Service shop: spec.externalName: {host:?} {found}; ")),
            "{problem:?}"
        );
        let refused = serving(&world.context(), &object).unwrap_err();
        assert_eq!(refused.reason, Reason::AddressNotAllowed, "{refused:?}");
    }
}

#[test]
fn a_service_that_is_not_there_or_has_no_address_gets_no_weight() {
    let world = World::new(json!({"clusterIP": {"existing": {"eu-1": "legacy"}}}));
    assert_eq!(
        world.refusal(&[]),
        "Service legacy for member eu-1 does not exist: make it, or correct spec.services[].backend.<kind>.existing"
    );
    let world = World::new(json!({"endpointSlice": {}}));
    assert_eq!(
        world.refusal(&[]),
        "gw.eu-1.example.com of member eu-1 has no address yet: make its name resolve from the hub"
    );
}

#[test]
fn one_place_for_two_members_is_refused() {
    let said = |backend: Value, change: fn(&mut World)| {
        let mut world = World::new(backend);
        let mut other = world.endpoints["eu-1"].clone();
        other.host = "gw.eu-2.example.com".to_owned();
        world.endpoints.insert("eu-2".to_owned(), other);
        change(&mut world);
        problems(&world.context()).into_iter().map(|problem| (problem.reason, problem.message)).collect::<Vec<_>>()
    };
    let one = |what: &str| {
        let message = format!(
            "service shop: members eu-1 and eu-2 have the same {what}: weights between them would have no effect; give each its own"
        );
        vec![(Reason::CannotCarryWeights, message)]
    };
    let same_host: fn(&mut World) = |world| {
        let first = world.endpoints["eu-1"].clone();
        world.endpoints.insert("eu-2".to_owned(), first);
    };
    assert_eq!(said(json!({"externalName": {}}), |_| {}), []);
    assert_eq!(
        said(json!({"clusterIP": {"existing": {"eu-1": "legacy", "eu-2": "legacy"}}}), |_| {}),
        one("backend legacy")
    );
    assert_eq!(said(json!({"externalName": {}}), same_host), one("endpoint gw.eu-1.example.com:8080"));
    assert_eq!(said(json!({"endpointSlice": {}}), same_host), one("endpoint gw.eu-1.example.com:8080"));
}
