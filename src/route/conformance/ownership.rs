//! Whose a route is: marks, claims, labels, other appliers and editors.

use std::collections::BTreeMap;

use serde_json::json;

use super::*;
use crate::api::{Reason, WRITE_ANNOTATION};

fn problem(world: &World) -> Problem {
    match world.read() {
        RouteSeen::Unusable(problem) => problem,
        other => panic!("{other:?}"),
    }
}

/// The same object for a second rollout that takes its other rule.
fn two_rollouts() -> (World, World) {
    let mut form = Form::named("HTTPRoute adopted");
    let mut other = form.clone();
    let rules = form.objects[0].data.pointer_mut("/spec/rules/0/backendRefs").unwrap();
    *rules = json!([{"name": "admin-eu-1", "port": 8080, "weight": 1}]);
    other.objects.clone_from(&form.objects);
    other.service.name = "admin".to_owned();
    other.route = serde_json::from_value(json!({"gatewayAPI": {"name": "public", "rules": ["#0"]}})).unwrap();
    let mut other = World::new(other, 100);
    other.uid = "uid-2".to_owned();
    (World::new(form, 100), other)
}

#[test]
fn two_rollouts_share_an_object_by_its_rules() {
    let (mut shop, mut admin) = two_rollouts();
    shop.write(&distribution([50, 0, 50], 1), 7);
    admin.objects.clone_from(&shop.objects);
    admin.write(&distribution([20, 80, 0], 1), 3);
    shop.objects.clone_from(&admin.objects);

    assert_eq!((shop.weights(), shop.live().mark), (distribution([50, 0, 50], 1), Some(shop.mark(7))));
    assert_eq!((admin.weights(), admin.live().mark), (distribution([20, 80, 0], 1), Some(admin.mark(3))));
    assert_eq!(
        shop.find("public").unwrap().annotations()[WRITE_ANNOTATION],
        "hub-1/uid-1/1/7/main hub-1/uid-2/1/3/admin"
    );

    shop.release(DeletionPolicy::Revert);
    admin.objects.clone_from(&shop.objects);
    assert_eq!(shop.weights(), distribution([60, 40, 0], 1));
    assert_eq!((admin.weights(), admin.live().mark), (distribution([20, 80, 0], 1), Some(admin.mark(3))));
}

#[test]
fn another_rollouts_claim_on_the_same_rule_is_seen_and_not_released() {
    let mut first = World::new(Form::named("HTTPRoute adopted"), 100);
    first.write(&distribution([50, 0, 50], 1), 7);
    let mut second = World::new(Form::named("HTTPRoute adopted"), 100);
    second.uid = "uid-2".to_owned();
    second.objects.clone_from(&first.objects);
    assert_eq!(second.live().mark, Some(first.mark(7)));
    let entries = mark::entries(second.find("public").unwrap()).unwrap();
    assert_eq!(
        mark::claim_conflict(&entries, "uid-2", &["main".to_owned()]).map(|entry| &entry.mark),
        Some(&first.mark(7))
    );
    assert_eq!(mark::claim_conflict(&entries, "uid-2", &["admin".to_owned()]), None);
    assert_eq!(
        release(&second.context(), &second.form.route, &shared(&second.objects), DeletionPolicy::Revert),
        Ok(vec![])
    );
}

#[test]
fn a_mark_that_cutover_did_not_write_is_refused() {
    let long = "h/u/1/1/r ".repeat(65);
    for hostile in [
        "x",
        "hub/uid/1/1",
        "hub/uid/-1/1/main",
        "hub/uid/1/99999999999999999999/main",
        "//1/1/main",
        "/uid/1/1/main",
        "hub//1/1/main",
        "hub/uid/1/1/",
        &long,
        &"a".repeat(20_000),
    ] {
        let mut world = World::new(Form::named("HTTPRoute adopted"), 100);
        world.objects[0].as_mut().unwrap().annotations_mut().insert(WRITE_ANNOTATION.to_owned(), hostile.to_owned());
        assert_eq!(
            problem(&world).message,
            "annotation cutover.dev/write of HTTPRoute public is not one that cutover wrote: remove it"
        );
    }
}

