//! docs/performance.md: the figures that it gives, and its picture.

use super::{
    compared::{picture, table},
    flagger,
    growth::growth,
    results::Results,
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
