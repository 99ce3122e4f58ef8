//! The state of the rollouts that a rollout depends on. All are watched, so it costs no request.

use std::collections::BTreeMap;

use kube::ResourceExt;

use super::{Hub, cache::Key};
use crate::{
    api::FleetRollout,
    rollout::{
        dependencies::{cycle, standing},
        input::DependencySeen,
    },
};

/// The state of each of `spec.dependsOn`.
pub(super) fn states(hub: &Hub, rollout: &FleetRollout) -> BTreeMap<String, DependencySeen> {
    let (name, namespace) = (rollout.name_any(), rollout.namespace().unwrap_or_default());
    let of = |name: &str| depends_on(hub, &Key::new(namespace.clone(), name));
    let see = |first: &String| match cycle(&name, first, &of) {
        Some(way) => DependencySeen::Cycle(way),
        None => state_of(hub, &Key::new(namespace.clone(), first)),
    };
    let dependencies = rollout.spec.depends_on.iter().map(|dependency| &dependency.name);
    dependencies.map(|first| (first.clone(), see(first))).collect()
}

/// Wakes the rollouts that depend on this one, if its state changed. The watch does not report an own write as a change.
pub(super) fn wake_those_of(hub: &Hub, before: &FleetRollout, after: &FleetRollout) {
    if standing(before) == standing(after) {
        return;
    }
    wake_all_of(hub, &Key::of(after));
}

/// Wakes the rollouts that depend on this one.
pub(super) fn wake_all_of(hub: &Hub, rollout: &Key) {
    for other in hub.rollouts.in_namespace(&rollout.namespace) {
        let depends = |other: &FleetRollout| other.spec.depends_on.iter().any(|one| one.name == rollout.name);
        if other.0.as_ref().is_ok_and(depends) {
            hub.wakers.wake_one(&Key::of(other.as_ref()));
        }
    }
}

fn depends_on(hub: &Hub, key: &Key) -> Vec<String> {
    let known = hub.rollouts.get(key);
    let readable = known.as_ref().and_then(|guarded| guarded.0.as_ref().ok());
    readable.iter().flat_map(|rollout| &rollout.spec.depends_on).map(|dependency| dependency.name.clone()).collect()
}

fn state_of(hub: &Hub, key: &Key) -> DependencySeen {
    match hub.rollouts.get(key).as_ref().map(|guarded| &guarded.0) {
        Some(Ok(rollout)) => standing(rollout),
        Some(Err(_)) => DependencySeen::NotYet("it cannot be read".to_owned()),
        None => DependencySeen::Missing,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use kube::core::{DeserializeGuard, ObjectMeta};
    use serde_json::json;

    use super::*;
    use crate::hub::{fixtures, lease::Leadership};

    fn hub() -> Hub {
        fixtures::hub(fixtures::no_client(), Leadership::alone())
    }

    fn rollout(name: &str, depends_on: &[&str], ready: bool) -> FleetRollout {
        let status = if ready { "True" } else { "False" };
        let depends_on: Vec<_> = depends_on.iter().map(|name| json!({"name": name})).collect();
        serde_json::from_value(json!({
            "apiVersion": "cutover.dev/v1alpha1", "kind": "FleetRollout",
            "metadata": {"name": name, "namespace": "shop", "generation": 1},
            "spec": {"services": [], "members": [], "analysis": {"metrics": []}, "dependsOn": depends_on},
            "status": {"phase": "Progressing", "reason": "Baking", "observedGeneration": 1, "conditions": [
                {"type": "Ready", "status": status, "reason": "Baking", "message": "", "observedGeneration": 1,
                 "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}))
        .unwrap()
    }

    fn knows(hub: &Hub, rollout: &FleetRollout) {
        hub.rollouts.wrote(DeserializeGuard(Ok(rollout.clone())));
    }

    async fn is_woken(hub: &Hub, namespace: &str, name: &str) -> bool {
        let wake = hub.wakers.of(&Key::new(namespace, name));
        tokio::time::timeout(Duration::ZERO, wake.notified()).await.is_ok()
    }

    #[tokio::test]
    async fn those_that_depend_on_a_rollout_are_woken_when_it_stands_otherwise() {
        let hub = hub();
        knows(&hub, &rollout("late", &["base"], false));
        knows(&hub, &rollout("other", &["late"], false));
        let elsewhere = ObjectMeta { namespace: Some("billing".to_owned()), ..rollout("late", &[], false).metadata };
        knows(&hub, &FleetRollout { metadata: elsewhere, ..rollout("late", &["base"], false) });
        let (before, after) = (rollout("base", &[], false), rollout("base", &[], true));
        wake_those_of(&hub, &before, &before);
        assert!(!is_woken(&hub, "shop", "late").await, "nothing changed for it");
        wake_those_of(&hub, &before, &after);
        assert!(is_woken(&hub, "shop", "late").await);
        assert!(!is_woken(&hub, "shop", "other").await && !is_woken(&hub, "billing", "late").await);
    }

    #[tokio::test]
    async fn each_dependency_is_seen_in_the_own_namespace() {
        let hub = hub();
        for known in [rollout("done", &[], true), rollout("going", &[], false), rollout("round", &["late"], true)] {
            knows(&hub, &known);
        }
        let late = rollout("late", &["done", "going", "round", "gone"], false);
        knows(&hub, &late);
        let seen = states(&hub, &late);
        assert_eq!(seen["done"], DependencySeen::AtRest);
        assert_eq!(seen["going"], DependencySeen::NotYet("Progressing, Baking".to_owned()));
        assert_eq!(seen["round"], DependencySeen::Cycle(["late", "round", "late"].map(str::to_owned).into()));
        assert_eq!(seen["gone"], DependencySeen::Missing);
    }
}
