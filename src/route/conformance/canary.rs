//! A stable Ingress and its canary: who stands where, the order of writes, and the numbers of a load balancer.

use std::sync::Arc;

use serde_json::json;

use super::*;

const ORDER: &str = "alb.ingress.kubernetes.io/order";

/// Where the stable Ingress and its canary lead.
fn places(world: &World) -> (String, Option<String>) {
    let leads = |object: &DynamicObject| {
        let name = object.data.pointer("/spec/rules/0/http/paths/0/backend/service/name").unwrap();
        name.as_str().unwrap().trim_start_matches("shop-").to_owned()
    };
    (leads(world.objects[0].as_ref().unwrap()), world.objects[1].as_ref().map(leads))
}

fn stand(split: [u32; 3], stable: &str, canary: Option<&str>) -> ([u32; 3], (String, Option<String>)) {
    (split, (stable.to_owned(), canary.map(str::to_owned)))
}

#[test]
fn nobody_is_moved_from_the_ingress_that_leads_to_him_until_he_is_alone() {
    for name in ["nginx", "ALB"] {
        let mut world = World::new(Form::named(name), 100);
        let way = [
            stand([99, 0, 1], "eu-1", Some("eu-3")),
            stand([50, 0, 50], "eu-1", Some("eu-3")),
            stand([0, 0, 100], "eu-3", None),
            stand([0, 10, 90], "eu-3", Some("eu-2")),
            stand([10, 90, 0], "eu-1", Some("eu-2")),
            stand([0, 50, 50], "eu-3", Some("eu-2")),
            stand([0, 100, 0], "eu-2", None),
            stand([100, 0, 0], "eu-1", None),
        ];
        for (sequence, (split, expected)) in (1..).zip(way) {
            world.write(&distribution(split, 1), sequence);
            assert_eq!((world.weights(), places(&world)), (distribution(split, 1), expected), "{name}");
        }
    }
}

/// What each member gets by the data plane's rules: a canary that leads to the stable one's Service counts for nothing.
fn shares(world: &World) -> Distribution {
    let (stable, canary) = places(world);
    let annotation = "nginx.ingress.kubernetes.io/canary-weight";
    let share = world.objects[1].as_ref().map_or(0, |canary| canary.annotations()[annotation].parse().unwrap());
    let share = if canary.as_ref() == Some(&stable) { 0 } else { share };
    let parts = [(stable, world.total - share), (canary.unwrap_or_default(), share)];
    parts.into_iter().filter(|(_, weight)| *weight > 0).collect()
}

#[test]
fn every_prefix_of_every_change_gives_nobody_more_than_he_has_before_or_after() {
    let steps: Vec<[u32; 3]> =
        SPLITS.into_iter().filter(|split| split.iter().filter(|weight| **weight > 0).count() < 3).collect();
    for (from, to) in steps.iter().flat_map(|from| steps.iter().map(move |to| (*from, *to))) {
        let mut world = World::new(Form::named("nginx"), 100);
        world.write(&distribution(from, 1), 1);
        let (before, after) = (shares(&world), distribution(to, 1));
        for write in world.render(&after, 2) {
            world.apply(write);
            let now = shares(&world);
            assert_eq!(now.total(), 100, "{from:?} -> {to:?}: {now:?}");
            let most = |member: &str| before.weight(member).max(after.weight(member));
            assert!(now.iter().all(|(member, weight)| weight <= most(member)), "{from:?} -> {to:?}: {now:?}");
        }
        assert_eq!(shares(&world), after);
    }
}

#[test]
fn a_canary_has_the_services_paths_and_says_what_it_does_not_inherit() {
    let mut world = World::new(Form::named("nginx"), 1000);
    world.write(&distribution([99, 0, 1], 10), 1);
    let canary = world.find("public-canary").unwrap();
    let path = |kind: &str| json!({"path": "/", "pathType": kind, "backend": {"service": {"name": "shop-eu-3", "port": {"number": 8080}}}});
    assert_eq!(
        canary.data["spec"],
        json!({"ingressClassName": "foreign-class", "rules": [
            {"host": "foreign.example.com", "http": {"paths": [path("Prefix")]}},
            {"host": "foreign.www.example.com", "http": {"paths": [path("Exact")]}}]})
    );
    let mut annotations = canary.annotations().clone();
    annotations.remove(crate::api::WRITE_ANNOTATION);
    let expected =
        [("affinity", "foreign-cookie"), ("canary", "true"), ("canary-weight", "10"), ("canary-weight-total", "1000")];
    let expected = expected.map(|(key, value)| (format!("nginx.ingress.kubernetes.io/{key}"), value.to_owned()));
    assert_eq!(annotations, expected.into());
}

