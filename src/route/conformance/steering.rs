//! Requests that reach canaries whatever the weights.

use serde_json::json;

use super::world::steered;
use super::*;
use crate::api::{Matched, Mirrored, Steering};

fn to_eu_3(matches: Value) -> Steering {
    let weights = [("eu-3".to_owned(), 100)].into();
    Steering::Matched(Matched { matches: serde_json::from_value(matches).unwrap(), weights })
}

fn copies(members: &[&str], percent: u32) -> Steering {
    Steering::Mirrored(Mirrored { members: members.iter().map(|member| (*member).to_owned()).collect(), percent })
}

/// It ends whatever text it stands in, where that can be ended.
const HOSTILE: &str = r#"a\") && True() -> "http://evil.example.com"; // ` TrafficSegment(0.5, 0.6) /]\"#;

/// What may be desired of a form.
pub(super) fn samples() -> Vec<Steering> {
    vec![
        to_eu_3(json!([{"headers": [{"name": "user-agent", "exact": "pc"}]}])),
        to_eu_3(json!([{"headers": [{"name": "user-agent", "regex": "mobile.*"}]}])),
        to_eu_3(json!([{"cookies": [{"name": "canary", "exact": "always"}]}])),
        to_eu_3(json!([{"cookies": [{"name": "canary", "regex": "a|b"}]}])),
        to_eu_3(json!([{"query": [{"name": "beta", "exact": "1"}]}])),
        to_eu_3(json!([
            {"headers": [{"name": "x-a", "exact": "1"}, {"name": "x-b", "regex": "2"}]},
            {"headers": [{"name": "x-c", "exact": "3"}], "query": [{"name": "beta", "exact": "1"}]}
        ])),
        to_eu_3(json!([{
            "headers": [{"name": "x-a", "prefix": "TrafficSegment(0.0, 1.0)"}, {"name": "X-A", "exact": HOSTILE}],
            "cookies": [{"name": "canary", "regex": HOSTILE}],
            "query": [{"name": "beta", "prefix": HOSTILE}]
        }])),
        copies(&["eu-3"], 100),
        copies(&["eu-3"], 20),
        copies(&["eu-2", "eu-3"], 100),
    ]
}

/// The kind can hold this.
pub(super) fn takes(form: &Form, steering: &Steering) -> bool {
    let weights = distribution([95, 0, 5], 1);
    form.refusal(steered(&weights, steering)).is_none()
}

/// Every form with everything that can be desired of it; an HTTPProxy that mirrors already is one that cannot.
fn cases() -> Vec<(Form, Steering)> {
    let able = |form: Form| {
        let takes = |steering: &Steering| takes(&form, steering);
        let form = |steering: &Steering| if steering.mirrored().is_some() { alone(form.clone()) } else { form.clone() };
        samples().into_iter().filter(takes).map(|steering| (form(&steering), steering)).collect::<Vec<_>>()
    };
    Form::all().into_iter().flat_map(able).collect()
}

/// Without the copies that others get of its requests.
fn alone(mut form: Form) -> Form {
    let lists = |object: &mut DynamicObject| {
        object.data.pointer_mut("/spec/routes/0/services").and_then(Value::as_array_mut).map(std::mem::take)
    };
    for object in &mut form.objects {
        if let Some(mut services) = lists(object) {
            services.retain(|service| service.get("mirror").is_none());
            object.data["spec"]["routes"][0]["services"] = services.into();
        }
    }
    form
}

#[test]
fn every_kind_that_says_so_is_tried() {
    let tried = |matched: bool| {
        let chosen = cases().into_iter().filter(|(_, steering)| steering.matched().is_some() == matched);
        let mut names: Vec<&str> = chosen.map(|(form, _)| form.name).collect();
        names.dedup();
        names
    };
    let able = |can: fn(&capability::Capability) -> bool| -> Vec<&str> {
        Form::all().into_iter().filter(|form| can(capability(&form.route))).map(|form| form.name).collect()
    };
    assert_eq!(tried(true), able(|can| can.matches != capability::Matching::NONE));
    assert_eq!(tried(false), able(|can| can.mirrors != capability::Mirroring::No));
    assert!(tried(true).len() >= 14 && tried(false).len() >= 4);
}

