//! What every form of route must do, whatever its objects look like.

mod affinity;
mod apex;
mod apex_and_canary;
mod bad_routes;
mod canary;
mod forms;
mod hostile;
mod istio;
mod order;
mod ownership;
mod refusals;
mod steering;
mod world;
mod writes;

use forms::Form;
use kube::ResourceExt;
use kube::core::DynamicObject;
use proptest::prelude::*;
use serde_json::Value;
use world::{World, distribution};

use super::*;
use crate::api::{DeletionPolicy, Distribution, Split};
use crate::object::{Write, shared};
use crate::rollout::input::{Accepted, LiveRoute, Mark, RouteSeen};

/// Splits among three members, in hundredths of the total.
const SPLITS: [[u32; 3]; 8] =
    [[100, 0, 0], [99, 0, 1], [33, 33, 34], [50, 0, 50], [0, 50, 50], [1, 1, 98], [0, 0, 100], [0, 100, 0]];

#[test]
fn a_form_shows_the_weights_it_was_given() {
    for total in [100, 1000, 10_000] {
        for form in Form::all() {
            let mut world = World::new(form, total);
            for (sequence, split) in (1..).zip(world.form.splits()) {
                let weights = distribution(split, total / 100);
                world.write(&weights, sequence);
                assert_eq!(world.weights(), weights.nonzero(), "{} of {total}", world.form.name);
                assert_eq!(world.live().mark, Some(world.mark(sequence)), "{}", world.form.name);
            }
        }
    }
}

#[test]
fn an_adopted_route_shows_the_weights_that_it_had() {
    for form in Form::all().into_iter().filter(|form| !form.objects.is_empty()) {
        let world = World::new(form, 100);
        assert_eq!(world.weights(), distribution(world.form.initially, 1), "{}", world.form.name);
        assert_eq!(world.live().mark, None, "{}", world.form.name);
    }
}

#[test]
fn a_created_route_is_to_be_created_at_first() {
    for form in Form::all().into_iter().filter(|form| form.objects.is_empty()) {
        let world = World::new(form, 100);
        assert_eq!(world.read(), RouteSeen::ToCreate, "{}", world.form.name);
    }
}

#[test]
fn writing_the_same_again_writes_nothing() {
    for form in Form::all() {
        let mut world = World::new(form, 100);
        for (sequence, split) in (1..).zip(world.form.splits()) {
            let weights = distribution(split, 1);
            world.write(&weights, sequence);
            assert_eq!(world.render(&weights, sequence), vec![], "{} {split:?}", world.form.name);
        }
    }
}

#[test]
fn what_others_wrote_into_the_objects_survives() {
    for form in Form::all() {
        let mut world = World::new(form, 100);
        for (sequence, split) in (1..).zip(world.form.splits()) {
            world.annotate(&format!("foreign-note-{sequence}"));
            let foreign = world.foreign();
            world.write(&distribution(split, 1), sequence);
            assert!(
                foreign.is_subset(&world.foreign()),
                "{} {split:?}: {:?}",
                world.form.name,
                foreign.difference(&world.foreign())
            );
        }
    }
}

#[test]
fn a_member_is_named_before_it_gets_weight_and_that_moves_nothing() {
    for form in Form::all().into_iter().filter(|form| !form.objects.is_empty()) {
        let weights = distribution(form.able([20, 30, 50]), 1);
        let mut world = World::new(form, 100);
        let (contents, shown) = (world.contents(), world.weights());
        if let Entry::Missing(writes) = world.entry(&weights, 7) {
            for write in writes {
                world.apply(write);
            }
            assert_eq!((world.weights(), world.live().mark), (shown, Some(world.mark(6))), "{}", world.form.name);
        }
        assert!(!matches!(world.entry(&weights, 7), Entry::Missing(_)), "{}", world.form.name);
        world.write(&weights, 7);
        assert_eq!(world.entry(&weights, 7), Entry::Done, "{}", world.form.name);
        world.release(DeletionPolicy::Revert);
        assert_eq!(world.contents(), contents, "{}", world.form.name);
    }
}

#[test]
fn replacing_carries_the_version_that_was_read() {
    for form in Form::all() {
        let mut world = World::new(form, 100);
        world.write(&distribution([100, 0, 0], 1), 1);
        for write in world.render(distribution(world.form.able([50, 50, 0]), 1), 2) {
            if let Write::Replace(object) = write {
                assert_eq!(
                    object.resource_version(),
                    world.find(&object.name_any()).and_then(ResourceExt::resource_version),
                    "{}",
                    world.form.name
                );
            }
        }
    }
}

#[test]
fn revert_puts_back_what_was_there() {
    for form in Form::all() {
        let mut world = World::new(form, 100);
        let before = world.contents();
        for (sequence, split) in (1..).zip(world.form.splits()) {
            world.write(&distribution(split, 1), sequence);
        }
        world.release(DeletionPolicy::Revert);
        assert_eq!(world.contents(), before, "{}", world.form.name);
    }
}

