//! A finalizer keeps every `MemberCluster` until no distribution uses it: without its endpoints neither a rollout nor its
//! rollback target could be written.

use std::{collections::BTreeMap, sync::Arc};

use kube::{Resource, ResourceExt, core::ObjectMeta};

use super::{CallError, Guarded, Hub, Key};
use crate::{
    api::{
        Distribution, FINALIZER, FleetRollout, MemberCluster, Reason, ServiceCopy,
        status::{Condition, ConditionStatus, Run},
    },
    member::status::IN_USE,
    rollout::Urgency,
};

/// What is to be done about one member.
#[derive(Debug, PartialEq, Eq)]
enum FinalizerAction {
    /// It is as it should be.
    Fine,
    /// It gets the finalizer.
    Add,
    /// It is being deleted, but is still used: by whom, and what would end that.
    Wait(String),
    /// It is being deleted and nothing needs it.
    Remove,
}

/// Writes the finalizer, or why the deletion of the member waits, where that differs; true if something was written.
pub(super) async fn write(
    hub: &Hub,
    member: &Guarded<MemberCluster>,
    rollouts: &[Arc<Guarded<FleetRollout>>],
) -> Result<bool, CallError> {
    let others = member.finalizers().iter().filter(|name| *name != FINALIZER).cloned();
    let finalizers: Vec<String> = match decide(member, rollouts) {
        FinalizerAction::Fine => return Ok(false),
        FinalizerAction::Wait(why) => {
            return match &member.0 {
                Ok(readable) => write_reason(hub, readable, why).await,
                Err(_) => Ok(false),
            };
        }
        FinalizerAction::Add => others.chain([FINALIZER.to_owned()]).collect(),
        FinalizerAction::Remove => others.collect(),
    };
    let turn = hub.turns.wait("", Urgency::Ordinary).await;
    hub.calls.set_member_finalizers(&turn, member.meta(), &finalizers).await.map(|()| true)
}

/// Says in the member's status why its deletion waits, once.
async fn write_reason(hub: &Hub, member: &MemberCluster, why: String) -> Result<bool, CallError> {
    let mut status = member.status.clone().unwrap_or_default();
    let since = match status.conditions.iter().find(|condition| condition.type_ == IN_USE) {
        Some(known) if known.message == why => return Ok(false),
        Some(known) => known.last_transition_time,
        None => hub.clock.now(),
    };
    status.conditions.retain(|condition| condition.type_ != IN_USE);
    status.conditions.push(Condition {
        type_: IN_USE.to_owned(),
        status: ConditionStatus::True,
        reason: Reason::MemberInUse,
        message: why,
        last_transition_time: since,
        observed_generation: member.metadata.generation,
    });
    let turn = hub.turns.wait("", Urgency::Ordinary).await;
    hub.calls.set_member_status(&turn, &member.metadata, &status).await.map(|()| true)
}

fn decide(member: &Guarded<MemberCluster>, rollouts: &[Arc<Guarded<FleetRollout>>]) -> FinalizerAction {
    let ObjectMeta { deletion_timestamp, finalizers, .. } = member.meta();
    let kept = finalizers.iter().flatten().any(|name| name == FINALIZER);
    if deletion_timestamp.is_none() {
        return if kept { FinalizerAction::Fine } else { FinalizerAction::Add };
    }
    let name = member.name_any();
    let mut users = rollouts.iter().filter_map(|rollout| use_of(rollout, &name));
    match (kept, users.next()) {
        (false, _) => FinalizerAction::Fine,
        (true, None) => FinalizerAction::Remove,
        (true, Some(first)) => FinalizerAction::Wait(match users.count() {
            0 => first,
            more => format!("{first} (and {more} more)"),
        }),
    }
}

