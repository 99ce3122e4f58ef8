//! What cannot carry weights, and what the data plane says.

use serde_json::json;

use super::*;
use crate::api::Backend;
use crate::api::member::HostHeader;

fn messages(form: &Form) -> Vec<String> {
    let world = World::new(form.clone(), 100);
    let problems = problems(&world.context(), &world.form.route);
    assert!(problems.iter().all(|problem| problem.reason == Reason::CannotCarryWeights), "{problems:?}");
    problems.into_iter().map(|problem| problem.message).collect()
}

#[test]
fn every_form_of_the_table_can_carry_weights() {
    for form in Form::all() {
        assert_eq!(messages(&form), Vec::<String>::new(), "{}", form.name);
    }
}

#[test]
fn skipper_weights_with_external_names_are_refused() {
    let mut form = Form::named("Ingress created");
    form.service.backend = Backend::default();
    let message = messages(&form).remove(0);
    assert_eq!(
        message,
        "service shop: skipper Ingress weights are ignored for ExternalName members (all traffic would go to one of \
         them): use the RouteGroup form or backend kind EndpointSlice"
    );
}

#[test]
fn an_endpoint_that_the_kind_cannot_reach_is_refused() {
    // Form, endpoint of eu-3 (port, server name, Host) and the beginning of what is said.
    let host = "gw.eu-3.example.com";
    let table = [
        (
            "HTTPRoute adopted",
            8443,
            Some(host),
            HostHeader::Preserve,
            Some("tls.serverName: gw.eu-3.example.com: an HTTPRoute speaks TLS"),
        ),
        (
            "HTTPRoute created",
            8080,
            None,
            HostHeader::Endpoint,
            Some("hostHeader: Endpoint: an HTTPRoute has no portable Host header"),
        ),
        ("HTTPProxy adopted", 8443, Some(host), HostHeader::Preserve, None),
        ("HTTPProxy adopted", 8443, Some(host), HostHeader::Endpoint, None),
        (
            "HTTPProxy adopted",
            8443,
            Some("other.example.com"),
            HostHeader::Preserve,
            Some("tls.serverName: other.example.com: the data plane sends its host"),
        ),
        ("RouteGroup created", 8443, Some(host), HostHeader::Preserve, None),
        (
            "RouteGroup created",
            8443,
            Some("other.example.com"),
            HostHeader::Endpoint,
            Some("tls.serverName: other.example.com: the data plane sends"),
        ),
        (
            "Ingress created",
            8443,
            Some(host),
            HostHeader::Preserve,
            Some("tls.serverName: gw.eu-3.example.com: Skipper sends no SNI to addresses"),
        ),
        (
            "Ingress adopted with weights",
            80,
            None,
            HostHeader::Endpoint,
            Some("hostHeader: Endpoint: an Ingress has one Host for all its backends"),
        ),
        (
            "nginx",
            80,
            None,
            HostHeader::Endpoint,
            Some("hostHeader: Endpoint: ingress-nginx has one Host and one TLS setting for both members"),
        ),
        (
            "ALB",
            80,
            None,
            HostHeader::Endpoint,
            Some("hostHeader: Endpoint: an ALB has one Host and one TLS setting for both members"),
        ),
        ("Ingress per member created", 443, Some(host), HostHeader::Endpoint, None),
        (
            "Ingress per member created",
            8443,
            Some(host),
            HostHeader::Endpoint,
            Some("port: 8443: Skipper speaks TLS to an ExternalName Service on port 443"),
        ),
        (
            "Ingress per member created",
            443,
            None,
            HostHeader::Endpoint,
            Some("port: 443: Skipper speaks TLS to an ExternalName Service on port 443"),
        ),
    ];
    for (name, port, server_name, host_header, said) in table {
        let mut form = Form::named(name);
        let endpoint = crate::object::Reach {
            host: host.to_owned(),
            port,
            server_name: server_name.map(str::to_owned),
            host_header,
        };
        form.endpoints.insert("eu-3".to_owned(), endpoint);
        let messages = messages(&form);
        match said {
            None => assert_eq!(messages, Vec::<String>::new(), "{name}"),
            Some(said) => {
                assert!(
                    messages[0].starts_with(&format!("MemberCluster eu-3, endpoint of service shop: {said}")),
                    "{name}: {messages:?}"
                );
            }
        }
    }
}

