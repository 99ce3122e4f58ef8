//! What the world does to the hub in each pattern: when it begins, meanwhile, and how it ends.

mod declarations;
mod deletions;
mod edits;
mod members;
mod metrics;
mod people;
mod tenants;

use super::{
    plan::{
        Fault, Plan,
        sorts::{
            BadCalls, Blind, ClockFault, DataPlaneFault, Deleted, FinalizerFault, Late, MemberChange, MetricsFault,
            Pause, Tenant,
        },
    },
    world::{World, seconds},
};
pub use declarations::recreate;
pub use edits::GITOPS;
pub use people::help;

/// How long a fault lasts, in seconds.
const fn lasts(fault: Fault) -> f64 {
    match fault {
        Fault::Blind(Blind::HoldWatch) => 60.0,
        Fault::Blind(Blind::DropEvent | Blind::HideWrite) => 12.0,
        Fault::Failover(_) | Fault::Pause(Pause::Leader | Pause::InCall) => 20.0,
        Fault::Pause(Pause::LeaderLong) | Fault::Late(_) | Fault::Overload(_) => 120.0,
        // Two steps of a hub that believes an old time fit in.
        Fault::Storm | Fault::Clock(ClockFault::Behind) => 300.0,
        Fault::Lease(_) => 25.0,
        Fault::Member(_) | Fault::Clock(_) | Fault::BadCalls(BadCalls::Minute) => 60.0,
        Fault::Metrics(MetricsFault::Flapping) | Fault::Webhook(_) | Fault::DataPlane(_) => 45.0,
        Fault::Metrics(_) => 35.0,
        Fault::Reapply(_) | Fault::Tenant(_) => 90.0,
        Fault::Forbidden(_) => 50.0,
        Fault::Delete(_) | Fault::Finalizers(_) | Fault::Poison(_) | Fault::Members(_) => 40.0,
        Fault::None
        | Fault::CrashAfter
        | Fault::CrashBefore
        | Fault::CrashPair
        | Fault::Edit(_)
        | Fault::BadCalls(BadCalls::Once | BadCalls::Twice)
        | Fault::Watch(_)
        | Fault::Declare(_)
        | Fault::Alerts(_) => 0.0,
    }
}

pub fn horizon(plan: &Plan) -> jiff::SignedDuration {
    seconds(lasts(plan.fault))
}

/// It begins with a write of the hub, and not in the fault layer.
const fn begins_with_a_write(fault: Fault) -> bool {
    match fault {
        Fault::Member(_)
        | Fault::Metrics(_)
        | Fault::Edit(_)
        | Fault::Reapply(_)
        | Fault::Storm
        | Fault::Clock(_)
        | Fault::Delete(_)
        | Fault::Finalizers(_)
        | Fault::Declare(_)
        | Fault::Members(_)
        | Fault::Webhook(_)
        | Fault::Forbidden(_)
        | Fault::DataPlane(_)
        | Fault::Tenant(_)
        | Fault::Overload(_) => true,
        Fault::Poison(what) => !what.is_before(),
        Fault::None
        | Fault::CrashAfter
        | Fault::CrashBefore
        | Fault::CrashPair
        | Fault::Blind(_)
        | Fault::Failover(_)
        | Fault::Pause(_)
        | Fault::Lease(_)
        | Fault::BadCalls(_)
        | Fault::Watch(_)
        | Fault::Late(_)
        | Fault::Alerts(_) => false,
    }
}

/// Directly after the hub's write with this number was committed, and after later ones until something could be done.
pub fn after_write(world: &World, index: usize) {
    if index < world.plan.k || world.faults().begun.is_some() {
        return;
    }
    if begins_with_a_write(world.plan.fault) {
        begin(world);
    }
}

/// It does nothing but change objects: where it changes none, it did not happen.
const fn is_a_change(fault: Fault) -> bool {
    matches!(
        fault,
        Fault::Edit(_)
            | Fault::Reapply(_)
            | Fault::Delete(_)
            | Fault::Finalizers(_)
            | Fault::Declare(_)
            | Fault::Poison(_)
            | Fault::Tenant(
                Tenant::Requests | Tenant::ForgedMark | Tenant::Withdrawn | Tenant::SameRoute | Tenant::SameService
            )
            | Fault::Members(
                MemberChange::Added
                    | MemberChange::Removed
                    | MemberChange::Renamed
                    | MemberChange::Rotated
                    | MemberChange::Exec
                    | MemberChange::Bomb
                    | MemberChange::Unlabelled
                    | MemberChange::Withdrawn
            )
    )
}

/// The namespace is deleted, which can always be done; the history of a real server holds no namespaces.
const fn ends_the_namespace(fault: Fault) -> bool {
    matches!(fault, Fault::Delete(Deleted::Namespace) | Fault::Finalizers(FinalizerFault::Terminating))
}

