//! What judges a Rollout: the metrics of all analyses that it runs.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    arguments::{Arguments, arguments, filled},
    condition::{self, Limits},
    strategy::Context,
};
use crate::{
    api::{
        Duration, Metric,
        analysis::{Unknown, UnknownAction},
    },
    import::{
        fields::Fields,
        foreign::Foreign,
        go_duration::go_duration,
        metric::{Range, distinct, empty, fixed, measured, per_member},
        promql::{Measured, Query, Variable, meaning},
        remarks::{Remarks, shown},
    },
};

/// Between two checks, where no metric says it.
const USUAL: Duration = Duration::from_secs(60);
/// The longest time between two checks.
const LONGEST: Duration = Duration::from_secs(3600);
/// Templates that refer to others go so deep.
const DEEPEST: usize = 4;
/// Templates that one analysis may name, with those that they name.
const MOST: usize = 100;
/// Failed checks that are counted at most.
const COUNTED: u32 = 100;

/// Everything that judges.
#[derive(Debug, Default)]
pub(super) struct Judged {
    pub(super) metrics: Vec<Metric>,
    intervals: BTreeSet<Duration>,
    limits: BTreeSet<u32>,
    errors: Option<u32>,
}

impl Judged {
    pub(super) fn is_empty(&self) -> bool {
        self.metrics.is_empty()
    }

    /// An analysis with its templates; how many measurements it takes, where that is bounded.
    pub(super) fn run(
        &mut self,
        fields: &mut Fields<'_>,
        context: &Context<'_, '_>,
        remarks: &mut Remarks,
    ) -> Option<u32> {
        let given = arguments(fields, Some(fields.of()), remarks);
        let silent = silent(fields);
        fields.lose(&["measurementRetention", "analysisRunMetadata"], "there are no AnalysisRuns", remarks);
        let names = fields.each("templates", remarks, |fields, remarks| {
            let cluster = fields.take("clusterScope", remarks).unwrap_or(false);
            (fields.take::<String>("templateName", remarks), cluster)
        });
        let mut checks = None;
        for (name, cluster) in names.into_iter().filter_map(|(name, cluster)| Some((name?, cluster))) {
            let mut reading =
                Reading { judged: self, context, given: &given, silent: silent.clone(), depth: 0, read: 0 };
            checks = checks.max(reading.template(fields.of(), &name, cluster, &fields.at("templates"), remarks));
        }
        checks
    }

    /// The window that takes longest to fill; nothing where nothing is measured.
    pub(super) fn longest_window(&self) -> Duration {
        let interval = self.intervals.first().copied().unwrap_or(USUAL).min(LONGEST);
        let windows = self.metrics.iter().map(|metric| metric.window.unwrap_or(interval));
        windows.max().unwrap_or(Duration::ZERO)
    }

    pub(super) fn interval(&self, remarks: &mut Remarks) -> Duration {
        if self.intervals.len() > 1 {
            remarks.note(
                "spec.analysis.interval",
                "The metrics have different intervals; all are checked at the shortest.",
            );
        }
        self.intervals.first().copied().unwrap_or(USUAL).min(LONGEST)
    }

    /// Which failed check rolls back, by metric, from the smallest.
    pub(super) fn limits(&self) -> Vec<u32> {
        self.limits.iter().copied().collect()
    }

    /// What happens on errors, where a metric says it.
    pub(super) fn errors(&self) -> Option<Unknown> {
        self.errors.map(|limit| Unknown { limit, action: UnknownAction::Rollback, ..Unknown::default() })
    }
}

/// Metrics that never change a verdict.
fn silent(fields: &mut Fields<'_>) -> Vec<String> {
    let list = fields.any("dryRun").unwrap_or_default();
    let names = list.as_array().into_iter().flatten().filter_map(|one| one["metricName"].as_str());
    names.map(str::to_owned).collect()
}

struct Reading<'r, 'k, 'f> {
    judged: &'r mut Judged,
    context: &'r Context<'k, 'f>,
    /// What the Rollout gives.
    given: &'r Arguments,
    silent: Vec<String>,
    depth: usize,
    read: usize,
}

