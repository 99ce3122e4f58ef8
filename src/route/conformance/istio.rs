//! What is Istio's own: entries are tried in their order, one destination ignores its weight, and one mistake freezes a port.

use serde_json::json;

use super::steering::samples;
use super::world::steered;
use super::*;
use crate::api::Matched;
use crate::api::{Affinity, Steering, affinity::Bin};

fn adopted() -> World {
    World::new(Form::named("VirtualService adopted"), 100)
}

fn entries(world: &World) -> &Vec<Value> {
    world.objects[0].as_ref().unwrap().data.pointer("/spec/http").unwrap().as_array().unwrap()
}

fn entries_mut(world: &mut World) -> &mut Vec<Value> {
    world.objects[0].as_mut().unwrap().data.pointer_mut("/spec/http").unwrap().as_array_mut().unwrap()
}

/// The names of the entries; those of the hub are `+`.
fn order(world: &World) -> Vec<&str> {
    let name = |entry: &'_ Value| match entry.get("name").and_then(Value::as_str) {
        Some("cutover.dev/uid-1" | "cutover.dev/uid-2") => "+",
        Some("admin") => "admin",
        Some("main") => "main",
        _ => "-",
    };
    entries(world).iter().map(name).collect()
}

fn seen(world: &World) -> String {
    match world.read() {
        RouteSeen::Live(live) => live.split.weights.to_string(),
        RouteSeen::Unusable(problem) => format!("{}: {}", problem.reason, problem.message),
        other => panic!("{other:?}"),
    }
}

#[test]
fn requests_that_match_are_looked_for_before_all_others_of_their_entry_and_after_those_of_others() {
    let mut world = adopted();
    let weights = distribution([95, 0, 5], 1);
    world.try_with(&weights, &samples()[5], 1);
    assert_eq!(order(&world), ["admin", "+", "main", "-"]);
    let matches = &entries(&world)[1]["match"];
    assert_eq!(
        matches[0],
        json!({"uri": {"prefix": "foreign-path"},
               "headers": {"x-foreign": {"exact": "foreign-value"}, "x-a": {"exact": "1"}, "x-b": {"regex": "2"}}})
    );
    assert_eq!(
        matches[3],
        json!({"port": 8443, "headers": {"x-c": {"exact": "3"}}, "queryParams": {"beta": {"exact": "1"}}})
    );
    assert_eq!(entries(&world)[1]["timeout"], "foreign-timeout");
    // Behind its entry it would take nothing.
    entries_mut(&mut world).swap(1, 2);
    assert_eq!(world.live().split.steering, None);
    world.try_with(&weights, &samples()[5], 2);
    assert_eq!(order(&world), ["admin", "+", "main", "-"]);
}

#[test]
fn users_who_stay_are_looked_for_before_all_others() {
    let mut world = adopted();
    let bins = [("eu-1", 60), ("eu-2", 40)];
    let bins: Vec<Bin> = bins.map(|(member, weight)| Bin { member: member.to_owned(), weight }).into();
    let affinity: Affinity =
        serde_json::from_value(json!({"cookieName": "shop", "maxAge": "1h", "run": "uid-7", "bins": bins})).unwrap();
    let split = Split { affinity: Some(affinity.clone()), ..affinity.weights().into() };
    for write in world.render(split, 1) {
        world.apply(write);
    }
    assert_eq!(order(&world), ["admin", "+", "+", "main", "-"]);
    let cookie = entries(&world)[1].pointer("/match/0/headers/cookie/regex").unwrap().as_str().unwrap();
    assert_eq!(cookie, "^(.*; ?)?shop=uid-7-(0)(;.*)?$");
    let given = &entries(&world)[3]["route"][0]["headers"];
    assert_eq!(given["request"], json!({"set": {"a": "foreign-kept"}}));
    assert_eq!(given["response"]["add"]["Set-Cookie"], "shop=uid-7-0; Path=/; Max-Age=3600; HttpOnly; SameSite=Lax");
}

