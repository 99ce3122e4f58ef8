//! Fields of other tools, and what cutover has in their place.

use Tool::{Argo, Deployment, Flagger};

/// Whose field it is.
#[derive(Clone, Copy)]
enum Tool {
    Argo,
    Flagger,
    Deployment,
}

impl Tool {
    const fn name(self) -> &'static str {
        match self {
            Argo => "Argo Rollouts",
            Flagger => "Flagger",
            Deployment => "a Deployment",
        }
    }
}

const STEPS: &str = "write strategy.steps, such as [{progress: 10%}, {progress: 100%}]";
const RAMP: &str =
    "write strategy.steps, such as [{progress: 10%}, {progress: 100%}], or without members strategy.ramp";
const SERVICES: &str = "write spec.services: name, port and routes of each Service";
const ROUTES: &str = "write routes below the service, such as [{gatewayAPI: {name: public}}]";
const LIMITS: &str = "write max or min";
const TEMPLATE: &str = "write metrics with templateRef: {name: …}, a MetricTemplate of this namespace";
const PROMETHEUS: &str = "the Prometheus of each member is in its MemberCluster, spec.prometheus";
const WAIT: &str = "write wait: Promotion, or a time such as wait: 10m";
const FAILURES: &str = "write spec.analysis.failures: {limit: 3, within: 10}";
const PODS: &str = "cutover moves traffic and no Pods; leave it out";
const KEEP: &str = "write spec.strategy.keepPrevious, such as 1h";

/// The field, the end of the path of the block in which it stands (empty: any), whose it is, and what to write.
const FIELDS: &[(&str, &str, Tool, &str)] = &[
    ("setWeight", "", Argo, "write progress: 20%, the part of the way from the old weights to the new ones"),
    ("weight", "steps", Argo, "write progress: 20%, the part of the way from the old weights to the new ones"),
    ("pause", "steps", Argo, WAIT),
    ("setCanaryScale", "", Argo, PODS),
    ("setHeaderRoute", "", Argo, "write a step with matches: [{headers: [{name: …, exact: …}]}]"),
    ("setMirrorRoute", "", Argo, "write a step with mirror: {}"),
    ("experiment", "", Argo, "write a step with matches, and metrics in spec.analysis"),
    ("analysis", "steps", Argo, "spec.analysis holds at every step; leave it out here"),
    ("analysis", "strategy", Argo, "write it below spec: spec.analysis.metrics"),
    ("canaryService", "", Argo, SERVICES),
    ("stableService", "", Argo, SERVICES),
    ("activeService", "", Argo, SERVICES),
    ("previewService", "", Argo, SERVICES),
    ("trafficRouting", "", Argo, ROUTES),
    ("canary", "strategy", Argo, STEPS),
    ("blueGreen", "strategy", Argo, "write strategy.steps: [{progress: 100%}]"),
    ("analysisTemplate", "", Argo, TEMPLATE),
    ("analysisTemplates", "", Argo, TEMPLATE),
    ("templates", "analysis", Argo, TEMPLATE),
    ("templateName", "", Argo, TEMPLATE),
    ("successCondition", "", Argo, LIMITS),
    ("failureCondition", "", Argo, LIMITS),
    ("failureLimit", "", Argo, FAILURES),
    ("consecutiveErrorLimit", "", Argo, "write spec.analysis.unknown: {limit: 10}"),
    ("inconclusiveLimit", "", Argo, "write spec.analysis.unknown: {limit: 10}"),
    ("initialDelay", "", Argo, "write spec.analysis.settle"),
    ("provider", "metrics", Argo, PROMETHEUS),
    ("autoPromotionEnabled", "", Argo, WAIT),
    ("prePromotionAnalysis", "", Argo, "write spec.analysis, and wait: Promotion on a step"),
    ("postPromotionAnalysis", "", Argo, KEEP),
    ("scaleDownDelaySeconds", "", Argo, KEEP),
    ("abortScaleDownDelaySeconds", "", Argo, KEEP),
    ("workloadRef", "", Argo, SERVICES),
    ("progressDeadlineSeconds", "", Deployment, "write spec.strategy.progressDeadline, such as 4h"),
    ("stepWeight", "", Flagger, RAMP),
    ("stepWeights", "", Flagger, RAMP),
    ("maxWeight", "", Flagger, RAMP),
    ("stepWeightPromotion", "", Flagger, RAMP),
    ("iterations", "analysis", Flagger, RAMP),
    ("mirror", "analysis", Flagger, "write a step with mirror: {}"),
    ("mirrorWeight", "", Flagger, "write a step with mirror: {percent: 20}"),
    ("match", "", Flagger, "write a step with matches: [{headers: [{name: …, exact: …}]}]"),
    ("sessionAffinity", "analysis", Flagger, "write spec.strategy.sessionAffinity"),
    ("threshold", "analysis", Flagger, FAILURES),
    ("threshold", "metrics", Flagger, LIMITS),
    ("thresholdRange", "", Flagger, LIMITS),
    ("primaryReadyThreshold", "", Flagger, "write spec.strategy.progressDeadline"),
    ("canaryReadyThreshold", "", Flagger, "write spec.strategy.progressDeadline"),
    ("interval", "metrics", Flagger, "write window, the time that {{ window }} covers"),
    (
        "webhooks",
        "",
        Flagger,
        "cutover calls no webhooks; write wait: Promotion, and run cutover promote from your pipeline",
    ),
    ("alerts", "", Flagger, "write spec.alerts, which names AlertProviders (docs/alerts.md)"),
    ("metricsServer", "", Flagger, PROMETHEUS),
    ("targetRef", "", Flagger, SERVICES),
    ("autoscalerRef", "", Flagger, PODS),
    ("ingressRef", "", Flagger, ROUTES),
    ("routeRef", "", Flagger, ROUTES),
    ("provider", "spec", Flagger, ROUTES),
    ("service", "spec", Flagger, SERVICES),
    ("gatewayRefs", "", Flagger, ROUTES),
    ("replicas", "", Deployment, PODS),
    ("selector", "spec", Deployment, PODS),
    ("template", "spec", Deployment, PODS),
    ("minReadySeconds", "", Deployment, "write spec.strategy.bake"),
    ("revisionHistoryLimit", "", Deployment, "leave it out"),
    ("maxSurge", "", Deployment, STEPS),
    ("maxUnavailable", "", Deployment, STEPS),
    ("rollingUpdate", "", Deployment, STEPS),
];

/// What an unknown field below a path is, and what to write instead, if another tool has it.
pub(super) fn answer(path: &str, key: &str) -> Option<(String, &'static str)> {
    let above = path.rsplit('.').next().unwrap_or_default();
    let block = above.split('[').next().unwrap_or_default();
    let is_it = |(name, at, ..): &&(&str, &str, Tool, &str)| *name == key && (at.is_empty() || *at == block);
    let (.., tool, remedy) = FIELDS.iter().find(is_it)?;
    Some((format!("is a field of {}", tool.name()), remedy))
}
