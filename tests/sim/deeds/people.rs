//! People: they bring back what they took away, and do what the hub waits for.

use serde_json::{Value, json};

use super::{
    super::{
        fleet::cluster_of,
        plan::{
            Fault,
            sorts::{
                BadCalls, Blind, Declared, Deleted, Edit, Failover, FinalizerFault, LeaseFault, MemberChange, Poison,
                Reapply, WatchFault,
            },
        },
        routes::Weights,
        scenario::{self, CRDS, MEMBER_PATH, MEMBERS, SECRET, SECRETS},
        status::Status,
        world::{ROLLOUT, World},
    },
    edits::{reapply, rewrite},
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
    if let Some(definition) = world.scenario.form.definition() {
        world.create(CRDS, definition);
    }
    for (route, service) in &world.scenario.routes {
        world.scenario.create_route(world, route, service);
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
    if let Fault::Members(MemberChange::Exec | MemberChange::Bomb | MemberChange::Unlabelled) = fault {
        for name in world.scenario.members() {
            world.patch(&format!("{SECRETS}/{name}"), &scenario::secret_of(name, SECRET), "user");
        }
    }
    if fault == Fault::Delete(Deleted::Route) {
        for (name, service) in &world.scenario.routes {
            if world.object(&world.scenario.form.path(name)).is_none() {
                world.scenario.create_route(world, name, service);
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
        // What cannot be is declared as it was.
        (_, "MemberNotDeclared" | "CannotCarryWeights") => {
            world.patch(ROLLOUT, &json!({"spec": {"members": every_member(world)}}), "user");
        }
        // What a rollout of the same name left behind goes, and its routes are put back.
        (_, "Conflict") => remove_named(world, &status),
        (_, "RouteUnreadable") => reapply(world, Reapply::Merge),
        (_, "StatusBehindRoute") if !agree => begin_again(world),
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
            | Fault::Alerts(_)
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
    let route = world.object(&world.scenario.form.path(route)).unwrap_or_default();
    let entries = route["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    entries.iter().any(|entry| entry["operation"] == "Apply")
}

/// Nobody owns a field of the route any more.
fn disown(world: &World, route: &str) {
    world.patch(&world.scenario.form.path(route), &json!({"metadata": {"managedFields": [{}]}}), "kubectl-edit");
}

/// Puts every route back as its user wrote it, with nothing beside it.
fn begin_again(world: &World) {
    reapply(world, Reapply::Merge);
    let form = world.scenario.form;
    let beside = world.scenario.routes.keys().flat_map(|route| form.names(route).into_iter().skip(1));
    beside.for_each(|name| world.delete(&form.path(&name)));
}

/// Removes the object that a message begins with: a Service, or what the hub makes for a route.
fn remove_named(world: &World, status: &Status) {
    let mut words = status.field("message").as_str().unwrap_or_default().split_whitespace();
    match (words.next(), words.next()) {
        (Some("Service"), Some(name)) => world.delete(&format!("/api/v1/namespaces/shop/services/{name}")),
        (Some(_), Some(name)) if world.scenario.form.route_of(name) != name => {
            world.delete(&world.scenario.form.path(name));
        }
        _ => {}
    }
}

/// Gives every route the last known good weights by hand.
fn put_back(world: &World, primary: &Weights) {
    for (name, service) in &world.scenario.routes {
        let weights = primary.iter().map(|(member, weight)| (format!("{service}-{member}"), *weight)).collect();
        rewrite(world, name, |object| world.scenario.form.put(object, &weights));
    }
}