/// Two rollouts share an object: what one adds moves no entry of the other out of its place.
#[test]
fn entries_keep_their_numbers_while_another_rollout_adds_some() {
    let mut first = World::new(Form::named("VirtualService adopted by number"), 100);
    entries_mut(&mut first)[0]["route"][0]["destination"]["host"] = json!("shop-eu-1");
    let mut second = World::new(first.form.clone(), 100);
    (first.form.route, second.uid) =
        (serde_json::from_value(json!({"istio": {"name": "public", "routes": ["#0"]}})).unwrap(), "uid-2".to_owned());
    first.try_with(&distribution([95, 0, 5], 1), &samples()[0], 1);
    second.objects.clone_from(&first.objects);
    assert_eq!((seen(&second), second.live().mark), ("eu-1:100".to_owned(), None));
    second.write(&distribution([50, 0, 50], 1), 1);
    assert_eq!(order(&second), ["+", "-", "-"]);
    assert_eq!(entries(&second)[2]["route"].as_array().unwrap().len(), 2);
    first.objects.clone_from(&second.objects);
    assert_eq!(seen(&first), "eu-1:95 eu-3:5");
    assert_eq!(first.live().split.steering, Some(samples()[0].clone()));
}

#[test]
fn a_single_destination_has_everything_whatever_its_weight() {
    for weight in [json!(0), json!(1), json!(100), Value::Null] {
        let mut world = World::new(Form::named("VirtualService adopted by number"), 100);
        entries_mut(&mut world)[1]["route"][0]["weight"] = weight.clone();
        assert_eq!(seen(&world), "eu-1:100", "{weight}");
        let Entry::Missing(writes) = world.entry(&distribution([50, 0, 50], 1), 1) else { panic!("{weight}") };
        for write in writes {
            world.apply(write);
        }
        assert_eq!(seen(&world), "eu-1:100", "{weight}");
        let weights: Vec<Option<u64>> =
            entries(&world)[1]["route"].as_array().unwrap().iter().map(|one| one["weight"].as_u64()).collect();
        let expected = weight.as_u64().filter(|weight| *weight > 0).unwrap_or(1);
        assert_eq!(weights, [Some(expected), Some(0)], "{weight}");
    }
}

#[test]
fn with_several_destinations_one_without_weight_has_nothing() {
    let mut world = adopted();
    entries_mut(&mut world)[1]["route"][1].as_object_mut().unwrap().remove("weight");
    assert_eq!(seen(&world), "eu-1:100");
    entries_mut(&mut world)[1]["route"][0]["weight"] = json!(0);
    assert!(seen(&world).contains("spec.http[1]: all weights are 0, which freezes every VirtualService of its port"));
}

#[test]
fn an_entry_that_cannot_hold_weights_is_not_adopted() {
    let cases = [
        (
            json!({"delegate": {"name": "shop", "namespace": "web"}}),
            "route main: it delegates to VirtualService shop: adopt that one",
        ),
        (json!({"redirect": {"uri": "/"}}), "route main: it answers itself: select another one"),
        (json!({"directResponse": {"status": 503}}), "route main: it answers itself: select another one"),
        (
            json!({"match": [{"uri": {"regex": "/a("}}], "route": [{"destination": {"host": "shop-eu-1"}}]}),
            "spec.http[1]: \"/a(\" is no regular expression, which freezes every VirtualService of its port: correct it",
        ),
    ];
    for (fields, expected) in cases {
        let mut world = adopted();
        let mut entry = fields;
        entry["name"] = json!("main");
        entries_mut(&mut world)[1] = entry;
        assert_eq!(seen(&world), format!("CannotCarryWeights: VirtualService public: {expected}"));
    }
}

#[test]
fn a_host_for_all_leaves_no_room_for_that_of_a_member() {
    for fields in [
        json!({"rewrite": {"authority": "a.example.com"}}),
        json!({"headers": {"request": {"set": {":authority": "a.example.com"}}}}),
    ] {
        let mut world = adopted();
        json_patch::merge(&mut entries_mut(&mut world)[1], &fields);
        assert_eq!(seen(&world), "eu-1:60 eu-2:40");
        let endpoint = world.form.endpoints.get_mut("eu-3").unwrap();
        endpoint.host_header = crate::api::member::HostHeader::Endpoint;
        assert!(seen(&world).contains("it sets the Host of all its requests"), "{}", seen(&world));
    }
}

