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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Reason;

    #[test]
    fn the_first_metric_that_cannot_be_measured_refuses_the_declaration() {
        let problem = |message: &str| Problem::new(Reason::InvalidSpec, message);
        let unusable = [("errors", "no template"), ("latency", "no variable")];
        let unusable = unusable.map(|(metric, message)| (metric.to_owned(), problem(message)));
        assert_eq!(refused(&unusable.into()), Some(problem("spec.analysis.metrics (errors): no template")));
        assert_eq!(refused(&BTreeMap::new()), None);
    }
}
