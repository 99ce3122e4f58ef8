//! MetricTemplates.

use std::{collections::BTreeMap, collections::BTreeSet};

use kube::api::ObjectMeta;

use super::canary::Context;
use crate::{
    api::{
        MetricTemplate, MetricTemplateSpec,
        analysis::{Histogram, Ratio},
        metric_template::{Variable as Declared, VariableType},
    },
    import::{
        Translated,
        fields::Fields,
        foreign::Foreign,
        manifest::manifest,
        metric::{per_member, slug},
        promql::{self, Meaning, Measured, Query, Variable},
        remarks::{Refusal, Remarks, shown},
    },
};

/// Variables of Flagger about the Canary, which a template of ours must declare.
const OF_THE_CANARY: [&str; 3] = ["ingress", "route", "name"];

/// A MetricTemplate of Flagger.
pub(super) struct Template<'f> {
    pub(super) of: &'f Foreign,
    /// What it measures; nothing where it is refused.
    pub(super) readable: Option<Readable>,
    pub(super) refusals: Vec<Refusal>,
    remarks: Remarks,
}

/// A template that can be measured.
pub(super) struct Readable {
    pub(super) meaning: Meaning,
    pub(super) about_backend: bool,
    variables: Vec<Declared>,
}

impl<'f> Template<'f> {
    /// Reads an object.
    pub(super) fn read(of: &'f Foreign) -> Self {
        let mut remarks = of.remarks("Flagger", "");
        let mut fields = of.spec(&mut remarks);
        let usable = fields.block("provider", &mut remarks, provider).unwrap_or(true);
        if !fields.has("query") {
            fields.refuse("query", "missing", "write the query in PromQL", &mut remarks);
        }
        let query = fields.take::<String>("query", &mut remarks);
        fields.name_the_rest(&mut remarks);
        let readable = query.filter(|_| usable).and_then(|query| readable(of, &query, &mut remarks));
        let refusals = remarks.refusals.clone();
        Self { of, readable, refusals, remarks }
    }

    /// Our template in a namespace.
    pub(super) fn manifest(&self, namespace: Option<&str>) -> Option<Translated> {
        let Readable { meaning, variables, .. } = self.readable.as_ref()?;
        let mut spec = MetricTemplateSpec { variables: variables.clone(), ratio: None, histogram: None, query: None };
        let mut remarks = self.remarks.clone();
        match &meaning.measured {
            Measured::Ratio { numerator, denominator } => {
                spec.ratio = Some(Ratio { numerator: numerator.clone(), denominator: denominator.clone() });
            }
            Measured::Histogram { buckets, quantile, milliseconds } => {
                let (buckets, quantile, milliseconds) = (buckets.clone(), *quantile, *milliseconds);
                spec.histogram = Some(Histogram { buckets, quantile, milliseconds });
            }
            Measured::Query { query, why } => {
                remarks.note("spec.query", per_member(why));
                spec.query = Some(query.clone());
            }
        }
        let mut template = MetricTemplate::new(self.of.name(), spec);
        let (name, namespace) = (Some(self.of.name().to_owned()), namespace.map(str::to_owned));
        template.metadata = ObjectMeta { name, namespace, ..ObjectMeta::default() };
        Some(manifest(&template, self.of, &remarks))
    }
}

/// Whether the provider speaks PromQL.
fn provider(fields: &mut Fields<'_>, remarks: &mut Remarks) -> bool {
    let kind = fields.take::<String>("type", remarks).unwrap_or_else(|| "prometheus".to_owned());
    let why = "the Prometheus of each member, and its credentials, are in its MemberCluster, spec.prometheus";
    fields.lose(&["address", "secretRef", "headers", "insecureSkipVerify", "region"], why, remarks);
    if kind != "prometheus" {
        let found = format!("{:?} is not read; cutover reads the members' Prometheus", shown(&kind));
        fields.refuse("type", found, "write the metric in PromQL", remarks);
    }
    kind == "prometheus"
}

fn readable(of: &Foreign, text: &str, remarks: &mut Remarks) -> Option<Readable> {
    let refuse = |found: String, remedy: &str, remarks: &mut Remarks| {
        remarks.refusals.push(of.refusal("spec.query", found, remedy));
        None
    };
    let query = match Query::read(text, &|name| variables(name, None)) {
        Ok(query) => query,
        Err(why) => return refuse(why.to_string(), "write a MetricTemplate of cutover.dev by hand", remarks),
    };
    match declared(&query) {
        Ok(variables) => {
            let about_backend = query.is_about_backend();
            Some(Readable { meaning: promql::meaning(&query), about_backend, variables })
        }
        Err(name) => {
            let found = format!("variable {} stands for a number and for a duration", shown(&name));
            refuse(found, "give the two different names", remarks)
        }
    }
}

/// What a variable of Flagger becomes. In a template those about the Canary are variables; else they are known.
pub(super) fn variables(name: &str, canary: Option<&Context<'_, '_>>) -> Option<Variable> {
    let ours = |name: &str| Some(Variable::Ours(name.to_owned()));
    match (name, canary) {
        ("namespace", _) => ours("namespace"),
        ("target" | "service", _) => ours("service"),
        ("interval", _) => ours("window"),
        (name, None) if OF_THE_CANARY.contains(&name) => ours(&format!("variables.{name}")),
        (name, Some(canary)) if OF_THE_CANARY.contains(&name) => Some(Variable::Text(of_canary(name, canary)?)),
        (name, None) => ours(&format!("variables.{}", slug(name.strip_prefix("variables.")?))),
        (_, Some(_)) => None,
    }
}

/// The value of a variable about a Canary, as far as it can stand in a string.
fn of_canary(name: &str, canary: &Context<'_, '_>) -> Option<String> {
    let value = match name {
        "ingress" => canary.ingress.clone(),
        "route" => canary.route.clone(),
        _ => Some(canary.of.name().to_owned()),
    };
    value.filter(|value| value.chars().all(|letter| letter.is_ascii_alphanumeric() || "-._".contains(letter)))
}

/// The variables that a query needs, with the type that their places want.
fn declared(query: &Query) -> Result<Vec<Declared>, String> {
    let mut places: BTreeMap<&str, BTreeSet<promql::Place>> = BTreeMap::new();
    for (name, place) in query.used() {
        if let Some(name) = name.strip_prefix("variables.") {
            places.entry(name).or_default().insert(*place);
        }
    }
    let type_of = |places: &BTreeSet<promql::Place>| {
        let has = |place| places.contains(&place);
        match (has(promql::Place::Number), has(promql::Place::Duration)) {
            (true, true) => None,
            (true, false) => Some(VariableType::Number),
            (false, true) => Some(VariableType::Duration),
            (false, false) => Some(VariableType::Text),
        }
    };
    let declared = places.into_iter().map(|(name, places)| {
        let type_ = type_of(&places).ok_or_else(|| name.to_owned())?;
        Ok(Declared { name: name.to_owned(), type_, default: None })
    });
    declared.collect()
}

impl Readable {
    /// Values of the variables about the Canary that it uses.
    pub(super) fn own_values(&self, canary: &Context<'_, '_>) -> BTreeMap<String, String> {
        let used = self.variables.iter().filter(|variable| OF_THE_CANARY.contains(&variable.name.as_str()));
        used.filter_map(|variable| Some((variable.name.clone(), of_canary(&variable.name, canary)?))).collect()
    }
}
