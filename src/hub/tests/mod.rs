//! Passes in scripted worlds: which calls the hub makes, in which order, on what conditions.

mod alerts;
mod announcements;
mod answers;
mod deletion;
mod hooks;
mod members;
mod overload;
mod process;
mod requests;
mod rounds;
mod versions;
mod writes;

use serde_json::{Value, json};

use super::fixtures::{
    objects::{at_rest, backend, member, request, rollout, route, stepping},
    world::World,
};

/// The calls of the first pass of a rollback that a person requested.
const ROLLBACK: [&str; 5] = [
    "PUT fleetrollouts/shop/status rv=5",
    "PUT httproutes/intern rv=11",
    "PUT httproutes/public rv=12",
    "PUT rolloutrequests/abort/status rv=7",
    "POST events/shop.uid-shop.1",
];

/// Step 1 stands on both routes, and nothing is to be done.
fn at_step_1() -> Vec<Value> {
    showing(&stepping(), &[("eu-1", 80), ("eu-3", 20)])
}

/// The same, and ann wants it to end.
async fn aborted() -> World {
    World::of(at_step_1().into_iter().chain([request("abort", "Abort")])).await
}

/// Every route shows what is declared.
pub(super) fn at_target(status: &Value) -> Vec<Value> {
    showing(status, &[("eu-3", 100)])
}

/// The rollout with this status, and both routes with these weights by write 4.
fn showing(status: &Value, weights: &[(&str, u32)]) -> Vec<Value> {
    let routes = [route("intern", "11", weights, 4), route("public", "12", weights, 4)];
    let (members, backends) = ([member("eu-1"), member("eu-3")], [backend("eu-1", "21"), backend("eu-3", "22")]);
    [rollout(status)].into_iter().chain(routes).chain(members).chain(backends).collect()
}

/// eu-3 is the primary, by write 4.
pub(super) fn settled() -> Value {
    let mut status = at_rest();
    status["primary"] = json!({"eu-3": 100});
    status["sequence"] = json!(4);
    status
}
