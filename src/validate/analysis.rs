//! How a run is judged: intervals, limits, and queries.

use super::{
    problem::{Problem, made, not_one, quoted},
    promql::{self, Query},
};
use crate::{
    api::{
        Duration, FleetRolloutSpec, Metric,
        analysis::{BuiltinType, Histogram, MetricKind, Ratio},
    },
    metric::template::is_for_all_services,
};

/// The remedy for a query that covers a fixed time.
pub(super) const USE_WINDOW: &str = "use [{{ window }}]";
/// Variables by which a query tells one service from another.
const OF_A_SERVICE: [&str; 5] = ["{{service}}", "{{services}}", "{{service.word}}", "{{backend}}", "{{backend.word}}"];
const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(86_400);
/// Below it Prometheus has seldom scraped anew between two checks.
const SHORT_INTERVAL: Duration = Duration::from_secs(10);

/// Everything about the analysis by itself.
pub(super) fn analysis(spec: &FleetRolloutSpec) -> Vec<Problem> {
    let analysis = &spec.analysis;
    let interval = "spec.analysis.interval";
    let mut problems: Vec<Problem> = between(interval, analysis.interval, SECOND, HOUR).into_iter().collect();
    if problems.is_empty() && analysis.interval < SHORT_INTERVAL {
        let found = format!("{} is shorter than most scrape intervals", analysis.interval);
        problems.push(Problem::warning(
            interval,
            found,
            "a check may see the same samples again; 10s or more is usual",
        ));
    }
    let (limit, within) = (analysis.failures.limit, analysis.failures.within);
    if limit > within {
        let found = format!("{limit} failures among the last {within} checks cannot happen");
        problems.push(Problem::error(
            "spec.analysis.failures.limit",
            found,
            format!("at most {within}, or a larger within"),
        ));
    }
    let counts = |metric: &Metric| !matches!(metric.kind(), MetricKind::Query(_));
    if analysis.share.is_some() && !analysis.metrics.iter().any(counts) {
        let found = "no metric counts requests, so the observed share is never known";
        problems.push(Problem::error(
            "spec.analysis.share",
            found,
            "add a ratio or histogram metric, or leave share out",
        ));
    }
    problems.extend(
        analysis.metrics.iter().enumerate().flat_map(|(i, one)| metric(&format!("spec.analysis.metrics[{i}]"), one)),
    );
    problems
}

/// Bakes and deadlines that do not fit what is measured.
pub(super) fn bakes(spec: &FleetRolloutSpec) -> Vec<Problem> {
    let windows = spec.analysis.metrics.iter().map(|metric| (metric.window.unwrap_or(spec.analysis.interval), metric));
    let Some((window, metric)) = windows.max_by_key(|(window, _)| *window) else { return Vec::new() };
    let strategy = &spec.strategy;
    let own = strategy
        .steps
        .iter()
        .enumerate()
        .filter_map(|(i, step)| Some((format!("spec.strategy.steps[{i}].bake"), step.bake?)));
    let general =
        strategy.steps.iter().any(|step| step.bake.is_none()).then(|| ("spec.strategy.bake".to_owned(), strategy.bake));
    let mut problems: Vec<Problem> = general
        .into_iter()
        .chain(own)
        .filter(|(_, bake)| *bake < window)
        .map(|(path, bake)| {
            let found = format!("{bake} is shorter than the {window} window of metric {}", quoted(&metric.name));
            Problem::warning(
                path,
                found,
                format!("each bake lasts {window} anyway, so that older samples do not count; write {window}"),
            )
        })
        .collect();
    problems.extend(deadline(spec, window));
    problems
}

fn deadline(spec: &FleetRolloutSpec, window: Duration) -> Option<Problem> {
    let strategy = &spec.strategy;
    let least = strategy.steps.iter().fold(Duration::ZERO, |time, step| {
        time.saturating_add(spec.analysis.settle).saturating_add(step.bake.unwrap_or(strategy.bake).max(window))
    });
    let deadline = strategy.progress_deadline.filter(|deadline| *deadline < least)?;
    let found = format!("{deadline} is less than {least}, the time that settle and bake of all steps take");
    Some(Problem::error("spec.strategy.progressDeadline", found, format!("write more than {least}, or leave it out")))
}