#[test]
fn sixty_four_marks_are_read() {
    let mut world = World::new(Form::named("HTTPRoute adopted"), 100);
    world.objects[0].as_mut().unwrap().annotations_mut().insert(WRITE_ANNOTATION.to_owned(), "h/u/1/1/r ".repeat(64));
    assert_eq!(world.weights(), distribution([60, 40, 0], 1));
}

#[test]
fn a_write_claims_the_rules_that_it_changes() {
    let claims = |form: &str, split: [u32; 3]| {
        let mut world = World::new(Form::named(form), 100);
        world.write(&distribution(split, 1), 1);
        let marked = world.objects.iter().flatten().filter_map(|object| object.annotations().get(WRITE_ANNOTATION));
        let claimed = marked.map(|mark| mark.rsplit('/').next().unwrap().to_owned()).collect::<Vec<_>>();
        claimed.join(" ")
    };
    assert_eq!(claims("HTTPRoute adopted", [50, 50, 0]), "main");
    assert_eq!(claims("HTTPProxy adopted", [50, 50, 0]), "#0");
    assert_eq!(claims("RouteGroup adopted with weights", [50, 50, 0]), "shop");
    assert_eq!(claims("Ingress adopted with weights", [50, 50, 0]), "shop");
}

#[test]
fn an_older_claim_on_the_same_rule_goes_with_the_write_that_takes_it() {
    let mut first = World::new(Form::named("HTTPRoute adopted"), 100);
    first.write(&distribution([50, 0, 50], 1), 7);
    let mut second = World::new(Form::named("HTTPRoute adopted"), 100);
    second.uid = "uid-2".to_owned();
    second.objects.clone_from(&first.objects);
    second.write(&distribution([0, 0, 100], 1), 8);
    assert_eq!(second.find("public").unwrap().annotations()[WRITE_ANNOTATION], "hub-1/uid-2/1/8/main");
}

#[test]
fn the_original_is_what_was_there_before_the_first_write_even_if_it_is_lost() {
    let mut world = World::new(Form::named("HTTPRoute adopted"), 100);
    world.write(&distribution([50, 0, 50], 1), 1);
    world.objects[0].as_mut().unwrap().annotations_mut().remove(crate::api::ORIGINAL_ANNOTATION);
    world.write(&distribution([0, 0, 100], 1), 2);
    world.release(DeletionPolicy::Revert);
    assert_eq!(world.weights(), distribution([0, 0, 100], 1), "the hub's own weights are no original");
}

#[test]
fn a_created_route_is_taken_again_by_a_rollout_of_its_name_alone() {
    for form in Form::all().into_iter().filter(|form| form.objects.is_empty()) {
        let mut world = World::new(form, 100);
        let weights = distribution(world.form.able([50, 0, 50]), 1);
        world.write(&weights, 1);
        world.uid = "uid-2".to_owned();
        assert_eq!(problem(&world).reason, Reason::Conflict, "{}", world.form.name);
        world.uid = world::UID.to_owned();
        world.release(DeletionPolicy::Retain);
        world.uid = "uid-2".to_owned();
        assert_eq!(world.weights(), weights, "{}", world.form.name);
    }
}

#[test]
fn a_created_route_never_replaces_one_that_is_there() {
    let mut world = World::new(Form::named("HTTPRoute created"), 100);
    world.write(&distribution([50, 0, 50], 1), 1);
    world.objects[0].as_mut().unwrap().metadata.labels = Some(BTreeMap::new());
    let expected = "HTTPRoute shop exists and was not made by cutover: remove it, rename the service, or adopt the object by its name instead of `create`";
    assert_eq!(problem(&world).message, expected);
    assert!(world.attempt(distribution([0, 0, 100], 1), 2).is_err());
}

fn managed(world: &mut World, entries: Value) {
    world.objects[0].as_mut().unwrap().metadata.managed_fields = serde_json::from_value(entries).unwrap();
}