#[test]
fn a_form_shows_the_requests_that_it_was_given_and_keeps_the_weights() {
    for (form, steering) in cases() {
        let name = form.name;
        let mut world = World::new(form, 100);
        let weights = distribution([95, 0, 5], 1);
        world.write(&weights, 1);
        let foreign = world.foreign();
        world.try_with(&weights, &steering, 2);
        let live = world.live();
        assert_eq!((live.split.steering.as_ref(), live.mark), (Some(&steering), Some(world.mark(2))), "{name}");
        assert_eq!(world.weights(), weights, "{name}");
        assert!(foreign.is_subset(&world.foreign()), "{name}");
        let contents = world.contents();
        world.try_with(&weights, &steering, 2);
        assert_eq!(world.contents(), contents, "{name}: written again");
    }
}

#[test]
fn members_without_weight_may_get_the_requests_that_match() {
    for (form, steering) in cases() {
        let name = form.name;
        let mut world = World::new(form, 100);
        let weights = distribution([100, 0, 0], 1);
        world.write(&weights, 1);
        world.try_with(&weights, &steering, 2);
        assert_eq!((world.weights(), world.live().split.steering), (weights, Some(steering)), "{name}");
    }
}

#[test]
fn the_next_write_takes_them_away_without_a_trace() {
    for (form, steering) in cases() {
        let name = form.name;
        let mut world = World::new(form, 100);
        let (weights, next) = (distribution([95, 0, 5], 1), distribution([50, 0, 50], 1));
        world.write(&weights, 1);
        let mut plain = World::new(world.form.clone(), 100);
        plain.write(&weights, 1);
        plain.write(&next, 3);
        world.try_with(&weights, &steering, 2);
        world.write(&next, 3);
        assert_eq!(world.contents(), plain.contents(), "{name}");
        assert_eq!(world.live().split.steering, None, "{name}");
    }
}

#[test]
fn another_sort_takes_the_place_of_the_first() {
    for (form, _) in cases() {
        let name = form.name;
        let mut world = World::new(form, 100);
        let weights = distribution([95, 0, 5], 1);
        world.write(&weights, 1);
        let both: Vec<Steering> = samples().into_iter().take(2).collect();
        world.try_with(&weights, &both[0], 2);
        world.try_with(&weights, &both[1], 3);
        assert_eq!(world.live().split.steering.as_ref(), Some(&both[1]), "{name}");
        let text = serde_json::to_string(&world.contents()).unwrap();
        assert!(text.contains("mobile") && !text.contains("pc"), "{name}: {text}");
    }
}

#[test]
fn what_somebody_took_away_is_not_shown() {
    for (form, steering) in cases() {
        let name = form.name;
        let mut world = World::new(form, 100);
        let weights = distribution([95, 0, 5], 1);
        world.write(&weights, 1);
        let plain = world.objects.clone();
        world.try_with(&weights, &steering, 2);
        for (object, plain) in world.objects.iter_mut().zip(plain) {
            match (&mut *object, plain) {
                (Some(object), Some(plain)) => {
                    object.data.clone_from(&plain.data);
                    object.annotations_mut().retain(|key, _| !key.contains("canary-by-"));
                }
                (_, plain) => *object = plain,
            }
        }
        assert_eq!(world.live().split.steering, None, "{name}");
    }
}

#[test]
fn release_leaves_nothing_of_them() {
    for (form, steering) in cases() {
        for policy in [DeletionPolicy::Retain, DeletionPolicy::Revert] {
            let name = form.name;
            let mut world = World::new(form.clone(), 100);
            let before = world.contents();
            let weights = distribution([95, 0, 5], 1);
            world.write(&weights, 1);
            world.try_with(&weights, &steering, 2);
            world.write(&weights, 3);
            world.release(policy);
            let text = serde_json::to_string(&world.contents()).unwrap();
            assert!(!text.contains(crate::api::STEERING_ANNOTATION), "{name}: {text}");
            if policy == DeletionPolicy::Revert {
                assert_eq!(world.contents(), before, "{name}");
            }
        }
    }
}

#[test]
fn defaults_that_an_api_server_adds_change_nothing() {
    let mut world = World::new(Form::named("HTTPRoute adopted"), 100);
    let (weights, steering) = (distribution([95, 0, 5], 1), samples().remove(0));
    world.write(&weights, 1);
    world.try_with(&weights, &steering, 2);
    let rules = world.objects[0].as_mut().unwrap().data.pointer_mut("/spec/rules").unwrap().as_array_mut().unwrap();
    let tried = rules.last_mut().unwrap();
    assert_eq!(
        tried["matches"],
        json!([{"path": {"type": "PathPrefix", "value": "foreign-path"},
            "headers": [{"type": "Exact", "name": "user-agent", "value": "pc"}]}])
    );
    tried["backendRefs"][0]["group"] = json!("");
    tried["timeouts"] = json!({"request": "10s"});
    assert_eq!((world.live().split.steering, world.weights()), (Some(steering), weights));
    assert_eq!(world.entry(&distribution([50, 0, 50], 1), 3), Entry::Done, "nothing is left to name");
}