/// Queries that do not tell one service from another.
pub(super) fn same_for_all_services(spec: &FleetRolloutSpec) -> Vec<Problem> {
    let metrics = spec.analysis.metrics.iter().enumerate().filter(|_| spec.services.len() > 1);
    metrics
        .flat_map(|(i, metric)| queries(&format!("spec.analysis.metrics[{i}]"), metric.kind()))
        .filter(|(_, query)| !OF_A_SERVICE.iter().any(|variable| query.replace(' ', "").contains(variable)))
        .map(|(path, _)| {
            let found = "returns the same value for every service";
            Problem::warning(path, found, "select by {{ service }}, so that each service is judged by its own requests")
        })
        .collect()
}

fn between(path: &str, time: Duration, least: Duration, most: Duration) -> Option<Problem> {
    (time < least || time > most)
        .then(|| Problem::error(path, format!("{time} is not allowed"), format!("write a time from {least} to {most}")))
}

fn metric(path: &str, metric: &Metric) -> Vec<Problem> {
    let mut problems: Vec<Problem> = kinds(path, metric).into_iter().chain(beside(path, metric)).collect();
    problems.extend(metric.window.and_then(|window| between(&format!("{path}.window"), window, SECOND, DAY)));
    problems.extend(limits(path, metric));
    problems.extend(measured(path, metric.kind()));
    problems
}

/// The queries by themselves and together.
pub(super) fn measured(path: &str, kind: MetricKind<'_>) -> Vec<Problem> {
    let (read, refused): (Vec<_>, Vec<_>) = queries(path, kind)
        .into_iter()
        .map(|(path, text)| (promql::read(&path, text), path, text))
        .partition(|(read, ..)| read.is_ok());
    let mut problems: Vec<Problem> = refused.into_iter().filter_map(|(read, ..)| read.err()).collect();
    let read: Vec<(Query, String, &str)> =
        read.into_iter().filter_map(|(read, path, text)| Some((read.ok()?, path, text))).collect();
    problems.extend(read.iter().filter_map(|(query, path, text)| fixed_range(query, path, text)));
    problems.extend(read.iter().filter_map(|(query, path, text)| not_by_service(query, path, text)));
    problems.extend(match (kind, read.as_slice()) {
        (MetricKind::Ratio(_), [(numerator, path, _), (denominator, ..)]) => other_series(numerator, denominator, path),
        (MetricKind::Histogram(_), [(buckets, path, _)]) => no_buckets(buckets, path),
        (
            MetricKind::Ratio(_)
            | MetricKind::Histogram(_)
            | MetricKind::Query(_)
            | MetricKind::Template(_)
            | MetricKind::Builtin(_),
            _,
        ) => None,
    });
    problems
}

fn kinds(path: &str, metric: &Metric) -> Option<Problem> {
    let given = made([
        ("ratio", metric.ratio.is_some()),
        ("histogram", metric.histogram.is_some()),
        ("query", metric.query.is_some()),
        ("templateRef", metric.template_ref.is_some()),
        ("builtin", metric.builtin.is_some()),
    ]);
    let remedy = "give exactly one of ratio, histogram, query, templateRef, builtin";
    not_one(path, &given, "nothing is measured", "are both given", remedy)
}

pub(super) fn queries<'a>(path: &str, kind: MetricKind<'a>) -> Vec<(String, &'a str)> {
    match kind {
        MetricKind::Ratio(Ratio { numerator, denominator }) => vec![
            (format!("{path}.ratio.numerator"), numerator.as_str()),
            (format!("{path}.ratio.denominator"), denominator.as_str()),
        ],
        MetricKind::Histogram(Histogram { buckets, .. }) => {
            vec![(format!("{path}.histogram.buckets"), buckets.as_str())]
        }
        MetricKind::Query("") | MetricKind::Template(_) | MetricKind::Builtin(_) => Vec::new(),
        MetricKind::Query(query) => vec![(format!("{path}.query"), query)],
    }
}

/// What a metric may say beside where it is measured.
fn beside(path: &str, metric: &Metric) -> Vec<Problem> {
    let variables = (metric.template_ref.is_none() && !metric.variables.is_empty()).then(|| {
        let found = "are given, but there is no templateRef";
        Problem::error(format!("{path}.variables"), found, "give templateRef, or leave them out")
    });
    let share = metric.builtin.filter(|builtin| builtin.type_ == BuiltinType::RequestSuccessRate);
    let quantile = share.and_then(|builtin| builtin.quantile).map(|quantile| {
        let found = format!("{quantile} is given, but a RequestSuccessRate has none");
        Problem::error(format!("{path}.builtin.quantile"), found, "leave it out")
    });
    variables.into_iter().chain(quantile).collect()
}

