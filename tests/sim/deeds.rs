//! What the world does to the hub in each pattern: when it begins, meanwhile, and how it ends.

use http::Method;
use serde_json::{Value, json};

use super::{
    fleet::{Metrics, Wrong},
    plan::Plan,
    scenario::{self, CRDS, MEMBER_PATH, ROUTES, SECRETS, members},
    world::{ROLLOUT, World, seconds},
};

/// How long a fault lasts, in seconds.
fn lasts(plan: &Plan) -> f64 {
    match (plan.pattern, plan.variant()) {
        (4, _) => 12.0,
        (5, _) => 20.0,
        (6, "pause-leader-long") => 120.0,
        (6, _) => 20.0,
        (7, _) => 25.0,
        (8, _) => 60.0,
        (9, "flapping") => 45.0,
        (9, _) => 35.0,
        (11, _) => 90.0,
        (13, _) => 120.0,
        (15, _) => 60.0,
        (21, _) => 45.0,
        (22, _) => 50.0,
        (24, _) => 120.0,
        (16 | 17 | 19 | 20, _) => 40.0,
        _ => 0.0,
    }
}

/// Directly after the hub's write with this number was committed.
pub fn after_write(world: &World, index: usize) {
    if index != world.plan.k || world.faults().struck.is_some() {
        return;
    }
    let begins = matches!(world.plan.pattern, 8 | 9 | 10 | 11 | 13 | 15..=18 | 20..=22)
        || world.plan.pattern == 19 && !world.plan.variant().ends_with("before");
    if begins {
        begin(world);
    }
}

fn mark_begun(world: &World) {
    let now = world.now();
    world.faults().struck = Some(now);
    let age = world.age();
    let line = format!("{age:9.3}  ---- {} begins", world.plan);
    world.faults().trace.push(line);
}

/// Begins the plan's fault.
pub fn begin(world: &World) {
    mark_begun(world);
    let what = world.plan.variant();
    match world.plan.pattern {
        8 => member(world, what, true),
        9 => metrics(world, what, true),
        10 => edit(world, what),
        11 => reapply(world),
        15 => {}
        16 => delete(world, what),
        17 => finalizers(world, what),
        18 => declare(world, what),
        19 => poison(world, what),
        20 => change_members(world, what),
        _ => {}
    }
}

/// What goes on between the beginning and the end, at every moment.
pub fn meanwhile(world: &World) {
    let (struck, relieved) = {
        let faults = world.faults();
        (faults.struck, faults.relieved)
    };
    let Some(struck) = struck.filter(|_| relieved.is_none()) else { return };
    let passed = world.now().duration_since(struck).as_secs_f64();
    if passed >= lasts(&world.plan) {
        end(world);
        return;
    }
    let every = |period: f64| (passed / period).fract() * period < 0.25;
    match (world.plan.pattern, world.plan.variant()) {
        (9, "flapping") => {
            let wrong = ((passed / 7.0) as u64).is_multiple_of(2);
            world.fleet().member("eu-3").metrics = wrong.then_some(Metrics::Door(Wrong::Refused));
        }
        (11, _) if every(3.0) => reapply(world),
        _ => {}
    }
}

/// Ends the plan's fault; what people broke, they repair.
fn end(world: &World) {
    let now = world.now();
    world.faults().relieved = Some(now);
    let line = format!("{:9.3}  ---- {} ends", world.age(), world.plan);
    world.faults().trace.push(line);
    let what = world.plan.variant();
    match world.plan.pattern {
        4 | 5 => world.faults().thaw.notify_one(),
        8 => member(world, what, false),
        9 => metrics(world, what, false),
        16 | 17 | 19 | 20 => repair(world),
        24 if what == "late-crds" => {
            scenario::kinds(world);
            for name in scenario::MEMBERS {
                world.create(MEMBER_PATH, &scenario::member(name));
            }
            world.scenario.declare(world);
        }
        24 if what == "late-route-crd" => {
            world.create(CRDS, scenario::route_kind());
            for (route, service) in &world.scenario.routes {
                world.create(ROUTES, &world.scenario.route(route, service));
            }
        }
        _ => {}
    }
}

