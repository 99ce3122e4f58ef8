//! The table of services, routes and members: desired, applied and observed shares, and measured values. Pure.

use crate::{
    api::{
        Metric, Reason,
        status::{Check, RouteStatus},
    },
    cli::{
        judged::{self, Judged},
        metrics,
        routes::RouteShown,
        sentences,
        table::{Align, Column, Line, Table},
        text::{Page, clock, count, cut, escape, number, share, wrap},
        view::View,
    },
    rollout::RouteKey,
};

/// Columns of the widest first cell; longer names are cut.
const NAMES: usize = 44;

pub(super) fn render(view: &View, page: Page) -> String {
    let routes = routes(view);
    let mut lines = Vec::new();
    let mut seen = "";
    for route in &routes {
        lines.push(Line::Text(heading(view, route, page)));
        // Measured values belong to the service, so only its first route shows them.
        lines.extend(members(view, route, route.key.service != seen));
        seen = &route.key.service;
    }
    let fitted = Table { columns: columns(view), lines }.fit(page.table());
    let table = if routes.is_empty() { String::new() } else { fitted.text };
    let gates = format!("└─ gates  {}", sentences::gates(view).unwrap_or_else(|| "none".to_owned()));
    let left_out = if routes.is_empty() { String::new() } else { left_out(&fitted.left_out, page) };
    format!("{table}{}\n{left_out}", wrap(&gates, page.width, 10))
}

/// Titles that are named where there is no room for their columns.
const NAMED: usize = 3;

fn left_out(titles: &[String], page: Page) -> String {
    let names = match titles.len() {
        0 => return String::new(),
        1..=NAMED => titles.join(", "),
        more => format!("{more} columns"),
    };
    format!("{}\n", wrap(&format!("no room for {names}: -o wide"), page.width, 4))
}

/// A route as it was read now, as it was recorded, or both.
struct Row<'v> {
    key: RouteKey,
    shown: Option<&'v RouteShown>,
    recorded: Option<&'v RouteStatus>,
}

/// The routes that were read; where none was, those of the status.
fn routes<'v>(view: &'v View) -> Vec<Row<'v>> {
    if view.routes.is_empty() {
        let key = |route: &RouteStatus| RouteKey { service: route.service.clone(), route: route.route.clone() };
        return view
            .status
            .routes
            .iter()
            .map(|route| Row { key: key(route), shown: None, recorded: Some(route) })
            .collect();
    }
    let row = |shown: &'v RouteShown| {
        let RouteShown { key, .. } = shown;
        Row { key: key.clone(), shown: Some(shown), recorded: view.status.route(&key.service, &key.route) }
    };
    view.routes.iter().map(row).collect()
}

fn columns(view: &View) -> Vec<Column> {
    let right = |title: &str, detail: &str, rank| Column::new(title, detail, Align::Right, rank);
    let metric = |(index, metric): (usize, &Metric)| {
        Column::new(cut(&escape(&metric.name), 16).to_uppercase(), metrics::limit(metric), Align::Right, index + 2)
    };
    let metrics = view.rollout.spec.analysis.metrics.iter().enumerate().map(metric);
    let shares = [right("DESIRED", "%", 0), right("APPLIED", "%", 0), right("OBSERVED", "%", 1)];
    let names = Column::new("", "", Align::Left, 0);
    let last = [right("SAMPLES", "", usize::MAX), Column::new("VERDICT", "", Align::Left, 0)];
    [names].into_iter().chain(shares).chain(metrics).chain(last).collect()
}

/// `├─ storefront  HTTPRoute/public   confirmed 00:41:07`.
fn heading(view: &View, row: &Row<'_>, page: Page) -> String {
    let recorded = row.recorded.map(|route| clock(route.at));
    let unconfirmed =
        view.unconfirmed().filter(|desired| row.recorded.is_none_or(|route| route.sequence < desired.sequence));
    let state = match (row.shown.map(|shown| &shown.live), unconfirmed, recorded) {
        (Some(Err(why)), _, Some(at)) => format!("confirmed {at}, as in brackets; not read now: {why}"),
        (Some(Err(why)), _, None) => format!("not read: {why}"),
        (_, Some(desired), _) => format!("NOT CONFIRMED, desired since {}", clock(desired.at)),
        (Some(Ok(_)), None, _) if view.drift_of(&row.key).is_some() => drifted(view, &row.key),
        (_, None, Some(at)) => format!("confirmed {at}"),
        (_, None, None) => "not written yet".to_owned(),
    };
    wrap(&escape(&format!("├─ {}  {}   {state}", row.key.service, row.key.route)), page.width, 5)
}

