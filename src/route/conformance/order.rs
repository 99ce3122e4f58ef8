//! Several objects for one route: no traffic is ever uncovered, wherever the writes stop.

use serde_json::json;

use super::super::skipper::segments::Segment;
use super::*;
use crate::api::{Matched, Steering};

const PREDICATE: &str = "zalando.org/skipper-predicate";

/// Every part of [0, 1) has an Ingress that takes whatever request.
fn is_covered(world: &World) -> bool {
    let segment = |object: &DynamicObject| Segment::find(&object.annotations()[PREDICATE]).unwrap();
    let takes_all = |object: &&DynamicObject| !object.name_any().ends_with(".matched");
    let mut segments: Vec<Segment> = world.objects.iter().flatten().filter(takes_all).map(segment).collect();
    segments.sort_by(|one, other| one.start.total_cmp(&other.start));
    segments.iter().fold(0.0_f64, |reached, next| if next.start <= reached { reached.max(next.end) } else { reached })
        >= 1.0
}

/// Members with segments of these weights, in this order; the others have no Ingress yet.
fn adopted(members: usize, order: &[usize], weights: &[u32]) -> World {
    let mut form = Form::named("Ingress per member adopted");
    let (endpoint, model) = (form.endpoints["eu-1"].clone(), form.objects[0].clone());
    let member = |index: usize| format!("m-{index}");
    form.endpoints = (0..members).map(|index| (member(index), endpoint.clone())).collect();
    let total = weights.iter().sum();
    let segments = Segment::cut(weights, total);
    form.objects = order
        .iter()
        .zip(segments)
        .map(|(index, segment)| {
            let text = serde_json::to_string(&model).unwrap().replace("eu-1", &member(*index));
            let mut object: DynamicObject = serde_json::from_str(&text).unwrap();
            object.annotations_mut().insert(PREDICATE.to_owned(), segment.to_string());
            object
        })
        .collect();
    World::new(form, total)
}

fn spread(total: u32, parts: &[u32]) -> Distribution {
    let sum: u32 = parts.iter().sum::<u32>().max(1);
    let mut left = total;
    let mut weights: Distribution = parts
        .iter()
        .enumerate()
        .map(|(index, part)| {
            let weight = (part * total / sum).min(left);
            left -= weight;
            (format!("m-{index}"), weight)
        })
        .collect();
    weights.add("m-0", left);
    weights
}

fn to(member: usize, total: u32) -> Steering {
    let matches = serde_json::from_str(r#"[{"headers": [{"name": "x-canary", "exact": "yes"}]}]"#).unwrap();
    Steering::Matched(Matched { matches, weights: [(format!("m-{member}"), total)].into() })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Starts from live segments in any order, and stops each change anywhere before the next one begins.
    #[test]
    fn every_prefix_of_every_change_covers_all_traffic(
        order in Just((0..5_usize).collect::<Vec<_>>()).prop_shuffle(),
        present in 2..=5_usize,
        live in prop::collection::vec(0..50_u32, 5),
        changes in prop::collection::vec((prop::collection::vec(0..9_u32, 5), 0..5_usize, any::<bool>(), 0..8_usize), 1..6),
    ) {
        let mut live = live[..present].to_vec();
        live[0] += 1;
        let mut world = adopted(5, &order[..present], &live);
        prop_assert!(is_covered(&world));
        for (sequence, (parts, member, chooses, stop)) in (1..).zip(changes) {
            let (weights, steering) = (spread(world.total, &parts), to(member, world.total));
            let split = Split { steering: chooses.then(|| steering.clone()), ..Split::from(&weights) };
            let writes = world.render(split.clone(), sequence);
            let done = stop >= writes.len();
            for write in writes.into_iter().take(stop) {
                world.apply(write);
                prop_assert!(is_covered(&world), "{:?}", world.contents());
                prop_assert_eq!(world.live().split.weights.total(), world.total);
            }
            prop_assert_eq!(world.live().mark == Some(world.mark(sequence)), done);
            prop_assert!(!done || world.live().split.steering == split.steering);
        }
        let last = spread(world.total, &[1, 2, 3, 4, 5]);
        world.write(&last, 99);
        prop_assert_eq!(world.weights(), last.nonzero());
        let writes = release(&world.context(), &world.form.route, &shared(&world.objects), DeletionPolicy::Revert).unwrap();
        for write in writes {
            world.apply(write);
            prop_assert!(is_covered(&world), "{:?}", world.contents());
        }
    }
}

#[test]
fn a_half_written_change_is_not_the_whole() {
    let mut world = World::new(Form::named("Ingress per member adopted"), 100);
    world.write(&distribution([60, 40, 0], 1), 1);
    let first = world.render(distribution([20, 40, 40], 1), 2).remove(0);
    world.apply(first);
    assert_eq!(world.live().mark, Some(world.mark(1)));
    world.write(&distribution([20, 40, 40], 1), 2);
    assert_eq!(world.live().mark, Some(world.mark(2)));
    assert_eq!(world.weights(), distribution([20, 40, 40], 1));
}

#[test]
fn a_member_that_left_does_not_change_the_order_of_the_others() {
    let mut world = adopted(4, &[0, 1, 2, 3], &[25, 25, 25, 25]);
    world.write(&spread(100, &[50, 0, 20, 30]), 1);
    world.form.endpoints.remove("m-1");
    world.objects.remove(4 + 1);
    world.objects.remove(1);
    let weights = Distribution::from([("m-0", 10), ("m-2", 20), ("m-3", 70)]);
    for write in world.render(&weights, 2) {
        world.apply(write);
        assert!(is_covered(&world), "{:?}", world.contents());
    }
    assert_eq!(world.weights(), weights);
}

#[test]
fn a_gap_is_reported_with_its_place() {
    let mut world = World::new(Form::named("Ingress per member adopted"), 100);
    world.objects[1]
        .as_mut()
        .unwrap()
        .annotations_mut()
        .insert(PREDICATE.to_owned(), "TrafficSegment(0.0, 0.3)".to_owned());
    let RouteSeen::Unusable(problem) = world.read() else { panic!("{:?}", world.read()) };
    assert_eq!(problem.reason, Reason::RouteUnreadable);
    assert!(
        problem.message.starts_with("public-*: no TrafficSegment of a declared member covers 30 to 40 of 100"),
        "{problem:?}"
    );
}

/// Where no backend has a weight all get the same: the one that is there gets a weight before another enters at 0.
#[test]
fn a_backend_without_weight_gets_one_before_another_enters_at_zero() {
    let mut world = World::new(Form::named("HTTPProxy adopted"), 100);
    let services = json!([{"name": "shop-eu-1", "port": 8080}, {"name": "foreign-mirror", "port": 80, "mirror": true}]);
    let place = "/spec/routes/0/services";
    *world.objects[0].as_mut().unwrap().data.pointer_mut(place).unwrap() = services;
    let Entry::Missing(writes) = world.entry(&distribution([50, 0, 50], 1), 1) else { panic!("eu-3 is not named yet") };
    for write in writes {
        world.apply(write);
    }
    let services = world.find("public").unwrap().data.pointer(place).unwrap().as_array().unwrap();
    let named: Vec<_> = services.iter().map(|service| (service["name"].as_str(), service["weight"].as_u64())).collect();
    assert_eq!(named, [(Some("shop-eu-1"), Some(1)), (Some("foreign-mirror"), None), (Some("shop-eu-3"), Some(0))]);
    assert_eq!(world.weights(), distribution([100, 0, 0], 1));
}
