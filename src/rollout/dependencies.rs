//! Rollouts that wait for others: `dependsOn`.

use std::collections::BTreeSet;

use super::{
    draft::Draft,
    input::{DependencySeen, Problem},
    report::READY,
};
use crate::api::{FleetRollout, Phase, Reason, status::ConditionStatus};

/// The state of a rollout, for those that depend on it: at rest when it is Ready, at its present generation.
#[must_use]
pub fn standing(rollout: &FleetRollout) -> DependencySeen {
    let generation = rollout.metadata.generation;
    let Some(status) = rollout.status.as_ref().filter(|status| status.observed_generation == generation) else {
        return DependencySeen::NotYet("no hub has looked at what it declares now".to_owned());
    };
    if rollout.metadata.deletion_timestamp.is_some() {
        return DependencySeen::NotYet("it is being deleted".to_owned());
    }
    let stands = format!("{:?}, {}", status.phase, status.reason);
    let ready = status.conditions.iter().find(|condition| condition.type_ == READY);
    let is_ready =
        ready.is_some_and(|ready| ready.status == ConditionStatus::True && ready.observed_generation == generation);
    match status.phase {
        _ if is_ready => DependencySeen::AtRest,
        Phase::Failed | Phase::RolledBack => DependencySeen::Failed(stands),
        Phase::Initializing
        | Phase::Initialized
        | Phase::Progressing
        | Phase::WaitingPromotion
        | Phase::Held
        | Phase::Paused
        | Phase::Soaking
        | Phase::Promoting
        | Phase::Finalizing
        | Phase::Succeeded
        | Phase::Terminating => DependencySeen::NotYet(stands),
    }
}

/// The way from `name` through `first` back to `name`, if there is one; `of` says on whom a rollout depends.
#[must_use]
pub fn cycle(name: &str, first: &str, of: &dyn Fn(&str) -> Vec<String>) -> Option<Vec<String>> {
    let mut seen = BTreeSet::new();
    let mut ways = vec![vec![name.to_owned(), first.to_owned()]];
    while let Some(way) = ways.pop() {
        let last = way.last()?;
        if last == name {
            return Some(way);
        }
        if seen.insert(last.clone()) {
            ways.extend(of(last).into_iter().map(|next| way.iter().cloned().chain([next]).collect()));
        }
    }
    None
}

/// The first rollout that is waited for, or waited for in vain.
pub(super) fn unmet(draft: &Draft<'_>) -> Option<Problem> {
    draft.input.spec.depends_on.iter().find_map(|dependency| {
        let name = &dependency.name;
        let (reason, message) = match draft.input.seen.dependencies.get(name) {
            Some(DependencySeen::AtRest) => return None,
            None => (Reason::WaitingForDependency, format!("FleetRollout {name} has not been looked at yet")),
            Some(DependencySeen::NotYet(stands)) => (
                Reason::WaitingForDependency,
                format!("waits for FleetRollout {name} to be Ready with what it declares: {stands}"),
            ),
            Some(DependencySeen::Failed(stands)) => (
                Reason::DependencyFailed,
                format!("FleetRollout {name} was rolled back ({stands}); cutover retry {name}, declare it anew, or take it out of spec.dependsOn"),
            ),
            Some(DependencySeen::Missing) => (
                Reason::DependencyMissing,
                format!("spec.dependsOn: FleetRollout {name} does not exist in this namespace; make it, or correct the name"),
            ),
            Some(DependencySeen::Cycle(way)) => (
                Reason::DependencyCycle,
                format!("spec.dependsOn: each waits for the next one: {}; take one out", way.join(" -> ")),
            ),
        };
        Some(Problem::new(reason, message))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn stands(generation: i64, observed: i64, phase: &str, ready: &str) -> DependencySeen {
        let object = json!({
            "apiVersion": "cutover.dev/v1alpha1", "kind": "FleetRollout",
            "metadata": {"name": "base", "generation": generation},
            "spec": {"services": [], "members": [], "analysis": {"metrics": []}},
            "status": {"phase": phase, "reason": "Baking", "observedGeneration": observed, "conditions": [
                {"type": "Ready", "status": ready, "reason": "Baking", "message": "", "observedGeneration": observed,
                 "lastTransitionTime": "2026-01-01T00:00:00Z"}]}});
        standing(&serde_json::from_value(object).unwrap())
    }

    #[test]
    fn a_rollout_is_at_rest_when_it_is_ready_with_what_it_declares_now() {
        assert_eq!(stands(2, 2, "Succeeded", "True"), DependencySeen::AtRest);
        assert_eq!(stands(2, 2, "Initialized", "True"), DependencySeen::AtRest);
        assert_eq!(stands(2, 2, "Succeeded", "False"), DependencySeen::NotYet("Succeeded, Baking".to_owned()));
        let unseen = "no hub has looked at what it declares now".to_owned();
        assert_eq!(stands(3, 2, "Succeeded", "True"), DependencySeen::NotYet(unseen.clone()));
        assert_eq!(stands(3, 2, "Failed", "False"), DependencySeen::NotYet(unseen));
        assert_eq!(stands(2, 2, "Soaking", "False"), DependencySeen::NotYet("Soaking, Baking".to_owned()));
        assert_eq!(stands(2, 2, "Failed", "False"), DependencySeen::Failed("Failed, Baking".to_owned()));
    }

    #[test]
    fn a_cycle_is_named_and_one_further_away_ends_the_search() {
        let of = |name: &str| -> Vec<String> {
            let names: &[&str] = match name {
                "a" => &["d", "b"],
                "b" => &["c"],
                "c" => &["e", "a"],
                "d" => &["e"],
                "e" => &["d"],
                _ => &[],
            };
            names.iter().map(|name| (*name).to_owned()).collect()
        };
        assert_eq!(cycle("a", "b", &of).unwrap(), ["a", "b", "c", "a"]);
        assert_eq!(cycle("a", "d", &of), None, "d and e wait for each other, not for a");
        assert_eq!(cycle("a", "a", &of).unwrap(), ["a", "a"]);
        assert_eq!(cycle("a", "nobody", &of), None);
    }
}
