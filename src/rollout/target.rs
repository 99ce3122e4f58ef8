//! The target of a rollout, in either mode.

use std::collections::BTreeMap;

use super::{
    draft::Draft,
    input::{Problem, SourceSeen},
    plan::primary_and_canary,
    revision::{declared, revision},
    tracking::{self, with_configs},
};
use crate::api::{
    Distribution, FleetRolloutSpec, Mode, Reason, ServiceCopy, fingerprint::fingerprint, status::Run, track::Configs,
};

/// What is declared now.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Target {
    /// Its name: equal declarations have equal ones.
    pub(super) revision: String,
    /// Where the traffic is in the end.
    pub(super) weights: Distribution,
    /// Service mode: the Services as their users declare them.
    pub(super) services: BTreeMap<String, ServiceCopy>,
    /// ConfigMaps and Secrets that are tracked, as far as they are known.
    pub(super) configs: Configs,
}

/// What is declared now, unless a Service that declares it cannot be read.
pub(super) fn target(draft: &Draft<'_>) -> Result<Target, Problem> {
    let (spec, configs) = (draft.input.spec, tracking::configs(draft));
    match spec.mode() {
        Mode::Member => {
            let revision = with_configs(revision(spec), &configs);
            Ok(Target { revision, weights: declared(spec), services: BTreeMap::new(), configs })
        }
        Mode::Service => {
            let services = sources(draft)?;
            let revision = revision_of(spec, &services, &configs);
            Ok(Target { revision, weights: primary_and_canary(0, spec.weight_total), services, configs })
        }
    }
}

/// Service mode: names these Services, with what is tracked of them.
pub(super) fn revision_of(
    spec: &FleetRolloutSpec,
    services: &BTreeMap<String, ServiceCopy>,
    configs: &Configs,
) -> String {
    let leading: BTreeMap<_, _> = services.iter().map(|(name, copy)| (name, copy.leading())).collect();
    with_configs(fingerprint(&(leading, &spec.services)), configs)
}

/// What differs from what the run is about, in words, where that is nothing but what is tracked.
pub(super) fn changed_configs(draft: &Draft<'_>, run: &Run, target: &Target) -> Option<String> {
    let spec = draft.input.spec;
    let before = match spec.mode() {
        Mode::Member => with_configs(revision(spec), &run.configs),
        Mode::Service => revision_of(spec, &target.services, &run.configs),
    };
    tracking::changes(&run.configs, &target.configs).filter(|_| before == run.revision)
}

/// Nothing is left to do: what is declared is what passed last.
pub(super) fn is_reached(draft: &Draft<'_>, target: &Target) -> bool {
    match draft.input.spec.mode() {
        Mode::Member => draft.status.primary.as_ref().is_some_and(|primary| target.weights.same_as(primary)),
        Mode::Service => draft.status.promoted.as_ref().is_some_and(|promoted| promoted.revision == target.revision),
    }
}

/// What is declared is what the run would go back to anyway.
pub(super) fn is_rollback_target(draft: &Draft<'_>, run: &Run, target: &Target) -> bool {
    match draft.input.spec.mode() {
        Mode::Member => target.weights.same_as(&run.rollback_to),
        Mode::Service => is_reached(draft, target),
    }
}

/// The Services as their users declare them.
fn sources(draft: &Draft<'_>) -> Result<BTreeMap<String, ServiceCopy>, Problem> {
    let one = |name: &String| match draft.input.seen.sources.get(name) {
        Some(SourceSeen::Found(copy)) => Ok((name.clone(), copy.clone())),
        Some(SourceSeen::Unusable(problem)) => Err(problem.clone()),
        None => Err(Problem::new(Reason::Initializing, format!("Service {name} has not been read yet"))),
    };
    draft.input.spec.services.iter().map(|service| one(&service.name)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_note_on_a_service_is_no_other_revision_and_another_member_is() {
        let spec = json!({"services": [{"name": "shop", "port": 80, "routes": []}], "analysis": {"metrics": []}});
        let spec: FleetRolloutSpec = serde_json::from_value(spec).unwrap();
        let revision = |label: &str, member: &str, host: &str| {
            let labels = BTreeMap::from([("team".to_owned(), label.to_owned())]);
            let annotations = BTreeMap::from([("cutover.dev/member".to_owned(), member.to_owned())]);
            let declared = json!({"type": "ExternalName", "externalName": host});
            let services = BTreeMap::from([("shop".to_owned(), ServiceCopy::of(&declared, &labels, &annotations))]);
            revision_of(&spec, &services, &Configs::default())
        };
        let first = revision("web", "eu-1", "gateway.example.com");
        assert_eq!(revision("shop", "eu-1", "gateway.example.com"), first);
        assert_ne!(revision("web", "eu-3", "gateway.example.com"), first);
        assert_ne!(revision("web", "eu-1", "other.example.com"), first);
    }
}
