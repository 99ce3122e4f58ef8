//! Requests that go where they would not by weight.

use serde_json::json;

use super::*;
use crate::api::Matched;

fn to_eu_3(matches: Value) -> Matched {
    Matched { matches: serde_json::from_value(matches).unwrap(), weights: [("eu-3".to_owned(), 100)].into() }
}

/// What a form may be asked.
fn asked() -> Vec<Matched> {
    vec![
        to_eu_3(json!([{"headers": [{"name": "user-agent", "exact": "pc"}]}])),
        to_eu_3(json!([{"headers": [{"name": "user-agent", "regex": "mobile.*"}]}])),
        to_eu_3(json!([{"cookies": [{"name": "canary", "exact": "always"}]}])),
        to_eu_3(json!([{"cookies": [{"name": "canary", "regex": "a|b"}]}])),
        to_eu_3(json!([{"query": [{"name": "beta", "exact": "1"}]}])),
        to_eu_3(json!([
            {"headers": [{"name": "x-a", "exact": "1"}, {"name": "x-b", "regex": "2"}]},
            {"headers": [{"name": "x-c", "exact": "3"}], "query": [{"name": "beta", "exact": "1"}]}
        ])),
    ]
}

/// Every form with everything that it can be asked.
fn cases() -> Vec<(Form, Matched)> {
    let able = |form: Form| {
        let can = capability(&form.route);
        let weights = distribution([95, 0, 5], 1);
        let takes =
            move |matched: &Matched| can.refusal(Wanted { weights: &weights, matched: Some(matched) }).is_none();
        asked().into_iter().filter(takes).map(move |matched| (form.clone(), matched)).collect::<Vec<_>>()
    };
    Form::all().into_iter().flat_map(able).collect()
}

#[test]
fn every_kind_that_says_so_is_asked() {
    let mut names: Vec<&str> = cases().iter().map(|(form, _)| form.name).collect();
    names.dedup();
    let able = |form: &Form| capability(&form.route).matches != capability::Matching::NONE;
    let expected: Vec<&str> = Form::all().into_iter().filter(able).map(|form| form.name).collect();
    assert_eq!(names, expected);
    assert!(names.len() >= 6);
}

#[test]
fn a_form_shows_the_requests_that_it_was_given_and_keeps_the_weights() {
    for (form, matched) in cases() {
        let name = form.name;
        let mut world = World::new(form, 100);
        let weights = distribution([95, 0, 5], 1);
        world.write(&weights, 1);
        let foreign = world.foreign();
        world.try_with(&weights, &matched, 2);
        let live = world.live();
        assert_eq!((live.matched.as_ref(), live.mark), (Some(&matched), Some(world.mark(2))), "{name}");
        assert_eq!(world.weights(), weights, "{name}");
        assert!(foreign.is_subset(&world.foreign()), "{name}");
        let contents = world.contents();
        world.try_with(&weights, &matched, 2);
        assert_eq!(world.contents(), contents, "{name}: written again");
    }
}

#[test]
fn members_without_weight_may_get_the_requests_that_match() {
    for (form, matched) in cases() {
        let name = form.name;
        let mut world = World::new(form, 100);
        let weights = distribution([100, 0, 0], 1);
        world.write(&weights, 1);
        world.try_with(&weights, &matched, 2);
        assert_eq!((world.weights(), world.live().matched), (weights, Some(matched)), "{name}");
    }
}

#[test]
fn the_next_write_takes_them_away_without_a_trace() {
    for (form, matched) in cases() {
        let name = form.name;
        let mut world = World::new(form, 100);
        let (weights, next) = (distribution([95, 0, 5], 1), distribution([50, 0, 50], 1));
        world.write(&weights, 1);
        let mut plain = World::new(world.form.clone(), 100);
        plain.write(&weights, 1);
        plain.write(&next, 3);
        world.try_with(&weights, &matched, 2);
        world.write(&next, 3);
        assert_eq!(world.contents(), plain.contents(), "{name}");
        assert_eq!(world.live().matched, None, "{name}");
    }
}

