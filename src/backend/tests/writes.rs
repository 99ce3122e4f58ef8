//! What a backend asks to be written: over which object, and over whose.

use super::*;
use crate::api::{CANARY, ROLLOUT_LABEL};
use crate::object::Write;
use crate::rollout::input::SourceSeen;

/// The objects as an API server holds them, with a uid and a version.
fn stored(mut world: World) -> World {
    for (index, object) in world.current.iter_mut().enumerate() {
        if let Some(object) = object {
            object.metadata.uid = Some(format!("uid-{index}"));
            object.metadata.resource_version = Some(format!("{}", index + 7));
        }
    }
    world
}

fn written(backend: &str) -> World {
    let mut world = World::new(json!({backend: {}}));
    world.write(&["203.0.113.1", "2001:db8::1"]);
    stored(world)
}

fn released(world: &World, policy: DeletionPolicy) -> Vec<Write> {
    release(&world.context(), "eu-1", &shared(&world.current), policy, false)
}

/// What a write does to which object, and the uid and version that the object must have.
fn precondition(write: &Write) -> (&'static str, String, Option<String>, Option<String>) {
    let of = |object: &DynamicObject| (object.name_any(), object.uid(), object.resource_version());
    let (verb, (name, uid, version)) = match write {
        Write::Create(object) => ("create", of(object)),
        Write::Replace(object) => ("replace", of(object)),
        Write::Delete { target, uid, resource_version } => {
            ("delete", (target.name.clone(), Some(uid.clone()), Some(resource_version.clone())))
        }
    };
    (verb, name, uid, version)
}

#[test]
fn every_write_is_over_the_object_that_was_read() {
    let are_over = |writes: &[Write], verb: &str, names: &[&str]| {
        let read = |(index, name): (usize, &&str)| {
            let version = (verb != "create").then(|| (index + 7).to_string());
            (version.is_some().then(|| format!("uid-{index}")), version, (*name).to_owned())
        };
        let expected: Vec<_> = names.iter().enumerate().map(read).collect();
        let found: Vec<_> = writes.iter().map(precondition).collect();
        assert!(found.iter().all(|(found, ..)| *found == verb), "{verb}: {found:?}");
        let found: Vec<_> = found.into_iter().map(|(_, name, uid, version)| (uid, version, name)).collect();
        assert_eq!(found, expected, "{verb}");
    };
    let slices = ["shop-eu-1", "shop-eu-1-ipv4", "shop-eu-1-ipv6"];
    for (backend, names) in [("externalName", &slices[..1]), ("endpointSlice", &slices[..])] {
        let addresses = ips(&["203.0.113.1", "2001:db8::1"]);
        let new = World::new(json!({backend: {}}));
        are_over(&render(&new.context(), "eu-1", &shared(&new.current), &addresses).unwrap(), "create", names);
        let mut world = written(backend);
        world.endpoints.get_mut("eu-1").unwrap().port = 9090;
        are_over(&render(&world.context(), "eu-1", &shared(&world.current), &addresses).unwrap(), "replace", names);
        are_over(&released(&world, DeletionPolicy::Retain), "replace", names);
        are_over(&released(&world, DeletionPolicy::Revert), "delete", names);
    }
}

#[test]
fn a_release_that_was_cut_short_goes_on_with_the_rest() {
    for policy in [DeletionPolicy::Retain, DeletionPolicy::Revert] {
        let mut world = written("endpointSlice");
        for left in [3, 2, 1, 0] {
            let mut writes = released(&world, policy);
            assert_eq!(writes.len(), left, "{policy:?}: {writes:?}");
            writes.truncate(1);
            world.apply(writes);
        }
        assert_eq!(world.current.iter().all(Option::is_none), policy == DeletionPolicy::Revert);
        assert!(world.current.iter().flatten().all(|object| object.labels()[MEMBER_LABEL] == "eu-1"), "{policy:?}");
    }
}

#[test]
fn what_another_rollout_holds_or_somebody_else_made_is_not_released() {
    for labels in [json!({ROLLOUT_LABEL: "uid-2"}), json!({"team": "web"}), json!(null)] {
        for backend in ["externalName", "endpointSlice"] {
            let mut world = written(backend);
            for object in world.current.iter_mut().flatten() {
                object.metadata.labels = serde_json::from_value(labels.clone()).unwrap();
            }
            for policy in [DeletionPolicy::Retain, DeletionPolicy::Revert] {
                assert_eq!(released(&world, policy), [], "{backend} {labels}");
            }
        }
    }
}

#[test]
fn a_service_that_the_user_named_is_left_where_the_hub_made_it_once() {
    let mut world = written("externalName");
    let service = json!({"existing": {"eu-1": "shop-eu-1"}});
    world.service.backend = serde_json::from_value(json!({"externalName": service})).unwrap();
    world.service.port = 8080;
    assert_eq!(world.assess(&[]), BackendSeen::Ready);
    for policy in [DeletionPolicy::Retain, DeletionPolicy::Revert] {
        assert_eq!(released(&world, policy), []);
    }
}

#[test]
fn an_external_name_says_in_its_port_whether_tls_is_spoken() {
    for (server_name, expected) in [(None, "http"), (Some("shop.example.com"), "https")] {
        let mut world = World::new(json!({"externalName": {}}));
        world.endpoints.get_mut("eu-1").unwrap().server_name = server_name.map(str::to_owned);
        world.write(&[]);
        assert_eq!(world.current[0].as_ref().unwrap().data["spec"]["ports"][0]["name"], expected);
    }
}

