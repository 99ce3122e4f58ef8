//! The figures for people: a row for each, a column for each size.

use super::{
    phase::{
        overload::{FAILING, Overload, Window},
        run::Run,
    },
    requests::{Counts, Refused, total},
    results::Results,
    size::Size,
    stats::Quantiles,
};

use comfy_table::{Cell, CellAlignment, Table, presets::ASCII_MARKDOWN};

/// A row: what it is, and its cell for each size.
type Row = (String, Vec<String>);

/// A Markdown table, which a terminal shows as well.
pub fn sizes(sizes: &[Size]) -> String {
    let mut rows = rows(sizes);
    let heading = sizes.iter().map(|size| format!("N = {}", size.plan.rollouts)).collect();
    rows.insert(0, ("rollouts".to_owned(), heading));
    markdown(&rows)
}

fn rows(sizes: &[Size]) -> Vec<Row> {
    let row = |what: &str, cell: &dyn Fn(&Size) -> String| (what.to_owned(), sizes.iter().map(cell).collect());
    let mut rows = vec![
        row("interval, s", &|size| size.plan.interval.to_string()),
        row("create: s", &|size| number(size.create.seconds)),
        row("create: requests per rollout", &|size| all(&size.create.requests_per_rollout)),
        row("idle: requests per minute", &|size| number(size.idle.requests_per_minute)),
        row("idle: CPU of the hub, % of a core", &|size| number(size.idle.hub_cpu)),
        row("idle: RSS of the hub, MiB", &|size| number(size.idle.hub_mib)),
        row("idle: RSS of the API server, MiB", &|size| of_the_server(size, size.idle.api_server_mib)),
        row("run: requests per advance", &|size| all(&size.run.requests_per_advance)),
    ];
    rows.extend(by_verb(sizes));
    rows.extend([
        row("run: passes per advance", &|size| number(size.run.passes_per_advance)),
        row("run: CPU of the hub per advance, ms", &|size| number(size.run.hub_cpu_per_advance)),
        row("run: CPU of the API server per advance, ms", &|size| {
            of_the_server(size, size.run.api_server_cpu_per_advance)
        }),
        row("run: declared to first status, p50 / p99 ms", &|size| quantiles(size.run.trigger.as_ref())),
        row("run: lateness of checks, p50 / p99 ms", &|size| quantiles(size.run.lateness.as_ref())),
        row("run: answers 409 / 429 / 504", &|size| refused(&size.run.refused)),
        row("run: RSS of the hub at most, MiB", &|size| number(size.run.hub_peak_mib)),
        row("kill -9: restart until it leads, s", &|size| number(size.crash.restart_to_lead)),
        row("kill -9: from then to first write, p50 / p99 ms", &|size| quantiles(size.crash.lead_to_write.as_ref())),
        row("bad sample to route, p50 / p99 ms", &|size| quantiles(size.bad.sample_to_route.as_ref())),
        row("bad samples everywhere: all routes back, s", &|size| number(size.bad.all_back)),
    ]);
    rows
}

/// A row for each verb and resource that any run used.
fn by_verb(sizes: &[Size]) -> Vec<Row> {
    let mut verbs: Vec<&String> = sizes.iter().flat_map(|size| size.run.requests_per_advance.keys()).collect();
    verbs.sort();
    verbs.dedup();
    let cell =
        |size: &Size, verb: &String| number(size.run.requests_per_advance.get(verb).copied().unwrap_or_default());
    let row = |verb: &String| (format!("… {verb}"), sizes.iter().map(|size| cell(size, verb)).collect());
    verbs.into_iter().map(row).collect()
}

