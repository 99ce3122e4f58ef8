//! Skipper's canary Ingress beside the user's own, the apex: which is never written, and which of the two has the requests.

use serde_json::json;

use super::world::steered;
use super::*;
use crate::api::{CANARY, Matched, PRIMARY, ROLLOUT_LABEL, ServiceCopy, Steering};

const PREDICATE: &str = "zalando.org/skipper-predicate";
const WEIGHTS: &str = "zalando.org/backend-weights";
const ON: &str = r#"Weight(100) && Method("foreign")"#;
const OFF: &str = r#"Weight(100) && False() && Method("foreign")"#;
/// Where the first path of an apex leads.
const LEADS_TO: &str = "/spec/rules/0/http/paths/0/backend/service/name";

fn in_member_mode() -> World {
    World::new(Form::named("Canary Ingress beside its apex"), 100)
}

/// The apex names the user's own Service.
fn in_service_mode() -> World {
    World::new(Form::named("Canary Ingress beside its apex").in_service_mode(), 100)
}

/// The apex names this Service.
fn leading_to(service: &str) -> World {
    let mut world = in_service_mode();
    for place in [LEADS_TO, "/spec/rules/1/http/paths/0/backend/service/name"] {
        *world.objects[0].as_mut().unwrap().data.pointer_mut(place).unwrap() = service.into();
    }
    world
}

fn split(primary: u32, canary: u32) -> Distribution {
    [(PRIMARY.to_owned(), primary), (CANARY.to_owned(), canary)].into()
}

fn annotation<'w>(world: &'w World, key: &str) -> &'w str {
    world.find("public-canary").unwrap().annotations()[key].as_str()
}

fn annotate(world: &mut World, key: &str, value: &str) {
    world.objects[1].as_mut().unwrap().annotations_mut().insert(key.to_owned(), value.to_owned());
}

#[test]
fn the_apex_is_never_written() {
    for policy in [DeletionPolicy::Retain, DeletionPolicy::Revert] {
        let mut world = in_member_mode();
        let apex = world.find("public").cloned();
        for (sequence, split) in (1..).zip(world.form.splits()) {
            world.write(&distribution(split, 1), sequence);
            assert_eq!(world.find("public").cloned(), apex, "{split:?}");
        }
        world.release(policy);
        assert_eq!(world.find("public").cloned(), apex, "{policy:?}");
    }
}

#[test]
fn the_canary_is_off_while_the_apex_alone_does_what_is_wanted() {
    let mut world = in_member_mode();
    for (sequence, (split, predicates)) in
        (1..).zip([([100, 0, 0], OFF), ([50, 0, 50], ON), ([0, 0, 100], ON), ([100, 0, 0], OFF)])
    {
        world.write(&distribution(split, 1), sequence);
        assert_eq!(annotation(&world, PREDICATE), predicates, "{split:?}");
        assert_eq!(world.weights(), distribution(split, 1), "{split:?}");
    }
    let mut world = leading_to("shop-primary");
    for (sequence, (split, predicates)) in
        (1..).zip([(split(100, 0), OFF), (split(80, 20), ON), (split(0, 100), ON), (split(100, 0), OFF)])
    {
        world.write(&split, sequence);
        assert_eq!((annotation(&world, PREDICATE), world.weights()), (predicates, split.nonzero()));
    }
}

