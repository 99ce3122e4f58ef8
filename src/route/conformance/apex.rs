//! Service mode: an adopted route that names the user's own Service is led to the primary.

use super::*;
use crate::api::{CANARY, PRIMARY};

fn split(primary: u32, canary: u32) -> Distribution {
    [(PRIMARY.to_owned(), primary), (CANARY.to_owned(), canary)].into()
}

fn named(names: &[&str]) -> Vec<World> {
    names.iter().map(|name| World::new(Form::named(name).in_service_mode(), 100)).collect()
}

/// Kinds that can name a Service at weight 0 beside others.
fn lists() -> Vec<World> {
    named(&["HTTPRoute adopted", "HTTPProxy adopted"])
}

/// Kinds of which one Ingress leads to one Service, with a canary beside it.
fn canaries() -> Vec<World> {
    named(&["nginx", "ALB"])
}

/// Kinds that are led in one write, which Skipper takes with everything that it names.
fn of_skipper() -> Vec<World> {
    named(&[
        "Ingress adopted with weights",
        "Ingress adopted with one backend",
        "Ingress per member adopted",
        "RouteGroup adopted with one backend",
    ])
}

fn all() -> impl Iterator<Item = World> {
    [lists(), canaries(), of_skipper()].into_iter().flatten()
}

/// What the objects name, as a path or a list does.
fn names(world: &World, service: &str) -> bool {
    super::names(&shared(&world.objects), service)
}

/// What the paths and routes lead to.
fn sends(world: &World) -> Vec<String> {
    let text = serde_json::to_string(&world.contents()).unwrap();
    let after =
        |key: &str| text.split(key).skip(1).filter_map(|rest| rest.split('"').next()).map(str::to_owned).collect();
    let [paths, routes]: [Vec<String>; 2] = ["\"service\":{\"name\":\"", "\"backendName\":\""].map(after);
    [paths, routes].concat()
}

/// The weight that stands in the route for a Service that is named there.
fn gets(world: &World, service: &str) -> u64 {
    let spec = &world.objects[0].as_ref().unwrap().data["spec"];
    let rules = spec["rules"].as_array().or_else(|| spec["routes"].as_array()).unwrap();
    let lists = rules.iter().filter_map(|rule| rule["backendRefs"].as_array().or_else(|| rule["services"].as_array()));
    lists.flatten().find(|backend| backend["name"] == service).unwrap()["weight"].as_u64().unwrap()
}

#[test]
fn the_users_own_service_is_read_as_the_primary_and_put_back() {
    for mut world in all() {
        let (name, before, foreign) = (world.form.name, world.contents(), world.foreign());
        let [primary, canary, _] = world.form.initially;
        let weights = split(primary, canary).nonzero();
        assert_eq!((world.weights(), world.live().mark), (weights, None), "{name}");
        for (sequence, weights) in (1..).zip([split(100, 0), split(80, 20), split(0, 100), split(100, 0)]) {
            world.write(&weights, sequence);
            assert_eq!(world.weights(), weights.nonzero(), "{name}");
            assert!(names(&world, "shop-primary") || weights.weight(PRIMARY) == 0, "{name}");
            assert!(foreign.is_subset(&world.foreign()), "{name}");
        }
        assert_eq!(world.render(split(100, 0), 4), vec![], "{name}");
        world.release(DeletionPolicy::Revert);
        assert_eq!(world.contents(), before, "{name}");
    }
}

/// The data plane would learn of the route before it learns of the new backend, and forget the old one too early.
#[test]
fn the_primary_is_named_before_it_takes_the_place_of_the_users_own_service() {
    for mut world in lists() {
        let (name, shown) = (world.form.name, world.weights());
        let Entry::Missing(writes) = world.entry(&split(100, 0), 1) else { panic!("{name}: it is led at once") };
        for write in writes {
            world.apply(write);
        }
        assert_eq!(world.weights(), shown, "{name}");
        assert_eq!((gets(&world, "shop") > 0, gets(&world, "shop-primary")), (true, 0), "{name}");
        assert_eq!(world.entry(&split(100, 0), 1), Entry::Pending, "{name}");
        let foreign = world.foreign();
        world.write(&split(100, 0), 1);
        assert_eq!(world.weights(), split(100, 0).nonzero(), "{name}");
        assert_eq!((gets(&world, "shop"), gets(&world, "shop-primary")), (0, 100), "{name}");
        assert_eq!(world.foreign(), foreign, "{name}");
        assert_eq!(world.entry(&split(100, 0), 1), Entry::Done, "{name}");
    }
}