/// What rollouts of one namespace cost each other: one, ten and fifty of them in it.
pub fn passes(results: &Results) -> String {
    let sizes =
        results.sizes.iter().filter(|size| size.plan.rollouts <= 10).map(|size| (size.plan.rollouts, &size.run));
    let runs: Vec<(usize, &Run)> = sizes.chain(results.crowded.iter().map(|run| (50, run))).collect();
    let row = |what: &str, cell: &dyn Fn(&Run) -> f64| {
        (what.to_owned(), runs.iter().map(|(_, run)| number(cell(run))).collect())
    };
    markdown(&[
        ("rollouts in one namespace".to_owned(), runs.iter().map(|(count, _)| count.to_string()).collect()),
        row("passes per advance", &|run| run.passes_per_advance),
        row("CPU of the hub per advance, ms", &|run| run.hub_cpu_per_advance),
    ])
}

/// A column for each stage of the ramp, and for each window of the overload.
pub fn overload(overload: &Overload) -> String {
    let windows: Vec<&Window> = overload.ramp.iter().chain(&overload.windows).collect();
    let row = |what: &str, cell: &dyn Fn(&Window) -> String| {
        (what.to_owned(), windows.iter().map(|window| cell(window)).collect())
    };
    let table = markdown(&[
        row("runs at once", &|window| window.runs.to_string()),
        row("advances demanded, 1/s", &|window| number(window.demanded)),
        row("advances made, 1/s", &|window| number(window.advances)),
        row("status writes, 1/s", &|window| number(window.status_writes)),
        row("answers 409 / 429 / 504", &|window| refused(&window.refused)),
        row("CPU of the hub per advance, ms", &|window| number(window.hub_cpu_per_advance)),
        row("CPU of the API server per advance, ms", &|window| number(window.api_server_cpu_per_advance)),
    ]);
    format!("{table}\n{}", afterwards(overload))
}

fn afterwards(overload: &Overload) -> String {
    let ended = &overload.ended_otherwise;
    let otherwise: Vec<String> = ended.iter().map(|(phase, count)| format!("{count} {phase}")).collect();
    let recovery =
        overload.recovery_seconds.map_or_else(|| "not within 90 s".to_owned(), |took| format!("{took:.0} s"));
    format!(
        "- best steady rate: {} advances a second\n\
         - {} canaries failed during the overload: bad sample to route {} ms (p50 / p99); {} never lost their traffic\n\
         - runs that ended as they would not have ended without it: {}\n\
         - recovery after the load fell to half of the best rate: {recovery}\n",
        number(overload.best),
        FAILING,
        quantiles(overload.sample_to_route.as_ref()),
        overload.not_back,
        if otherwise.is_empty() { "none".to_owned() } else { otherwise.join(", ") },
    )
}

fn refused(refused: &Refused) -> String {
    format!("{} / {} / {}", refused.conflict_409, refused.too_many_429, refused.timeout_504)
}

/// Nothing, where the API server is in the process of the bench.
fn of_the_server(size: &Size, value: f64) -> String {
    if size.idle.api_server_mib > 0.0 { number(value) } else { "-".to_owned() }
}

fn all(counts: &Counts) -> String {
    number(total(counts))
}

fn quantiles(quantiles: Option<&Quantiles>) -> String {
    quantiles.map_or_else(|| "-".to_owned(), |known| format!("{} / {}", number(known.p50), number(known.p99)))
}

/// Two or three digits that mean something.
pub fn number(value: f64) -> String {
    let digits = match value.abs() {
        0.0 | 10.0.. => 0,
        1.0.. => 1,
        _ => 2,
    };
    format!("{value:.digits$}")
}

/// The first row is the heading.
pub fn markdown(rows: &[Row]) -> String {
    let mut table = Table::new();
    table.load_style(ASCII_MARKDOWN);
    for (place, (what, cells)) in rows.iter().enumerate() {
        let cells = cells.iter().map(|cell| Cell::new(cell).set_alignment(CellAlignment::Right));
        let row: Vec<Cell> = std::iter::once(Cell::new(what)).chain(cells).collect();
        if place == 0 {
            table.set_header(row);
        } else {
            table.add_row(row);
        }
    }
    format!("{table}\n")
}