#[test]
fn beside_an_apex_that_names_the_users_own_service_the_canary_is_never_off() {
    let mut world = in_service_mode();
    assert_eq!(world.weights(), split(100, 0).nonzero(), "the primary is made like it");
    for (sequence, split) in (1..).zip([split(100, 0), split(80, 20), split(0, 100), split(100, 0)]) {
        world.write(&split, sequence);
        assert_eq!((annotation(&world, PREDICATE), world.weights()), (ON, split.nonzero()));
    }
    assert_eq!(annotation(&world, WEIGHTS), r#"{"shop-canary":0,"shop-primary":100}"#);
    annotate(&mut world, PREDICATE, OFF);
    assert_eq!(world.live().mark, Some(world.mark(3)), "somebody switched it off: the write is to be done again");
    world.write(&split(100, 0), 4);
    assert_eq!((annotation(&world, PREDICATE), world.live().mark), (ON, Some(world.mark(4))));
}

/// Without the canary users would get what the rollout proves at that time.
#[test]
fn an_apex_that_leads_to_what_is_not_proven_shows_the_canary() {
    let mut world = in_service_mode();
    world.write(&split(80, 20), 1);
    world.objects[1] = None;
    assert_eq!(world.weights(), split(100, 0).nonzero(), "primary and canary are the same");
    let proven = json!({"spec": {"type": "ClusterIP", "selector": {"app": "v2"}}});
    let proven: ServiceCopy = serde_json::from_value(proven).unwrap();
    world.form.copies.insert(CANARY.to_owned(), proven);
    assert_eq!(world.weights(), split(0, 100).nonzero());
}

#[test]
fn the_canary_has_the_paths_of_the_service_and_all_that_the_apex_says() {
    let mut world = in_member_mode();
    world.write(&distribution([50, 0, 50], 1), 1);
    let canary = world.find("public-canary").unwrap();
    let path = |kind: &str, member: &str| json!({"path": "/", "pathType": kind, "backend": {"service": {"name": format!("shop-{member}"), "port": {"number": 80}}}});
    let paths = |kind: &str| json!({"paths": [path(kind, "eu-1"), path(kind, "eu-3")]});
    assert_eq!(
        canary.data["spec"],
        json!({"ingressClassName": "foreign-class", "rules": [
            {"host": "foreign.example.com", "http": paths("Prefix")},
            {"host": "foreign.www.example.com", "http": paths("Exact")}]})
    );
    assert_eq!(annotation(&world, WEIGHTS), r#"{"shop-eu-1":50,"shop-eu-3":50}"#);
    assert_eq!(annotation(&world, "zalando.org/skipper-filter"), "foreignFilter()");
}

#[test]
fn a_canary_follows_the_apex() {
    let edits: [fn(&mut DynamicObject); 4] = [
        |apex| {
            let paths = apex.data.pointer_mut("/spec/rules/1/http/paths").unwrap().as_array_mut().unwrap();
            let mut added = paths[0].clone();
            added["path"] = json!("/added");
            paths.push(added);
        },
        |apex| apex.data["spec"]["ingressClassName"] = "other".into(),
        |apex| drop(apex.annotations_mut().insert(PREDICATE.to_owned(), "True()".to_owned())),
        |apex| drop(apex.annotations_mut().insert("zalando.org/skipper-filter".to_owned(), "other()".to_owned())),
    ];
    for (edit, split) in edits.iter().flat_map(|edit| [(edit, [50, 0, 50]), (edit, [100, 0, 0])]) {
        let mut world = in_member_mode();
        let weights = distribution(split, 1);
        world.write(&weights, 1);
        assert_eq!(world.live().mark, Some(world.mark(1)));
        edit(world.objects[0].as_mut().unwrap());
        assert_eq!((world.live().mark, world.weights()), (Some(world.mark(0)), weights.clone()));
        world.write(&weights, 1);
        assert_eq!((world.live().mark, world.weights()), (Some(world.mark(1)), weights));
    }
}

#[test]
fn what_others_note_on_the_canary_stays_and_what_the_apex_drops_goes() {
    let mut world = in_member_mode();
    world.write(&distribution([50, 0, 50], 1), 1);
    annotate(&mut world, "dns.example.com/done", "yes");
    let annotations = json!({"f:zalando.org/skipper-filter": {}, format!("f:{PREDICATE}"): {}});
    let own = json!([{"manager": "cutover", "operation": "Update", "fieldsV1": {"f:metadata": {"f:annotations": annotations}}}]);
    world.objects[1].as_mut().unwrap().metadata.managed_fields = serde_json::from_value(own).unwrap();
    assert_eq!(world.live().mark, Some(world.mark(1)));
    world.objects[0].as_mut().unwrap().annotations_mut().clear();
    assert_eq!(world.live().mark, Some(world.mark(0)));
    world.write(&distribution([50, 0, 50], 1), 1);
    let annotations = world.find("public-canary").unwrap().annotations();
    assert_eq!(annotations.get("dns.example.com/done").map(String::as_str), Some("yes"));
    assert_eq!(annotations.get("zalando.org/skipper-filter"), None);
    assert_eq!(annotation(&world, PREDICATE), "Weight(100)");
}

#[test]
fn weights_of_somebody_else_are_read_as_skipper_reads_them() {
    let mut world = in_member_mode();
    world.write(&distribution([33, 33, 34], 1), 1);
    for (weights, expected) in [
        (json!({"shop-eu-1": 70, "shop-eu-2": 30}), [70, 30, 0]),
        (json!({"shop-eu-1": 0.25, "shop-eu-2": 0.25, "shop-eu-3": 0.5}), [25, 25, 50]),
        (json!({"shop-eu-3": 7.5}), [0, 0, 100]),
    ] {
        annotate(&mut world, WEIGHTS, &weights.to_string());
        assert_eq!(world.weights(), distribution(expected, 1), "{weights}");
        assert_eq!(world.live().mark, Some(world.mark(1)), "an edit of the weights is judged as one");
    }
    annotate(&mut world, WEIGHTS, "{}");
    assert!(world.live().uneven, "three equal shares are no whole hundredths");
    assert_eq!(world.weights().total(), 100);
    for bad in ["[]", r#"{"shop-eu-1":-1}"#, r#"{"shop-eu-1":"1"}"#] {
        annotate(&mut world, WEIGHTS, bad);
        let RouteSeen::Unusable(problem) = world.read() else { panic!("{bad} was read") };
        assert!(problem.message.ends_with("is not a JSON object of weights of 0 or more: correct it"), "{problem:?}");
    }
}

#[test]
fn an_apex_that_another_tool_applies_is_no_obstacle() {
    let mut world = in_member_mode();
    let fields = json!({"f:spec": {"f:rules": {}}, "f:metadata": {"f:annotations": {format!("f:{PREDICATE}"): {}}}});
    let applied = json!([{"manager": "argocd", "operation": "Apply", "fieldsV1": fields}]);
    world.objects[0].as_mut().unwrap().metadata.managed_fields = serde_json::from_value(applied).unwrap();
    assert_eq!(world.weights(), distribution([100, 0, 0], 1));
}

#[test]
fn retain_keeps_the_canary_and_revert_removes_it() {
    for (policy, kept) in [(DeletionPolicy::Retain, true), (DeletionPolicy::Revert, false)] {
        let mut world = in_service_mode();
        world.write(&split(100, 0), 1);
        world.release(policy);
        let canary = world.find("public-canary");
        assert_eq!(canary.is_some(), kept, "{policy:?}");
        let labels = canary.map(|canary| canary.labels().contains_key(ROLLOUT_LABEL));
        assert_ne!(labels, Some(true), "{policy:?}");
        if kept {
            assert_eq!((annotation(&world, PREDICATE), world.weights()), (ON, split(100, 0).nonzero()));
        }
    }
}

#[test]
fn requests_that_match_have_an_ingress_before_the_canary() {
    let mut world = in_member_mode();
    let weights = distribution([100, 0, 0], 1);
    world.write(&weights, 1);
    let matches = serde_json::from_value(json!([{"headers": [{"name": "x-canary", "exact": "1"}]}])).unwrap();
    let steering = Steering::Matched(Matched { matches, weights: [("eu-3".to_owned(), 100)].into() });
    world.try_with(&weights, &steering, 2);
    assert_eq!(annotation(&world, PREDICATE), ON, "the Ingress that chooses is like it");
    let chosen = world.find("public-canary.matched").unwrap();
    let predicates = r#"Weight(100) && Method("foreign") && HeaderRegexp("X-Canary", "^1$") && Weight(64)"#;
    assert_eq!(chosen.annotations()[PREDICATE], predicates);
    assert_eq!(chosen.annotations()[WEIGHTS], r#"{"shop-eu-3":100}"#);
    assert_eq!((world.live().split, world.live().mark), (steered(&weights, &steering), Some(world.mark(2))));
    let writes = world.render(&weights, 3);
    let last = writes.last().map(|write| write.target().name);
    assert_eq!((writes.len(), last.as_deref()), (2, Some("public-canary.matched")), "it goes last");
    world.write(&weights, 3);
    assert_eq!((annotation(&world, PREDICATE), world.find("public-canary.matched")), (OFF, None));
}

#[test]
fn an_apex_in_the_place_of_its_canary_is_refused() {
    let mut world = in_member_mode();
    let apex = world.objects[0].as_mut().unwrap();
    apex.annotations_mut().insert(PREDICATE.to_owned(), "True() && Weight(100)".to_owned());
    assert_eq!(
        world.attempt(distribution([50, 0, 50], 1), 1).unwrap_err().to_string(),
        "Ingress public: its predicate Weight(100) gives it the same place as its canary: give it another weight"
    );
}

#[test]
fn an_ingress_of_the_canarys_name_that_is_not_ours_is_left_alone() {
    let mut world = in_member_mode();
    world.write(&distribution([50, 0, 50], 1), 1);
    world.objects[1].as_mut().unwrap().metadata.labels = None;
    let RouteSeen::Unusable(problem) = world.read() else { panic!("{:?}", world.read()) };
    assert_eq!(problem.reason, Reason::Conflict);
    assert!(problem.message.starts_with("Ingress public-canary exists and was not made by cutover: remove it"));
}