#[test]
fn two_members_in_one_place_are_refused() {
    let mut form = Form::named("HTTPRoute adopted");
    let endpoint = form.endpoints["eu-1"].clone();
    form.endpoints.insert("eu-3".to_owned(), endpoint);
    let expected = "service shop: members eu-1 and eu-3 have the same endpoint gw.eu-1.example.com:8080: weights between them would have no effect; give each its own";
    assert_eq!(messages(&form), [expected]);
}

#[test]
fn a_member_reached_by_tls_has_its_own_scheme_and_sni() {
    let mut form = Form::named("HTTPProxy created");
    let endpoint = form.endpoints.get_mut("eu-3").unwrap();
    (endpoint.port, endpoint.server_name) = (8443, Some(endpoint.host.clone()));
    let mut world = World::new(form, 100);
    world.write(&distribution([50, 0, 50], 1), 1);
    assert_eq!(
        world.objects[0].as_ref().unwrap().data.pointer("/spec/routes/0/services/1"),
        Some(&json!({"name": "shop-eu-3", "port": 8443, "weight": 50, "protocol": "tls",
            "requestHeadersPolicy": {"set": [{"name": "Host", "value": "gw.eu-3.example.com"}]}}))
    );
    world.form = Form { route: Form::named("RouteGroup created").route, objects: vec![], ..world.form };
    let mut world = World::new(world.form, 100);
    world.write(&distribution([50, 0, 50], 1), 1);
    let spec = &world.objects[0].as_ref().unwrap().data["spec"];
    assert_eq!(
        spec["backends"][1],
        json!({"name": "shop-eu-3", "type": "network", "address": "https://gw.eu-3.example.com:8443"})
    );
    assert_eq!(
        spec["routes"][1],
        json!({"pathSubtree": "/", "predicates": ["TrafficSegment(0.5, 1.0)"], "filters": ["setRequestHeader(\"Host\", \"gw.eu-3.example.com\")"],
            "backends": [{"backendName": "shop-eu-3"}]})
    );
}

/// A person lowers one backend and no other: that is an edit like any, and must not keep the hub from going back.
#[test]
fn an_edit_of_one_weight_alone_is_read_as_what_it_is_nearly() {
    for name in ["HTTPRoute adopted", "HTTPProxy adopted"] {
        let mut world = World::new(Form::named(name), 100);
        world.write(&distribution([70, 0, 30], 1), 1);
        let object = world.objects[0].as_mut().unwrap();
        let text = serde_json::to_string(&object.data).unwrap().replace("\"weight\":30", "\"weight\":8");
        object.data = serde_json::from_str(&text).unwrap();
        let live = world.live();
        assert_eq!((live.split.weights.nonzero(), live.uneven), (distribution([90, 0, 10], 1), true), "{name}");
        assert_eq!(world.entry(&distribution([70, 0, 30], 1), 2), Entry::Done, "{name}");
        world.write(&distribution([100, 0, 0], 1), 2);
        assert_eq!((world.weights(), world.live().uneven), (distribution([100, 0, 0], 1), false), "{name}");
    }
}

/// Nor must one that leaves nobody any weight.
#[test]
fn an_edit_that_leaves_nobody_any_weight_is_read_as_nothing() {
    for name in ["HTTPRoute adopted", "HTTPProxy adopted", "VirtualService adopted"] {
        let mut world = World::new(Form::named(name), 100);
        world.write(&distribution([70, 0, 30], 1), 1);
        let object = world.objects[0].as_mut().unwrap();
        let text = serde_json::to_string(&object.data).unwrap();
        let text = text.replace("\"weight\":30", "\"weight\":0").replace("\"weight\":70", "\"weight\":0");
        object.data = serde_json::from_str(&text).unwrap();
        let live = world.live();
        assert_eq!((live.split.weights.nonzero(), live.uneven), (distribution([0, 0, 0], 1).nonzero(), true), "{name}");
        world.write(&distribution([100, 0, 0], 1), 2);
        assert_eq!((world.weights(), world.live().uneven), (distribution([100, 0, 0], 1), false), "{name}");
    }
}