#[test]
fn another_sort_takes_the_place_of_the_first() {
    for (form, _) in cases() {
        let name = form.name;
        let mut world = World::new(form, 100);
        let weights = distribution([95, 0, 5], 1);
        world.write(&weights, 1);
        let asked: Vec<Matched> = asked().into_iter().take(2).collect();
        world.try_with(&weights, &asked[0], 2);
        world.try_with(&weights, &asked[1], 3);
        assert_eq!(world.live().matched.as_ref(), Some(&asked[1]), "{name}");
        let text = serde_json::to_string(&world.contents()).unwrap();
        assert!(!text.contains("\"pc\""), "{name}: {text}");
    }
}

#[test]
fn what_somebody_took_away_is_not_shown() {
    for (form, matched) in cases() {
        let name = form.name;
        let mut world = World::new(form, 100);
        let weights = distribution([95, 0, 5], 1);
        world.write(&weights, 1);
        let plain = world.objects.clone();
        world.try_with(&weights, &matched, 2);
        for (object, plain) in world.objects.iter_mut().flatten().zip(plain.iter().flatten()) {
            object.data.clone_from(&plain.data);
            object.annotations_mut().retain(|key, _| !key.contains("canary-by-"));
        }
        assert_eq!(world.live().matched, None, "{name}");
    }
}

#[test]
fn release_leaves_nothing_of_them() {
    for (form, matched) in cases() {
        for policy in [DeletionPolicy::Retain, DeletionPolicy::Revert] {
            let name = form.name;
            let mut world = World::new(form.clone(), 100);
            let before = world.contents();
            let weights = distribution([95, 0, 5], 1);
            world.write(&weights, 1);
            world.try_with(&weights, &matched, 2);
            world.write(&weights, 3);
            world.release(policy);
            let text = serde_json::to_string(&world.contents()).unwrap();
            assert!(!text.contains(crate::api::MATCHED_ANNOTATION), "{name}: {text}");
            if policy == DeletionPolicy::Revert {
                assert_eq!(world.contents(), before, "{name}");
            }
        }
    }
}

#[test]
fn defaults_that_an_api_server_adds_change_nothing() {
    let mut world = World::new(Form::named("HTTPRoute adopted"), 100);
    let (weights, matched) = (distribution([95, 0, 5], 1), asked().remove(0));
    world.write(&weights, 1);
    world.try_with(&weights, &matched, 2);
    let rules = world.objects[0].as_mut().unwrap().data.pointer_mut("/spec/rules").unwrap().as_array_mut().unwrap();
    let tried = rules.last_mut().unwrap();
    assert_eq!(
        tried["matches"],
        json!([{"path": {"type": "PathPrefix", "value": "foreign-path"},
            "headers": [{"type": "Exact", "name": "user-agent", "value": "pc"}]}])
    );
    tried["backendRefs"][0]["group"] = json!("");
    tried["timeouts"] = json!({"request": "10s"});
    assert_eq!((world.live().matched, world.weights()), (Some(matched), weights));
    assert_eq!(world.entry(&distribution([50, 0, 50], 1), 3), Entry::Done, "nothing is left to name");
}

#[test]
fn the_member_in_the_stable_ingress_cannot_have_chosen_requests() {
    let world = World::new(Form::named("nginx"), 100);
    let mut matched = asked().remove(0);
    matched.weights = [("eu-1".to_owned(), 100)].into();
    let weights = distribution([50, 0, 50], 1);
    let wanted = Wanted { weights: &weights, matched: Some(&matched) };
    let error = render(&world.context(), &world.form.route, &world.objects, wanted, &world.mark(1)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "Ingress public: requests can be chosen for the canary Ingress only, and eu-1 stands in the stable one: leave \
         matches out for it"
    );
}

#[test]
fn a_kind_that_cannot_choose_so_says_by_what() {
    let refused = |name: &str, index: usize| {
        let (weights, matched) = (distribution([95, 0, 5], 1), asked().remove(index));
        let wanted = Wanted { weights: &weights, matched: Some(&matched) };
        capability(&Form::named(name).route).refusal(wanted).map(|(found, _)| found)
    };
    assert_eq!(refused("Ingress created", 0).as_deref(), Some("a step chooses requests by header user-agent: pc"));
    assert_eq!(refused("HTTPRoute adopted", 2).as_deref(), Some("a step chooses requests by cookie canary: always"));
    assert_eq!(refused("nginx", 3).as_deref(), Some("a step chooses requests by cookie canary ~ a|b"));
    assert_eq!(refused("ALB", 5).as_deref(), Some("a step chooses requests by more than one condition"));
    assert_eq!(refused("ALB", 0), None);
}
