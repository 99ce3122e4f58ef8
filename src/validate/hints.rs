//! What is legal in a rollout and seldom wise. The hub runs it as it is.

use super::problem::{Problem, quoted};
use crate::{
    api::{Duration, FleetRolloutSpec, Metric, Mode, Route, analysis::MetricKind},
    rollout::{
        declared, initial,
        plan::{Ends, plan_run},
    },
};

/// The scrape interval that most Prometheus servers have at least.
const SCRAPE_INTERVAL: Duration = Duration::from_secs(15);
/// Scrapes that a window needs, so that a missed one does not leave it without a rate.
const SCRAPES: u32 = 4;
/// Requests per second that few services have.
const MUCH_TRAFFIC: f64 = 1000.0;

/// Everything about a rollout that could be wiser.
pub(super) fn hints(spec: &FleetRolloutSpec) -> Vec<Problem> {
    let metrics =
        || spec.analysis.metrics.iter().enumerate().map(|(i, metric)| (format!("spec.analysis.metrics[{i}]"), metric));
    let own = metrics().filter_map(|(path, metric)| Some((format!("{path}.window"), metric.window?)));
    let uses_interval = spec.analysis.metrics.iter().any(|metric| metric.window.is_none());
    let interval = uses_interval.then(|| ("spec.analysis.interval".to_owned(), spec.analysis.interval));
    let windows = interval.into_iter().chain(own).filter_map(|(path, window)| short_window(path, window));
    let samples = metrics().filter_map(|(path, metric)| many_samples(spec, &path, metric));
    windows
        .chain(samples)
        .chain(no_metric(spec))
        .chain(no_guard(spec))
        .chain(no_share(spec))
        .chain(rounded(spec))
        .collect()
}

fn short_window(path: String, window: Duration) -> Option<Problem> {
    let least = Duration::from_millis(SCRAPE_INTERVAL.as_millis() * u64::from(SCRAPES));
    (window < least).then(|| {
        let found = format!("a window of {window} is shorter than {SCRAPES} scrapes at a usual interval of {SCRAPE_INTERVAL}");
        let remedy = format!("write {least} or more, {SCRAPES} times the scrape interval of your members, so that one missed scrape does no harm");
        Problem::hint(path, found, remedy)
    })
}

/// More samples than the first step's share of the traffic gives in a window, unless there is very much of it.
fn many_samples(spec: &FleetRolloutSpec, path: &str, metric: &Metric) -> Option<Problem> {
    if matches!(metric.kind(), MetricKind::Query(_)) {
        return None;
    }
    let window = metric.window.unwrap_or(spec.analysis.interval);
    let (share, at) = first_share(spec)?;
    #[allow(clippy::cast_precision_loss)] // a count of requests; seconds
    let needed = metric.min_samples as f64 / (window.as_millis() as f64 / 1000.0) / share;
    (needed > MUCH_TRAFFIC).then(|| {
        let found = format!(
            "{} samples in {window} at the {:.1} % of {at} need {needed:.0} requests per second in all",
            metric.min_samples,
            share * 100.0
        );
        Problem::hint(
            format!("{path}.minSamples"),
            found,
            "with fewer the check is Unknown and the step holds; write less, or a longer window",
        )
    })
}

/// The share that the canaries have together at the first step that gives them any, and which step that is.
fn first_share(spec: &FleetRolloutSpec) -> Option<(f64, String)> {
    let start = initial(spec)?;
    let target = declared(spec);
    let steps = plan_run(spec, Ends { start: &start, rollback_to: &start, target: &target }, "").ok()?;
    steps.iter().zip(1..).find_map(|(step, number)| {
        let gained: u32 =
            step.split.weights.carrying().map(|(member, weight)| weight.saturating_sub(start.weight(member))).sum();
        (gained > 0).then(|| (f64::from(gained) / f64::from(spec.weight_total.max(1)), format!("step {number}")))
    })
}