pub(super) fn limits(path: &str, metric: &Metric) -> Vec<Problem> {
    let own = (path.to_owned(), metric.min, metric.max);
    let member = metric.per_member.map(|limits| (format!("{path}.perMember"), limits.min, limits.max));
    let guard = metric.guard.map(|guard| (format!("{path}.guard"), guard.min, guard.max));
    let mut problems = Vec::new();
    if metric.min.is_none() && metric.max.is_none() && metric.per_member.is_none() {
        problems.push(Problem::error(path, "has no limit, so it would never fail", "give max, min or perMember"));
    }
    if matches!(metric.kind(), MetricKind::Query(_)) && (metric.min.is_some() || metric.max.is_some()) {
        let found = "limits a merged value, but a query cannot be merged over members";
        problems.push(Problem::error(path, found, "put max and min under perMember"));
    }
    for (path, min, max) in [Some(own), member.clone(), guard.clone()].into_iter().flatten() {
        problems.extend(bounds(&path, min, max, is_share(metric)));
    }
    let empty = [member, guard].into_iter().flatten().filter(|(_, min, max)| min.is_none() && max.is_none());
    problems.extend(empty.map(|(path, ..)| Problem::error(path, "has no limit", "give max or min")));
    problems.extend(strict_guard(path, metric));
    problems
}

fn is_share(metric: &Metric) -> bool {
    metric.ratio.is_some() || metric.builtin.is_some_and(|builtin| builtin.type_ == BuiltinType::RequestSuccessRate)
}

fn bounds(path: &str, min: Option<f64>, max: Option<f64>, percent: bool) -> Vec<Problem> {
    let mut problems = Vec::new();
    if let (Some(min), Some(max)) = (min, max)
        && min > max
    {
        problems.push(Problem::error(
            format!("{path}.min"),
            format!("{min} is more than max ({max})"),
            "min is at most max",
        ));
    }
    for (name, bound) in [("min", min), ("max", max)].into_iter().filter_map(|(name, bound)| Some((name, bound?))) {
        if !bound.is_finite() {
            problems.push(Problem::error(
                format!("{path}.{name}"),
                format!("{bound} is not allowed"),
                "write a finite number",
            ));
        } else if percent && !(0.0..=100.0).contains(&bound) {
            problems.push(Problem::error(
                format!("{path}.{name}"),
                format!("{bound} is not a percentage"),
                "a ratio is in percent, from 0 to 100",
            ));
        }
    }
    problems
}

/// A guard inside the limit rolls back at the first check that should only have counted as a failure.
fn strict_guard(path: &str, metric: &Metric) -> Option<Problem> {
    let guard = metric.guard?;
    let inside = |guard: Option<f64>, limit: Option<f64>, wrong: fn(&f64, &f64) -> bool| {
        guard.zip(limit).filter(|(guard, limit)| wrong(guard, limit))
    };
    let (name, (guard, limit)) = inside(guard.max, metric.max, f64::lt)
        .map(|found| ("max", found))
        .or_else(|| inside(guard.min, metric.min, f64::gt).map(|found| ("min", found)))?;
    let found = format!("{guard} is stricter than the metric's own {name} ({limit})");
    Some(Problem::warning(
        format!("{path}.guard.{name}"),
        found,
        "one check beyond a guard rolls back; make the guard the wider limit",
    ))
}

fn fixed_range(query: &Query, path: &str, text: &str) -> Option<Problem> {
    (query.ranges && !text.replace(' ', "").contains("{{window}}")).then(|| {
        let found = "covers a fixed time, so samples of earlier weights may be included";
        Problem::warning(path, found, USE_WINDOW)
    })
}

fn not_by_service(query: &Query, path: &str, text: &str) -> Option<Problem> {
    (is_for_all_services(text) && query.drops("service")).then(|| {
        let found = "is for all {{ services }} and drops the label service, so no value is known to be whose";
        Problem::error(path, found, "aggregate with sum by (service) (…), or select {{ service }}")
    })
}

fn other_series(numerator: &Query, denominator: &Query, path: &str) -> Option<Problem> {
    let names = |query: &Query| query.series.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ");
    (numerator.series != denominator.series).then(|| {
        let found = format!("counts {}, but the denominator counts {}", names(numerator), names(denominator));
        Problem::warning(path, found, "numerator and denominator should select the same series")
    })
}

fn no_buckets(buckets: &Query, path: &str) -> Option<Problem> {
    buckets
        .drops("le")
        .then(|| Problem::error(path, "drops the label le, so there are no buckets", "aggregate with sum by (le) (…)"))
}