/// A canary without share makes the primary known; then the stable Ingress leads there, and the canary goes.
#[test]
fn a_canary_without_share_names_the_primary_first() {
    for mut world in canaries() {
        let (name, before, shown) = (world.form.name, world.contents(), world.weights());
        let leads = |world: &World, name: &str| {
            world.find(name)?.data.pointer("/spec/rules/0/http/paths/0/backend/service/name").cloned()
        };
        let Entry::Missing(writes) = world.entry(&split(100, 0), 1) else { panic!("{name}: it is led at once") };
        for write in writes {
            world.apply(write);
            assert_eq!((world.weights(), leads(&world, "public")), (shown.clone(), Some("shop".into())), "{name}");
        }
        assert_eq!(leads(&world, "public-canary"), Some("shop-primary".into()), "{name}");
        let annotations = world.find("public-canary").unwrap().annotations();
        assert!(annotations.iter().any(|(key, weight)| key.ends_with("/canary-weight") && weight == "0"), "{name}");
        assert_eq!(world.live().mark, Some(world.mark(0)), "{name}");
        assert_eq!(world.entry(&split(100, 0), 1), Entry::Done, "{name}");
        for write in world.render(split(100, 0), 1) {
            assert!(world.find("public-canary").is_some(), "{name}: the canary goes last");
            world.apply(write);
            assert_eq!(
                (world.weights(), leads(&world, "public")),
                (shown.clone(), Some("shop-primary".into())),
                "{name}"
            );
        }
        assert_eq!(leads(&world, "public-canary"), None, "{name}");
        assert_eq!(world.entry(&split(100, 0), 1), Entry::Done, "{name}");
        world.release(DeletionPolicy::Revert);
        assert_eq!(world.contents(), before, "{name}");
    }
}

#[test]
fn skipper_is_led_in_one_write() {
    for mut world in of_skipper() {
        let name = world.form.name;
        let weights = split(world.form.initially[0], world.form.initially[1]);
        assert_eq!(world.entry(&weights, 1), Entry::Done, "{name}");
        world.write(&weights, 1);
        assert!(names(&world, "shop-primary"), "{name}");
        assert!(sends(&world).iter().all(|backend| backend != "shop"), "{name}: {:?}", sends(&world));
        assert_eq!(world.weights(), weights.nonzero(), "{name}");
    }
}

/// The path of another port is no business of the rollout.
#[test]
fn a_path_by_another_port_of_the_users_own_service_is_left_alone() {
    for form in ["nginx", "ALB", "Ingress adopted with one backend"] {
        let mut form = Form::named(form).in_service_mode();
        let admin = form.objects[0].data.pointer_mut("/spec/rules/1/http/paths/0/backend").unwrap();
        admin["service"]["port"]["number"] = 9090.into();
        let kept = admin.clone();
        let mut world = World::new(form, 100);
        world.write(&split(80, 20), 1);
        let found = world.objects[0].as_ref().unwrap().data.pointer("/spec/rules/1/http/paths/0/backend");
        assert_eq!(found, Some(&kept), "{}", world.form.name);
    }
}

#[test]
fn a_backend_with_another_port_is_reported() {
    for mut world in named(&["nginx", "ALB", "Ingress adopted with one backend", "Ingress per member adopted"]) {
        world.form.service.port = 9090;
        world.form.endpoints.values_mut().for_each(|reach| reach.port = 9090);
        let RouteSeen::Unusable(problem) = world.read() else { panic!("{}: {:?}", world.form.name, world.read()) };
        let expected = "it leads to Service shop by another port than 9090: correct spec.services[].port";
        assert!(problem.message.ends_with(expected), "{}: {problem:?}", world.form.name);
    }
}

/// A RouteGroup's backends have names of their own, and one that is an address is no Service.
#[test]
fn a_backend_of_a_route_group_is_the_service_that_it_leads_to() {
    let [plain, weighted] = ["RouteGroup adopted with one backend", "RouteGroup adopted with weights"]
        .map(|name| Form::named(name).in_service_mode());
    let mut named = World::new(plain, 100);
    let object = named.objects[0].as_mut().unwrap();
    object.data["spec"]["backends"][0]["name"] = "front".into();
    object.data["spec"]["routes"][0]["backends"][0]["backendName"] = "front".into();
    let before = named.contents();
    assert_eq!(named.weights(), split(100, 0).nonzero());
    named.write(&split(80, 20), 1);
    assert_eq!(named.weights(), split(80, 20));
    named.release(DeletionPolicy::Revert);
    assert_eq!(named.contents(), before);
    let RouteSeen::Unusable(problem) = World::new(weighted, 100).read() else { panic!("an address was taken over") };
    assert_eq!(problem.reason, Reason::AdoptionNeedsMapping);
    let expected = "RouteGroup public: backend shop carries traffic but is neither primary nor canary: lead it to \
                shop-primary, which the hub has made";
    assert_eq!(problem.message, expected);
}

#[test]
fn a_route_that_names_it_in_one_write_is_led_as_well() {
    for mut world in lists() {
        let foreign = world.foreign();
        world.write(&split(80, 20), 1);
        assert_eq!(world.weights(), split(80, 20), "{}", world.form.name);
        assert_eq!((gets(&world, "shop"), gets(&world, "shop-primary")), (0, 80), "{}", world.form.name);
        assert!(foreign.is_subset(&world.foreign()), "{}", world.form.name);
    }
}
