//! A Rollout as a rollout in service mode.

use super::{
    Known, routing,
    routing::Routed,
    steps::{Reading, Style},
};
use crate::{
    api::{
        Analysis, Duration, FleetRolloutSpec, ServiceSpec, Strategy,
        analysis::{Failures, Unknown},
        strategy::Step,
    },
    import::{
        Translated,
        fields::Fields,
        foreign::Foreign,
        remarks::{Refusal, Remarks, shown},
        rollout,
        services::{port, reached},
    },
};

/// Translates a Rollout; without a manifest where it is refused.
pub(super) fn translation(of: &Foreign, known: &Known<'_>) -> (Option<Translated>, Vec<Refusal>) {
    let extent = ", as far as it is about traffic";
    rollout::rollout(of, "Kruise Rollouts", extent, |fields, remarks| spec(fields, known, remarks))
}

/// How a strategy moves traffic.
struct Moved {
    routed: Routed,
    steps: Vec<Step>,
}

fn spec(fields: &mut Fields<'_>, known: &Known<'_>, remarks: &mut Remarks) -> Option<FleetRolloutSpec> {
    let of = fields.of();
    let pods = "cutover moves no Pods: run both versions, each behind a selector of its own";
    fields.lose(&["workloadRef", "objectRef", "rolloutID"], pods, remarks);
    let suspend = fields.take("disabled", remarks).unwrap_or(false);
    if !fields.has("strategy") {
        fields.refuse("strategy", "missing", "write strategy.canary with trafficRoutings", remarks);
    }
    let (paused, moved) = fields.block("strategy", remarks, |fields, remarks| {
        let paused = fields.take("paused", remarks).unwrap_or(false);
        (paused, moved(fields, known, remarks))
    })?;
    let Moved { routed, steps } = moved?;
    let Routed { service, routes } = routed;
    let manifest = known.services.find(of.namespace(), &service);
    let Some((manifest, port)) = manifest.and_then(|manifest| Some((manifest, port(manifest)?))) else {
        let found = format!("no manifest of Service {} with its ports is in these files", shown(&service));
        remarks.refusals.push(of.refusal("spec.strategy", found, "name its file too: routes send to a port"));
        return None;
    };
    remarks.note(
        "",
        format!(
            "Pods are yours from now on: run both versions, and change Service {} to begin a run.",
            shown(&service)
        ),
    );
    remarks.note(
        "spec.analysis.metrics",
        "Kruise Rollouts measures nothing, so only the endpoint's probes and the time judge. Declare a metric.",
    );
    let service = ServiceSpec { name: service, port, backend: reached(manifest).backend(), routes, track: None };
    let strategy = Strategy { steps, bake: Duration::ZERO, ..Strategy::default() };
    Some(FleetRolloutSpec { paused, suspend, ..rollout::of_service(service, strategy, nothing_measured()) })
}

fn nothing_measured() -> Analysis {
    Analysis {
        interval: Duration::from_secs(60),
        failures: Failures::default(),
        settle: Duration::from_secs(30),
        unknown: Unknown::default(),
        metrics: Vec::new(),
        share: None,
        lag: Duration::from_secs(15),
    }
}

fn moved(fields: &mut Fields<'_>, known: &Known<'_>, remarks: &mut Remarks) -> Option<Moved> {
    for (key, style) in [("canary", Style::Canary), ("blueGreen", Style::BlueGreen)] {
        if let Some(moved) = fields.block(key, remarks, |fields, remarks| by_steps(fields, style, known, remarks)) {
            return moved;
        }
    }
    fields.refuse("canary", "neither canary nor blueGreen is given", "write one of them", remarks);
    None
}

fn by_steps(fields: &mut Fields<'_>, style: Style, known: &Known<'_>, remarks: &mut Remarks) -> Option<Moved> {
    let pods = "it is about Pods, which are yours";
    fields.lose(&["failureThreshold", "patchPodTemplateMetadata", "enableExtraWorkloadForCanary"], pods, remarks);
    fields.lose(&["disableGenerateCanaryService"], "the hub makes <service>-primary and <service>-canary", remarks);
    let routed = routing::routed(fields, known, remarks);
    let is_nginx = routed.as_ref().is_some_and(Routed::is_ingress);
    let steps = Reading::new(style, is_nginx).steps(fields, remarks);
    Some(Moved { routed: routed?, steps: steps? })
}
