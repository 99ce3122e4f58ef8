//! Objects that no API server should have let in.

use serde_json::json;

use super::*;
use crate::api::Reason;

/// Every place in a value, as a pointer.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| places(item, &format!("{at}/{index}"), found));
        }
        Value::Object(fields) => {
            for (key, field) in fields {
                places(field, &format!("{at}/{}", key.replace('~', "~0").replace('/', "~1")), found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Reads everything that can be read of an object; what is read must be a distribution, or an edit that left nothing.
fn check(world: &World, place: &str) {
    if let RouteSeen::Live(live) = world.read() {
        let total = live.split.weights.total();
        assert!(total == world.total || live.uneven && total == 0, "{} {place}: {total}", world.form.name);
    }
    let weights = distribution(world.form.able([10, 20, 70]), 1);
    if let Ok(writes) = world.attempt(&weights, 9) {
        assert!(!writes.is_empty(), "{} {place}", world.form.name);
    }
    for policy in [DeletionPolicy::Retain, DeletionPolicy::Revert] {
        let _ = release(&world.context(), &world.form.route, &shared(&world.objects), policy);
    }
}

#[test]
fn a_malformed_object_is_refused_or_read_as_a_whole_distribution() {
    let odd = [
        Value::Null,
        json!("x"),
        json!("TrafficSegment(1, 0)"),
        json!(-1),
        json!(0.5),
        json!(u64::MAX),
        json!([]),
        json!({}),
        json!([null, "x", {}]),
    ];
    for form in Form::all().into_iter().filter(|form| !form.objects.is_empty()) {
        let mut written = World::new(form.clone(), 100);
        written.write(&distribution(form.able([50, 0, 50]), 1), 1);
        let mut chosen = World::new(form.clone(), 100);
        if let Some(steering) = steering::samples().into_iter().find(|steering| steering::takes(&form, steering)) {
            chosen.try_with(&distribution([95, 0, 5], 1), &steering, 1);
        }
        for objects in [World::new(form.clone(), 100).objects, written.objects, chosen.objects] {
            let mut found = Vec::new();
            places(&objects[0].as_ref().unwrap().data, "", &mut found);
            for (place, odd) in found.iter().flat_map(|place| odd.iter().map(move |odd| (place, odd))) {
                let mut world = World::new(form.clone(), 100);
                world.objects.clone_from(&objects);
                *world.objects[0].as_mut().unwrap().data.pointer_mut(place).unwrap() = odd.clone();
                check(&world, place);
            }
        }
    }
}

#[test]
fn odd_annotations_are_refused_or_read_as_a_whole_distribution() {
    let keys = [
        "zalando.org/skipper-predicate",
        "zalando.org/backend-weights",
        crate::api::ORIGINAL_ANNOTATION,
        crate::api::WRITE_ANNOTATION,
    ];
    let segments = [
        "TrafficSegment(",
        "TrafficSegment(0.0)",
        "TrafficSegment(NaN, inf)",
        "TrafficSegment(0, 2)",
        "TrafficSegment(0, 0.00001)",
        "TrafficSegment()TrafficSegment()",
    ];
    let weights = [
        "{}",
        "[]",
        r#"{"shop-eu-1": -1}"#,
        r#"{"shop-eu-1": 1e300}"#,
        r#"{"shop-eu-1": 0.5}"#,
        r#"{"shop-eu-1": null}"#,
        r#"{"uid-1": {"main": 7}}"#,
    ];
    for form in Form::all().into_iter().filter(|form| !form.objects.is_empty()) {
        for (key, text) in
            keys.into_iter().flat_map(|key| segments.into_iter().chain(weights).map(move |text| (key, text)))
        {
            let mut world = World::new(form.clone(), 100);
            world.objects[0].as_mut().unwrap().annotations_mut().insert(key.to_owned(), text.to_owned());
            check(&world, text);
        }
    }
}

#[test]
fn a_route_that_is_being_deleted_is_not_used_but_the_hub_may_delete_one_object_of_several() {
    let leaving = |object: &mut Option<DynamicObject>| {
        let at = serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
        object.as_mut().unwrap().metadata.deletion_timestamp = Some(at);
    };
    for form in Form::all() {
        let mut world = World::new(form, 100);
        world.write(&distribution(world.form.able([50, 0, 50]), 1), 7);
        let present: Vec<usize> = (0..world.objects.len()).filter(|index| world.objects[*index].is_some()).collect();
        let made = world.objects.clone();
        for index in &present {
            leaving(&mut world.objects[*index]);
        }
        let RouteSeen::Unusable(problem) = world.read() else { panic!("{}: {:?}", world.form.name, world.read()) };
        assert_eq!(problem.reason, Reason::RouteNotFound, "{}", world.form.name);
        assert!(problem.message.contains("is being deleted and nothing is written to it"), "{}", problem.message);
        let spare = present.last().filter(|index| present.len() > 1 && made_by_the_hub(&world, **index));
        if let Some(index) = spare {
            world.objects = made;
            leaving(&mut world.objects[*index]);
            assert!(matches!(world.read(), RouteSeen::Live(_)), "{}: {:?}", world.form.name, world.read());
        }
    }
}

fn made_by_the_hub(world: &World, index: usize) -> bool {
    provider(&world.form.route).creates(&world.context(), index)
}
