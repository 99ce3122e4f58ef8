//! Service mode: an adopted route that names the user's own Service is led to the primary.

use super::*;
use crate::api::{CANARY, PRIMARY};

fn split(primary: u32, canary: u32) -> Distribution {
    [(PRIMARY.to_owned(), primary), (CANARY.to_owned(), canary)].into()
}

fn worlds() -> [World; 2] {
    ["HTTPRoute adopted", "HTTPProxy adopted"].map(|name| World::new(Form::named(name).in_service_mode(), 100))
}

/// The weight that stands in the route for a Service that is named there.
fn gets(world: &World, service: &str) -> u64 {
    let spec = &world.objects[0].as_ref().unwrap().data["spec"];
    let rules = spec["rules"].as_array().or_else(|| spec["routes"].as_array()).unwrap();
    let lists = rules.iter().filter_map(|rule| rule["backendRefs"].as_array().or_else(|| rule["services"].as_array()));
    lists.flatten().find(|backend| backend["name"] == service).unwrap()["weight"].as_u64().unwrap()
}

/// The data plane would learn of the route before it learns of the new backend, and forget the old one too early.
#[test]
fn the_primary_is_named_before_it_takes_the_place_of_the_users_own_service() {
    for mut world in worlds() {
        let (name, before, shown) = (world.form.name, world.contents(), world.weights());
        let Entry::Missing(writes) = world.entry(&split(100, 0), 1) else { panic!("{name}: it is led at once") };
        for write in writes {
            world.apply(write);
        }
        assert_eq!(world.weights(), shown, "{name}");
        assert_eq!((gets(&world, "shop") > 0, gets(&world, "shop-primary")), (true, 0), "{name}");
        assert_eq!(world.entry(&split(100, 0), 1), Entry::Pending, "{name}");
        let foreign = world.foreign();
        world.write(&split(100, 0), 1);
        assert_eq!(world.weights(), weights::nonzero(&split(100, 0)), "{name}");
        assert_eq!((gets(&world, "shop"), gets(&world, "shop-primary")), (0, 100), "{name}");
        assert_eq!(world.foreign(), foreign, "{name}");
        assert_eq!(world.entry(&split(100, 0), 1), Entry::Done, "{name}");
        world.release(DeletionPolicy::Revert);
        assert_eq!(world.contents(), before, "{name}");
    }
}

#[test]
fn a_route_that_names_it_in_one_write_is_led_as_well() {
    for mut world in worlds() {
        let foreign = world.foreign();
        world.write(&split(80, 20), 1);
        assert_eq!(world.weights(), split(80, 20), "{}", world.form.name);
        assert_eq!((gets(&world, "shop"), gets(&world, "shop-primary")), (0, 80), "{}", world.form.name);
        assert!(foreign.is_subset(&world.foreign()), "{}", world.form.name);
    }
}