#[test]
fn the_member_in_the_stable_ingress_cannot_have_chosen_requests() {
    let world = World::new(Form::named("nginx"), 100);
    let mut steering = samples().remove(0);
    let Steering::Matched(matched) = &mut steering else { panic!("{steering}") };
    matched.weights = [("eu-1".to_owned(), 100)].into();
    let weights = distribution([50, 0, 50], 1);
    let error = world.attempt(steered(&weights, &steering), 1).unwrap_err();
    assert_eq!(
        error.to_string(),
        "Ingress public: requests can be chosen for the canary Ingress only, and eu-1 stands in the stable one: leave \
         matches out for it"
    );
}

#[test]
fn a_kind_that_cannot_choose_so_says_by_what() {
    let refused = |name: &str, index: usize| {
        let (weights, steering) = (distribution([95, 0, 5], 1), samples().remove(index));
        Form::named(name).refusal(steered(&weights, &steering)).map(|(found, _)| found)
    };
    assert_eq!(refused("Service created", 0).as_deref(), Some("a step matches requests by header user-agent: pc"));
    assert_eq!(refused("HTTPRoute adopted", 2).as_deref(), Some("a step matches requests by cookie canary: always"));
    assert_eq!(refused("nginx", 3).as_deref(), Some("a step matches requests by cookie canary ~ a|b"));
    assert_eq!(refused("ALB", 5).as_deref(), Some("a step matches requests by more than one condition"));
    assert_eq!(refused("ALB", 0), None);
    assert_eq!(
        refused("Ingress per member created", 5).as_deref(),
        Some("a step matches requests by more than one match")
    );
}

#[test]
fn a_regex_that_skipper_would_leave_out_is_refused() {
    let (weights, steering) =
        (distribution([95, 0, 5], 1), to_eu_3(json!([{"cookies": [{"name": "a", "regex": "b)|(c"}]}])));
    let found = Form::named("RouteGroup created").refusal(steered(&weights, &steering)).map(|(found, _)| found);
    assert_eq!(found.as_deref(), Some("a step matches requests by cookie a ~ b)|(c"));
}

#[test]
fn several_members_may_share_the_requests_that_match() {
    let takes_three = |form: &Form| form.can([33, 33, 34]);
    for (form, steering) in cases().into_iter().filter(|(form, _)| takes_three(form)) {
        let name = form.name;
        let Steering::Matched(mut matched) = steering else { continue };
        matched.weights = [("eu-2".to_owned(), 30), ("eu-3".to_owned(), 70)].into();
        let steering = Steering::Matched(matched);
        let mut world = World::new(form, 100);
        let weights = distribution([95, 0, 5], 1);
        world.try_with(&weights, &steering, 1);
        assert_eq!((world.weights(), world.live().split.steering), (weights, Some(steering)), "{name}");
    }
}

#[test]
fn copies_that_others_get_stay() {
    let filter =
        json!({"type": "RequestMirror", "requestMirror": {"backendRef": {"name": "foreign-mirror", "port": 80}}});
    let mut form = Form::named("HTTPRoute adopted");
    form.objects[0].data["spec"]["rules"][1]["filters"].as_array_mut().unwrap().push(filter.clone());
    let mut world = World::new(form, 100);
    let (weights, next) = (distribution([100, 0, 0], 1), distribution([50, 0, 50], 1));
    world.write(&weights, 1);
    let filters = |world: &World| world.objects[0].as_ref().unwrap().data["spec"]["rules"][1]["filters"].clone();
    let before = filters(&world);
    world.try_with(&weights, &copies(&["eu-3"], 100), 2);
    let ours = json!({"type": "RequestMirror",
                      "requestMirror": {"backendRef": {"name": "shop-eu-3", "kind": "Service", "port": 8080}}});
    assert_eq!(filters(&world).as_array().unwrap()[2], ours);
    assert!(filters(&world).as_array().unwrap().contains(&filter));
    world.write(&next, 3);
    assert_eq!(filters(&world), before);
}

