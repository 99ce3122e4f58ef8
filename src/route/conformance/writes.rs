//! What a write demands of the object that is there, whose objects it leaves alone, and what it names.

use serde_json::json;

use super::*;
use crate::api::WRITE_ANNOTATION;

/// The objects as they are, each with the mark of another hub in the place of ours.
fn of_another_hub(mut world: World) -> World {
    for object in world.objects.iter_mut().flatten() {
        // What is only read has none.
        if let Some(mark) = object.annotations_mut().get_mut(WRITE_ANNOTATION) {
            *mark = mark.replace("hub-1/", "hub-2/");
        }
    }
    world
}

fn released(world: &World, policy: DeletionPolicy) -> Result<Vec<Write>, RouteError> {
    release(&world.context(), &world.form.route, &shared(&world.objects), policy)
}

#[test]
fn every_write_is_over_the_uid_and_the_version_that_were_read() {
    let over = |world: &World, write: &Write| {
        let of = |object: &DynamicObject| (object.name_any(), object.uid(), object.resource_version());
        let (name, uid, version) = match write {
            Write::Create(object) | Write::Replace(object) => of(object),
            Write::Delete { target, uid, resource_version } => {
                (target.name.clone(), Some(uid.clone()), Some(resource_version.clone()))
            }
        };
        let live = world.find(&name).map_or((None, None), |live| (live.uid(), live.resource_version()));
        assert_eq!((uid, version), live, "{}: {name}", world.form.name);
        assert_eq!(matches!(write, Write::Create(_)), world.find(&name).is_none(), "{}: {name}", world.form.name);
    };
    for form in Form::all() {
        let mut world = World::new(form, 100);
        for (sequence, split) in (1..).zip(world.form.splits()) {
            for write in world.render(distribution(split, 1), sequence) {
                over(&world, &write);
                world.apply(write);
            }
        }
        for policy in [DeletionPolicy::Retain, DeletionPolicy::Revert] {
            let writes = released(&world, policy).unwrap();
            assert!(!writes.is_empty(), "{}: {policy:?}", world.form.name);
            for write in &writes {
                over(&world, write);
            }
        }
    }
}

#[test]
fn a_route_that_another_hub_wrote_shows_its_mark_and_is_not_given_back() {
    for form in Form::all() {
        let mut world = World::new(form, 100);
        let weights = distribution(world.form.able([50, 0, 50]), 1);
        world.write(&weights, 1);
        let world = of_another_hub(world);
        let mark = world.live().mark.unwrap();
        assert_eq!((mark.hub.as_str(), mark.rollout.as_str()), ("hub-2", world::UID), "{}", world.form.name);
        assert_eq!(world.weights(), weights, "{}", world.form.name);
        for policy in [DeletionPolicy::Retain, DeletionPolicy::Revert] {
            assert_eq!(released(&world, policy), Ok(vec![]), "{}: {policy:?}", world.form.name);
        }
    }
}

#[test]
fn weights_without_a_whole_sum_are_an_edit_of_what_this_hub_wrote_and_of_nothing_else() {
    let mut world = World::new(Form::named("HTTPRoute adopted"), 100);
    world.write(&distribution([50, 0, 50], 1), 1);
    let first = world.objects[0].as_mut().unwrap().data.pointer_mut("/spec/rules/1/backendRefs/0/weight").unwrap();
    *first = json!(20);
    assert!(world.live().uneven);
    let world = of_another_hub(world);
    assert!(matches!(world.read(), RouteSeen::Unusable(_)), "{:?}", world.read());
}

/// A backend stays as long as a route names it: after `Revert` that is what the route held before.
#[test]
fn a_route_that_was_put_back_names_the_backends_of_before_and_no_other() {
    for form in Form::naming_backends() {
        let mut world = World::new(form, 100);
        let named =
            |world: &World| ["shop-eu-1", "shop-eu-2", "shop-eu-3"].map(|name| names(&shared(&world.objects), name));
        let before = named(&world);
        assert_eq!(before, world.form.initially.map(|weight| weight > 0), "{}", world.form.name);
        world.write(&distribution([0, 0, 100], 1), 1);
        assert!(names(&shared(&world.objects), "shop-eu-3"), "{}", world.form.name);
        world.release(DeletionPolicy::Revert);
        assert_eq!(named(&world), before, "{}", world.form.name);
        assert!(
            !names(&shared(&world.objects), "shop"),
            "{}: the beginning of a name is another name",
            world.form.name
        );
    }
}

#[test]
fn a_canary_repeats_the_class_and_what_it_does_not_inherit_as_they_are_now() {
    const CLASS: &str = "kubernetes.io/ingress.class";
    for (name, prefix, repeated, inherited) in [
        (
            "nginx",
            "nginx.ingress.kubernetes.io/",
            &["affinity", "load-balance", "session-cookie-name", "session-cookie-max-age", "upstream-hash-by"][..],
            "rewrite-target",
        ),
        ("ALB", "alb.ingress.kubernetes.io/", &["listen-ports"], "ssl-redirect"),
    ] {
        let mut world = World::new(Form::named(name), 100);
        let (repeated, inherited) =
            (repeated.iter().map(|key| format!("{prefix}{key}")).collect::<Vec<_>>(), format!("{prefix}{inherited}"));
        for (sequence, class) in (1..).zip(["one", "other"]) {
            let stable = world.objects[0].as_mut().unwrap();
            stable.data["spec"].as_object_mut().unwrap().remove("ingressClassName");
            let keys = repeated.iter().map(String::as_str).chain([CLASS, &inherited]);
            stable.annotations_mut().extend(keys.map(|key| (key.to_owned(), class.to_owned())));
            world.write(&distribution([99, 0, 1], 1), sequence);
            let canary = world.find("public-canary").unwrap();
            let says = |key: &str| canary.annotations().get(key).map(String::as_str);
            assert!(repeated.iter().all(|key| says(key) == Some(class)), "{name}: {:?}", canary.annotations());
            assert_eq!((says(CLASS), says(&inherited)), (Some(class), None), "{name}");
            assert!(canary.data["spec"].get("ingressClassName").is_none(), "{name}: {}", canary.data);
        }
    }
}

#[test]
fn an_ingress_for_chosen_requests_has_the_annotations_of_its_model_but_for_the_tools_own() {
    const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
    const CLASS: &str = "kubernetes.io/ingress.class";
    let mut world = World::new(Form::named("Ingress adopted with weights"), 100);
    let annotations = [(LAST_APPLIED, "{}"), (CLASS, "skipper"), ("zalando.org/ratelimit", "foreign")];
    let annotations = annotations.map(|(key, value)| (key.to_owned(), value.to_owned()));
    world.objects[0].as_mut().unwrap().annotations_mut().extend(annotations);
    world.try_with(&distribution([80, 20, 0], 1), &steering::samples()[0], 1);
    let matched = world.find("public.matched").unwrap();
    let says = |key: &str| matched.annotations().get(key).map(String::as_str);
    assert_eq!(
        (says(CLASS), says("zalando.org/ratelimit"), says(LAST_APPLIED)),
        (Some("skipper"), Some("foreign"), None)
    );
    assert_eq!(says(crate::api::ORIGINAL_ANNOTATION), None, "what was there before is its model's");
}