/// Legal, if somebody means it: what then judges is said.
fn no_metric(spec: &FleetRolloutSpec) -> Option<Problem> {
    (!spec.analysis.measures() && !spec.skip_analysis).then(|| {
        let found = "is empty, so nothing is measured: only the endpoint probes and the time judge";
        let remedy = "a canary that answers its probes and fails its users is promoted; declare a metric, or mean it";
        Problem::hint("spec.analysis.metrics", found, remedy)
    })
}

fn no_guard(spec: &FleetRolloutSpec) -> Option<Problem> {
    let analysis = &spec.analysis;
    (analysis.failures.limit > 1
        && !analysis.metrics.is_empty()
        && analysis.metrics.iter().all(|metric| metric.guard.is_none()))
    .then(|| {
        let found = format!(
            "no metric has a guard, so even a canary that fails every request needs {} failed checks",
            analysis.failures.limit
        );
        Problem::hint(
            "spec.analysis.metrics",
            found,
            "add one, such as guard: {max: 20}: one check beyond it rolls back at once",
        )
    })
}

/// Where the hub makes every route, all traffic of the services goes through them. Users who are kept on a member send as much as
/// they like, so then the shares are only roughly those of the weights.
fn no_share(spec: &FleetRolloutSpec) -> Option<Problem> {
    let creates = |route: &Route| match route {
        Route::GatewayApi(route) => route.create.is_some(),
        Route::Contour(route) => route.create.is_some(),
        Route::Istio(route) => route.create.is_some(),
        Route::Skipper(route) => route.create.is_some(),
        Route::Kubernetes(_) | Route::Nginx(_) | Route::AliyunAlb(_) => false,
    };
    let mut routes = spec.services.iter().flat_map(|service| &service.routes).peekable();
    let counts = |metric: &Metric| !matches!(metric.kind(), MetricKind::Query(_));
    let could = routes.peek().is_some()
        && routes.all(creates)
        && spec.mode() == Mode::Member
        && spec.analysis.metrics.iter().any(counts);
    let is_kept = spec.strategy.session_affinity.is_some();
    (could && !is_kept && spec.analysis.share.is_none()).then(|| {
        let found = "share is not given, so the share that members count is not compared with their weights";
        Problem::hint("spec.analysis", found, "where no other route leads to these services, write share: {within: 5}")
    })
}

/// Weights that differ by more than a tenth from what the step's progress says.
fn rounded(spec: &FleetRolloutSpec) -> Vec<Problem> {
    let (Some(start), target) = (initial(spec), declared(spec)) else { return Vec::new() };
    let ends = Ends { start: &start, rollback_to: &start, target: &target };
    let planned = plan_run(spec, ends, "").unwrap_or_default();
    let worst = |i: usize| {
        let progress = spec.strategy.steps[i].progress?;
        let part: f64 = progress.to_string().trim_end_matches('%').parse::<f64>().ok()? / 100.0;
        let steps = planned.iter().filter(|step| step.progress == Some(progress));
        let gains = steps.flat_map(|step| {
            let members = target.members().map(|member| (member, step.split.weights.weight(member)));
            members.filter_map(|(member, weight)| {
                let (from, to) = (start.weight(member), target.weight(member));
                let exact = f64::from(from) + part * (f64::from(to) - f64::from(from));
                let moves = weight != from && weight != to;
                (to > from && moves && off(f64::from(weight), exact)).then(|| (member.to_owned(), weight, exact))
            })
        });
        gains.max_by(|a, b| (a.2 - f64::from(a.1)).abs().total_cmp(&(b.2 - f64::from(b.1)).abs()))
    };
    let steps = 0..spec.strategy.steps.len();
    steps
        .filter_map(|i| {
            let (member, weight, exact) = worst(i)?;
            let found = format!(
                "{} gets {weight} of {}, but exactly it would be {exact:.1}",
                quoted(&member),
                spec.weight_total
            );
            let remedy = format!(
                "with weightTotal {}, and all weights ten times as large, it is nearer",
                spec.weight_total.saturating_mul(10)
            );
            Some(Problem::hint(format!("spec.strategy.steps[{i}].progress"), found, remedy))
        })
        .collect()
}

fn off(weight: f64, exact: f64) -> bool {
    (weight - exact).abs() > exact / 10.0
}
