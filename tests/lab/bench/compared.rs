//! cutover and Flagger side by side, as a table and as a picture.

use super::{
    flagger::{self, Figures},
    requests::total,
    size::Size,
    stats::float,
    table::{markdown, number},
};
use anyhow::Result;
use plotters::{coord::Shift, prelude::*};

const OURS: RGBColor = RGBColor(0x1f, 0x6f, 0xb4);
const FLAGGERS: RGBColor = RGBColor(0xd9, 0x5f, 0x02);

/// One measure of both.
struct Pair {
    what: &'static str,
    ours: fn(&Size) -> Option<f64>,
    flagger: Figures,
}

const PAIRS: [Pair; 7] = [
    Pair {
        what: "requests per advance",
        ours: |size| Some(total(&size.run.requests_per_advance)),
        flagger: flagger::REQUESTS_PER_ADVANCE,
    },
    Pair {
        what: "CPU per advance, ms",
        ours: |size| Some(size.run.hub_cpu_per_advance),
        flagger: flagger::CPU_PER_ADVANCE,
    },
    Pair {
        what: "declared to first write, p50 ms",
        ours: |size| Some(size.run.trigger?.p50),
        flagger: flagger::DECLARED_TO_FIRST_WRITE,
    },
    Pair {
        what: "killed and started again: first write, p50 ms",
        ours: |size| Some(size.crash.restart_to_lead * 1000.0 + size.crash.lead_to_write?.p50),
        flagger: flagger::RESTART_TO_FIRST_WRITE,
    },
    Pair {
        what: "bad sample to route, p50 ms",
        ours: |size| Some(size.bad.sample_to_route?.p50),
        flagger: flagger::BAD_SAMPLE_TO_ROUTE,
    },
    Pair {
        what: "CPU of the API server per advance, ms",
        ours: |size| Some(size.run.api_server_cpu_per_advance),
        flagger: flagger::API_SERVER_CPU_PER_ADVANCE,
    },
    Pair {
        what: "requests per idle minute",
        ours: |size| Some(size.idle.requests_per_minute),
        flagger: flagger::REQUESTS_PER_IDLE_MINUTE,
    },
];
/// The first ones are drawn.
const DRAWN: usize = 4;

/// The sizes of which Flagger's figures are known, each with both figures: `cutover / Flagger`.
pub fn table(sizes: &[Size]) -> String {
    let column = |number: &usize| sizes.iter().find(|size| size.plan.rollouts == *number);
    let cell = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), number);
    let row = |pair: &Pair| {
        let both = flagger::SIZES.iter().zip(pair.flagger);
        let cells =
            both.map(|(number, flagger)| format!("{} / {}", cell(column(number).and_then(pair.ours)), cell(flagger)));
        (pair.what.to_owned(), cells.collect())
    };
    let heading = flagger::SIZES.iter().map(|number| format!("N = {number}")).collect();
    let rows: Vec<_> =
        std::iter::once(("cutover / Flagger".to_owned(), heading)).chain(PAIRS.iter().map(row)).collect();
    markdown(&rows)
}

/// Both over the number of rollouts, as SVG; both axes are logarithmic.
pub fn picture(sizes: &[Size]) -> Result<String> {
    let mut svg = String::new();
    {
        let whole = SVGBackend::with_string(&mut svg, (960, 640)).into_drawing_area();
        whole.fill(&WHITE)?;
        for (area, pair) in whole.split_evenly((2, 2)).iter().zip(&PAIRS[..DRAWN]) {
            draw(area, pair, sizes)?;
        }
        whole.present()?;
    }
    Ok(svg)
}

/// Number of rollouts, figure.
type Point = (f64, f64);

fn draw(area: &DrawingArea<SVGBackend<'_>, Shift>, pair: &Pair, sizes: &[Size]) -> Result<()> {
    let ours = points(sizes.iter().map(|size| (size.plan.rollouts, (pair.ours)(size))));
    let flaggers = points(flagger::SIZES.into_iter().zip(pair.flagger));
    let all: Vec<Point> = [ours.as_slice(), &flaggers].concat();
    let most = |of: fn(&Point) -> f64| all.iter().map(of).fold(1.0, f64::max);
    let least = all.iter().map(|point| point.1).fold(f64::MAX, f64::min);
    let (numbers, figures) = (0.8..most(|point| point.0) * 1.3, least / 2.0..most(|point| point.1) * 2.0);
    let mut chart = ChartBuilder::on(area)
        .caption(pair.what, ("sans-serif", 17))
        .margin(12)
        .x_label_area_size(36)
        .y_label_area_size(56)
        .build_cartesian_2d(numbers.log_scale(), figures.log_scale())?;
    let plain = |number: &f64| number.to_string();
    let mut mesh = chart.configure_mesh();
    mesh.light_line_style(WHITE).x_desc("rollouts").x_label_formatter(&plain).y_label_formatter(&plain).draw()?;
    for (name, color, points) in [("cutover", OURS, ours), ("Flagger 1.44", FLAGGERS, flaggers)] {
        let line = LineSeries::new(points, color.filled().stroke_width(2)).point_size(4);
        let legend = move |(x, y)| Rectangle::new([(x, y - 4), (x + 14, y + 4)], color.filled());
        chart.draw_series(line)?.label(name).legend(legend);
    }
    chart.configure_series_labels().background_style(WHITE).border_style(BLACK.mix(0.2)).draw()?;
    Ok(())
}

/// What is known, and can be drawn on such an axis.
fn points(figures: impl Iterator<Item = (usize, Option<f64>)>) -> Vec<Point> {
    let known = figures.filter_map(|(number, figure)| Some((float(number), figure?)));
    known.filter(|point| point.1 > 0.0).collect()
}