#[test]
fn weights_that_a_gitops_tool_applies_are_refused_before_the_first_write_only() {
    let mut world = World::new(Form::named("HTTPRoute adopted"), 100);
    let applied =
        json!([{"manager": "kustomize-controller", "operation": "Apply", "fieldsV1": {"f:spec": {"f:rules": {}}}}]);
    managed(&mut world, applied.clone());
    let problem = problem(&world);
    assert_eq!(problem.reason, Reason::ManagedByOther);
    assert!(
        problem.message.starts_with(
            "spec.rules of HTTPRoute public is applied by kustomize-controller, which would undo every step"
        ),
        "{problem:?}"
    );
    managed(&mut world, json!([]));
    world.write(&distribution([50, 0, 50], 1), 1);
    managed(&mut world, applied);
    assert_eq!(world.weights(), distribution([50, 0, 50], 1));
    assert_eq!(world.live().editor.as_deref(), Some("kustomize-controller"));
}

#[test]
fn every_field_that_holds_weights_is_refused_where_another_tool_applies_it() {
    let annotation = |key: &str| json!({"f:metadata": {"f:annotations": {format!("f:{key}"): {}}}});
    let spec = |field: &str| json!({"f:spec": {format!("f:{field}"): {}}});
    let segments = ["routes", "backends", "defaultBackends"];
    let table = [
        ("HTTPRoute adopted", vec![spec("rules")]),
        ("HTTPProxy adopted", vec![spec("routes")]),
        ("RouteGroup adopted with segments", segments.map(spec).into()),
        ("Ingress adopted with weights", vec![spec("rules"), annotation("zalando.org/backend-weights")]),
        ("Ingress per member adopted", vec![annotation("zalando.org/skipper-predicate")]),
        ("nginx", vec![spec("rules")]),
        ("Service adopted", vec![spec("externalName")]),
    ];
    for (form, fields) in table {
        for field in fields {
            let mut world = World::new(Form::named(form), 100);
            managed(&mut world, json!([{"manager": "argocd", "operation": "Apply", "fieldsV1": field}]));
            assert_eq!(problem(&world).reason, Reason::ManagedByOther, "{form} {field}");
        }
    }
}

#[test]
fn the_editor_is_the_last_one_who_changed_more_than_the_status() {
    let mut world = World::new(Form::named("HTTPRoute adopted"), 100);
    managed(
        &mut world,
        json!([
            {"manager": "kubectl-client-side-apply", "operation": "Update", "time": "2026-01-01T00:00:00Z", "fieldsV1": {"f:spec": {"f:rules": {}}}},
            {"manager": "kubectl-edit", "operation": "Update", "time": "2026-01-02T00:00:00Z", "fieldsV1": {"f:spec": {"f:rules": {}}}},
            {"manager": "contour", "operation": "Update", "subresource": "status", "time": "2026-01-03T00:00:00Z"},
            {"manager": "cutover", "operation": "Update", "time": "2026-01-04T00:00:00Z"},
            {"manager": "argocd", "operation": "Apply", "time": "2026-01-01T12:00:00Z", "fieldsV1": {"f:metadata": {"f:labels": {}}}}
        ]),
    );
    assert_eq!(world.live().editor.as_deref(), Some("kubectl-edit"));
}

/// Somebody set the annotation with the marks on every object of a route.
fn forge(world: &mut World, text: &str) {
    let annotation = format!("f:{WRITE_ANNOTATION}");
    let entries = json!([
        {"manager": "cutover", "operation": "Update", "fieldsV1": {"f:spec": {}}},
        {"manager": "kubectl-annotate", "operation": "Update", "fieldsV1": {"f:metadata": {"f:annotations": {annotation: {}}}}}
    ]);
    for object in world.objects.iter_mut().flatten() {
        object.annotations_mut().insert(WRITE_ANNOTATION.to_owned(), text.to_owned());
        object.metadata.managed_fields = serde_json::from_value(entries.clone()).unwrap();
    }
}

