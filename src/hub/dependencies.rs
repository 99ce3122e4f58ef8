//! How the rollouts stand that a rollout depends on. All are watched, so it costs no request.

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

/// How each of `spec.dependsOn` stands.
pub(super) fn look(hub: &Hub, rollout: &FleetRollout) -> BTreeMap<String, DependencySeen> {
    let (name, namespace) = (rollout.name_any(), rollout.namespace().unwrap_or_default());
    let of = |name: &str| depends_on(hub, &Key::new(namespace.clone(), name));
    let see = |first: &String| match cycle(&name, first, &of) {
        Some(way) => DependencySeen::Cycle(way),
        None => stands(hub, &Key::new(namespace.clone(), first)),
    };
    let dependencies = rollout.spec.depends_on.iter().map(|dependency| &dependency.name);
    dependencies.map(|first| (first.clone(), see(first))).collect()
}

/// Wakes the rollouts that depend on this one, if it stands otherwise than before. The watch tells nothing of a write
/// of this process.
pub(super) fn wake_those_of(hub: &Hub, before: &FleetRollout, after: &FleetRollout) {
    if standing(before) == standing(after) {
        return;
    }
    let name = after.name_any();
    for other in hub.rollouts.in_namespace(&after.namespace().unwrap_or_default()) {
        let depends = other.0.as_ref().is_ok_and(|other| other.spec.depends_on.iter().any(|one| one.name == name));
        if depends {
            hub.wakers.of(&Key::of(other.as_ref())).notify_one();
        }
    }
}

fn depends_on(hub: &Hub, key: &Key) -> Vec<String> {
    let known = hub.rollouts.get(key);
    let readable = known.as_ref().and_then(|guarded| guarded.0.as_ref().ok());
    readable.iter().flat_map(|rollout| &rollout.spec.depends_on).map(|dependency| dependency.name.clone()).collect()
}

fn stands(hub: &Hub, key: &Key) -> DependencySeen {
    match hub.rollouts.get(key).as_ref().map(|guarded| &guarded.0) {
        Some(Ok(rollout)) => standing(rollout),
        Some(Err(_)) => DependencySeen::NotYet("it cannot be read".to_owned()),
        None => DependencySeen::Missing,
    }
}
