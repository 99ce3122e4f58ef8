//! What a Canary is about: a Service. Workloads are refused.

use super::Known;
use crate::import::{
    fields::Fields,
    remarks::{Remarks, shown},
    services::{Reached, reached, says_member},
};

/// The Service of a Canary.
pub(super) struct Target {
    pub(super) name: String,
    pub(super) reached: Reached,
    /// Nothing in the files says how it is reached.
    pub(super) assumed: bool,
    /// Its manifest says to which member it leads.
    pub(super) leads_to: bool,
}

/// Reads `spec.targetRef`. `likely` is how a Service is reached of which no manifest is there.
pub(super) fn target(
    spec: &mut Fields<'_>,
    likely: Reached,
    known: &Known<'_>,
    remarks: &mut Remarks,
) -> Option<Target> {
    let of = spec.of();
    let (kind, version, name) = spec.block("targetRef", remarks, |target, remarks| {
        let mut text = |key: &str| target.take::<String>(key, remarks).unwrap_or_default();
        (text("kind"), text("apiVersion"), text("name"))
    })?;
    if kind != "Service" || version.starts_with("serving.knative.dev/") {
        let found = format!("{} {} is a workload: Flagger copies it and scales it", shown(&kind), shown(&name));
        let remedy = "cutover moves traffic between Services and clusters, and no Pods: run both versions, each behind a \
                      selector or in a cluster of its own, and target the Service whose selector or name changes \
                      (docs/coming-from-flagger.md, Workloads); or keep this Canary in Flagger";
        remarks.refusals.push(of.refusal("spec.targetRef.kind", found, remedy));
        return None;
    }
    let manifest = known.services.find(of.namespace(), &name);
    let leads_to = manifest.is_some_and(says_member);
    let reached = manifest.map_or(likely, reached);
    Some(Target { name, reached, assumed: manifest.is_none(), leads_to })
}