/// Nor must a backend that somebody adds a second time.
#[test]
fn an_edit_that_names_a_backend_twice_is_read_as_the_sum_of_both() {
    for name in ["HTTPRoute adopted", "HTTPProxy adopted"] {
        let mut world = World::new(Form::named(name), 100);
        world.write(&distribution([70, 0, 30], 1), 1);
        let object = world.objects[0].as_mut().unwrap();
        twice(&mut object.data, "shop-eu-1", 20);
        let live = world.live();
        assert_eq!((live.split.weights.nonzero(), live.uneven), (distribution([90, 0, 10], 1), true), "{name}");
        world.write(&distribution([100, 0, 0], 1), 2);
        assert_eq!((world.weights(), world.live().uneven), (distribution([100, 0, 0], 1), false), "{name}");
    }
}

/// Adds the backend a second time, at the cost of the last one beside it.
fn twice(value: &mut Value, backend: &str, weight: u64) {
    match value {
        Value::Array(items) if items.iter().any(|item| item["name"] == backend) => {
            let mut second = items.iter().find(|item| item["name"] == backend).cloned().unwrap();
            second["weight"] = weight.into();
            let last = items.last_mut().unwrap();
            last["weight"] = (last["weight"].as_u64().unwrap() - weight).into();
            items.push(second);
        }
        Value::Array(items) => items.iter_mut().for_each(|item| twice(item, backend, weight)),
        Value::Object(fields) => fields.values_mut().for_each(|field| twice(field, backend, weight)),
        _ => {}
    }
}

#[test]
fn weights_that_need_rounding_are_refused_with_a_total_that_would_do() {
    let mut world = World::new(Form::named("HTTPRoute adopted"), 100);
    let refs = |world: &mut World, refs: Value| {
        *world.objects[0].as_mut().unwrap().data.pointer_mut("/spec/rules/1/backendRefs").unwrap() = refs;
    };
    refs(&mut world, json!([{"name": "shop-eu-1", "weight": 2}, {"name": "shop-eu-2"}]));
    let said = |world: &World| match world.read() {
        RouteSeen::Unusable(problem) => problem.message,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        said(&world),
        "HTTPRoute public: its weights do not fit into weightTotal: 100 without rounding: say weightTotal: 102"
    );
    world.total = 102;
    assert_eq!(world.weights(), distribution([68, 34, 0], 1));
    refs(&mut world, json!([{"name": "shop-eu-1", "weight": 0}, {"name": "shop-eu-2", "weight": 0}]));
    assert_eq!(said(&world), "HTTPRoute public: all weights are 0: give its backends the weights that hold today");
    refs(&mut world, json!([{"name": "shop-eu-1", "weight": -1}]));
    assert_eq!(said(&world), "HTTPRoute public: the weight of backend shop-eu-1 is not a whole number of 0 or more");
    refs(&mut world, json!([{"name": "shop-eu-1", "weight": 1_000_001}]));
    assert_eq!(said(&world), "HTTPRoute public: backend shop-eu-1 has weight 1000001; at most 1000000");
    refs(&mut world, json!([{"name": "shop-eu-1", "weight": 1}, {"name": "shop-eu-1", "weight": 1}]));
    assert_eq!(said(&world), "HTTPRoute public: backend shop-eu-1 stands twice in one rule: keep one of them");
    refs(&mut world, json!([{"name": "shop-eu-1", "kind": "Backend", "group": "gateway.envoyproxy.io", "weight": 1}]));
    assert!(
        said(&world)
            .starts_with("HTTPRoute public: backend Backend/shop-eu-1 carries traffic but belongs to no member")
    );
}

