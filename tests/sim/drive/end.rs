//! The end of a plan: one that the declaration or a recorded rollback explains, and not dearer than without the fault.

use cutover::api::DeletionPolicy;
use serde_json::Value;

use super::{
    super::{
        deeds::GITOPS,
        judge::nonzero,
        plan::{
            Fault, Plan, Run,
            sorts::{Deleted, Edit, Failover, FinalizerFault, MemberChange, MemberFault, MetricsFault, Poison},
        },
        routes::Weights,
        status::Status,
        world::World,
    },
    Drive,
    deleted::left_behind,
    meant::{ends_otherwise, is_not_promoted},
};

/// P11: somebody who puts routes back so often is named.
const FIGHTS: usize = 3;

impl Drive {
    /// The end is one that the declaration or a recorded rollback explains.
    pub(super) fn ends_right(&mut self) {
        let world = self.world.clone();
        let rollout = world.rollout();
        let phase = rollout.as_ref().map(|rollout| Status::of(rollout).phase().to_owned());
        self.fights_are_named(&world);
        if rollout.is_some() {
            self.broken.extend(world.judge().lost_alerts());
        }
        if world.plan.fault == Fault::None {
            self.broken.extend(ends_otherwise(&world));
        }
        if phase.as_deref() == Some("Succeeded") {
            self.broken.extend(is_not_promoted(&world));
        }
        let gone = matches!(
            world.plan.fault,
            Fault::Delete(Deleted::Namespace | Deleted::Kind) | Fault::Finalizers(FinalizerFault::Terminating)
        );
        if gone {
            return;
        }
        let (live, drifted, keeping) = {
            let judge = world.judge();
            (judge.live(), judge.drifted.clone(), judge.keeping())
        };
        if !keeping.is_empty() {
            self.broken.push(format!("I19: {keeping:?} keep users in the end"));
        }
        if world.plan.fault == Fault::Finalizers(FinalizerFault::OursRemoved) {
            return;
        }
        if rollout.is_none() {
            self.broken.extend(left_behind(&world));
        }
        for (route, weights) in live.iter().filter(|(route, weights)| drifted.get(*route) != Some(weights)) {
            let wanted = wanted(&world, rollout.as_deref(), phase.as_deref(), route);
            if *weights != wanted {
                self.broken.push(format!("I5: {route} ends at {weights:?} in phase {phase:?}, not at {wanted:?}"));
            }
        }
    }

    /// P11: whoever put routes back that often is named in what the hub says.
    fn fights_are_named(&mut self, world: &World) {
        let judge = world.judge();
        if judge.fight.edits > FIGHTS && !judge.fight.is_named {
            self.broken.push(format!("I10: nothing that the hub says names {GITOPS}, which puts routes back"));
        }
    }
}

/// What a route must show in the end.
fn wanted(world: &World, rollout: Option<&Value>, phase: Option<&str>, route: &str) -> Weights {
    let scenario = &world.scenario;
    let (start, good) = (nonzero(&scenario.start), world.judge().good());
    let wanted = match phase {
        // Without a fault nothing may turn out otherwise than it was meant.
        _ if world.plan.fault == Fault::None => nonzero(&scenario.end),
        Some("Succeeded") if scenario.run == Run::Service => nonzero(&scenario.end),
        Some("Succeeded") => nonzero(&declared(rollout)),
        // A rollout that was made anew found what the one before it had left.
        None if scenario.deletion_policy == DeletionPolicy::Revert => {
            let is_anew = world.plan.fault == Fault::Failover(Failover::Recreated);
            world.judge().found(route).filter(|_| is_anew).unwrap_or(start)
        }
        Some(_) | None if good.is_empty() => start,
        Some(_) | None => good,
    };
    if rollout.is_none() { without_unavailable(world, wanted) } else { wanted }
}

fn declared(rollout: Option<&Value>) -> Weights {
    let members = rollout.and_then(|rollout| rollout["spec"]["members"].as_array()).into_iter().flatten();
    let weight = |member: &Value| member["weight"].as_u64().and_then(|weight| u32::try_from(weight).ok());
    members
        .map(|member| (member["name"].as_str().unwrap_or_default().to_owned(), weight(member).unwrap_or(0)))
        .collect()
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
        | Fault::DataPlane(_)
        | Fault::Tenant(_)
        | Fault::Edit(Edit::Forged)
        | Fault::Members(
            MemberChange::Rotated
            | MemberChange::Withdrawn
            | MemberChange::Exec
            | MemberChange::Bomb
            | MemberChange::Unlabelled,
        )
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
                | MetricsFault::Flood
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
            | Fault::Late(_)
            | Fault::Tenant(_)
            | Fault::Overload(_) => true,
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
            | Fault::Forbidden(_)
            | Fault::DataPlane(_)
            | Fault::Alerts(_) => false,
        }
}