#[test]
fn copies_go_to_a_service_as_its_requests_do() {
    let mut form = alone(Form::named("HTTPProxy adopted"));
    let checked = json!({"name": "shop-eu-3", "port": 8443, "protocol": "tls", "weight": 0,
                         "validation": {"caSecret": "foreign-ca", "subjectName": "eu-3"}});
    let services = form.objects[0].data.pointer_mut("/spec/routes/0/services").unwrap().as_array_mut().unwrap();
    services.push(checked);
    let mut world = World::new(form, 100);
    world.try_with(&distribution([75, 25, 0], 1), &copies(&["eu-3"], 20), 1);
    let services = &world.objects[0].as_ref().unwrap().data["spec"]["routes"][0]["services"];
    let (plain, copied) = (services[2].clone(), services[3].clone());
    assert_eq!((&plain["validation"]["caSecret"], &plain["weight"]), (&json!("foreign-ca"), &json!(0)));
    assert_eq!((&copied["mirror"], &copied["weight"]), (&json!(true), &json!(20)));
    assert_eq!((&copied["validation"], &copied["port"]), (&plain["validation"], &plain["port"]));
}

#[test]
fn a_proxy_that_mirrors_already_is_refused_with_who_gets_the_copies() {
    let mut world = World::new(Form::named("HTTPProxy adopted"), 100);
    let (weights, steering) = (distribution([100, 0, 0], 1), copies(&["eu-3"], 100));
    world.write(&weights, 1);
    let error = world.attempt(steered(&weights, &steering), 2).unwrap_err();
    assert_eq!(
        error.to_string(),
        "HTTPProxy public: one Service may get copies, and foreign-mirror does already: take that away, or leave mirror out"
    );
}

#[test]
fn copies_whose_part_somebody_changed_are_not_shown_and_go_with_the_next_write() {
    let mut world = World::new(Form::named("HTTPProxy created"), 100);
    let weights = distribution([100, 0, 0], 1);
    world.write(&weights, 1);
    let before = world.contents();
    world.try_with(&weights, &copies(&["eu-3"], 20), 2);
    let services = world.objects[0].as_mut().unwrap().data.pointer_mut("/spec/routes/0/services").unwrap();
    services.as_array_mut().unwrap().last_mut().unwrap()["weight"] = json!(90);
    assert_eq!(world.live().split.steering, None);
    world.write(&weights, 1);
    assert_eq!(world.contents(), before);
}

#[test]
fn a_kind_that_cannot_mirror_so_says_what_would_help() {
    let refused = |name: &str, members: &[&str], percent| {
        let (weights, steering) = (distribution([95, 0, 5], 1), copies(members, percent));
        let refusal = Form::named(name).refusal(steered(&weights, &steering));
        refusal.map(|(found, remedy)| format!("{found}; {remedy}"))
    };
    assert_eq!(
        refused("Ingress created", &["eu-3"], 100).as_deref(),
        Some(
            "a step mirrors requests; skipper, form Ingress cannot mirror; leave mirror out, or use gatewayAPI or contour"
        )
    );
    assert_eq!(
        refused("HTTPProxy created", &["eu-2", "eu-3"], 100).as_deref(),
        Some(
            "a step mirrors requests to 2 members; contour mirrors to 1 at once; put the members into different stages"
        )
    );
    assert_eq!(refused("HTTPRoute created", &["eu-2", "eu-3"], 20), None);
}

#[test]
fn a_part_is_copied_only_where_the_controller_obeys_it() {
    let seen = |controllers: &[&str], percent: u32| {
        let mut world = World::new(Form::named("HTTPRoute adopted"), 100);
        let parents: Vec<Value> = controllers.iter().map(|name| json!({"controllerName": name})).collect();
        world.objects[0].as_mut().unwrap().data["status"] = json!({"parents": parents});
        let weights = distribution([60, 40, 0], 1);
        let attempt = world.attempt(steered(&weights, &copies(&["eu-3"], percent)), 1);
        attempt.map(|_| ()).map_err(|error| error.to_string())
    };
    let (istiod, contour) = ("istio.io/gateway-controller", "projectcontour.io/gateway-controller");
    assert_eq!(seen(&[istiod, contour], 100), Ok(()));
    assert_eq!(seen(&[istiod], 20), Ok(()));
    assert_eq!(seen(&[], 20), Ok(()));
    let refused = "a step mirrors 20% of all requests, and controller projectcontour.io/gateway-controller is not known to obey that: leave percent out";
    assert!(seen(&[istiod, contour], 20).is_err_and(|error| error.contains(refused)));
}