/// What somebody else breaks in mid-run keeps nobody from writing a rollback, and is reported.
#[test]
fn what_freezes_the_port_later_is_reported_and_written_over() {
    let mut world = adopted();
    world.write(&distribution([50, 0, 50], 1), 1);
    entries_mut(&mut world)[2]["match"] = json!([{"headers": {"x-a": {"regex": "("}}}]);
    let Accepted::No(why) = world.live().accepted else { panic!("{:?}", world.live().accepted) };
    assert!(why.starts_with("spec.http[2]: \"(\" is no regular expression"), "{why}");
    world.write(&distribution([100, 0, 0], 1), 2);
    assert_eq!(seen(&world), "eu-1:100");
}

#[test]
fn what_would_freeze_the_port_is_refused_before_it_is_written() {
    let weights = distribution([95, 0, 5], 1);
    let refused = |matches: Value| {
        let weights_of = [("eu-3".to_owned(), 100)].into();
        let matched = Matched { matches: serde_json::from_value(matches).unwrap(), weights: weights_of };
        adopted()
            .attempt(steered(&weights, &Steering::Matched(matched)), 1)
            .map(|_| ())
            .map_err(|error| error.to_string())
    };
    let found = |what: &str| {
        let remedy = "istio cannot match these requests; docs/routes.md says what each route supports";
        Err(format!("a step matches requests by {what}: {remedy}"))
    };
    for (matches, what) in [
        (json!([{"headers": [{"name": "x-a", "regex": "(?=a)"}]}]), "header x-a ~ (?=a)"),
        (json!([{"query": [{"name": "beta", "regex": "a{1001}"}]}]), "query beta ~ a{1001}"),
        (json!([{"cookies": [{"name": "beta", "regex": "a)|(b"}]}]), "cookie beta ~ a)|(b"),
        (
            json!([{"cookies": [{"name": "beta", "exact": "a".repeat(1010)}]}]),
            &format!("cookie beta: {}", "a".repeat(1010)),
        ),
        (json!([{"headers": [{"name": "x-a", "exact": "1"}, {"name": "X-A", "exact": "2"}]}]), "header X-A twice"),
        (json!([{"cookies": [{"name": "a", "exact": "1"}, {"name": "b", "exact": "2"}]}]), "more than one cookie"),
        (json!([{"query": [{"name": "a", "exact": "1"}, {"name": "a", "exact": "2"}]}]), "query a twice"),
    ] {
        assert_eq!(refused(matches), found(what));
    }
    assert_eq!(
        refused(json!([{"headers": [{"name": "X-Foreign", "exact": "1"}]}])),
        Err("VirtualService public: a route looks at the header x-foreign already, and looks at each once: leave matches out".to_owned())
    );
}

#[test]
fn copies_stand_beside_others_copies_and_never_beside_the_old_field() {
    let mut world = adopted();
    let weights = distribution([60, 40, 0], 1);
    world.try_with(&weights, &samples()[8], 1);
    assert_eq!(
        entries(&world)[1]["mirrors"],
        json!([{"destination": {"host": "foreign-mirror"}, "percentage": {"value": 1.5}},
               {"destination": {"host": "shop-eu-3", "port": {"number": 8080}}, "percentage": {"value": 20}}])
    );
    let mut world = adopted();
    entries_mut(&mut world)[1]["mirror"] = json!({"host": "foreign-mirror"});
    let error = world.attempt(steered(&weights, &samples()[8]), 1).unwrap_err();
    assert!(error.to_string().contains("write what it says as an entry of mirrors"), "{error}");
}

/// The primary would not have the subset of the Service that it stands for.
#[test]
fn a_subset_of_the_users_own_service_is_not_taken_over() {
    let mut world = World::new(Form::named("VirtualService adopted by number").in_service_mode(), 100);
    assert_eq!(seen(&world), "primary:100");
    entries_mut(&mut world)[1]["route"][0]["destination"]["subset"] = json!("v1");
    assert!(seen(&world).contains("it leads to a subset of Service shop"), "{}", seen(&world));
}