impl Reading<'_, '_, '_> {
    fn template(&mut self, by: &Foreign, name: &str, of_cluster: bool, at: &str, remarks: &mut Remarks) -> Option<u32> {
        let Some(of) = self.context.known.templates.find(by.namespace(), name, of_cluster) else {
            let kind = if of_cluster { "ClusterAnalysisTemplate" } else { "AnalysisTemplate" };
            let found = format!("{kind} {} is in none of these files", shown(name));
            remarks.refusals.push(by.refusal(at, found, "name its file too"));
            return None;
        };
        if self.depth > DEEPEST || self.read >= MOST {
            // Once: what refers to itself does so very often.
            if self.read < usize::MAX {
                remarks.refusals.push(of.refusal("spec.templates", "refers to itself, or too deeply", "write it out"));
            }
            self.read = usize::MAX;
            return None;
        }
        self.read += 1;
        let mut own = Remarks::default();
        let checks = self.own(of, &mut own);
        remarks.absorb(own, &of.title());
        checks
    }

    fn own(&mut self, of: &Foreign, remarks: &mut Remarks) -> Option<u32> {
        let mut fields = of.spec(remarks);
        let mut known = arguments(&mut fields, None, remarks);
        known.extend(self.given.clone());
        self.silent.extend(silent(&mut fields));
        fields.any("measurementRetention");
        let mut checks = None;
        let nested = fields.each("templates", remarks, |fields, remarks| {
            let cluster = fields.take("clusterScope", remarks).unwrap_or(false);
            (fields.take::<String>("templateName", remarks), cluster)
        });
        for (name, cluster) in nested.into_iter().filter_map(|(name, cluster)| Some((name?, cluster))) {
            self.depth += 1;
            checks = checks.max(self.template(of, &name, cluster, "spec.templates", remarks));
            self.depth -= 1;
        }
        fields.each("metrics", remarks, |fields, remarks| {
            checks = checks.max(self.metric(fields, &known, remarks));
        });
        fields.name_the_rest(remarks);
        checks
    }

    /// How many measurements a metric takes, where that is bounded.
    fn metric(&mut self, fields: &mut Fields<'_>, known: &Arguments, remarks: &mut Remarks) -> Option<u32> {
        let name = fields.take::<String>("name", remarks).unwrap_or_default();
        let (interval, count) = (fields.any("interval"), fields.any("count"));
        let limits = limits(fields, known, remarks);
        let failures = number(fields, "failureLimit").unwrap_or(0);
        let errors = number(fields, "consecutiveErrorLimit");
        let late = "settle says after each change of weights how long samples are left out";
        fields.lose(&["initialDelay"], late, remarks);
        fields.lose(&["inconclusiveLimit", "consecutiveSuccessLimit"], "a check passes, fails or is Unknown", remarks);
        let query = fields.block("provider", remarks, |fields, remarks| query(fields, known, remarks)).flatten();
        if self.silent.iter().any(|pattern| pattern == &name || pattern == ".*") {
            remarks.lose(fields.path(), format!("{}; it is a dry run, and here every metric counts", shown(&name)));
            return None;
        }
        let time = interval
            .as_ref()
            .and_then(Value::as_str)
            .and_then(go_duration)
            .filter(|time| *time >= Duration::from_secs(1));
        let metric = self.measured(fields, &name, &query?, &limits?, remarks)?;
        if !self.judged.metrics.iter().any(|known| is_same(known, &metric)) {
            self.judged.metrics.push(distinct(metric, &self.judged.metrics));
        }
        self.judged.intervals.insert(time.unwrap_or(USUAL));
        self.judged.limits.insert(u32::try_from(failures + 1).unwrap_or(COUNTED).clamp(1, COUNTED));
        if failures < 0 {
            remarks.lose(fields.at("failureLimit"), format!("-1; it is never reached, and here {COUNTED} is the most"));
            self.judged.limits.insert(COUNTED);
        }
        let errors = errors.and_then(|errors| u32::try_from(errors + 1).ok());
        self.judged.errors = [self.judged.errors, errors].into_iter().flatten().min();
        let count = count.and_then(|count| count.as_u64().or_else(|| count.as_str()?.parse().ok()));
        count
            .or(interval.is_none().then_some(1))
            .and_then(|count| u32::try_from(count).ok())
            .map(|count| count.clamp(1, 1000))
    }

    fn measured(
        &self,
        fields: &Fields<'_>,
        name: &str,
        text: &str,
        limits: &Limits,
        remarks: &mut Remarks,
    ) -> Option<Metric> {
        let text = self.context.judged.iter().fold(text.to_owned(), |text, service| about_backend(&text, service));
        let known = |name: &str| (name == "backend").then(|| Variable::Ours("backend".to_owned()));
        let query = match Query::read(&text, &known) {
            Ok(query) => query,
            Err(why) => {
                fields.refuse(
                    "provider",
                    why.to_string(),
                    "write a metric with numerator and denominator by hand",
                    remarks,
                );
                return None;
            }
        };
        let at = format!("spec.analysis.metrics[{}]", self.judged.metrics.len());
        let meaning = meaning(&query);
        let metric = Metric { window: fixed(&meaning), ..empty(name) };
        if let Measured::Query { why, .. } = &meaning.measured {
            remarks.note(&at, per_member(why));
        }
        if !query.is_about_backend() {
            let text = "The query does not name the Service of who is judged: where primary and canary share a Prometheus, select {{ backend }} in it.";
            remarks.note(&at, text);
        }
        if limits.strict {
            remarks.note(&at, "Here a value that is equal to the limit passes.");
        }
        if limits.empty_passes {
            remarks.note(&at, "Here a missing value is Unknown, and does not pass.");
        }
        Some(measured(metric, &meaning, limits.range))
    }
}

