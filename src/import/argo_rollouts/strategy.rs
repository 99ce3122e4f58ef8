//! `strategy`: a canary whose weights a route holds, or two Services of which one is active.

use super::{Known, analysis::Judged, routing, steps};
use crate::{
    api::{
        Analysis, Duration, Progress, Route, Strategy,
        analysis::{Failures, Unknown},
        service::KubernetesRoute,
        strategy::Step,
    },
    import::{
        fields::Fields,
        remarks::{Remarks, shown},
    },
};

/// All that is known of how traffic moves.
pub(super) struct Moved {
    /// The Service that declares what is new.
    pub(super) service: String,
    pub(super) routes: Vec<Route>,
    pub(super) weight_total: u32,
    pub(super) strategy: Strategy,
    pub(super) analysis: Analysis,
}

/// What the parts of a translation need to know of the whole.
pub(super) struct Context<'k, 'f> {
    pub(super) known: &'k Known<'f>,
    /// The Services that select what is judged, which `{{ backend }}` stands for.
    pub(super) judged: Vec<String>,
}

pub(super) fn moved(fields: &mut Fields<'_>, known: &Known<'_>, remarks: &mut Remarks) -> Option<Moved> {
    if let Some(moved) = fields.block("canary", remarks, |fields, remarks| canary(fields, known, remarks)) {
        return moved;
    }
    if let Some(moved) = fields.block("blueGreen", remarks, |fields, remarks| blue_green(fields, known, remarks)) {
        return moved;
    }
    fields.refuse("canary", "neither canary nor blueGreen is given", "write one of them", remarks);
    None
}

fn canary(fields: &mut Fields<'_>, known: &Known<'_>, remarks: &mut Remarks) -> Option<Moved> {
    let stable = fields.take::<String>("stableService", remarks);
    let context = Context { known, judged: fields.take::<String>("canaryService", remarks).into_iter().collect() };
    let take_turns = fields.any("pingPong").is_some();
    if take_turns {
        let remedy = "write stableService and canaryService";
        fields.refuse("pingPong", "two Services take turns, and none declares what is new", remedy, remarks);
    }
    pods(fields, remarks);
    let mut judged = Judged::default();
    fields.block("analysis", remarks, |fields, remarks| {
        if let Some(step) = fields.take::<i64>("startingStep", remarks) {
            remarks.lose(fields.at("startingStep"), format!("{step}; metrics judge from the first step on"));
        }
        judged.run(fields, &context, remarks);
    });
    let (routes, total) = routing::routing(fields, remarks);
    let steps = steps::steps(fields, i64::from(total), &context, &mut judged, remarks);
    if judged.is_empty() {
        remarks.note("spec.analysis.metrics", "Nothing is measured: only the endpoint's probes and the time judge.");
    } else {
        let text =
            "Argo Rollouts goes on without looking; here each weight holds until the longest window has filled again.";
        remarks.note("spec.strategy.bake", text);
    }
    if stable.is_none() && !take_turns {
        fields.refuse("stableService", "missing", "name the Service that clients reach", remarks);
    }
    let bake = judged.longest_window();
    Some(Moved {
        service: stable?,
        routes: routes?,
        weight_total: total,
        strategy: Strategy { steps: steps?, bake, ..Strategy::default() },
        analysis: judged.analysis(remarks),
    })
}

/// The preview Service declares what is new, and the active one is switched.
fn blue_green(fields: &mut Fields<'_>, known: &Known<'_>, remarks: &mut Remarks) -> Option<Moved> {
    let (active, preview) =
        (fields.take::<String>("activeService", remarks), fields.take::<String>("previewService", remarks));
    for (key, given) in [("activeService", active.is_some()), ("previewService", preview.is_some())] {
        if !given {
            fields.refuse(
                key,
                "missing",
                "the preview Service says what is new, and the active one is switched to it",
                remarks,
            );
        }
    }
    let context = Context { known, judged: active.iter().chain(&preview).cloned().collect() };
    pods(fields, remarks);
    if fields.take::<bool>("autoPromotionEnabled", remarks) == Some(false) {
        let why = "a run begins when the preview Service changes; change it when the switch is approved";
        remarks.lose(fields.at("autoPromotionEnabled"), why);
    }
    fields.lose(&["autoPromotionSeconds"], "the switch comes as soon as the preview answers", remarks);
    let mut judged = Judged::default();
    let mut checks = None;
    for key in ["prePromotionAnalysis", "postPromotionAnalysis"] {
        let counted = fields.block(key, remarks, |fields, remarks| judged.run(fields, &context, remarks)).flatten();
        checks = checks.max(counted);
        if key == "prePromotionAnalysis" && counted.is_some() {
            remarks.note("spec.analysis.metrics", "What judged before the switch judges after it, and rolls back.");
        }
    }
    let (active, preview) = (active?, preview?);
    remarks.note(
        "spec.services[0]",
        format!("The preview Service declares what is new; clients call {}, which is switched.", shown(&active)),
    );
    let step = Step { progress: Some(Progress::ALL), iterations: checks, ..Step::default() };
    Some(Moved {
        service: preview,
        routes: vec![Route::Kubernetes(KubernetesRoute { name: Some(active), create: None })],
        weight_total: 100,
        strategy: Strategy { steps: vec![step], bake: judged.longest_window(), ..Strategy::default() },
        analysis: judged.analysis(remarks),
    })
}

/// Fields about Pods.
fn pods(fields: &mut Fields<'_>, remarks: &mut Remarks) {
    const PODS: [&str; 15] = [
        "maxSurge",
        "maxUnavailable",
        "canaryMetadata",
        "stableMetadata",
        "activeMetadata",
        "previewMetadata",
        "antiAffinity",
        "minPodsPerReplicaSet",
        "dynamicStableScale",
        "replicaProgressThreshold",
        "previewReplicaCount",
        "scaleDownDelaySeconds",
        "scaleDownDelayRevisionLimit",
        "abortScaleDownDelaySeconds",
        "scaleDownOnAbort",
    ];
    fields.lose(&PODS, "it is about Pods, which are yours", remarks);
}

impl Judged {
    fn analysis(self, remarks: &mut Remarks) -> Analysis {
        let (interval, failures, unknown) = (self.interval(remarks), self.failures(remarks), self.unknown());
        Analysis {
            interval,
            failures,
            settle: Duration::from_secs(30),
            unknown,
            metrics: self.metrics,
            share: None,
            lag: Duration::from_secs(15),
        }
    }

    fn failures(&self, remarks: &mut Remarks) -> Failures {
        let limits = self.limits();
        if limits.is_empty() {
            return Failures::default();
        }
        let limit = limits.first().copied().unwrap_or(1);
        if limits.len() > 1 {
            let text = "The metrics have different limits; the smallest counts for each.";
            remarks.note("spec.analysis.failures", text);
        }
        remarks.note("spec.analysis.failures", "failureLimit is how many may fail, limit which one rolls back.");
        Failures { limit, within: 100 }
    }

    fn unknown(&self) -> Unknown {
        self.errors().unwrap_or_default()
    }
}