#[test]
fn retain_leaves_the_weights_and_takes_the_marks_off() {
    for form in Form::all() {
        let mut world = World::new(form, 100);
        let weights = distribution(world.form.able([33, 33, 34]), 1);
        world.write(&weights, 1);
        world.release(DeletionPolicy::Retain);
        assert_eq!(world.weights(), weights, "{}", world.form.name);
        assert_eq!(world.live().mark, None, "{}", world.form.name);
        let text = serde_json::to_string(&world.contents()).unwrap();
        assert!(!text.contains(crate::api::ORIGINAL_ANNOTATION) && !text.contains(crate::api::ROLLOUT_LABEL), "{text}");
    }
}

#[test]
fn a_route_that_was_never_written_is_released_without_a_write() {
    for form in Form::all() {
        for policy in [DeletionPolicy::Retain, DeletionPolicy::Revert] {
            let world = World::new(form.clone(), 100);
            assert_eq!(
                release(&world.context(), &world.form.route, &shared(&world.objects), policy),
                Ok(vec![]),
                "{}",
                world.form.name
            );
        }
    }
}

#[test]
fn every_form_is_known_by_a_name() {
    let named: Vec<String> = Form::all().iter().map(|form| key(&form.service, &form.route).to_string()).collect();
    assert_eq!(
        named,
        [
            "RouteGroup/public (shop)",
            "RouteGroup/public (shop)",
            "RouteGroup/public (shop)",
            "RouteGroup/shop (shop)",
            "Ingress/public (shop)",
            "Ingress/public (shop)",
            "Ingress/shop (shop)",
            "Ingress/public-* (shop)",
            "Ingress/shop-* (shop)",
            "Ingress/public (shop)",
            "HTTPRoute/public#main (shop)",
            "HTTPRoute/shop (shop)",
            "HTTPRoute/shop (shop)",
            "HTTPProxy/public#0 (shop)",
            "HTTPProxy/shop (shop)",
            "VirtualService/public#main (shop)",
            "VirtualService/public#1 (shop)",
            "VirtualService/public#tcp#1,tls#0 (shop)",
            "VirtualService/shop (shop)",
            "VirtualService/shop (shop)",
            "VirtualService/shop (shop)",
            "Ingress/public (shop)",
            "Ingress/public (shop)",
            "Service/public (shop)",
            "Service/shop (shop)",
        ]
    );
}

proptest! {
    #[test]
    fn any_weights_of_any_total_are_read_back(total in 3..=10_000_u32, first in any::<u32>(), second in any::<u32>()) {
        let one = first % (total + 1);
        let two = second % (total + 1 - one);
        let weights = Distribution::from([("eu-1", one), ("eu-2", two), ("eu-3", total - one - two)]);
        let able = |form: &Form| form.objects.is_empty() && form.refusal(&weights).is_none();
        for form in Form::all().into_iter().filter(able) {
            let mut world = World::new(form, total);
            world.write(&weights, 1);
            prop_assert_eq!(world.weights(), weights.nonzero());
        }
    }
}

#[test]
fn a_backend_of_no_member_is_named() {
    for form in Form::naming_backends() {
        let world = World::new(form, 100).renamed("shop-eu-1", "legacy");
        let RouteSeen::Unusable(problem) = world.read() else { panic!("{}: {:?}", world.form.name, world.read()) };
        assert_eq!(problem.reason, Reason::AdoptionNeedsMapping, "{}: {problem:?}", world.form.name);
        assert!(problem.message.contains("backend legacy carries traffic"), "{problem:?}");
        let rendered = world.attempt(distribution([50, 0, 50], 1), 1);
        assert_eq!(rendered.map_err(|error| error.reason()), Err(Reason::AdoptionNeedsMapping), "{}", world.form.name);
    }
}

#[test]
fn a_member_with_traffic_must_be_declared() {
    for form in Form::naming_backends() {
        let world = World::new(form, 100).renamed("shop-eu-1", "shop-eu-9");
        let RouteSeen::Unusable(problem) = world.read() else { panic!("{}: {:?}", world.form.name, world.read()) };
        assert_eq!(problem.reason, Reason::MemberNotDeclared, "{}: {problem:?}", world.form.name);
        assert!(problem.message.contains("member eu-9 carries traffic but is not declared"), "{problem:?}");
        assert!(problem.message.contains("say weight: 0"), "{problem:?}");
    }
}

#[test]
fn a_named_backend_leads_to_its_member() {
    for mut form in Form::naming_backends() {
        form.name_existing("eu-1", "legacy");
        let mut world = World::new(form, 100).renamed("shop-eu-1", "legacy");
        assert_eq!(world.weights(), distribution(world.form.initially, 1), "{}", world.form.name);
        world.write(&distribution([40, 0, 60], 1), 1);
        assert_eq!(world.weights(), distribution([40, 0, 60], 1), "{}", world.form.name);
    }
}
