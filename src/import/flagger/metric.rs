//! The metrics of an analysis, and the range in which each must be.

use std::{collections::BTreeMap, str::FromStr};

use super::{
    analysis::Pace,
    builtin::{self, BuiltIn},
    canary::Context,
    template::variables,
};
use crate::{
    api::{Duration, Metric, analysis::TemplateRef},
    import::{
        fields::Fields,
        foreign::Place,
        go_duration::go_duration,
        metric::{Range, distinct, empty, fixed, limits, measured, per_member, slug},
        promql::{Meaning, Measured, Query, meaning},
        remarks::{Remarks, shown},
        services::Reached,
    },
};

/// The window of Flagger's built-in metrics, where nothing is said.
const USUAL: Duration = Duration::from_secs(60);

/// Reads `metrics`; one that cannot be judged is refused, or named where Flagger does not judge it either.
pub(super) fn metrics(
    fields: &mut Fields<'_>,
    context: &Context<'_, '_>,
    pace: Pace,
    templates: &mut Vec<Place>,
    remarks: &mut Remarks,
) -> Vec<Metric> {
    let mut metrics: Vec<Metric> = Vec::new();
    fields.each("metrics", remarks, |fields, remarks| {
        let at = format!("spec.analysis.metrics[{}]", metrics.len());
        let mut reading = Reading { context, pace, at, templates };
        if let Some(metric) = reading.metric(fields, remarks) {
            metrics.push(distinct(metric, &metrics));
        }
    });
    if metrics.is_empty() {
        remarks.note("spec.analysis.metrics", "Nothing is measured: only the endpoint's probes and the time judge.");
    }
    metrics
}

/// A reference to a template.
struct Reference {
    namespace: Option<String>,
    name: String,
    /// Values of its variables.
    values: BTreeMap<String, String>,
}

fn reference(fields: &mut Fields<'_>, remarks: &mut Remarks) -> Option<Reference> {
    let values = fields.take("templateVariables", remarks).unwrap_or_default();
    fields.block("templateRef", remarks, |fields, remarks| {
        let namespace = fields.take("namespace", remarks);
        let name = fields.take("name", remarks)?;
        Some(Reference { namespace, name, values })
    })?
}

/// One metric that is being read.
struct Reading<'r, 'k, 'f> {
    context: &'r Context<'k, 'f>,
    pace: Pace,
    /// Its place in the rollout.
    at: String,
    templates: &'r mut Vec<Place>,
}