#[test]
fn who_wrote_a_mark_is_seen_where_that_was_not_cutover() {
    for form in Form::all() {
        let mut world = World::new(form, 100);
        let weights = distribution(world.form.able([50, 0, 50]), 1);
        world.write(&weights, 7);
        assert_eq!((world.live().mark, world.live().marked_by), (Some(world.mark(7)), None), "{}", world.form.name);
        let marked = world.objects.iter().flatten().find_map(|object| mark::entries(object).unwrap().pop()).unwrap();
        let rules = marked.rules.join(",");
        forge(&mut world, &format!("hub-1/uid-1/1/999999999/{rules}"));
        let live = world.live();
        assert_eq!(live.mark.map(|mark| mark.sequence), Some(999_999_999), "{}", world.form.name);
        assert_eq!(live.marked_by.as_deref(), Some("kubectl-annotate"), "{}", world.form.name);
        world.write(&weights, 8);
        assert_eq!(world.live().mark, Some(world.mark(8)), "{}", world.form.name);
    }
}

#[test]
fn what_somebody_else_wrote_in_the_place_of_a_mark_keeps_nobody_from_writing() {
    for form in Form::all() {
        for garbage in ["x", "hub/uid/1/99999999999999999999/main", &"a ".repeat(10_000)] {
            let mut world = World::new(form.clone(), 100);
            world.write(&distribution(world.form.able([50, 0, 50]), 1), 7);
            forge(&mut world, garbage);
            assert_eq!(world.live().mark, None, "{}", world.form.name);
            let weights = distribution(world.form.able([0, 0, 100]), 1);
            world.write(&weights, 8);
            assert_eq!((world.weights(), world.live().mark), (weights, Some(world.mark(8))), "{}", world.form.name);
        }
    }
}

#[test]
fn a_claim_that_can_still_be_read_stays_beside_what_somebody_else_wrote() {
    let (mut shop, mut admin) = two_rollouts();
    shop.write(&distribution([50, 0, 50], 1), 7);
    forge(&mut shop, "hub-1/uid-1/1/7/main garbage");
    admin.objects.clone_from(&shop.objects);
    admin.write(&distribution([20, 80, 0], 1), 3);
    shop.objects.clone_from(&admin.objects);
    assert_eq!(
        shop.find("public").unwrap().annotations()[WRITE_ANNOTATION],
        "hub-1/uid-1/1/7/main hub-1/uid-2/1/3/admin"
    );
}

#[test]
fn a_route_whose_mark_somebody_took_off_is_given_back_all_the_same() {
    for form in Form::all() {
        let mut world = World::new(form.clone(), 100);
        let before = world.contents();
        let weights = distribution(world.form.able([50, 0, 50]), 1);
        world.write(&weights, 7);
        assert!(world.live().to_release, "{}", form.name);
        for object in world.objects.iter_mut().flatten() {
            object.annotations_mut().remove(WRITE_ANNOTATION);
        }
        let live = world.live();
        assert_eq!((live.mark, live.to_release), (None, true), "{}", form.name);

        let unmarked = world.objects.clone();
        world.release(DeletionPolicy::Retain);
        assert_eq!((world.weights(), world.live().to_release), (weights, false), "{}", form.name);
        let text = serde_json::to_string(&world.contents()).unwrap();
        assert!(!text.contains(world::UID), "{}: {text}", form.name);

        world.objects = unmarked;
        world.release(DeletionPolicy::Revert);
        assert_eq!(world.contents(), before, "{}", form.name);
    }
}

#[test]
fn of_rules_that_another_rollout_took_only_what_is_ones_own_is_taken_off() {
    let mut first = World::new(Form::named("HTTPRoute adopted"), 100);
    first.write(&distribution([50, 0, 50], 1), 7);
    let mut second = World::new(Form::named("HTTPRoute adopted"), 100);
    second.uid = "uid-2".to_owned();
    second.objects.clone_from(&first.objects);
    second.write(&distribution([0, 0, 100], 1), 8);
    first.objects.clone_from(&second.objects);
    first.release(DeletionPolicy::Revert);
    let text = serde_json::to_string(&first.contents()).unwrap();
    assert!(!text.contains("uid-1"), "{text}");
    second.objects.clone_from(&first.objects);
    assert_eq!((second.weights(), second.live().mark), (distribution([0, 0, 100], 1), Some(second.mark(8))));
}
