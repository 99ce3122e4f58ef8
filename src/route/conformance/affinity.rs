//! Users who stay where they are.

use serde_json::json;

use super::*;
use crate::api::affinity::Bin;
use crate::api::{AFFINITY_ANNOTATION, Affinity, Mirrored, Steering};

/// The bins of a run in which eu-3 takes 5, then 50 of 100 from eu-1.
fn kept(bins: [&str; 3]) -> Affinity {
    let bins = bins.into_iter().zip([50, 45, 5]);
    let bins: Vec<Bin> = bins.map(|(member, weight)| Bin { member: member.to_owned(), weight }).collect();
    serde_json::from_value(json!({"cookieName": "shop", "maxAge": "1h", "run": "uid-7", "bins": bins})).unwrap()
}

fn first() -> Affinity {
    kept(["eu-1", "eu-1", "eu-3"])
}

fn keep(weights: &Distribution, affinity: &Affinity) -> Split {
    Split { affinity: Some(affinity.clone()), ..weights.into() }
}

fn able() -> Vec<Form> {
    let (weights, affinity) = (first().weights(), first());
    let forms = Form::all().into_iter();
    forms.filter(|form| form.refusal(keep(&weights, &affinity)).is_none()).collect()
}

/// Brings the world to what is wanted.
fn bring(world: &mut World, split: &Split, sequence: u64) {
    for write in world.render(split.clone(), sequence) {
        world.apply(write);
    }
}

#[test]
fn every_kind_that_says_so_is_tried() {
    let names: Vec<&str> = able().iter().map(|form| form.name).collect();
    let says = |form: &Form| capability(&form.route).affinity != capability::AffinitySupport::No;
    let said: Vec<&str> = Form::all().into_iter().filter(says).map(|form| form.name).collect();
    assert!(names == said && names.len() >= 4, "{names:?}");
}

#[test]
fn a_form_shows_whom_it_keeps_and_its_weights_stay() {
    for form in able() {
        let name = form.name;
        let mut world = World::new(form, 100);
        let (affinity, next) = (first(), kept(["eu-1", "eu-3", "eu-3"]));
        let weights = affinity.weights();
        world.write(&weights, 1);
        let foreign = world.foreign();
        bring(&mut world, &keep(&weights, &affinity), 2);
        let live = world.live();
        assert_eq!((live.split.affinity.as_ref(), live.mark), (Some(&affinity), Some(world.mark(2))), "{name}");
        assert_eq!(world.weights(), weights, "{name}");
        assert!(foreign.is_subset(&world.foreign()), "{name}");
        let contents = world.contents();
        bring(&mut world, &keep(&weights, &affinity), 2);
        assert_eq!(world.contents(), contents, "{name}: written again");
        bring(&mut world, &keep(&next.weights(), &next), 3);
        assert_eq!((world.live().split.affinity.as_ref(), world.weights()), (Some(&next), next.weights()), "{name}");
    }
}

#[test]
fn the_next_write_lets_users_go_without_a_trace() {
    for form in able() {
        let name = form.name;
        let (weights, next) = (first().weights(), distribution([100, 0, 0], 1));
        let mut world = World::new(form, 100);
        world.write(&weights, 1);
        let mut plain = World::new(world.form.clone(), 100);
        plain.write(&weights, 1);
        plain.write(&next, 3);
        bring(&mut world, &keep(&weights, &first()), 2);
        world.write(&next, 3);
        assert_eq!(world.contents(), plain.contents(), "{name}");
    }
}

#[test]
fn what_somebody_changed_is_not_shown() {
    for form in able() {
        let name = form.name;
        let weights = first().weights();
        let mut world = World::new(form, 100);
        bring(&mut world, &keep(&weights, &first()), 1);
        for (from, to) in [("uid-7-(2)", "uid-7-(2|1)"), ("shop=uid-7-2", "shop=uid-7-1")] {
            let text = serde_json::to_string(&world.objects[0].as_ref().unwrap().data).unwrap();
            assert!(text.contains(from), "{name}: {text}");
            let mut world = World::new(world.form.clone(), 100);
            bring(&mut world, &keep(&weights, &first()), 1);
            let object = world.objects[0].as_mut().unwrap();
            object.data = serde_json::from_str(&text.replace(from, to)).unwrap();
            assert_eq!((world.live().split.affinity, world.weights()), (None, weights.clone()), "{name}");
        }
    }
}

#[test]
fn a_backend_that_somebody_took_the_cookie_from_counts_as_before() {
    let weights = first().weights();
    let mut world = World::new(Form::named("HTTPRoute created"), 100);
    bring(&mut world, &keep(&weights, &first()), 1);
    let backends = world.objects[0].as_mut().unwrap().data.pointer_mut("/spec/rules/0/backendRefs").unwrap();
    backends[1].as_object_mut().unwrap().remove("filters");
    assert_eq!((world.live().split.affinity, world.weights()), (None, weights.clone()));
    bring(&mut world, &keep(&weights, &first()), 2);
    assert_eq!(world.live().split.affinity, Some(first()));
}

