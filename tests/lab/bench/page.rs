//! docs/performance.md: the figures that it gives, and its picture.

use super::{
    compared::{picture, table},
    flagger,
    results::Results,
    stats::exponent,
    table as tables,
};
use crate::fleet::source;
use anyhow::{Context, Result};
use std::fs;

const PAGE: &str = "docs/performance.md";
const PICTURE: &str = "docs/performance.svg";
const BEGIN: &str = "<!-- figures: `make bench-figures` writes them -->\n";
const END: &str = "<!-- end of figures -->\n";

/// Writes both where the environment asks for it.
pub fn write(results: &Results) -> Result<()> {
    if std::env::var_os("FIGURES").is_none() {
        return Ok(());
    }
    let text = fs::read_to_string(source(PAGE))?;
    let around = text.split_once(BEGIN).and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let (before, after) = around.with_context(|| format!("{PAGE} has no place for figures"))?;
    fs::write(source(PAGE), format!("{before}{BEGIN}{}{END}{after}", figures(results)))?;
    fs::write(source(PICTURE), picture(&results.sizes)?)?;
    Ok(())
}

/// All tables, with what is needed to judge them.
pub fn figures(results: &Results) -> String {
    let mut parts = vec![format!("cutover {} on {}, {} cores.\n", results.cutover, results.date, results.cores)];
    parts.push(format!("### Sizes\n\n{}\n{}", tables::sizes(&results.sizes), growth(results)));
    parts.push(format!("### Rollouts in one namespace\n\n{}", tables::passes(results)));
    parts.extend(results.overload.as_ref().map(|overload| format!("### Overload\n\n{}", tables::overload(overload))));
    parts.push(format!("### Beside Flagger\n\n{}\n{}\n", table(&results.sizes), flagger::HOW));
    parts.join("\n")
}

/// How what grows with the number of rollouts grows, and what each further one costs.
pub fn growth(results: &Results) -> String {
    let points = |of: fn(&super::size::Size) -> f64| -> Vec<(f64, f64)> {
        results.sizes.iter().map(|size| (super::stats::float(size.plan.rollouts), of(size))).collect()
    };
    let said = |what: &str, of| exponent(&points(of)).map(|exponent| format!("{what} {exponent:.2}"));
    let all = [
        said("creation", |size| size.create.seconds),
        said("CPU of the hub in a run", |size| size.run.hub_cpu_per_advance * size.run.advances),
        said("RSS of the hub", |size| size.idle.hub_mib),
    ];
    let known: Vec<String> = all.into_iter().flatten().collect();
    format!("Growth exponents (1: in proportion): {}.{}\n", known.join(", "), memory(results))
}

fn memory(results: &Results) -> String {
    let (Some(first), Some(last)) = (results.sizes.first(), results.sizes.last()) else { return String::new() };
    let more = super::stats::float(last.plan.rollouts.saturating_sub(first.plan.rollouts));
    let of_rollouts = (more > 0.0).then(|| (last.idle.hub_mib - first.idle.hub_mib) * 1024.0 / more);
    let of_members = results.sizes.iter().find_map(|size| size.kib_per_member);
    let said = |what: &str, kib: Option<f64>| kib.map(|kib| format!(" {what}: {kib:.0} KiB.")).unwrap_or_default();
    format!(
        "{}{}",
        said("RSS of the hub for each further rollout", of_rollouts),
        said("RSS of the hub for each further member that is not used", of_members)
    )
}
