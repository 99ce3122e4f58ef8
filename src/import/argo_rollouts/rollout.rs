//! A Rollout as a rollout in service mode.

use super::{
    Known,
    strategy::{self, Moved},
};
use crate::{
    api::{FleetRolloutSpec, ServiceSpec},
    import::{
        Translated,
        fields::Fields,
        foreign::Foreign,
        remarks::{Refusal, Remarks, shown},
        rollout,
        services::{name_the_member, port, reached, says_member},
    },
};

/// Translates a Rollout; without a manifest where it is refused.
pub(super) fn translation(of: &Foreign, known: &Known<'_>) -> (Option<Translated>, Vec<Refusal>) {
    let extent = ", as far as it is about traffic";
    rollout::rollout(of, "Argo Rollouts", extent, |fields, remarks| spec(fields, known, remarks))
}

fn spec(fields: &mut Fields<'_>, known: &Known<'_>, remarks: &mut Remarks) -> Option<FleetRolloutSpec> {
    let of = fields.of();
    workload(fields, remarks);
    let paused = fields.take("paused", remarks).unwrap_or(false);
    if !fields.has("strategy") {
        fields.refuse(
            "strategy",
            "missing",
            "write strategy.canary with trafficRouting, or strategy.blueGreen",
            remarks,
        );
    }
    let Moved { service, routes, weight_total, strategy, analysis } =
        fields.block("strategy", remarks, |fields, remarks| strategy::moved(fields, known, remarks))??;
    let manifest = known.services.find(of.namespace(), &service);
    let port = manifest.and_then(port);
    if port.is_none() {
        let found = format!("no manifest of Service {} with its ports is in these files", shown(&service));
        remarks.refusals.push(of.refusal("spec.strategy", found, "name its file too: routes send to a port"));
    }
    let (manifest, port) = (manifest?, port?);
    let reached = reached(manifest);
    remarks.note(
        "",
        format!(
            "Pods are yours from now on: run both versions, and change Service {} to begin a run.",
            shown(&service)
        ),
    );
    if !says_member(manifest) {
        for line in name_the_member(&shown(&service), of.namespace().map(shown).as_deref(), reached) {
            remarks.note("", line);
        }
    }
    let service = ServiceSpec { name: service, port, backend: reached.backend(), routes, track: None };
    Some(FleetRolloutSpec { weight_total, paused, ..rollout::of_service(service, strategy, analysis) })
}

/// Fields about Pods.
fn workload(fields: &mut Fields<'_>, remarks: &mut Remarks) {
    let pods = "it is about Pods; write a Deployment for each version";
    fields.lose(&["replicas", "selector", "template", "workloadRef", "minReadySeconds", "restartAt"], pods, remarks);
    let kept = "cutover keeps no ReplicaSets";
    fields.lose(&["revisionHistoryLimit", "rollbackWindow"], kept, remarks);
    let history = "the last runs are in the status: cutover history";
    fields.lose(&["analysis"], history, remarks);
    let deadline = "it bounds how long Pods may take; strategy.progressDeadline bounds a run";
    fields.lose(&["progressDeadlineSeconds", "progressDeadlineAbort"], deadline, remarks);
}
