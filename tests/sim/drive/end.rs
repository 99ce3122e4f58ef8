//! The end of a plan: one that the declaration or a recorded rollback explains, and not dearer than without the fault.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Value, json};

use super::{
    super::{
        data_plane::Weights,
        deeds::GITOPS,
        judge::nonzero,
        plan::{
            Fault, Plan, Run,
            sorts::{BadCalls, Deleted, Failover, FinalizerFault, MemberFault, MetricsFault, Poison},
        },
        scenario::ROUTES,
        status::Status,
        world::{ROLLOUT, World},
    },
    Drive,
};

/// P11: somebody who puts routes back so often is named.
const FIGHTS: usize = 3;

impl Drive {
    /// The end is one that the declaration or a recorded rollback explains.
    pub(super) fn ends_right(&mut self) {
        let world = self.world.clone();
        let (live, good, start, drifted) = {
            let judge = world.judge();
            (judge.live(), judge.good(), nonzero(&world.scenario.start), judge.drifted.clone())
        };
        let rollout = world.rollout();
        let phase = rollout.as_ref().map(|rollout| Status::of(rollout).phase().to_owned());
        let declared: BTreeMap<String, u32> = rollout
            .iter()
            .flat_map(|rollout| rollout["spec"]["members"].as_array().cloned().unwrap_or_default())
            .map(|member| {
                let weight = member["weight"].as_u64().and_then(|weight| u32::try_from(weight).ok());
                (member["name"].as_str().unwrap_or_default().to_owned(), weight.unwrap_or(0))
            })
            .collect();
        let gone = matches!(
            world.plan.fault,
            Fault::Delete(Deleted::Namespace | Deleted::Kind) | Fault::Finalizers(FinalizerFault::Terminating)
        );
        let wanted = match phase.as_deref() {
            Some("Succeeded") if world.scenario.run == Run::Service => nonzero(&world.scenario.end),
            Some("Succeeded") => nonzero(&declared),
            Some(_) | None if good.is_empty() => start,
            Some(_) | None => good,
        };
        // Without a fault nothing may turn out otherwise than it was meant.
        let wanted = if world.plan.fault == Fault::None { nonzero(&world.scenario.end) } else { wanted };
        let (fought, named) = {
            let judge = world.judge();
            (judge.fight.edits, judge.fight.is_named)
        };
        if fought > FIGHTS && !named {
            self.broken.push(format!("I10: nothing that the hub says names {GITOPS}, which puts routes back"));
        }
        let wanted = if rollout.is_none() { without_unavailable(&world, wanted) } else { wanted };
        let keeping = world.judge().keeping();
        if !gone && !keeping.is_empty() {
            self.broken.push(format!("I19: {keeping:?} keep users in the end"));
        }
        let removed = world.plan.fault == Fault::Finalizers(FinalizerFault::OursRemoved);
        for (route, weights) in live.iter().filter(|_| !gone && !removed) {
            if *weights != wanted && drifted.get(route) != Some(weights) {
                self.broken.push(format!("I5: {route} ends at {weights:?} in phase {phase:?}, not at {wanted:?}"));
            }
        }
    }
}

/// A rollout that is deleted while members are unavailable leaves their weight with the others, in proportion.
fn without_unavailable(world: &World, wanted: Weights) -> Weights {
    let fault = Fault::Member(MemberFault::PrimaryDown);
    let is_down = |name: &str| world.plan.fault == fault && name == "eu-1";
    let all: u32 = wanted.values().sum();
    let left: u32 = wanted.iter().filter(|(name, _)| !is_down(name)).map(|(_, weight)| *weight).sum();
    let live = world.judge().live();
    // It was deleted before the member was known to be down, or after.
    if left == 0 || live.values().all(|weights| *weights == wanted) {
        return wanted;
    }
    wanted.into_iter().filter(|(name, _)| !is_down(name)).map(|(name, weight)| (name, weight * all / left)).collect()
}

