//! Metrics that refer to something else, resolved to queries: templates with their variables, and built-in ones.

use std::collections::BTreeMap;

use super::{
    builtin,
    variables::{Misfit, filled},
};
use crate::{
    api::{Analysis, Metric, MetricTemplateSpec, Reason, analysis::MetricKind},
    rollout::input::Problem,
};

/// An analysis in which every metric that can be has queries of its own.
#[derive(Clone, Debug)]
pub(crate) struct Resolved {
    /// What is measured and judged.
    pub analysis: Analysis,
    /// Metrics that cannot be measured, by name, and why.
    pub unusable: BTreeMap<String, Problem>,
}

/// Resolves every metric; `template` finds a template of the rollout's namespace.
pub(crate) fn resolve(analysis: &Analysis, template: &dyn Fn(&str) -> Option<MetricTemplateSpec>) -> Resolved {
    let mut resolved = Resolved { analysis: analysis.clone(), unusable: BTreeMap::new() };
    for metric in &mut resolved.analysis.metrics {
        match one(metric, template) {
            Ok(found) => *metric = found,
            Err(problem) => drop(resolved.unusable.insert(metric.name.clone(), problem)),
        }
    }
    resolved
}

fn one(metric: &Metric, template: &dyn Fn(&str) -> Option<MetricTemplateSpec>) -> Result<Metric, Problem> {
    let plain = || Metric { template_ref: None, variables: BTreeMap::new(), builtin: None, ..metric.clone() };
    match metric.kind() {
        MetricKind::Ratio(_) | MetricKind::Histogram(_) | MetricKind::Query(_) => Ok(metric.clone()),
        MetricKind::Builtin(builtin) => Ok(match builtin::queries(builtin) {
            builtin::Queries::Share(ratio) => Metric { ratio: Some(ratio), ..plain() },
            builtin::Queries::Quantile(histogram) => Metric { histogram: Some(histogram), ..plain() },
        }),
        MetricKind::Template(reference) => {
            let name = &reference.name;
            let Some(spec) = template(name) else {
                let message =
                    format!("MetricTemplate {name} does not exist in this namespace; make it, or correct the name");
                return Err(Problem::new(Reason::TemplateNotFound, message));
            };
            let said = |misfit: Misfit| Problem::new(Reason::InvalidSpec, format!("MetricTemplate {name}: {misfit}"));
            let filled = filled(&spec, &metric.variables).map_err(said)?;
            Ok(Metric { ratio: filled.ratio, histogram: filled.histogram, query: filled.query, ..plain() })
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_metric_takes_its_limits_with_it() {
        let analysis: Analysis = serde_json::from_value(json!({"metrics": [
            {"name": "errors", "max": 1, "window": "2m", "templateRef": {"name": "load"}, "variables": {"code": "4.."}},
            {"name": "success", "min": 99, "builtin": {"type": "RequestSuccessRate", "ingress": "Istio"}},
            {"name": "part", "max": 1, "templateRef": {"name": "share"}},
            {"name": "slow", "max": 1, "builtin": {"type": "RequestDuration", "ingress": "Istio"}},
            {"name": "gone", "max": 1, "templateRef": {"name": "other"}}]}))
        .unwrap();
        let known = json!({"variables": [{"name": "code"}], "query": r#"x{code=~"{{ variables.code }}"}"#});
        let known: MetricTemplateSpec = serde_json::from_value(known).unwrap();
        let share = json!({"ratio": {"numerator": "n", "denominator": "d"}});
        let share: MetricTemplateSpec = serde_json::from_value(share).unwrap();
        let find = |name: &str| match name {
            "load" => Some(known.clone()),
            "share" => Some(share.clone()),
            _ => None,
        };
        let resolved = resolve(&analysis, &find);
        let [errors, success, part, slow, gone] = &resolved.analysis.metrics[..] else { panic!("five") };
        assert_eq!(errors.query.as_deref(), Some(r#"x{code=~"4.."}"#));
        assert_eq!((errors.max, errors.template_ref.is_none(), errors.variables.is_empty()), (Some(1.0), true, true));
        assert_eq!(errors.window, Some("2m".parse().unwrap()));
        assert!(success.ratio.is_some() && success.min == Some(99.0));
        assert_eq!(part.ratio, share.ratio);
        assert!(slow.histogram.is_some() && slow.builtin.is_none());
        assert!(gone.template_ref.is_some());
        assert_eq!(resolved.unusable["gone"].reason, Reason::TemplateNotFound);
    }
}