impl Reading<'_, '_, '_> {
    fn metric(&mut self, fields: &mut Fields<'_>, remarks: &mut Remarks) -> Option<Metric> {
        let given = fields.take::<String>("name", remarks).unwrap_or_default();
        let window = window(fields, remarks);
        let range = fields.block("thresholdRange", remarks, |fields, remarks| Range {
            min: fields.take("min", remarks),
            max: fields.take("max", remarks),
        });
        let threshold = fields.take::<f64>("threshold", remarks);
        let reference = reference(fields, remarks);
        let query = fields.take::<String>("query", remarks);
        let metric = Metric { window: self.differs(window), ..empty(&given) };
        let none = Range { min: None, max: Some(threshold.unwrap_or(0.0)) };
        if let Some(reference) = reference {
            return self.of_template(fields, metric, reference, range.unwrap_or(none), remarks);
        }
        match (BuiltIn::from_str(&given), query) {
            (_, Some(query)) => self.of_query(fields, metric, &query, range.unwrap_or(none), remarks),
            (Ok(kind), None) => {
                let metric = Metric { window: self.differs(Some(window.unwrap_or(USUAL))), ..metric };
                let none = kind.without_range(threshold);
                self.of_builtin(fields, metric, kind, range.unwrap_or(none), remarks)
            }
            (Err(()), None) => {
                let found = format!("{:?} is not built in, and has neither templateRef nor query", shown(&given));
                let remedy = "name a MetricTemplate in templateRef, or request-success-rate or request-duration";
                fields.refuse("name", found, remedy, remarks);
                None
            }
        }
    }

    /// A window that is not the interval.
    fn differs(&self, window: Option<Duration>) -> Option<Duration> {
        window.filter(|window| *window != self.pace.checks())
    }

    fn of_builtin(
        &self,
        fields: &Fields<'_>,
        metric: Metric,
        kind: BuiltIn,
        range: Range,
        remarks: &mut Remarks,
    ) -> Option<Metric> {
        limited(fields, range, remarks)?;
        let (metric, said) = builtin::metric(kind, self.context, metric, range);
        if let Some(said) = said {
            remarks.note(&self.at, said);
        }
        Some(metric)
    }

    fn of_query(
        &self,
        fields: &Fields<'_>,
        metric: Metric,
        text: &str,
        range: Range,
        remarks: &mut Remarks,
    ) -> Option<Metric> {
        limited(fields, range, remarks)?;
        let known = |name: &str| variables(name, Some(self.context));
        match Query::read(text, &known) {
            Ok(query) => {
                self.tells_apart(query.is_about_backend(), remarks);
                let meaning = meaning(&query);
                self.said(&meaning, remarks);
                let window = self.differs(fixed(&meaning)).or(metric.window);
                Some(Metric { window, ..measured(metric, &meaning, range) })
            }
            Err(why) => {
                fields.refuse(
                    "query",
                    why.to_string(),
                    "write a metric with numerator and denominator by hand",
                    remarks,
                );
                None
            }
        }
    }

    fn of_template(
        &mut self,
        fields: &Fields<'_>,
        metric: Metric,
        reference: Reference,
        range: Range,
        remarks: &mut Remarks,
    ) -> Option<Metric> {
        let own = self.context.of.namespace();
        let Reference { namespace, name, values } = reference;
        let Some(template) = self.context.known.template(namespace.as_deref().or(own), &name) else {
            let found = format!("MetricTemplate {} is in none of these files", shown(&name));
            fields.refuse("templateRef", found, "name its file too: its query decides what the limits mean", remarks);
            return None;
        };
        let Some(readable) = &template.readable else {
            remarks
                .lose(fields.path(), format!("MetricTemplate {} was refused, so this is not measured", shown(&name)));
            return None;
        };
        limited(fields, range, remarks)?;
        if let Some(namespace) = template.of.namespace().filter(|namespace| Some(*namespace) != own) {
            let text = format!("The template stood in namespace {}; a rollout's are in its own.", shown(namespace));
            remarks.note(&self.at, text);
        }
        self.tells_apart(readable.about_backend, remarks);
        let place = template.of.place();
        if !self.templates.contains(&place) {
            self.templates.push(place);
        }
        let mut variables: BTreeMap<String, String> =
            values.into_iter().map(|(name, value)| (slug(&name), value)).collect();
        variables.extend(readable.own_values(self.context));
        let window = self.differs(fixed(&readable.meaning)).or(metric.window);
        let limited = limits(Metric { window, ..metric }, &readable.meaning, range);
        Some(Metric { template_ref: Some(TemplateRef { name }), variables, ..limited })
    }

    /// In one cluster the same query gives the same answer for primary and canary, unless it names the backend.
    fn tells_apart(&self, about_backend: bool, remarks: &mut Remarks) {
        if self.context.target.reached == Reached::BySelector && !about_backend {
            remarks.note(
                &self.at,
                "Primary and canary are in one cluster, and the query does not tell them apart: a failure holds the run \
                 and does not roll back. Select {{ backend }} in it, which is the Service of each.",
            );
        }
    }

    fn said(&self, meaning: &Meaning, remarks: &mut Remarks) {
        if let Measured::Query { why, .. } = &meaning.measured {
            remarks.note(&self.at, per_member(why));
        }
    }
}

/// A range without limits lets everything pass.
fn limited(fields: &Fields<'_>, range: Range, remarks: &mut Remarks) -> Option<()> {
    if range == Range::default() {
        remarks.lose(fields.path(), "it has no limit, so it always passes");
        return None;
    }
    Some(())
}

fn window(fields: &mut Fields<'_>, remarks: &mut Remarks) -> Option<Duration> {
    let text = fields.take::<String>("interval", remarks)?;
    let time = go_duration(&text);
    if time.is_none() {
        fields.refuse("interval", format!("{:?} is not a duration", shown(&text)), "write one such as 1m", remarks);
    }
    time
}