/// How a rollout uses a member, and what would end that. One that cannot be read may use any.
fn use_of(rollout: &Guarded<FleetRollout>, member: &str) -> Option<String> {
    let of = Key::of(rollout);
    let Ok(readable) = &rollout.0 else {
        return Some(format!("FleetRollout {of} cannot be read, so it may use {member}; correct or delete it"));
    };
    let has = |weights: &Distribution| weights.weight(member) > 0;
    let status = readable.status.clone().unwrap_or_default();
    let declared = readable.spec.members.iter().find(|one| one.name == member && one.weight > 0);
    if let Some(declared) = declared {
        let weight = declared.weight;
        return Some(format!(
            "FleetRollout {of} declares weight {weight} for {member}; declare 0 there, or delete it first"
        ));
    }
    let leads =
        |services: &BTreeMap<String, ServiceCopy>| services.values().any(|copy| copy.leads_to() == Some(member));
    let proving = status.run.as_ref().is_some_and(|run| leads(&run.services));
    if proving || status.promoted.as_ref().is_some_and(|promoted| leads(&promoted.services)) {
        return Some(format!(
            "a Service of FleetRollout {of} leads to {member}; point it elsewhere, or delete that first"
        ));
    }
    let run = status.run;
    let needs =
        |run: &Run| has(&run.rollback_to) || has(&run.start) || run.plan.iter().any(|step| has(&step.split.weights));
    if run.as_ref().is_some_and(needs) {
        return Some(format!("the run of FleetRollout {of} still needs {member}; wait for its end"));
    }
    let carries =
        status.primary.as_ref().is_some_and(has) || status.desired.is_some_and(|desired| has(&desired.split.weights));
    carries.then(|| format!("{member} carries traffic of FleetRollout {of}; move it to other members first"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::hub::fixtures::{objects, world::World};

    fn member(finalizers: &[&str], deleted: bool) -> Guarded<MemberCluster> {
        let mut object = json!({
            "apiVersion": "cutover.dev/v1alpha1", "kind": "MemberCluster",
            "metadata": {"name": "eu-1", "finalizers": finalizers},
            "spec": {"endpoints": [{"host": "eu-1.example.com", "port": 443}], "prometheus": {"url": {"address": "https://p"}},
                     "allowedNamespaces": {"from": "All"}},
        });
        if deleted {
            object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        }
        serde_json::from_value(object).unwrap()
    }

    fn rollout(weight: u32, status: &Value) -> Arc<Guarded<FleetRollout>> {
        let routes = json!([{"contour": {"name": "public"}}]);
        let object = json!({
            "apiVersion": "cutover.dev/v1alpha1", "kind": "FleetRollout",
            "metadata": {"name": "fleet", "namespace": "shop"},
            "spec": {
                "services": [{"name": "shop", "port": 80, "routes": routes}],
                "members": [{"name": "eu-1", "weight": weight}, {"name": "eu-2", "weight": 100 - weight}],
                "analysis": {"metrics": []},
            },
            "status": status,
        });
        let guarded: Guarded<FleetRollout> = serde_json::from_value(object).unwrap();
        assert!(guarded.0.is_ok(), "{guarded:?}");
        Arc::new(guarded)
    }

    fn waits(rollouts: &[Arc<Guarded<FleetRollout>>]) -> String {
        match decide(&member(&[FINALIZER], true), rollouts) {
            FinalizerAction::Wait(why) => why,
            other @ (FinalizerAction::Fine | FinalizerAction::Add | FinalizerAction::Remove) => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_member_is_kept_and_goes_when_nothing_uses_it() {
        let unused = [rollout(0, &json!({"primary": {"eu-1": 0, "eu-2": 100}}))];
        for (finalizers, deleted, expected) in [
            (&["other.dev/mine"][..], false, FinalizerAction::Add),
            (&[FINALIZER], false, FinalizerAction::Fine),
            (&[FINALIZER], true, FinalizerAction::Remove),
            (&["other.dev/mine"], true, FinalizerAction::Fine),
        ] {
            assert_eq!(decide(&member(finalizers, deleted), &unused), expected, "{finalizers:?} {deleted}");
        }
    }

    #[test]
    fn a_member_in_use_waits_and_says_by_whom_and_what_would_end_that() {
        let carries = json!({"primary": {"eu-1": 30, "eu-2": 70}});
        assert_eq!(
            waits(&[rollout(30, &json!({}))]),
            "FleetRollout shop/fleet declares weight 30 for eu-1; declare 0 there, or delete it first"
        );
        assert_eq!(
            waits(&[rollout(0, &carries)]),
            "eu-1 carries traffic of FleetRollout shop/fleet; move it to other members first"
        );
        assert_eq!(
            waits(&[rollout(0, &json!({})), rollout(0, &carries), rollout(1, &carries)]),
            "eu-1 carries traffic of FleetRollout shop/fleet; move it to other members first (and 1 more)"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn why_a_deletion_waits_is_written_once_and_dated_from_the_first_time() {
        let mut used = objects::member("eu-1");
        used["metadata"]["deletionTimestamp"] = json!(objects::BEGIN);
        let world = World::of([used, objects::rollout(&objects::at_rest())]).await;
        let member = || world.hub.members.get(&Key::new("", "eu-1")).unwrap();
        let in_use = || {
            let status = member().0.as_ref().unwrap().status.clone().unwrap();
            status.conditions.into_iter().find(|condition| condition.type_ == IN_USE).unwrap()
        };
        assert_eq!(write(&world.hub, &member(), &world.hub.rollouts.all()).await, Ok(true));
        assert_eq!(world.api.calls(), ["PATCH memberclusters/eu-1/status rv=3"]);
        let first = in_use();
        assert_eq!(first.message, "eu-1 carries traffic of FleetRollout shop/shop; move it to other members first");
        tokio::time::advance(std::time::Duration::from_mins(5)).await;
        assert_eq!(write(&world.hub, &member(), &world.hub.rollouts.all()).await, Ok(false));
        assert_eq!(world.api.calls(), [""; 0], "said once");
        assert_eq!(write(&world.hub, &member(), &[rollout(30, &json!({}))]).await, Ok(true));
        assert_ne!(in_use().message, first.message);
        assert_eq!(in_use().last_transition_time, first.last_transition_time, "it waits since then");
    }

    #[test]
    fn a_rollout_that_cannot_be_read_may_use_any_member() {
        let object = json!({
            "apiVersion": "cutover.dev/v1alpha1", "kind": "FleetRollout",
            "metadata": {"name": "bad", "namespace": "shop"}, "spec": {"services": 7}});
        let malformed: Guarded<FleetRollout> = serde_json::from_value(object).unwrap();
        assert_eq!(
            waits(&[Arc::new(malformed)]),
            "FleetRollout shop/bad cannot be read, so it may use eu-1; correct or delete it"
        );
    }
}
