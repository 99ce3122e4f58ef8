//! Metric templates: what a rollout's metrics come to now. All are watched, so it costs no request.

use std::{borrow::Cow, collections::BTreeMap};

use kube::ResourceExt;

use super::{Hub, cache::Key};
use crate::{
    api::{FleetRollout, FleetRolloutSpec},
    metric::resolve::{self, Resolved},
    rollout::input::Problem,
};

/// What the rollout's metrics come to.
pub(super) fn resolve(hub: &Hub, rollout: &FleetRollout) -> Resolved {
    let namespace = rollout.namespace().unwrap_or_default();
    resolve::resolve(&rollout.spec.analysis, &|name| {
        let known = hub.templates.get(&Key::new(namespace.clone(), name))?;
        known.0.as_ref().ok().map(|template| template.spec.clone())
    })
}

/// The rollout as it is judged: with its metrics resolved.
pub(super) fn judged<'a>(rollout: &'a FleetRollout, resolved: &Resolved) -> Cow<'a, FleetRollout> {
    if rollout.spec.analysis == resolved.analysis {
        return Cow::Borrowed(rollout);
    }
    let spec = FleetRolloutSpec { analysis: resolved.analysis.clone(), ..rollout.spec.clone() };
    Cow::Owned(FleetRollout { spec, ..rollout.clone() })
}

/// A metric that cannot be measured lets no run begin.
pub(super) fn refused(unusable: &BTreeMap<String, Problem>) -> Option<Problem> {
    let (metric, problem) = unusable.iter().next()?;
    Some(Problem::new(problem.reason, format!("spec.analysis.metrics ({metric}): {}", problem.message)))
}