#[test]
fn a_slice_holds_a_hundred_addresses_and_no_more() {
    let addresses: Vec<String> = (0..101).map(|last| format!("203.0.113.{last}")).collect();
    let mut world = World::new(json!({"endpointSlice": {}}));
    world.write(&addresses.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(world.addresses(1), addresses[..100]);
}

#[test]
fn a_name_may_be_as_long_as_dns_allows() {
    let labels = |rest: usize| format!("{0}.{0}.{0}.{1}", "a".repeat(63), "b".repeat(rest));
    for (name, refused) in [
        (labels(61), false),
        (labels(62), true),
        (format!("{}.b", "a".repeat(63)), false),
        (format!("{}.b", "a".repeat(64)), true),
    ] {
        assert_eq!(refusal(&name).is_some(), refused, "{} characters: {name}", name.len());
    }
}

#[test]
fn in_service_mode_the_tls_of_the_member_that_a_service_leads_to_is_spoken() {
    let world = World::new(json!({"externalName": {}}));
    let tls = json!([{"host": "gw.eu-3.example.com", "port": 443, "hostHeader": "Endpoint",
                      "tls": {"serverName": "{{ service }}.eu-3.example.com"}}]);
    let leads = |spec: Value| ServiceCopy::of(&spec, &BTreeMap::new(), &BTreeMap::new());
    let external = leads(json!({"type": "ExternalName", "externalName": "new.eu-3.example.com"}));
    let inside = leads(json!({"selector": {"app": CANARY}}));
    let reached = |copy, member: Option<&MemberClusterSpec>| reach_of(copy, &world.service, "shop", member);
    let plain =
        |host: &str| Reach { host: host.to_owned(), port: 80, server_name: None, host_header: HostHeader::Preserve };
    let spoken = Reach {
        server_name: Some("shop.eu-3.example.com".to_owned()),
        host_header: HostHeader::Endpoint,
        ..plain("new.eu-3.example.com")
    };
    assert_eq!(reached(&external, Some(&spec(tls.clone()))), spoken);
    assert_eq!(reached(&external, None), plain("new.eu-3.example.com"));
    assert_eq!(reached(&inside, None), plain("shop.shop.svc"));
    let mut bad = tls;
    bad[0]["tls"]["serverName"] = json!("10.0.0.1");
    let problem = reach(&spec(bad), "shop", "shop").unwrap_err();
    assert_eq!(problem.reason, Reason::AddressNotAllowed);
    assert!(problem.message.starts_with("spec.endpoints[0].tls.serverName: \"10.0.0.1\""), "{}", problem.message);
}

#[test]
fn a_slice_of_somebody_else_is_not_removed_with_the_last_address_of_its_family() {
    let mut world = written("endpointSlice");
    let labels = world.current[2].as_mut().unwrap().metadata.labels.as_mut().unwrap();
    labels.insert(ROLLOUT_LABEL.to_owned(), "uid-2".to_owned());
    assert_eq!(render(&world.context(), "eu-1", &shared(&world.current), &ips(&["203.0.113.1"])), Ok(vec![]));
}

#[test]
fn services_with_addresses_of_their_own_may_share_an_endpoint() {
    let mut world = World::new(json!({"clusterIP": {}}));
    let reach = world.endpoints["eu-1"].clone();
    world.endpoints.insert("eu-2".to_owned(), reach);
    assert_eq!(problems(&world.context()), []);
}

#[test]
fn a_service_that_cannot_be_copied_is_a_problem_with_its_reason() {
    let object = |spec: Value| -> DynamicObject {
        let metadata = json!({"name": "shop", "namespace": "shop"});
        let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec});
        serde_json::from_value(service).unwrap()
    };
    let seen = |backend: &str, spec: Option<Value>| {
        let world = World::new(json!({backend: {}}));
        match source(&world.context(), spec.map(object).as_ref()) {
            SourceSeen::Unusable(problem) => Some(problem.reason),
            SourceSeen::Found(_) => None,
        }
    };
    let external = |name: &str| json!({"type": "ExternalName", "externalName": name, "ports": [{"port": 80}]});
    let inside = |port: u16| json!({"type": "ClusterIP", "externalName": "localhost", "selector": {"app": "shop"}, "ports": [{"port": port}]});
    let by_hand = |address: &str| json!({"type": "ClusterIP", "clusterIP": address, "ports": [{"port": 80}]});
    for (backend, spec, expected) in [
        ("externalName", Some(external("gw.eu-1.example.com")), None),
        ("clusterIP", Some(inside(80)), None),
        ("clusterIP", None, Some(Reason::ServiceNotFound)),
        ("clusterIP", Some(by_hand("")), Some(Reason::CannotCarryWeights)),
        ("clusterIP", Some(by_hand("None")), Some(Reason::CannotCarryWeights)),
        ("clusterIP", Some(external("gw.eu-1.example.com")), Some(Reason::CannotCarryWeights)),
        ("externalName", Some(external("localhost")), Some(Reason::AddressNotAllowed)),
        ("clusterIP", Some(inside(81)), Some(Reason::BackendNotReady)),
    ] {
        assert_eq!(seen(backend, spec.clone()), expected, "{backend}: {spec:?}");
    }
}
