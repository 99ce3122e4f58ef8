//! Routes as people leave them: weights that are missing, odd or of nobody, and routes that vanish and come again.

use serde_json::json;

use super::*;
use crate::api::Reason;

/// What is seen of an adopted `HTTPRoute` whose rule has these backends: the weights, or the reason and the words.
fn seen(backends: Value) -> Result<String, (Reason, String)> {
    let mut world = World::new(Form::named("HTTPRoute adopted"), 100);
    *world.objects[0].as_mut().unwrap().data.pointer_mut("/spec/rules/1/backendRefs").unwrap() = backends;
    match world.read() {
        RouteSeen::Live(live) => Ok(live.split.weights.to_string()),
        RouteSeen::Unusable(problem) => Err((problem.reason, problem.message)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn weights_are_read_as_the_data_plane_reads_them() {
    for (case, backends, expected) in [
        ("absent means 1", json!([{"name": "shop-eu-1"}, {"name": "shop-eu-2"}]), "eu-1:50 eu-2:50"),
        (
            "and null is absent",
            json!([{"name": "shop-eu-1", "weight": null}, {"name": "shop-eu-2", "weight": 3}]),
            "eu-1:25 eu-2:75",
        ),
        (
            "a sum of 80 is the same split of 100",
            json!([{"name": "shop-eu-1", "weight": 60}, {"name": "shop-eu-2", "weight": 20}]),
            "eu-1:75 eu-2:25",
        ),
        (
            "a foreign backend at 0 carries nothing",
            json!([{"name": "shop-eu-1", "weight": 1}, {"name": "blog", "weight": 0}]),
            "eu-1:100",
        ),
    ] {
        assert_eq!(seen(backends), Ok(expected.to_owned()), "{case}");
    }
}

#[test]
fn weights_that_are_no_distribution_of_members_are_left_alone_and_named() {
    let unreadable = |what: &str| (Reason::RouteUnreadable, format!("HTTPRoute public: {what}"));
    let unknown = "HTTPRoute public: backend blog carries traffic but belongs to no member: name it under \
                   spec.services[].backend.<kind>.existing, as member: blog";
    let undeclared = "HTTPRoute public: member eu-9 carries traffic but is not declared: add it to spec.members; \
                    say weight: 0 if it shall leave";
    for (case, backends, expected) in [
        (
            "three backends, one of which is nobody's",
            json!([{"name": "shop-eu-1", "weight": 40}, {"name": "shop-eu-2", "weight": 40}, {"name": "blog", "weight": 20}]),
            (Reason::AdoptionNeedsMapping, unknown.to_owned()),
        ),
        (
            "one of a member that is not declared",
            json!([{"name": "shop-eu-1", "weight": 1}, {"name": "shop-eu-9", "weight": 1}]),
            (Reason::MemberNotDeclared, undeclared.to_owned()),
        ),
        (
            "weight 0 everywhere",
            json!([{"name": "shop-eu-1", "weight": 0}, {"name": "shop-eu-2", "weight": 0}]),
            unreadable("all weights are 0: give its backends the weights that hold today"),
        ),
        (
            "a third",
            json!([{"name": "shop-eu-1", "weight": 2}, {"name": "shop-eu-2", "weight": 1}]),
            unreadable("its weights do not fit into weightTotal: 100 without rounding: say weightTotal: 102"),
        ),
        (
            "more than the kind takes",
            json!([{"name": "shop-eu-1", "weight": 1_000_001}]),
            unreadable("backend shop-eu-1 has weight 1000001; at most 1000000"),
        ),
        (
            "a weight that is no number",
            json!([{"name": "shop-eu-1", "weight": "1"}]),
            unreadable("the weight of backend shop-eu-1 is not a whole number of 0 or more"),
        ),
        (
            "half a unit",
            json!([{"name": "shop-eu-1", "weight": 0.5}]),
            unreadable("the weight of backend shop-eu-1 is not a whole number of 0 or more"),
        ),
    ] {
        assert_eq!(seen(backends), Err(expected), "{case}");
    }
}

#[test]
fn a_missing_gateway_is_reported_in_its_controllers_words() {
    let mut world = World::new(Form::named("HTTPRoute adopted"), 100);
    let no = json!({"type": "Accepted", "status": "False", "observedGeneration": 1, "reason": "NoMatchingParent", "message": "no gateway public"});
    let parent = json!({"parentRef": {"name": "public", "namespace": "infra"}, "conditions": [no]});
    world.objects[0].as_mut().unwrap().data["status"] = json!({"parents": [parent]});
    assert_eq!(world.live().accepted, Accepted::No("Accepted NoMatchingParent: no gateway public".to_owned()));
}

/// A write is about the very object that was read: one of the same name is another one, and shows no mark of ours.
#[test]
fn a_route_that_was_made_anew_in_mid_write_is_not_overwritten() {
    for form in Form::all().into_iter().filter(|form| !form.objects.is_empty()) {
        let name = form.name;
        let mut world = World::new(form, 100);
        for (index, object) in world.objects.iter_mut().flatten().enumerate() {
            object.metadata.uid = Some(format!("old-{index}"));
        }
        let uids: Vec<Option<String>> = world.objects.iter().flatten().map(ResourceExt::uid).collect();
        for write in world.render(distribution(world.form.able([50, 0, 50]), 1), 7) {
            if let Write::Replace(object) = write {
                assert!(object.uid().is_some() && uids.contains(&object.uid()), "{name}: {:?}", object.uid());
            }
        }
        assert_eq!(world.live().mark, None, "{name}: a new one is first seen without our mark");
    }
}