#[test]
fn a_path_that_is_added_on_the_way_is_the_canarys_too() {
    let mut world = World::new(Form::named("nginx"), 100);
    world.write(&distribution([50, 0, 50], 1), 1);
    let stable = world.objects[0].as_mut().unwrap();
    let paths = stable.data.pointer_mut("/spec/rules/1/http/paths").unwrap().as_array_mut().unwrap();
    let mut added = paths[0].clone();
    added["path"] = json!("/added");
    paths.push(added);
    world.write(&distribution([40, 0, 60], 1), 2);
    let canary = &world.find("public-canary").unwrap().data;
    assert_eq!(canary.pointer("/spec/rules/1/http/paths/1/path"), Some(&json!("/added")));
}

#[test]
fn a_canary_that_is_for_other_requests_than_its_ingress_is_not_written_yet() {
    for (name, field, value) in [
        ("nginx", "/spec/rules/0/host", "other.example.com"),
        ("nginx", "/spec/rules/1/http/paths/0/path", "/other"),
        ("nginx", "/spec/ingressClassName", "other"),
        ("ALB", "/spec/rules/0/host", "other.example.com"),
    ] {
        let mut world = World::new(Form::named(name), 100);
        world.write(&distribution([50, 0, 50], 1), 1);
        assert_eq!(world.live().mark, Some(world.mark(1)), "{name} {field}");
        *world.objects[0].as_mut().unwrap().data.pointer_mut(field).unwrap() = json!(value);
        assert_eq!(world.live().mark, Some(world.mark(0)), "{name} {field}");
        world.write(&distribution([50, 0, 50], 1), 1);
        assert_eq!(world.live().mark, Some(world.mark(1)), "{name} {field}");
        let of_canary = world.find("public-canary").unwrap().data.pointer(field);
        assert_eq!(of_canary, Some(&json!(value)), "{name}");
    }
}

#[test]
fn three_members_at_once_are_refused() {
    for name in ["nginx", "ALB"] {
        let world = World::new(Form::named(name), 100);
        let error = world.attempt(distribution([33, 33, 34], 1), 1).unwrap_err();
        assert!(error.to_string().starts_with("3 members would carry traffic at once: "), "{error}");
    }
}

#[test]
fn an_ingress_of_the_canarys_name_that_is_not_ours_is_left_alone() {
    let mut world = World::new(Form::named("nginx"), 100);
    world.write(&distribution([50, 0, 50], 1), 1);
    world.objects[1].as_mut().unwrap().metadata.labels = None;
    let RouteSeen::Unusable(problem) = world.read() else { panic!("{:?}", world.read()) };
    assert_eq!(problem.reason, crate::api::Reason::Conflict);
    assert!(problem.message.starts_with("Ingress public-canary exists and was not made by cutover: remove it"));
}

/// An Ingress of the ALB: its namespace, which is its host and uid too, and its number.
fn neighbour(name: &str, path: &str, order: Option<u32>) -> DynamicObject {
    let annotations = order.map(|order| json!({ ORDER: order.to_string() }));
    let path =
        json!({"path": path, "pathType": "Prefix", "backend": {"service": {"name": "any", "port": {"number": 80}}}});
    serde_json::from_value(json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
        "metadata": {"name": "any", "namespace": name, "uid": name, "annotations": annotations},
        "spec": {"ingressClassName": "foreign-class", "rules": [{"host": format!("{name}.example.com"), "http": {"paths": [path]}}]}
    }))
    .unwrap()
}

fn alb(neighbours: Vec<DynamicObject>) -> World {
    let mut world = World::new(Form::named("ALB"), 100);
    world.form.neighbours = neighbours.into_iter().map(Arc::new).collect();
    world
}

fn order_of(world: &World) -> Option<String> {
    world.find("public-canary").map(|canary| canary.annotations()[ORDER].clone())
}

#[test]
fn a_canary_takes_the_nearest_free_number_before_its_stable_rule_keeps_it_and_gives_it_back() {
    let mut world =
        alb(vec![neighbour("one", "/", Some(49)), neighbour("two", "/", Some(47)), neighbour("three", "/", None)]);
    for (sequence, split) in (1..).zip([[99, 0, 1], [50, 0, 50]]) {
        world.write(&distribution(split, 1), sequence);
        assert_eq!(order_of(&world).as_deref(), Some("48"));
    }
    world.write(&distribution([0, 0, 100], 1), 3);
    assert_eq!(order_of(&world), None);
    assert_eq!(world.find("public").unwrap().annotations()[ORDER], "50", "the stable one keeps its own");
}