/// After the fault everything must end as it would have without it, be it that people resume or retry: it changes nothing
/// that is declared, and blames no member.
pub fn ends_alike(plan: &Plan) -> bool {
    let passes = match plan.fault {
        Fault::Blind(_)
        | Fault::Clock(_)
        | Fault::Forbidden(_)
        | Fault::Webhook(_)
        | Fault::Delete(Deleted::Secret)
        | Fault::Poison(
            Poison::RolloutBefore
            | Poison::RolloutLive
            | Poison::MemberBefore
            | Poison::MemberLive
            | Poison::RequestLive,
        ) => true,
        Fault::Member(what) => {
            !matches!(what, MemberFault::EndpointDown | MemberFault::PrimaryDown | MemberFault::AllDown)
        }
        Fault::Metrics(what) => !matches!(
            what,
            MetricsFault::PlusInfinity
                | MetricsFault::MinusInfinity
                | MetricsFault::Nan
                | MetricsFault::Scalar
                | MetricsFault::Two
        ),
        _ => false,
    };
    plan.run != Run::Deletion && (passes || costs_little(plan))
}

/// Faults of the hub's own surroundings, which cost some writes more and no object many.
pub fn costs_little(plan: &Plan) -> bool {
    plan.run != Run::Deletion
        && match plan.fault {
            Fault::CrashAfter
            | Fault::CrashBefore
            | Fault::CrashPair
            | Fault::Failover(Failover::Behind)
            | Fault::Pause(_)
            | Fault::Lease(_)
            | Fault::BadCalls(_)
            | Fault::Storm
            | Fault::Watch(_)
            | Fault::Late(_) => true,
            Fault::None
            | Fault::Blind(_)
            | Fault::Failover(Failover::Recreated)
            | Fault::Member(_)
            | Fault::Metrics(_)
            | Fault::Edit(_)
            | Fault::Reapply(_)
            | Fault::Clock(_)
            | Fault::Delete(_)
            | Fault::Finalizers(_)
            | Fault::Declare(_)
            | Fault::Poison(_)
            | Fault::Members(_)
            | Fault::Webhook(_)
            | Fault::Forbidden(_) => false,
        }
}

/// What is compared of the end: what people declared, and what the hub made of it.
pub fn end_state(world: &World) -> BTreeMap<String, Value> {
    let mut end = BTreeMap::new();
    for (name, service) in &world.scenario.routes {
        let route = world.object(&format!("{ROUTES}/{name}")).unwrap_or_default();
        end.insert(format!("route {name} of {service}"), route["spec"].clone());
    }
    let backends = world.judge().backends().clone();
    for name in backends {
        let mut service = world.object(&format!("/api/v1/namespaces/shop/services/{name}")).unwrap_or_default();
        // Whose it is differs from seed to seed; that it has an owner must not.
        if let Some(owner) = service.pointer_mut("/metadata/labels/cutover.dev~1rollout-uid") {
            *owner = json!("the rollout");
        }
        end.insert(format!("service {name}"), json!([service["spec"]["externalName"], service["metadata"]["labels"]]));
    }
    let rollout = Arc::new(world.object(ROLLOUT).unwrap_or_default());
    let status = Status::of(&rollout);
    for key in ["phase", "primary", "failedRevision", "observedGeneration"] {
        end.insert(format!("status.{key}"), status.field(key).clone());
    }
    end.insert("status.desired.weights".to_owned(), status.desired()["split"]["weights"].clone());
    end.insert("status.run.outcome".to_owned(), Value::from(status.outcome()));
    end.insert("finalizers".to_owned(), rollout["metadata"]["finalizers"].clone());
    end
}

pub fn differences(wanted: &BTreeMap<String, Value>, found: &BTreeMap<String, Value>) -> Vec<String> {
    let keys = wanted.keys().chain(found.keys().filter(|key| !wanted.contains_key(*key)));
    keys.filter(|key| wanted.get(*key) != found.get(*key))
        .map(|key| format!("end: {key} is {:?}, and {:?} without the fault", found.get(key), wanted.get(key)))
        .collect()
}

/// A fault may cost some writes more, and no object many.
pub fn too_many(plan: &Plan, wanted: &BTreeMap<String, usize>, found: &BTreeMap<String, usize>) -> Vec<String> {
    let long = !matches!(
        plan.fault,
        Fault::CrashAfter | Fault::CrashBefore | Fault::CrashPair | Fault::BadCalls(BadCalls::Once | BadCalls::Twice)
    );
    let more = |object: &str| match object.split('/').next().unwrap_or_default() {
        "fleetrollouts" => 16,
        "memberclusters" => 6,
        _ => 6,
    };
    let extra = |object: &str| more(object) * if long { 6 } else { 1 };
    found
        .iter()
        .filter(|(object, count)| **count > wanted.get(*object).copied().unwrap_or(0) + extra(object))
        .map(|(object, count)| {
            format!("count: {object} was written {count} times, {:?} without the fault", wanted.get(object))
        })
        .collect()
}