#[test]
fn rules_are_found_by_name_by_place_or_as_the_only_one() {
    let seen = |rules: Value| {
        let mut form = Form::named("HTTPRoute adopted");
        form.route = serde_json::from_value(json!({"gatewayAPI": {"name": "public", "rules": rules}})).unwrap();
        match World::new(form, 100).read() {
            RouteSeen::Live(live) => live.split.weights.to_string(),
            RouteSeen::Unusable(problem) => problem.message,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(seen(json!(["#1"])), "eu-1:60 eu-2:40");
    assert_eq!(seen(json!(["main"])), "eu-1:60 eu-2:40");
    assert_eq!(
        seen(json!([])),
        "HTTPRoute public: it has 2 rules: say which in rules, by name or as \"#0\" for the first"
    );
    assert_eq!(seen(json!(["other"])), "HTTPRoute public: it has no rule other: correct rules");
    assert_eq!(seen(json!(["main", "#1"])), "HTTPRoute public: rule #1 is named twice: name it once");
}

#[test]
fn rules_of_one_route_must_agree() {
    let mut form = Form::named("HTTPRoute adopted");
    form.objects[0].data["spec"]["rules"][0]["backendRefs"] = json!([{"name": "shop-eu-1"}]);
    form.route = serde_json::from_value(json!({"gatewayAPI": {"name": "public", "rules": ["admin", "main"]}})).unwrap();
    let RouteSeen::Unusable(problem) = World::new(form, 100).read() else { panic!() };
    assert_eq!(problem.reason, Reason::PrimaryDiffers);
    assert_eq!(
        problem.message,
        "HTTPRoute public: its rules show eu-1:100 and eu-1:60 eu-2:40: bring them to one distribution, or give each its own rollout"
    );
}

#[test]
fn a_route_to_adopt_must_be_there() {
    let mut world = World::new(Form::named("HTTPRoute adopted"), 100);
    world.objects = vec![None];
    let RouteSeen::Unusable(problem) = world.read() else { panic!() };
    assert_eq!(
        (problem.reason, problem.message.as_str()),
        (Reason::RouteNotFound, "HTTPRoute public in namespace shop does not exist: correct the name, or say `create`")
    );
}

#[test]
fn an_http_route_takes_sixteen_backends() {
    let mut form = Form::named("HTTPRoute created");
    let endpoint = form.endpoints["eu-1"].clone();
    form.endpoints = (0..20)
        .map(|index| {
            (format!("m-{index}"), crate::object::Reach { host: format!("m-{index}.example.com"), ..endpoint.clone() })
        })
        .collect();
    let mut world = World::new(form, 160);
    let weights = |count: u32| {
        (0..20)
            .map(|index| (format!("m-{index}"), if index < count { 160 / count } else { 0 }))
            .collect::<Distribution>()
    };
    world.write(&weights(16), 1);
    assert_eq!(world.weights().len(), 16);
    let error = world.attempt(weights(20), 2).unwrap_err();
    assert_eq!(
        error.to_string(),
        "20 members would carry traffic at once: gatewayAPI supports 16; move fewer members at once, or use contour or skipper"
    );
}

#[test]
fn a_route_is_accepted_when_every_parent_took_this_generation() {
    let condition = |kind: &str, status: &str, generation: i64| json!({"type": kind, "status": status, "observedGeneration": generation, "reason": "Why", "message": "so"});
    let parent = |conditions: Value| json!({"parentRef": {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "public", "namespace": "infra"}, "conditions": conditions});
    let table = [
        (json!([]), Accepted::Pending),
        (
            json!([parent(json!([condition("Accepted", "True", 1), condition("ResolvedRefs", "True", 1)]))]),
            Accepted::Yes,
        ),
        (json!([parent(json!([condition("Accepted", "True", 1)]))]), Accepted::Pending),
        (
            json!([parent(json!([
                condition("PartiallyInvalid", "False", 1),
                condition("Accepted", "True", 1),
                condition("ResolvedRefs", "True", 1)
            ]))]),
            Accepted::Yes,
        ),
        (
            json!([parent(json!([condition("Accepted", "True", 0), condition("ResolvedRefs", "True", 1)]))]),
            Accepted::Pending,
        ),
        (
            json!([parent(json!([condition("Accepted", "False", 0), condition("ResolvedRefs", "True", 1)]))]),
            Accepted::Pending,
        ),
        (
            json!([parent(json!([condition("Accepted", "True", 1), condition("ResolvedRefs", "False", 1)]))]),
            Accepted::No("ResolvedRefs Why: so".to_owned()),
        ),
    ];
    for (parents, accepted) in table {
        let mut world = World::new(Form::named("HTTPRoute adopted"), 100);
        world.objects[0].as_mut().unwrap().data["status"] = json!({"parents": parents});
        assert_eq!(world.live().accepted, accepted, "{parents}");
    }
}

#[test]
fn a_proxy_is_accepted_when_this_generation_is_valid() {
    let table = [
        (json!({}), Accepted::Pending),
        (json!({"conditions": [{"type": "Valid", "status": "True", "observedGeneration": 1}]}), Accepted::Yes),
        (json!({"conditions": [{"type": "Valid", "status": "True", "observedGeneration": 0}]}), Accepted::Pending),
        (
            json!({"conditions": [{"type": "Valid", "status": "False", "observedGeneration": 1, "errors": [{"message": "service not found"}]}]}),
            Accepted::No("service not found".to_owned()),
        ),
    ];
    for (status, accepted) in table {
        let mut world = World::new(Form::named("HTTPProxy adopted"), 100);
        world.objects[0].as_mut().unwrap().data["status"] = status;
        assert_eq!(world.live().accepted, accepted);
    }
}

#[test]
fn headers_that_the_user_sets_stay_beside_the_host() {
    let mut form = Form::named("HTTPProxy adopted");
    form.endpoints.get_mut("eu-1").unwrap().host_header = HostHeader::Endpoint;
    let service = form.objects[0].data.pointer_mut("/spec/routes/0/services/0").unwrap();
    service["protocol"] = "tls".into();
    service["requestHeadersPolicy"] =
        json!({"set": [{"name": "host", "value": "old"}, {"name": "x-team", "value": "shop"}], "remove": ["x-old"]});
    let mut world = World::new(form, 100);
    world.write(&distribution([50, 50, 0], 1), 1);
    assert_eq!(
        world.objects[0].as_ref().unwrap().data.pointer("/spec/routes/0/services/0"),
        Some(&json!({"name": "shop-eu-1", "port": 8080, "weight": 50, "requestHeadersPolicy":
            {"set": [{"name": "x-team", "value": "shop"}, {"name": "Host", "value": "gw.eu-1.example.com"}], "remove": ["x-old"]}}))
    );
}

#[test]
fn a_changed_port_reaches_every_created_route() {
    let split = [50, 0, 50];
    let carries_ports = |form: &Form| form.objects.is_empty() && form.able(split) == split;
    for form in Form::all().into_iter().filter(|form| carries_ports(form) && form.service.backend == Backend::default())
    {
        let mut world = World::new(form, 100);
        world.write(&distribution([50, 0, 50], 1), 1);
        world.form.endpoints.get_mut("eu-3").unwrap().port = 9090;
        world.write(&distribution([50, 0, 50], 1), 2);
        assert!(serde_json::to_string(&world.contents()).unwrap().contains("9090"), "{}", world.form.name);
    }
}

/// What the data plane says of a route with a backend that it does not find.
fn refused(world: &mut World) {
    let object = world.objects[0].as_mut().unwrap();
    object.metadata.generation = Some(1);
    let condition = |kind: &str| json!({"type": kind, "status": "False", "observedGeneration": 1, "reason": "Why", "message": "so"});
    let parent = object.data.pointer("/spec/parentRefs/0").cloned().unwrap_or_default();
    object.data["status"] = json!({
        "parents": [{"controllerName": "example.com/gateway", "parentRef": parent,
                     "conditions": [condition("Accepted"), condition("ResolvedRefs")]}],
        "conditions": [condition("Valid")],
    });
}

#[test]
fn what_is_refused_is_written_again_without_the_backends_that_get_nothing() {
    for name in ["HTTPRoute adopted", "HTTPRoute created", "HTTPProxy adopted"] {
        let mut world = World::new(Form::named(name), 100);
        world.write(&distribution([60, 40, 0], 1), 1);
        world.write(&distribution([100, 0, 0], 1), 2);
        let names_eu_2 = |world: &World| names(&shared(&world.objects), "shop-eu-2");
        assert!(world.live().idle && names_eu_2(&world), "{name}: as long as nobody minds");
        refused(&mut world);
        assert!(matches!(world.live().accepted, Accepted::No(_)), "{name}: {:?}", world.live().accepted);
        world.write(&distribution([100, 0, 0], 1), 2);
        assert!(!world.live().idle && !names_eu_2(&world), "{name}");
        assert_eq!(world.weights(), distribution([100, 0, 0], 1), "{name}");
    }
}