fn number(fields: &mut Fields<'_>, key: &str) -> Option<i64> {
    let value = fields.any(key)?;
    value.as_i64().or_else(|| value.as_str()?.parse().ok())
}

/// The values that pass; nothing where the conditions cannot be read.
fn limits(fields: &mut Fields<'_>, known: &Arguments, remarks: &mut Remarks) -> Option<Limits> {
    let mut condition = |key: &str| {
        let text = fields.take::<String>(key, remarks)?;
        Some(filled(&text, known).unwrap_or(text))
    };
    let (success, failure) = (condition("successCondition"), condition("failureCondition"));
    let read = match (&success, &failure) {
        (Some(success), _) => condition::success(success),
        (None, Some(failure)) => condition::failure(failure),
        (None, None) => {
            remarks.lose(
                fields.path(),
                "without a condition a person decides; look at it, and write wait: Promotion on a step",
            );
            return None;
        }
    };
    if success.is_some() && failure.is_some() {
        let why = "what neither succeeds nor fails is for a person in Argo Rollouts; here it fails";
        remarks.lose(fields.at("failureCondition"), why);
    }
    let (key, text) = if success.is_some() { ("successCondition", success) } else { ("failureCondition", failure) };
    if read.as_ref().is_none_or(|limits| limits.range == Range::default()) {
        let found = format!("{:?} is not a comparison of the result with numbers", shown(&text.unwrap_or_default()));
        fields.refuse(key, found, "write min and max of a metric by hand", remarks);
        return None;
    }
    read
}

/// The PromQL of a provider, with its arguments.
fn query(fields: &mut Fields<'_>, known: &Arguments, remarks: &mut Remarks) -> Option<String> {
    for other in fields.names().into_iter().filter(|name| name != "prometheus") {
        fields.any(&other);
        let found = format!("{} is not read; cutover judges by the members' Prometheus", shown(&other));
        let remedy = "write the metric in PromQL; what a job or a web request decides, let the pipeline decide with cutover promote or abort";
        fields.refuse(&other, found, remedy, remarks);
    }
    fields.block("prometheus", remarks, |fields, remarks| {
        let why = "the Prometheus of each member, and its credentials, are in its MemberCluster, spec.prometheus";
        fields.lose(&["address", "timeout", "insecure", "headers", "authentication"], why, remarks);
        if fields.any("rangeQuery").is_some() {
            fields.refuse(
                "rangeQuery",
                "many values in time are not judged",
                "write one value, over {{ window }}",
                remarks,
            );
            fields.any("query");
            return None;
        }
        let text = fields.take::<String>("query", remarks)?;
        let filled = filled(&text, known);
        if let Err(why) = &filled {
            fields.refuse("query", why.clone(), "give it a value, or write the metric by hand", remarks);
        }
        filled.ok()
    })?
}

/// Two analyses that ask the same judge once.
fn is_same(one: &Metric, other: &Metric) -> bool {
    Metric { name: String::new(), ..one.clone() } == Metric { name: String::new(), ..other.clone() }
}

/// The query with `{{ backend }}` wherever this Service is named.
fn about_backend(text: &str, canary: &str) -> String {
    if canary.is_empty() {
        return text.to_owned();
    }
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
    let (mut written, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(canary) {
        let (before, after) = (&rest[..at], &rest[at + canary.len()..]);
        written.push_str(before);
        let whole = !before.ends_with(is_part) && !after.starts_with(is_part);
        written.push_str(if whole { "{{ backend }}" } else { canary });
        rest = after;
    }
    written + rest
}
