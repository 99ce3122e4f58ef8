//! The table of services, routes and members: desired, applied and observed shares, and measured values. Pure.

use crate::{
    api::{
        Metric,
        status::{MemberValue, RouteStatus},
    },
    cli::{
        sentences,
        text::{WIDTH, clock, cut, escape, number, share},
        view::View,
    },
};

/// Columns of the widest first cell; longer names are cut.
const NAMES: usize = 34;
/// Columns of DESIRED, APPLIED, OBSERVED, SAMPLES and VERDICT with the spaces between them.
const FIXED: usize = 7 + 9 + 10 + 10 + 16;

pub(super) fn render(view: &View, wide: bool) -> String {
    let members: Vec<String> = view.shown_members().into_iter().map(|member| label(view, member)).collect();
    let names = members.iter().map(|label| label.chars().count() + 7).max().unwrap_or(0).clamp(12, NAMES);
    let all: Vec<&Metric> = view.rollout.spec.analysis.metrics.iter().collect();
    let room = if wide { usize::MAX } else { WIDTH.saturating_sub(names + FIXED) };
    let metrics = fitting(&all, room);
    let mut text = if view.status.routes.is_empty() { String::new() } else { header(names, metrics) };
    let mut seen = "";
    for route in &view.status.routes {
        text.push_str(&route_line(view, route));
        // Measured values belong to the service, so only its first route shows them.
        let measured = (route.service != seen).then_some(metrics);
        for (index, member) in view.shown_members().into_iter().enumerate() {
            let branch = if index + 1 == members.len() { "└─" } else { "├─" };
            let name = cut(&format!("│  {branch} {}", label(view, member)), names);
            text.push_str(&member_line(view, route, member, &format!("{name:<names$}"), measured));
        }
        seen = &route.service;
    }
    let gates = sentences::gates(view).unwrap_or_else(|| "none".to_owned());
    let left = all.len() - metrics.len();
    let more = if left > 0 { format!("{left} more metrics: -o wide\n") } else { String::new() };
    format!("{text}└─ gates  {gates}\n{more}")
}

/// The metrics that fit into the width.
fn fitting<'m>(metrics: &'m [&'m Metric], room: usize) -> &'m [&'m Metric] {
    let mut used = 0_usize;
    let fits = |metric: &&&Metric| {
        used = used.saturating_add(width(metric));
        used <= room
    };
    &metrics[..metrics.iter().take_while(fits).count()]
}

fn label(view: &View, member: &str) -> String {
    let part = view.part(member).map(|part| format!("  {}", part.word())).unwrap_or_default();
    format!("{}{part}", escape(member))
}

/// `errors<=1`: the limit over all canaries, else the one on each of them.
fn title(metric: &Metric) -> String {
    let each = metric.per_member.unwrap_or_default();
    let limit = match (metric.max.or(each.max), metric.min.or(each.min)) {
        (Some(max), None) => format!("<={}", number(max)),
        (None, Some(min)) => format!(">={}", number(min)),
        (Some(max), Some(min)) => format!("={}..{}", number(min), number(max)),
        (None, None) => String::new(),
    };
    format!("{}{limit}", cut(&escape(&metric.name), 16).to_uppercase())
}

fn width(metric: &Metric) -> usize {
    title(metric).chars().count().max(6) + 2
}

fn header(names: usize, metrics: &[&Metric]) -> String {
    let titles: Vec<String> = metrics.iter().map(|metric| format!("{:>1$}", title(metric), width(metric))).collect();
    let titles = titles.concat();
    format!("{:names$}{:>7}{:>9}{:>10}{titles}{:>10}  VERDICT\n", "", "DESIRED", "APPLIED", "OBSERVED", "SAMPLES")
}

/// `├─ storefront  HTTPRoute/public   confirmed 00:41:07`.
fn route_line(view: &View, route: &RouteStatus) -> String {
    let missing = view.unconfirmed().filter(|desired| route.sequence < desired.sequence);
    let state = match missing {
        Some(desired) => format!("NOT CONFIRMED, desired since {}", clock(desired.at)),
        None => format!("confirmed {}", clock(route.at)),
    };
    format!("{}\n", cut(&escape(&format!("├─ {}  {}   {state}", route.service, route.route)), WIDTH))
}

/// `│  ├─ eu-1  leaving    75.0     75.0`, and the measured values if `metrics` are given.
fn member_line(view: &View, route: &RouteStatus, member: &str, name: &str, metrics: Option<&[&Metric]>) -> String {
    let total = view.total();
    let desired = share(view.desired().map_or(0, |desired| desired.weight(member)), total);
    let applied = share(route.applied.weight(member), total);
    let counted = metrics.map(|metrics| counted(view, &route.service, member, metrics)).unwrap_or_default();
    format!("{name}{desired:>7}{applied:>9}{counted}\n")
}

fn counted(view: &View, service: &str, member: &str, metrics: &[&Metric]) -> String {
    let cell = |metric: &&Metric| {
        let value = measured(view, service, &metric.name, member).and_then(|found| found.value);
        format!("{:>1$}", value.map_or("?".to_owned(), number), width(metric))
    };
    let values = metrics.iter().map(cell).collect::<Vec<_>>().concat();
    let samples = samples(view, service, member).map_or("?".to_owned(), number);
    let verdict = sentences::verdict(view, service, member);
    format!("{:>10}{values}{samples:>10}  {verdict}", observed(view, service, member))
}

/// The share that the last check observed; `?` once other weights are desired than it judged.
fn observed(view: &View, service: &str, member: &str) -> String {
    let known = view.check_of_desired().and_then(|check| check.observed.get(service)?.get(member).copied());
    known.map_or("?".to_owned(), |share| format!("{share:.1}"))
}

fn measured<'v>(view: &'v View, service: &str, metric: &str, member: &str) -> Option<&'v MemberValue> {
    let check = view.check()?;
    let found = check.metrics.iter().find(|found| found.service == service && found.metric == metric)?;
    found.members.iter().find(|value| value.member == member)
}

/// The largest sample count of any metric of the service at this member.
fn samples(view: &View, service: &str, member: &str) -> Option<f64> {
    let metrics = view.check()?.metrics.iter().filter(|metric| metric.service == service);
    let values = metrics.flat_map(|metric| &metric.members).filter(|value| value.member == member);
    values.filter_map(|value| value.samples).reduce(f64::max)
}