fn member(world: &World, what: &str, begins: bool) {
    let wrong = match what.trim_start_matches("all-") {
        "refused" => Wrong::Refused,
        "blackhole" | "endpoint-down" | "primary-down" | "down" => Wrong::Blackhole,
        "tls" => Wrong::Tls,
        "401" => Wrong::Status(401),
        "403" => Wrong::Status(403),
        "slow" => Wrong::Slow(30_000),
        "429" => Wrong::Status(429),
        "huge" => Wrong::Huge,
        "garbage" => Wrong::Garbage,
        _ => Wrong::Status(302),
    };
    let wrong = begins.then_some(wrong);
    let names: &[&str] = match what {
        "primary-down" => &["eu-1"],
        _ if what.starts_with("all") => &scenario::MEMBERS,
        _ => &["eu-3"],
    };
    let now = world.now();
    for name in names {
        let mut fleet = world.fleet();
        let member = fleet.member(name);
        if what.ends_with("down") {
            member.endpoint = wrong;
            member.down_since = begins.then_some(now);
        } else {
            member.api = wrong;
            member.metrics = wrong.map(Metrics::Door);
        }
    }
}

fn metrics(world: &World, what: &str, begins: bool) {
    let wrong = match what {
        "down" | "one-missing" | "flapping" => Metrics::Door(Wrong::Refused),
        "slow-in" => Metrics::Door(Wrong::Slow(4_900)),
        "slow-out" => Metrics::Door(Wrong::Slow(5_100)),
        "500" => Metrics::Door(Wrong::Status(500)),
        "503" => Metrics::Door(Wrong::Status(503)),
        "nan" => Metrics::Value("NaN"),
        "+inf" => Metrics::Value("+Inf"),
        "-inf" => Metrics::Value("-Inf"),
        "empty" => Metrics::Empty,
        "no-value" => Metrics::NoValue,
        "two" => Metrics::Two,
        "matrix" => Metrics::Type("matrix"),
        "scalar" => Metrics::Type("scalar"),
        "string" => Metrics::Type("string"),
        "stale" => Metrics::Stale,
        _ => Metrics::Warnings,
    };
    let names: &[&str] = match (what, world.plan.seed % 2) {
        ("one-missing", _) => &["eu-1"],
        (_, 0) => &["eu-3"],
        _ => &scenario::MEMBERS,
    };
    for name in names {
        world.fleet().member(name).metrics = begins.then_some(wrong);
    }
}

fn first_route(world: &World) -> String {
    let name = world.scenario.routes.keys().nth(world.plan.seed as usize % 2).copied().unwrap_or("public");
    format!("{ROUTES}/{name}")
}

/// A person edits what the hub looks after.
fn edit(world: &World, what: &str) {
    let path = first_route(world);
    let Some(route) = world.object(&path) else { return };
    let name = path.rsplit('/').next().unwrap_or_default();
    let service = world.scenario.service_of(name).unwrap_or("shop");
    match what {
        "raise" | "lower" => {
            let canary: i64 = if what == "raise" { 7 } else { -7 };
            let mut spec = route["spec"].clone();
            let Some(backends) = spec.pointer_mut("/rules/0/backendRefs").and_then(Value::as_array_mut) else { return };
            let of = |name: &str| format!("{service}-{name}");
            let weight = |backends: &[Value], name: &str| {
                backends.iter().find(|one| one["name"] == of(name)).and_then(|one| one["weight"].as_i64()).unwrap_or(0)
            };
            let (one, three) = (weight(backends, "eu-1"), weight(backends, "eu-3"));
            let there = backends.iter().any(|one| one["name"] == of("eu-3"));
            let moved = if there { canary.clamp(-three, one) } else { 0 };
            for backend in backends.iter_mut() {
                if backend["name"] == of("eu-1") {
                    backend["weight"] = (one - moved).into();
                } else if backend["name"] == of("eu-3") {
                    backend["weight"] = (three + moved).into();
                }
            }
            world.patch(&path, &json!({"spec": spec}), "kubectl-edit");
        }
        "host" => {
            world.patch(&path, &json!({"spec": {"hostnames": ["other.example.com"]}}), "kubectl-edit");
        }
        "timeout" => {
            let mut rules = route["spec"]["rules"].clone();
            rules[0]["timeouts"]["request"] = "30s".into();
            world.patch(&path, &json!({"spec": {"rules": rules}}), "kubectl-edit");
        }
        "mark" => {
            world.patch(&path, &json!({"metadata": {"annotations": {"cutover.dev/write": null}}}), "kubectl-edit");
        }
        _ => {
            world.patch(&format!("{ROLLOUT}/status"), &json!({"status": {"message": "all is well"}}), "kubectl-edit");
        }
    }
}