/// Begins the plan's fault, if it can be done now.
pub fn begin(world: &World) {
    let seen = world.server.history(0).len();
    act(world);
    let fault = world.plan.fault;
    let changed = ends_the_namespace(fault) || !world.server.history(seen).is_empty();
    if is_a_change(fault) && !changed {
        return;
    }
    let line = format!("{:9.3}  ---- {} begins", world.age(), world.plan);
    let now = world.now();
    let mut faults = world.faults();
    faults.begun = Some(now);
    faults.trace.push(line);
    // What is changed of a Secret strikes when the hub uses it.
    if is_a_change(fault) && fault != Fault::Members(MemberChange::Rotated) {
        faults.strike();
    }
}

fn act(world: &World) {
    match world.plan.fault {
        Fault::Member(what) => members::answer_badly(world, what, true),
        Fault::Metrics(what) => metrics::answer_badly(world, what, true),
        Fault::Edit(what) => edits::edit(world, what),
        Fault::Reapply(how) => edits::reapply(world, how),
        Fault::Delete(what) => deletions::delete(world, what),
        Fault::Finalizers(what) => deletions::finalizers(world, what),
        Fault::Declare(what) => declarations::declare(world, what),
        Fault::Poison(what) => declarations::poison(world, what),
        Fault::Members(what) => members::change(world, what),
        Fault::Tenant(what) => tenants::begin(world, what),
        Fault::DataPlane(DataPlaneFault::Frozen) => edits::freeze(world),
        // The fault layer, the clocks and the data plane see that it began.
        Fault::None
        | Fault::CrashAfter
        | Fault::CrashBefore
        | Fault::CrashPair
        | Fault::Blind(_)
        | Fault::Failover(_)
        | Fault::Pause(_)
        | Fault::Lease(_)
        | Fault::BadCalls(_)
        | Fault::Storm
        | Fault::Watch(_)
        | Fault::Clock(_)
        | Fault::Webhook(_)
        | Fault::Forbidden(_)
        | Fault::Late(_)
        | Fault::Overload(_)
        | Fault::DataPlane(_)
        | Fault::Alerts(_) => {}
    }
}

/// What goes on between the beginning and the end, at every moment.
pub fn meanwhile(world: &World) {
    let (begun, relieved) = {
        let faults = world.faults();
        (faults.begun, faults.relieved)
    };
    let Some(begun) = begun.filter(|_| relieved.is_none()) else { return };
    let passed = world.now().duration_since(begun).as_secs_f64();
    if passed >= lasts(world.plan.fault) || is_cancelled(world) {
        end(world);
        return;
    }
    let every = |period: f64| (passed / period).fract() * period < 0.25;
    match world.plan.fault {
        Fault::Metrics(MetricsFault::Flapping) => metrics::flap(world, passed),
        Fault::Reapply(how) if every(3.0) => edits::reapply(world, how),
        Fault::Tenant(what) => tenants::go_on(world, what),
        _ => {}
    }
}

/// P4: what is held back was changed again.
fn is_cancelled(world: &World) -> bool {
    let Some(held) = world.faults().held.take() else { return false };
    let cancelled = world.server.history(0).iter().any(|change| held.is_cancelled_by(change));
    if !cancelled {
        world.faults().held = Some(held);
    }
    cancelled
}

/// Ends the plan's fault; what people broke, they repair.
fn end(world: &World) {
    let now = world.now();
    world.faults().relieved = Some(now);
    let line = format!("{:9.3}  ---- {} ends", world.age(), world.plan);
    world.faults().trace.push(line);
    match world.plan.fault {
        Fault::Blind(_) | Fault::Failover(_) => world.faults().thaw.notify_one(),
        Fault::Member(what) => members::answer_badly(world, what, false),
        Fault::Metrics(what) => metrics::answer_badly(world, what, false),
        Fault::Delete(_) | Fault::Finalizers(_) | Fault::Poison(_) | Fault::Members(_) => people::repair(world),
        Fault::Tenant(what) => tenants::leave(world, what),
        Fault::DataPlane(DataPlaneFault::Frozen) => edits::thaw(world),
        Fault::Late(Late::Kinds) => people::bring_kinds(world),
        Fault::Late(Late::RouteKind) => people::bring_routes(world),
        Fault::Late(Late::Server)
        | Fault::None
        | Fault::CrashAfter
        | Fault::CrashBefore
        | Fault::CrashPair
        | Fault::Pause(_)
        | Fault::Lease(_)
        | Fault::Edit(_)
        | Fault::Reapply(_)
        | Fault::BadCalls(_)
        | Fault::Storm
        | Fault::Watch(_)
        | Fault::Clock(_)
        | Fault::Declare(_)
        | Fault::Webhook(_)
        | Fault::Forbidden(_)
        | Fault::Overload(_)
        | Fault::DataPlane(_)
        | Fault::Alerts(_) => {}
    }
}