#[test]
fn release_leaves_nothing_of_it() {
    for form in able() {
        for policy in [DeletionPolicy::Retain, DeletionPolicy::Revert] {
            let name = form.name;
            let mut world = World::new(form.clone(), 100);
            let before = world.contents();
            let weights = first().weights();
            world.write(&weights, 1);
            bring(&mut world, &keep(&weights, &first()), 2);
            world.write(&weights, 3);
            world.release(policy);
            let text = serde_json::to_string(&world.contents()).unwrap();
            assert!(!text.contains(AFFINITY_ANNOTATION) && !text.contains("uid-7"), "{name}: {text}");
            if policy == DeletionPolicy::Revert {
                assert_eq!(world.contents(), before, "{name}");
            }
        }
    }
}

#[test]
fn members_that_enter_are_named_beside_the_users_that_stay() {
    for form in able() {
        let name = form.name;
        let mut world = World::new(form, 100);
        let weights = first().weights();
        bring(&mut world, &keep(&weights, &first()), 1);
        let writes = match world.entry(&distribution([50, 45, 5], 1), 2) {
            Entry::Missing(writes) => writes,
            Entry::Done | Entry::Pending => continue,
        };
        for write in writes {
            world.apply(write);
        }
        assert_eq!((world.live().split.affinity, world.weights()), (Some(first()), weights), "{name}");
    }
}

/// A rule for those who stay sends copies as well.
#[test]
fn copies_are_made_of_the_requests_of_those_who_stay() {
    let mut world = World::new(Form::named("HTTPRoute created"), 100);
    let (weights, affinity) = (first().weights(), first());
    let steering = Steering::Mirrored(Mirrored { members: vec!["eu-3".to_owned()], percent: 100 });
    bring(&mut world, &Split { steering: Some(steering.clone()), ..keep(&weights, &affinity) }, 1);
    let live = world.live();
    assert_eq!((live.split.steering.as_ref(), live.split.affinity.as_ref()), (Some(&steering), Some(&affinity)));
    let rules = world.objects[0].as_ref().unwrap().data["spec"]["rules"].as_array().unwrap().clone();
    let mirrors = |rule: &Value| rule["filters"][0]["requestMirror"]["backendRef"]["name"].clone();
    assert_eq!(
        rules.iter().map(mirrors).collect::<Vec<_>>(),
        [json!("shop-eu-3"), json!("shop-eu-3"), json!("shop-eu-3")]
    );
    bring(&mut world, &keep(&weights, &affinity), 2);
    assert_eq!((world.live().split.steering, world.live().split.affinity.as_ref()), (None, Some(&affinity)));
}

#[test]
fn a_rule_that_gives_or_looks_at_cookies_itself_is_refused() {
    for (pointer, value, why) in [
        (
            "/spec/rules/0/matches/0",
            json!({"headers": [{"name": "cookie", "value": "a"}]}),
            "a rule chooses requests by the header Cookie itself",
        ),
        (
            "/spec/rules/0/backendRefs/0",
            json!({"name": "shop-eu-1", "port": 80, "filters": [{"type": "ResponseHeaderModifier"}]}),
            "a backend sets headers of answers itself",
        ),
    ] {
        let mut world = World::new(Form::named("HTTPRoute created"), 100);
        world.write(&first().weights(), 1);
        let rule = &mut world.objects[0].as_mut().unwrap().data["spec"]["rules"][0];
        rule["matches"] = json!([{}]);
        *world.objects[0].as_mut().unwrap().data.pointer_mut(pointer).unwrap() = value;
        let (weights, affinity) = (first().weights(), first());
        let error = world.attempt(keep(&weights, &affinity), 2).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("HTTPRoute shop: {why}: take that away, or leave strategy.sessionAffinity out")
        );
    }
}

#[test]
fn a_kind_that_cannot_keep_users_says_so() {
    let weights = first().weights();
    let refused =
        |name: &str, affinity: &Affinity| Form::named(name).refusal(keep(&weights, affinity)).map(|(found, _)| found);
    let cannot = "strategy.sessionAffinity is declared";
    for name in
        ["HTTPProxy created", "nginx", "ALB", "Service created", "Ingress created", "Ingress per member created"]
    {
        assert_eq!(refused(name, &first()).as_deref(), Some(cannot), "{name}");
    }
    let bin = |_| Bin { member: "eu-1".to_owned(), weight: 1 };
    let many = Affinity { bins: (0..17).map(bin).collect(), ..first() };
    assert_eq!(
        refused("HTTPRoute created", &many).as_deref(),
        Some("strategy.sessionAffinity would divide users into 17 bins")
    );
    assert_eq!(refused("RouteGroup created", &many), None);
}