#[test]
fn a_canary_never_stands_before_a_more_special_rule_that_its_stable_rule_comes_after() {
    let special = |order| {
        let mut special = neighbour("foreign", "/foreign/deep", order);
        special.metadata.name = Some("special".to_owned());
        special
    };
    let refused = |world: &World| world.attempt(distribution([99, 0, 1], 1), 1).unwrap_err().to_string();
    let mut world = alb(vec![special(Some(45))]);
    world.write(&distribution([99, 0, 1], 1), 1);
    assert_eq!(order_of(&world).as_deref(), Some("49"), "between the two");
    assert_eq!(
        refused(&alb(vec![special(Some(49))])),
        "Ingress public: no alb.ingress.kubernetes.io/order is free before its own, 50 and after the more special \
         rules at 49: give it a larger one, up to 1000"
    );
    let mut other_class = special(Some(49));
    other_class.data["spec"]["ingressClassName"] = json!("other");
    let mut world = alb(vec![other_class]);
    world.write(&distribution([99, 0, 1], 1), 1);
    assert_eq!(order_of(&world).as_deref(), Some("48"), "another load balancer's rules are not before ours");
}

#[test]
fn numbers_run_out_with_words() {
    let mut world = alb((1..=9).map(|order| neighbour(&format!("n-{order}"), "/", Some(order))).collect());
    world.objects[0].as_mut().unwrap().annotations_mut().remove(ORDER);
    let error = world.attempt(distribution([99, 0, 1], 1), 1).unwrap_err();
    assert_eq!(
        error.to_string(),
        "Ingress public: no alb.ingress.kubernetes.io/order is free before its own, 10: give it a larger one, up to 1000"
    );
}

#[test]
fn of_two_canaries_with_one_number_the_one_with_the_larger_uid_moves() {
    let mut world = alb(Vec::new());
    world.write(&distribution([50, 0, 50], 1), 5);
    assert_eq!((order_of(&world).as_deref(), world.live().mark), (Some("49"), Some(world.mark(5))));
    let ours = |uid: &str| {
        let mut other = neighbour(uid, "/", Some(49));
        other.metadata.labels = Some([("app.kubernetes.io/managed-by".to_owned(), "cutover".to_owned())].into());
        other
    };
    // Ours is `uid-of-public-canary`.
    for (other, moves) in [(ours("uid-z"), false), (ours("uid-a"), true), (neighbour("uid-z", "/", Some(49)), true)] {
        let mut world = alb(vec![other]);
        world.objects = {
            let mut first = alb(Vec::new());
            first.write(&distribution([50, 0, 50], 1), 5);
            first.objects
        };
        let done = if moves { 4 } else { 5 };
        assert_eq!(world.live().mark, Some(world.mark(done)), "the write is not done before it has moved");
        world.write(&distribution([50, 0, 50], 1), 5);
        assert_eq!(order_of(&world).as_deref(), Some(if moves { "48" } else { "49" }));
        assert_eq!(world.live().mark, Some(world.mark(5)));
    }
}

#[test]
fn an_alb_divides_into_hundredths() {
    let world = World::new(Form::named("ALB"), 1000);
    let error = world.attempt(Distribution::from([("eu-1", 995), ("eu-3", 5)]), 1).unwrap_err();
    assert_eq!(
        error.to_string(),
        "eu-1 would have 995 of 1000, which is not a whole 100th of all traffic: aliyunALB divides traffic into 100 \
         parts: choose weights and steps that fit them"
    );
}

#[test]
fn a_canary_that_is_enabled_may_take_all_that_there_is_and_no_more() {
    for (name, prefix) in [("nginx", "nginx"), ("ALB", "alb")] {
        let mut world = World::new(Form::named(name), 100);
        world.write(&distribution([99, 0, 1], 1), 1);
        let mut shown = |key: &str, value: &str| {
            let canary = world.objects[1].as_mut().unwrap();
            canary.annotations_mut().insert(format!("{prefix}.ingress.kubernetes.io/{key}"), value.to_owned());
            match world.read() {
                RouteSeen::Live(live) => Some(live.split.weights.nonzero()),
                RouteSeen::Unseen | RouteSeen::ToCreate | RouteSeen::Unusable(_) => None,
            }
        };
        for bad in ["101", "-1", "1.5"] {
            assert_eq!(shown("canary-weight", bad), None, "{name}: {bad}");
        }
        assert_eq!(shown("canary-weight", "100"), Some(distribution([0, 0, 100], 1)), "{name}");
        assert_eq!(shown("canary", "false"), None, "{name}");
    }
}
