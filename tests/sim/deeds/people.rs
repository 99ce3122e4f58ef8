//! People: they bring back what they took away, and do what the hub waits for.

use serde_json::{Value, json};

use super::{
    super::{
        data_plane::Weights,
        fleet::cluster_of,
        plan::{
            Fault,
            sorts::{
                BadCalls, Blind, Declared, Deleted, Edit, Failover, FinalizerFault, LeaseFault, MemberChange, Poison,
                Reapply, WatchFault,
            },
        },
        scenario::{self, CRDS, MEMBER_PATH, MEMBERS, ROUTES, SECRETS},
        status::Status,
        world::{ROLLOUT, World},
    },
    edits::reapply,
    members::allow,
};

/// The kinds are there at last, and with them what people declare.
pub fn bring_kinds(world: &World) {
    scenario::kinds(world);
    for name in world.scenario.members() {
        world.create(MEMBER_PATH, &scenario::member(name));
    }
    world.scenario.declare(world);
}

/// The kind of routes is there at last, and with it the routes.
pub fn bring_routes(world: &World) {
    world.create(CRDS, scenario::route_kind());
    for (route, service) in &world.scenario.routes {
        world.create(ROUTES, &world.scenario.route(route, service));
    }
}

/// People bring back what they took away.
pub fn repair(world: &World) {
    let fault = world.plan.fault;
    // The namespace controller's part: nobody can ask for anything in a namespace that goes.
    if super::ends_the_namespace(fault) {
        world.delete(ROLLOUT);
    }
    for name in MEMBERS {
        world.fleet().member(name).cluster = cluster_of(name);
    }
    if world.object(&format!("{CRDS}/memberclusters.cutover.dev")).is_none() {
        scenario::kinds(world);
    }
    for name in MEMBERS.iter().filter(|name| world.fleet().member(name).closed_since.take().is_some()) {
        allow(world, name, &json!({"from": "All", "names": null}));
    }
    let kinds = world.object(CRDS).is_some();
    for name in world.scenario.members().iter().filter(|_| kinds) {
        if world.object(&format!("{SECRETS}/{name}")).is_none() {
            scenario::secret(world, name);
        }
        if world.object(&format!("{MEMBER_PATH}/{name}")).is_none() {
            world.create(MEMBER_PATH, &scenario::member(name));
        }
    }
    if fault == Fault::Delete(Deleted::Route) {
        for (name, service) in &world.scenario.routes {
            if world.object(&format!("{ROUTES}/{name}")).is_none() {
                world.create(ROUTES, &world.scenario.route(name, service));
            }
        }
    }
    if fault == Fault::Poison(Poison::BrokenQuery) {
        world.patch(ROLLOUT, &json!({"spec": {"analysis": world.scenario.spec()["analysis"]}}), "user");
    }
    if fault == Fault::Finalizers(FinalizerFault::Foreign)
        && let Some(rollout) = world.rollout()
    {
        let kept: Vec<Value> = rollout["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
        let kept: Vec<Value> = kept.into_iter().filter(|name| name != "example.com/never").collect();
        world.patch(ROLLOUT, &json!({"metadata": {"finalizers": kept}}), "kubectl-edit");
    }
}

/// When nothing happens any more, people do what the hub waits for.
pub fn help(world: &World) {
    let Some(rollout) = world.rollout() else { return };
    let status = Status::of(&rollout);
    if rollout["metadata"].get("deletionTimestamp").is_some() {
        return;
    }
    if rollout["spec"]["paused"] == true {
        world.patch(ROLLOUT, &json!({"spec": {"paused": false}}), "user");
    }
    // What a tool has applied stays its own until somebody takes it from the managed fields, as the hub's message says.
    let refused = status.field("message").as_str().is_some_and(|message| message.contains("is applied by"));
    let applied: Vec<&str> = world.scenario.routes.keys().copied().filter(|name| is_applied(world, name)).collect();
    if refused && !applied.is_empty() {
        for name in applied {
            disown(world, name);
        }
        return;
    }
    if world.plan.fault == Fault::Declare(Declared::Aba) && rollout["metadata"]["generation"] == 2 {
        world.patch(ROLLOUT, &json!({"spec": {"members": world.scenario.spec()["members"]}}), "user");
        return;
    }
    if let ("Held" | "Paused", reason) = (status.phase(), status.reason())
        && holds_nothing(world.plan.fault)
    {
        world.judge().broken.push(format!("I5: {} for {reason}, and nothing was wrong any more", status.phase()));
        return;
    }
    let agree = {
        let judge = world.judge();
        judge.routes_agree() && judge.keeping().is_empty()
    };
    match (status.phase(), status.reason()) {
        (_, "MemberNotDeclared") => {
            world.patch(ROLLOUT, &json!({"spec": {"members": every_member(world)}}), "user");
        }
        // What a rollout of the same name left behind goes, and its routes are put back.
        (_, "Conflict") => remove_named(world, &status),
        (_, "RouteUnreadable") => reapply(world, Reapply::Merge),
        (_, "StatusBehindRoute") if !agree => reapply(world, Reapply::Merge),
        // Routes that differ from each other cannot be taken as they are.
        (_, "RouteDrifted") if world.judge().has_requested("Adopt") => put_back(world, &status.primary()),
        (_, "StatusBehindRoute" | "AdoptionNeedsMapping" | "RouteDrifted") => world.ask("Adopt"),
        ("Paused", _) => world.ask("Resume"),
        ("Held", _) => world.ask("Retry"),
        ("WaitingPromotion", _) => world.ask("Promote"),
        _ => {}
    }
}

/// After these faults everything goes on by itself: whoever waits for a person then waits without a cause.
const fn holds_nothing(fault: Fault) -> bool {
    matches!(
        fault,
        Fault::None
            | Fault::CrashAfter
            | Fault::CrashBefore
            | Fault::CrashPair
            | Fault::Failover(Failover::Behind)
            | Fault::Pause(_)
            | Fault::Lease(LeaseFault::Lost | LeaseFault::Slow | LeaseFault::Refused | LeaseFault::Stolen)
            | Fault::BadCalls(BadCalls::Once | BadCalls::Twice)
            | Fault::Watch(
                WatchFault::Gone
                    | WatchFault::Bookmark
                    | WatchFault::Duplicate
                    | WatchFault::Reorder
                    | WatchFault::Cut
                    | WatchFault::Error
                    | WatchFault::Older
            )
            | Fault::Blind(Blind::DropEvent | Blind::HideWrite)
            | Fault::Edit(Edit::Forged)
            | Fault::Tenant(_)
            | Fault::Overload(_)
            | Fault::Members(MemberChange::Withdrawn)
    )
}

/// What was declared first, and with weight 0 the members that it leaves out: the registered ones and those on routes.
fn every_member(world: &World) -> Value {
    let first = world.scenario.spec()["members"].clone();
    let mut members: Vec<Value> = first.as_array().cloned().unwrap_or_default();
    let live = world.judge().live();
    let on_routes = |name: &&&str| live.values().any(|weights| weights.contains_key(**name));
    let others = MEMBERS.iter().filter(on_routes).filter(|name| !world.scenario.members().contains(name));
    for name in world.scenario.members().iter().chain(others) {
        if members.iter().all(|member| member["name"] != *name) {
            members.push(json!({"name": name, "weight": 0}));
        }
    }
    members.into()
}

fn is_applied(world: &World, route: &str) -> bool {
    let route = world.object(&format!("{ROUTES}/{route}")).unwrap_or_default();
    let entries = route["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    entries.iter().any(|entry| entry["operation"] == "Apply")
}

/// Nobody owns a field of the route any more.
fn disown(world: &World, route: &str) {
    world.patch(&format!("{ROUTES}/{route}"), &json!({"metadata": {"managedFields": [{}]}}), "kubectl-edit");
}

/// Removes the Service that a message begins with.
fn remove_named(world: &World, status: &Status) {
    let message = status.field("message").as_str().unwrap_or_default();
    if let Some(name) = message.strip_prefix("Service ").and_then(|rest| rest.split_whitespace().next()) {
        world.delete(&format!("/api/v1/namespaces/shop/services/{name}"));
    }
}

/// Gives every route the last known good weights by hand.
fn put_back(world: &World, primary: &Weights) {
    for (name, service) in &world.scenario.routes {
        let path = format!("{ROUTES}/{name}");
        let Some(mut rules) = world.object(&path).map(|route| route["spec"]["rules"].clone()) else { continue };
        for backend in rules.pointer_mut("/0/backendRefs").and_then(Value::as_array_mut).into_iter().flatten() {
            let member = backend["name"].as_str().and_then(|name| name.strip_prefix(&format!("{service}-")));
            backend["weight"] = member.map_or(0.into(), |member| primary.get(member).copied().unwrap_or(0).into());
        }
        world.patch(&path, &json!({"spec": {"rules": rules}}), "kubectl-edit");
    }
}