fn drifted(view: &View, key: &RouteKey) -> String {
    let editor = view.drift_of(key).and_then(|drift| drift.editor).unwrap_or("an unknown field manager");
    format!("DRIFTED: changed by {editor}")
}

/// `│  ├─ eu-1  leaving    75.0     75.0`, with the measured values if `measured`.
fn members(view: &View, row: &Row<'_>, measured: bool) -> Vec<Line> {
    let members = view.shown_members();
    let line = |(index, member): (usize, &&str)| {
        let branch = if index + 1 == members.len() { "└─" } else { "├─" };
        let part = view.part(member).map(|part| format!("  {}", part.word())).unwrap_or_default();
        let name = cut(&format!("│  {branch} {}{part}", escape(member)), NAMES);
        let desired =
            view.desired().map_or_else(|| "-".to_owned(), |weights| share(weights.weight(member), view.total()));
        let cells = [name, desired, applied(view, row, member)].into_iter();
        let counted = if measured { counted(view, &row.key.service, member) } else { Vec::new() };
        Line::Cells(cells.chain(counted).collect())
    };
    members.iter().enumerate().map(line).collect()
}

/// What the route shows now; in brackets, what it was last confirmed to show, where it cannot be read.
fn applied(view: &View, row: &Row<'_>, member: &str) -> String {
    let total = view.total();
    let recorded = row.recorded.map(|route| share(route.applied.weight(member), total));
    match (row.shown.and_then(RouteShown::weights), recorded) {
        (Some(weights), _) => share(weights.weight(member), total),
        (None, Some(recorded)) => format!("({recorded})"),
        (None, None) => "?".to_owned(),
    }
}

/// Observed share, metrics, samples and verdict.
fn counted(view: &View, service: &str, member: &str) -> Vec<String> {
    let metrics = &view.rollout.spec.analysis.metrics;
    let values = match view.judged() {
        Judged::Now(check) if check.reason == Reason::NothingMeasured => {
            Values { check: None, absent: "-", observed: false }
        }
        Judged::Now(check) => Values { check: Some(check), absent: "?", observed: true },
        // Of the others, its values say nothing about why it was lost.
        Judged::Lost(check) => {
            let about = judged::verdict(view, service, member) != "-";
            Values { check: Some(check).filter(|_| about), absent: "-", observed: false }
        }
        Judged::NotYet(_) | Judged::Nothing => Values { check: None, absent: "-", observed: false },
    };
    let observed = values.observed(service, member);
    let of_metrics = metrics.iter().map(|metric| values.of(service, &metric.name, member));
    let last = [values.samples(service, member), judged::verdict(view, service, member)];
    [observed].into_iter().chain(of_metrics).chain(last).collect()
}

/// The numbers of one check, or what stands where there is none.
struct Values<'v> {
    check: Option<&'v Check>,
    absent: &'static str,
    observed: bool,
}

impl Values<'_> {
    fn or_absent(&self, value: Option<String>) -> String {
        value.unwrap_or_else(|| self.absent.to_owned())
    }

    fn observed(&self, service: &str, member: &str) -> String {
        let check = self.check.filter(|_| self.observed);
        let share = check.and_then(|check| check.observed.get(service)?.get(member).copied());
        self.or_absent(share.map(|share| format!("{share:.1}")))
    }

    fn of(&self, service: &str, metric: &str, member: &str) -> String {
        let mut metrics = self.check.iter().flat_map(|check| &check.metrics);
        let found = metrics.find(|found| found.service == service && found.metric == metric);
        let value = found.and_then(|found| found.members.iter().find(|value| value.member == member)?.value);
        self.or_absent(value.map(number))
    }

    /// The largest sample count of any metric of the service at this member.
    fn samples(&self, service: &str, member: &str) -> String {
        let metrics = self.check.iter().flat_map(|check| &check.metrics).filter(|metric| metric.service == service);
        let values = metrics.flat_map(|metric| &metric.members).filter(|value| value.member == member);
        self.or_absent(values.filter_map(|value| value.samples).reduce(f64::max).map(count))
    }
}
