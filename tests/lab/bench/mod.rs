//! `make bench`: what rollouts cost a real API server and the hub, and how fast they are, at several sizes.
//!
//! | file | what it is |
//! |---|---|
//! | `stub` | members that answer at once, and note when they were queried |
//! | `server`, `memory` | an API server: a real one, or the sandbox's |
//! | `world`, `rollouts` | an API server with a hub as it is installed; its rollouts |
//! | `phase/` | what is done to them, and its figures |
//! | `size`, `load` | the phases in their order |
//! | `requests`, `lateness`, `reading` | figures from the audit log, from the members, from /proc |
//! | `stats`, `growth` | figures out of many |
//! | `results`, `table` | all figures, for machines and for people |
//! | `flagger`, `compared`, `page` | the same of Flagger, both side by side, docs/performance.md |

mod compared;
mod flagger;
mod growth;
mod lateness;
mod load;
mod memory;
mod page;
mod phase;
mod reading;
mod requests;
mod results;
mod rollouts;
mod server;
mod size;
mod stats;
mod stub;
mod table;
mod world;

use crate::{apiserver::start_etcd, dns::Dns, parts::Parts};
use anyhow::{Context, Result};
use results::Results;
use std::{env, path::Path, str::FromStr, time::Instant};
use stub::Stub;

const ALL: &str = "1,10,100,crowded,overload";
/// The figures of the last bench, to write the page again.
const SAVED: &str = "saved";

/// What can be measured by itself.
enum Part {
    /// All phases with so many rollouts.
    Size(usize),
    /// Many rollouts in one namespace.
    Crowded,
    /// More than fits.
    Overload,
}

impl FromStr for Part {
    type Err = anyhow::Error;

    fn from_str(word: &str) -> Result<Self> {
        Ok(match word.trim() {
            "crowded" => Self::Crowded,
            "overload" => Self::Overload,
            number => Self::Size(number.parse().with_context(|| format!("BENCH: {number} is no part of {ALL}"))?),
        })
    }
}

/// Measures what `BENCH` names, or everything; prints each part when it is known, and writes all of them to
/// `target/bench/results.json`.
pub async fn run(parts: &Parts, folder: &Path) -> Result<()> {
    let since = Instant::now();
    let wish = env::var("BENCH").ok().filter(|wish| !wish.is_empty()).unwrap_or_else(|| ALL.to_owned());
    let results = if wish == SAVED { Results::load()? } else { measured(&wish, parts, folder).await? };
    println!("{}", page::figures(&results));
    page::write(&results)?;
    println!("bench: {:.0?}; all figures are in {}", since.elapsed(), results::file().display());
    Ok(())
}

async fn measured(wish: &str, parts: &Parts, folder: &Path) -> Result<Results> {
    let wanted = wish.split(',').map(str::parse).collect::<Result<Vec<Part>>>()?;
    let _dns = Dns::start().await?;
    let _etcd = start_etcd(parts, folder)?;
    let stub = Stub::start().await?;
    let mut results = Results::begin();
    for part in &wanted {
        measure(part, parts, folder, &stub, &mut results).await?;
        results.save()?;
    }
    Ok(results)
}

async fn measure(part: &Part, parts: &Parts, folder: &Path, stub: &Stub, results: &mut Results) -> Result<()> {
    match part {
        Part::Size(rollouts) => {
            let size = size::measure(&size::plan(*rollouts), parts, folder, stub).await;
            results.sizes.push(size.with_context(|| format!("{rollouts} rollouts"))?);
            println!("{}", table::sizes(&results.sizes));
        }
        Part::Crowded => {
            results.crowded = Some(load::crowded(parts, folder, stub).await.context("fifty in one namespace")?);
            println!("{}", table::passes(results));
        }
        Part::Overload => {
            let overload = load::overloaded(parts, folder, stub).await.context("overload")?;
            println!("{}", table::overload(&overload));
            results.overload = Some(overload);
        }
    }
    Ok(())
}