/// A GitOps tool puts the original route back.
fn reapply(world: &World) {
    for (name, service) in &world.scenario.routes {
        let path = format!("{ROUTES}/{name}");
        let (Some(live), mut wanted) = (world.object(&path), world.scenario.route(name, service)) else { continue };
        match world.plan.variant() {
            "put" => {
                wanted["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"].clone();
                wanted["metadata"]["annotations"] = live["metadata"]["annotations"].clone();
                world.call(Method::PUT, &path, Some(&wanted), "gitops");
            }
            "merge" => {
                world.patch(&path, &json!({"spec": wanted["spec"]}), "gitops");
            }
            _ => {
                wanted["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"].clone();
                world.call(Method::PUT, &path, Some(&wanted), "gitops");
            }
        }
    }
}

fn delete(world: &World, what: &str) {
    match what {
        "rollout" => world.delete(ROLLOUT),
        "route" => world.delete(&first_route(world)),
        "member" => world.delete(&format!("{MEMBER_PATH}/eu-3")),
        "secret" => world.delete(&format!("{SECRETS}/eu-3")),
        "service" => world.delete("/api/v1/namespaces/shop/services/shop-eu-3"),
        "namespace" => world.delete("/api/v1/namespaces/shop"),
        _ => world.delete(&format!("{CRDS}/memberclusters.cutover.dev")),
    }
}

