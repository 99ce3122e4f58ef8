//! What is said of routes as they were read; no cluster is needed.

use serde_json::json;

use super::*;
use crate::cli::{fixtures, view::View};

/// The service of the fixture's rollout, with endpoints of its members.
fn place(view: &View) -> Place {
    live::places(view).unwrap().remove(0)
}

fn said(objects: &Objects, gateways: &[Gateway]) -> Vec<Outcome> {
    let view = fixtures::in_the_middle();
    let (owner, place) = (Owner::reading(&view), place(&view));
    judge(&owner.context(&place), &place.service.routes[0], objects, gateways)
}

/// A route with this status, which a Gateway wrote.
fn route(conditions: &Value) -> Objects {
    let backend =
        |(name, weight): (&str, u32)| json!({"name": format!("storefront-{name}"), "port": 443, "weight": weight});
    let backends: Vec<Value> = [("eu-1", 375), ("eu-2", 500), ("eu-3", 125)].into_iter().map(backend).collect();
    let object = json!({
        "apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute",
        "metadata": {"name": "public", "namespace": "shop", "generation": 4},
        "spec": {"parentRefs": [{"name": "edge"}], "rules": [{"backendRefs": backends}]},
        "status": {"parents": [{"parentRef": {"name": "edge"}, "controllerName": "x", "conditions": conditions}]},
    });
    vec![Some(Arc::new(serde_json::from_value(object).unwrap()))]
}

fn accepted() -> Value {
    let condition =
        |type_| json!({"type": type_, "status": "True", "reason": "r", "message": "", "observedGeneration": 4});
    json!([condition("Accepted"), condition("ResolvedRefs")])
}

fn gateway(found: Result<Option<Value>, CliError>) -> Gateway {
    Gateway { namespace: "shop".to_owned(), name: "edge".to_owned(), found }
}

fn programmed_is(status: &str) -> Value {
    json!({"status": {"conditions": [{"type": "Programmed", "status": status, "message": "no address"}]}})
}

#[test]
fn a_route_that_is_there_and_accepted_has_four_good_lines() {
    let outcomes = said(&route(&accepted()), &[gateway(Ok(Some(programmed_is("True"))))]);
    assert_eq!(
        outcomes,
        [
            Outcome::good("it can carry weights to these backends"),
            Outcome::good("it exists and shows eu-1 37.5 %, eu-2 50.0 %, eu-3 12.5 %"),
            Outcome::good("its controller accepted generation 4"),
            Outcome::good("Gateway shop/edge is Programmed"),
        ]
    );
}

#[test]
fn a_route_that_does_not_exist_is_bad() {
    let outcomes = said(&vec![None], &[]);
    let bad: Vec<&str> =
        outcomes.iter().filter(|one| matches!(one, Outcome::Bad { .. })).map(|one| one.texts().0).collect();
    assert_eq!(bad.len(), 1, "{outcomes:?}");
    assert!(bad[0].contains("HTTPRoute public in namespace shop"), "{bad:?}");
}

#[test]
fn a_route_that_nobody_has_accepted_is_bad() {
    let outcomes = said(&route(&json!([])), &[gateway(Ok(None))]);
    let bad: Vec<&str> =
        outcomes.iter().filter(|one| matches!(one, Outcome::Bad { .. })).map(|one| one.texts().0).collect();
    assert_eq!(bad, ["no controller has answered for generation 4", "Gateway shop/edge does not exist"]);
}

#[test]
fn a_gateway_is_as_its_status_says() {
    let outcome = |found| programmed(&gateway(found));
    let not = outcome(Ok(Some(programmed_is("False"))));
    assert!(
        matches!(&not, Outcome::Bad { what, .. } if what == "Gateway shop/edge is not Programmed: no address"),
        "{not:?}"
    );
    assert!(matches!(outcome(Ok(Some(json!({})))), Outcome::Bad { .. }));
    let forbidden = outcome(Err(CliError::Said("you may not\nask".to_owned())));
    assert!(
        matches!(&forbidden, Outcome::NotKnown { why, .. } if why == "Gateway shop/edge: you may not"),
        "{forbidden:?}"
    );
}
