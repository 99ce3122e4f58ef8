//! The steps of a canary.

use serde_json::Value;

use super::{analysis::Judged, strategy::Context};
use crate::{
    api::{Mirror, RequestMatch, matches::FieldMatch, strategy::Step},
    import::{
        fields::Fields,
        remarks::{Remarks, shown},
        steps::{Steps, wait_of},
    },
};

const STEPS: &str = "spec.strategy.steps";

/// What a step does; the first key counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deed {
    Weight,
    Pause,
    Analysis,
    HeaderRoute,
    MirrorRoute,
    /// It is about Pods, or runs something.
    Other(&'static str, &'static str),
}

const DEEDS: [(&str, Deed); 9] = [
    ("setWeight", Deed::Weight),
    ("pause", Deed::Pause),
    ("analysis", Deed::Analysis),
    ("setHeaderRoute", Deed::HeaderRoute),
    ("setMirrorRoute", Deed::MirrorRoute),
    ("setCanaryScale", Deed::Other("setCanaryScale", "it is about Pods, which are yours")),
    ("replicaProgressThreshold", Deed::Other("replicaProgressThreshold", "it is about Pods, which are yours")),
    (
        "experiment",
        Deed::Other("experiment", "cutover starts no Pods; a step with matches tries the canary on chosen requests"),
    ),
    (
        "plugin",
        Deed::Other(
            "plugin",
            "cutover runs no plugins; write wait: Promotion on the step before, and promote from where it runs",
        ),
    ),
];

/// Reads `steps`; all traffic is the last one. Without any the canary gets all at once.
pub(super) fn steps(
    fields: &mut Fields<'_>,
    total: i64,
    context: &Context<'_, '_>,
    judged: &mut Judged,
    remarks: &mut Remarks,
) -> Option<Vec<Step>> {
    let mut reading = Reading { steps: Steps::default(), steered: false };
    fields.each("steps", remarks, |fields, remarks| {
        let deed = DEEDS.iter().find(|(key, _)| fields.has(key)).map(|(_, deed)| *deed);
        match deed {
            None => fields.refuse("", "no step that is known here", "correct it", remarks),
            Some(deed) => reading.step(deed, fields, total, context, judged, remarks),
        }
    });
    reading.steps.ended()
}

struct Reading {
    steps: Steps,
    /// A header or mirror route is set and was not taken away.
    steered: bool,
}

impl Reading {
    fn step(
        &mut self,
        deed: Deed,
        fields: &mut Fields<'_>,
        total: i64,
        context: &Context<'_, '_>,
        judged: &mut Judged,
        remarks: &mut Remarks,
    ) {
        match deed {
            Deed::Weight => {
                if let Some(weight) = fields.take("setWeight", remarks) {
                    self.stays(remarks);
                    self.steps.weight(weight, total, fields, "setWeight", remarks);
                }
            }
            Deed::Pause => {
                let at = fields.at("pause");
                if let Some(wait) = fields.block("pause", remarks, wait_of).flatten() {
                    self.steps.wait(wait, &at, remarks);
                }
            }
            Deed::Analysis => {
                let checks = fields.block("analysis", remarks, |fields, remarks| judged.run(fields, context, remarks));
                if let (Some(step), Some(checks)) = (self.steps.last(), checks.flatten()) {
                    step.iterations = step.iterations.max(Some(checks));
                }
            }
            Deed::HeaderRoute => {
                let matches = fields.block("setHeaderRoute", remarks, header_matches).unwrap_or_default();
                self.steered = !matches.is_empty();
                if !matches.is_empty() {
                    self.steps.steer(Step { matches, ..Step::default() });
                }
            }
            Deed::MirrorRoute => {
                let mirror = fields.block("setMirrorRoute", remarks, mirror).flatten();
                self.steered = mirror.is_some();
                if mirror.is_some() {
                    self.steps.steer(Step { mirror, ..Step::default() });
                }
            }
            Deed::Other(key, why) => fields.lose(&[key], why, remarks),
        }
    }

    /// A route that is set stays in Argo Rollouts while weights go on.
    fn stays(&mut self, remarks: &mut Remarks) {
        if std::mem::take(&mut self.steered) {
            remarks.note(
                STEPS,
                "A step with matches or mirror is over when its weight comes; in Argo Rollouts its route stays.",
            );
        }
    }
}

/// Alternatives, one for each header.
fn header_matches(fields: &mut Fields<'_>, remarks: &mut Remarks) -> Vec<RequestMatch> {
    fields.any("name");
    let matches = fields.each("match", remarks, |fields, remarks| {
        let name = fields.take::<String>("headerName", remarks)?;
        let value = fields.block("headerValue", remarks, text)??;
        let header = FieldMatch { name, ..value };
        Some(RequestMatch { headers: vec![header], ..RequestMatch::default() })
    });
    matches.into_iter().flatten().collect()
}

/// A comparison without the name of what is compared.
fn text(fields: &mut Fields<'_>, remarks: &mut Remarks) -> Option<FieldMatch> {
    let mut take = |key: &str| fields.take::<String>(key, remarks);
    let (exact, prefix, regex) = (take("exact"), take("prefix"), take("regex"));
    // Few routes know beginnings, and all know this.
    let regex = regex.or_else(|| prefix.map(|prefix| format!("{}.*", regex::escape(&prefix))));
    match (exact, regex) {
        (Some(exact), _) => Some(FieldMatch { exact: Some(exact), ..FieldMatch::default() }),
        (None, Some(regex)) => Some(FieldMatch { regex: Some(regex), ..FieldMatch::default() }),
        (None, None) => {
            remarks.refusals.push(fields.of().refusal(
                fields.path(),
                "has none of exact, prefix and regex",
                "write one of them",
            ));
            None
        }
    }
}

/// Copies of a part of all requests; without a match the route is taken away.
fn mirror(fields: &mut Fields<'_>, remarks: &mut Remarks) -> Option<Mirror> {
    fields.any("name");
    let percent = fields.take::<i64>("percentage", remarks).unwrap_or(100);
    let matches = fields.any("match")?;
    let all = serde_json::json!([{"path": {"prefix": "/"}}]);
    if matches != all && matches != Value::Array(Vec::new()) {
        remarks.lose(
            fields.at("match"),
            format!("{}; copies are of all requests", shown("only some requests are copied")),
        );
    }
    let percent = u32::try_from(percent).ok().filter(|percent| (1..=100).contains(percent));
    if percent.is_none() {
        fields.refuse("percentage", "is not from 1 to 100", "write a part of all requests in percent", remarks);
    }
    percent.map(|percent| Mirror { percent })
}