fn finalizers(world: &World, what: &str) {
    match what {
        "ours-removed" => {
            world.patch(ROLLOUT, &json!({"metadata": {"finalizers": null}}), "kubectl-edit");
        }
        "foreign" => {
            let Some(rollout) = world.rollout() else { return };
            let mut finalizers = rollout["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
            finalizers.push("example.com/never".into());
            world.patch(ROLLOUT, &json!({"metadata": {"finalizers": finalizers}}), "kubectl-edit");
            world.delete(ROLLOUT);
        }
        "deleted-in-rollback" => {
            world.ask("Abort");
            world.delete(ROLLOUT);
        }
        _ => world.delete("/api/v1/namespaces/shop"),
    }
}

fn declare(world: &World, what: &str) {
    world.judge().declared_anew();
    let spec = match what {
        "revision" => json!({"members": members(&[("eu-1", 40), ("eu-3", 60)])}),
        "steps" => json!({"strategy": {"steps": [{"progress": "50%"}, {"progress": "100%"}]}}),
        "members" => json!({"members": members(&[("eu-2", 30), ("eu-3", 70)])}),
        "analysis" => json!({"analysis": {"interval": "4s"}}),
        "pause" => json!({"paused": true}),
        "old-target" | "aba" => json!({"members": members(&[("eu-1", 50), ("eu-2", 50), ("eu-3", 0)])}),
        _ => return,
    };
    world.patch(ROLLOUT, &json!({"spec": spec}), "user");
}

fn poison(world: &World, what: &str) {
    let rollout = json!({"apiVersion": "cutover.dev/v1alpha1", "kind": "FleetRollout",
        "metadata": {"name": "poison", "namespace": "shop"},
        "spec": {"services": "many", "members": 7, "strategy": {"bake": "soon"}}});
    let member = json!({"apiVersion": "cutover.dev/v1alpha1", "kind": "MemberCluster",
        "metadata": {"name": "poison"}, "spec": {"endpoints": "none"}});
    let request = json!({"apiVersion": "cutover.dev/v1alpha1", "kind": "RolloutRequest",
        "metadata": {"name": "poison", "namespace": "shop"}, "spec": {"verb": "Explode"}});
    let (path, object, kind) = match what.split('-').next().unwrap_or_default() {
        "rollout" => ("/apis/cutover.dev/v1alpha1/namespaces/shop/fleetrollouts", rollout, "fleetrollouts"),
        "member" => (MEMBER_PATH, member, "memberclusters"),
        "request" => ("/apis/cutover.dev/v1alpha1/namespaces/shop/rolloutrequests", request, "rolloutrequests"),
        _ => {
            let mut analysis = world.scenario.spec()["analysis"].clone();
            analysis["metrics"][0]["ratio"]["numerator"] = "sum(".into();
            world.patch(ROLLOUT, &json!({"spec": {"analysis": analysis}}), "user");
            return;
        }
    };
    // A newer version of the definition, which this hub does not understand, lets it in.
    let open = json!({"spec": {"versions": []}});
    let definition = format!("{CRDS}/{kind}.cutover.dev");
    let Some(old) = world.object(&definition) else { return };
    let mut versions = old["spec"]["versions"].clone();
    versions[0]["schema"]["openAPIV3Schema"] = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let mut patch = open;
    patch["spec"]["versions"] = versions;
    world.patch(&definition, &patch, "user");
    world.create(path, &object);
}

fn change_members(world: &World, what: &str) {
    match what {
        "added" => {
            world.create(MEMBER_PATH, &scenario::member("eu-4"));
            scenario::secret(world, "eu-4");
            world.judge().declared_anew();
            world.patch(ROLLOUT, &json!({"spec": {"members": members(&[("eu-3", 60), ("eu-4", 40)])}}), "user");
        }
        "removed" => {
            world.judge().declared_anew();
            let two = json!([{"name": "eu-1", "weight": 0}, {"name": "eu-3", "weight": 100}]);
            world.patch(ROLLOUT, &json!({"spec": {"members": two}}), "user");
        }
        "renamed" => {
            world.delete(&format!("{MEMBER_PATH}/eu-3"));
        }
        "rotated" => {
            let secret = scenario::secret_of("eu-3", "another-s3cret-of-a-member");
            world.patch(&format!("{SECRETS}/eu-3"), &json!({"stringData": secret["stringData"]}), "user");
        }
        _ => "cluster-eu-1".clone_into(&mut world.fleet().member("eu-3").cluster),
    }
}

/// People bring back what they took away.
fn repair(world: &World) {
    // The namespace controller's part: nobody can ask for anything in a namespace that goes.
    if matches!((world.plan.pattern, world.plan.variant()), (16, "namespace") | (17, "terminating")) {
        world.delete(ROLLOUT);
    }
    "cluster-eu-3".clone_into(&mut world.fleet().member("eu-3").cluster);
    if world.object(&format!("{CRDS}/memberclusters.cutover.dev")).is_none() {
        scenario::kinds(world);
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
    if world.plan.pattern == 16 && world.plan.variant() == "route" {
        for (name, service) in &world.scenario.routes {
            if world.object(&format!("{ROUTES}/{name}")).is_none() {
                world.create(ROUTES, &world.scenario.route(name, service));
            }
        }
    }
    if world.plan.variant() == "broken-query" {
        world.patch(ROLLOUT, &json!({"spec": {"analysis": world.scenario.spec()["analysis"]}}), "user");
    }
    if world.plan.variant() == "foreign"
        && let Some(rollout) = world.rollout()
    {
        let kept: Vec<Value> = rollout["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
        let kept: Vec<Value> = kept.into_iter().filter(|name| name != "example.com/never").collect();
        world.patch(ROLLOUT, &json!({"metadata": {"finalizers": kept}}), "kubectl-edit");
    }
}

/// When nothing happens any more, people do what they are asked to.
pub fn help(world: &World) {
    let Some(rollout) = world.rollout() else { return };
    let status = &rollout["status"];
    if rollout["metadata"].get("deletionTimestamp").is_some() {
        return;
    }
    if rollout["spec"]["paused"] == true {
        world.patch(ROLLOUT, &json!({"spec": {"paused": false}}), "user");
    }
    if world.plan.pattern == 18 && world.plan.variant() == "aba" && rollout["metadata"]["generation"] == 2 {
        world.judge().declared_anew();
        world.patch(ROLLOUT, &json!({"spec": {"members": world.scenario.spec()["members"]}}), "user");
        return;
    }
    let phase = status["phase"].as_str().unwrap_or_default();
    let reason = status["reason"].as_str().unwrap_or_default();
    match (phase, reason) {
        (_, "MemberNotDeclared") => {
            world.judge().declared_anew();
            world.patch(ROLLOUT, &json!({"spec": {"members": world.scenario.spec()["members"]}}), "user");
        }
        // Routes that differ from each other cannot be taken as they are.
        (_, "RouteDrifted") if world.judge().has_asked("Adopt") => put_back(world, &status["primary"]),
        (_, "StatusBehindRoute" | "AdoptionNeedsMapping" | "RouteDrifted") => world.ask("Adopt"),
        ("Paused", _) => world.ask("Resume"),
        ("Held", _) => world.ask("Retry"),
        ("WaitingPromotion", _) => world.ask("Promote"),
        _ => {}
    }
}

/// Gives every route the last known good weights by hand.
fn put_back(world: &World, primary: &Value) {
    for (name, service) in &world.scenario.routes {
        let path = format!("{ROUTES}/{name}");
        let Some(mut rules) = world.object(&path).map(|route| route["spec"]["rules"].clone()) else { continue };
        for backend in rules.pointer_mut("/0/backendRefs").and_then(Value::as_array_mut).into_iter().flatten() {
            let member = backend["name"].as_str().and_then(|name| name.strip_prefix(&format!("{service}-")));
            backend["weight"] = member.map_or(0.into(), |member| primary.get(member).cloned().unwrap_or(0.into()));
        }
        world.patch(&path, &json!({"spec": {"rules": rules}}), "kubectl-edit");
    }
}

pub fn horizon(plan: &Plan) -> jiff::SignedDuration {
    seconds(lasts(plan))
}
