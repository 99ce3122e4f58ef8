//! A Canary as a rollout.

use super::{
    Known, Provider, alerts, analysis, metric, route, service, strategy,
    target::{Target, target},
    webhooks,
};
use crate::{
    api::{DeletionPolicy, FleetRolloutSpec, ServiceSpec},
    import::{
        Translated,
        fields::Fields,
        foreign::{Foreign, Place},
        remarks::{Refusal, Remarks, shown},
        rollout,
        services::{Reached, name_the_member},
    },
};

/// What was made of a Canary.
pub(super) struct Translation {
    pub(super) manifest: Option<Translated>,
    pub(super) refusals: Vec<Refusal>,
    pub(super) namespace: Option<String>,
    /// Templates and providers of alerts that the rollout refers to.
    pub(super) refers_to: Vec<Place>,
}

/// What the parts of a translation need to know of the whole.
pub(super) struct Context<'k, 'f> {
    pub(super) of: &'f Foreign,
    pub(super) known: &'k Known<'f>,
    pub(super) provider: Provider,
    pub(super) target: Target,
    /// The Ingress that `ingressRef` names.
    pub(super) ingress: Option<String>,
    /// The route that `routeRef` names.
    pub(super) route: Option<String>,
}

impl Context<'_, '_> {
    /// Istio divides connections, which carry nothing that could be looked at.
    pub(super) fn divides_connections(&self) -> bool {
        let protocol = self.of.document.value["spec"]["service"]["appProtocol"].as_str();
        self.provider == Provider::Istio && protocol.is_some_and(|protocol| protocol.eq_ignore_ascii_case("tcp"))
    }
}

/// Translates a Canary; without a manifest where it is refused.
pub(super) fn translation(of: &Foreign, known: &Known<'_>) -> Translation {
    let mut refers_to = Vec::new();
    let read = |fields: &mut Fields<'_>, remarks: &mut Remarks| spec(fields, known, &mut refers_to, remarks);
    let (manifest, refusals) = rollout::rollout(of, "Flagger", "", read);
    Translation { manifest, refusals, namespace: of.namespace().map(str::to_owned), refers_to }
}

fn spec(
    fields: &mut Fields<'_>,
    known: &Known<'_>,
    refers_to: &mut Vec<Place>,
    remarks: &mut Remarks,
) -> Option<FleetRolloutSpec> {
    for (key, remedy) in [
        ("targetRef", "name the Service that the Canary is about"),
        ("service", "write it, with the port that routes send to"),
        ("analysis", "write how the canary is analysed"),
    ] {
        if !fields.has(key) {
            fields.refuse(key, "missing", remedy, remarks);
        }
    }
    let provider = provider(fields, known, remarks)?;
    let likely = if provider == Provider::Skipper { Reached::BySelector } else { Reached::ByName };
    let target = target(fields, likely, known, remarks);
    let (ingress, route) = (reference(fields, "ingressRef", remarks), reference(fields, "routeRef", remarks));
    let context = Context { of: fields.of(), known, provider, target: target?, ingress, route };
    let service = service(fields, &context, remarks);
    let skip_analysis = fields.take("skipAnalysis", remarks).unwrap_or(false);
    let suspend = fields.take("suspend", remarks).unwrap_or(false);
    let revert = fields.take("revertOnDeletion", remarks).unwrap_or(false);
    without_counterpart(fields, remarks);
    let (strategy, analysis, hooks, alerts) = fields.block("analysis", remarks, |fields, remarks| {
        let hooks = webhooks::webhooks(fields, remarks);
        let alerts = alerts::alerts(fields, &context, refers_to, remarks);
        let pace = analysis::pace(fields, remarks);
        let metrics = metric::metrics(fields, &context, pace, refers_to, remarks);
        let bake = metrics.iter().filter_map(|metric| metric.window).fold(pace.interval, Ord::max);
        let longer =
            if bake > pace.interval { "; here it holds until the longest window has filled again" } else { "" };
        remarks.note("spec.strategy.bake", format!("Flagger holds each weight for one interval{longer}."));
        let strategy = strategy::strategy(fields, &context, bake, remarks);
        Some((strategy?, analysis::analysis(pace, metrics), hooks, alerts))
    })??;
    let deletion_policy = if revert { DeletionPolicy::Revert } else { DeletionPolicy::Retain };
    Some(FleetRolloutSpec {
        skip_analysis,
        alerts,
        hooks,
        suspend,
        deletion_policy,
        ..rollout::of_service(service?, strategy, analysis)
    })
}

fn provider(fields: &mut Fields<'_>, known: &Known<'_>, remarks: &mut Remarks) -> Option<Provider> {
    let Some(name) = fields.take::<String>("provider", remarks) else { return Some(known.options.provider) };
    let found = name.parse();
    if let Err(why) = &found {
        let name = format!("{:?} is {why}", shown(&name));
        fields.refuse("provider", name, "correct it", remarks);
    }
    found.ok()
}

/// The name in a reference to another object.
fn reference(fields: &mut Fields<'_>, key: &str, remarks: &mut Remarks) -> Option<String> {
    fields.block(key, remarks, |reference, remarks| {
        let name = reference.take("name", remarks);
        reference.any("apiVersion");
        reference.any("kind");
        name
    })?
}

fn service(fields: &mut Fields<'_>, context: &Context<'_, '_>, remarks: &mut Remarks) -> Option<ServiceSpec> {
    let (exposed, route) = fields.block("service", remarks, |fields, remarks| {
        let exposed = service::exposed(fields, context, remarks);
        let route = exposed.as_ref().and_then(|exposed| route::route(fields, exposed, context, remarks));
        Some((exposed?, route?))
    })??;
    let Target { name, reached, assumed, leads_to } = &context.target;
    if *assumed {
        let other = match reached {
            Reached::ByName => "one of type ExternalName; if it has a selector, write clusterIP: {}",
            Reached::BySelector => "one with a selector",
        };
        let name = shown(name);
        remarks.note(
            "spec.services[0].backend",
            format!("No manifest of Service {name} is in these files, so it is taken for {other}."),
        );
    }
    if !leads_to {
        for line in name_the_member(&shown(name), context.of.namespace().map(shown).as_deref(), *reached) {
            remarks.note("", line);
        }
    }
    let backend = reached.backend();
    Some(ServiceSpec { name: name.clone(), port: exposed.port, backend, routes: vec![route], track: None })
}

/// Fields about Pods, and about where Flagger's Prometheus is.
fn without_counterpart(fields: &mut Fields<'_>, remarks: &mut Remarks) {
    for (keys, why) in [
        (&["metricsServer"][..], "the Prometheus of each member is in its MemberCluster, spec.prometheus"),
        (&["autoscalerRef"], "cutover scales no Pods; scale what is behind the canary before you change the Service"),
        (
            &["progressDeadlineSeconds"],
            "it bounds how long Pods may take to be ready, and Flagger does not use it for a Service",
        ),
        (&["upstreamRef"], "only Flagger's provider gloo uses it"),
        (&["canaryAnalysis"], "an API server drops it; Flagger reads spec.analysis"),
    ] {
        fields.lose(keys, why, remarks);
    }
}
