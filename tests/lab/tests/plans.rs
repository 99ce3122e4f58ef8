//! Plans of the simulator on a real API server.

use crate::{
    cluster::Cluster,
    fleet,
    lab::SAMPLE,
    parts::Parts,
    runner::{Place, Scene, Test},
    sample::{self, Sample},
    simulator::{drive::Outcome, plan::Plan},
};
use anyhow::{Context, Result, anyhow, ensure};
use std::{collections::BTreeMap, time::Instant};
use tokio::runtime::Handle;

pub const TESTS: &[Test] =
    &[Test { name: "plans_of_the_simulator", place: Place::Apart, run: |scene| Box::pin(plans(scene)) }];

/// At least so many plans must have met their fault.
const LEAST: usize = 100;

/// `PLAN='P1 k=17 seed=3'` makes one plan and prints everything that happened.
async fn plans(scene: Scene) -> Result<()> {
    let parts = Parts::ensure(false).await?;
    let cluster = Cluster::start("sample", SAMPLE, &parts, &scene.folder, &scene.pki).await?;
    cluster.install_crds(&parts.gateway_api_crds).await?;
    fleet::install_kinds(&cluster).await?;
    cluster.apply("", &sample::everywhere()?).await?;
    let only = std::env::var("PLAN").ok().filter(|line| !line.is_empty());
    let only = only.map(|line| line.parse::<Plan>()).transpose().map_err(|error| anyhow!(error))?;
    let (sample, since) = (Sample::new(cluster.client.clone(), Handle::current()), Instant::now());
    sample.ready().await?;
    let outcomes = tokio::task::spawn_blocking(move || match only {
        Some(plan) => vec![sample.replayed(plan)],
        None => sample.all(),
    });
    let outcomes = outcomes.await.context("the sample ended early")?;
    if only.is_some() {
        outcomes.iter().flat_map(|outcome| &outcome.story).for_each(|line| println!("{line}"));
    }
    println!("lab: {} plans in {:.1?}: {}", outcomes.len(), since.elapsed(), patterns(&outcomes));
    judged(&outcomes)?;
    let struck = outcomes.iter().filter(|outcome| outcome.struck).count();
    ensure!(only.is_some() || struck >= LEAST, "only {struck} plans met their fault");
    Ok(())
}

/// How many plans of each pattern there were, and how many of them met their fault.
fn patterns(outcomes: &[Outcome]) -> String {
    let mut counts: BTreeMap<u8, (usize, usize)> = BTreeMap::new();
    for outcome in outcomes {
        let count = counts.entry(outcome.plan.fault.number()).or_default();
        (count.0, count.1) = (count.0 + 1, count.1 + usize::from(outcome.struck));
    }
    let counts = counts.into_iter().map(|(pattern, (plans, struck))| format!("P{pattern} {struck}/{plans}"));
    counts.collect::<Vec<_>>().join(", ")
}

fn judged(outcomes: &[Outcome]) -> Result<()> {
    let failed: Vec<&Outcome> = outcomes.iter().filter(|outcome| !outcome.broken.is_empty()).collect();
    if let Some(first) = failed.first() {
        let from = first.story.len().saturating_sub(60);
        first.story[from..].iter().for_each(|line| println!("{line}"));
    }
    let line = |outcome: &&Outcome| {
        format!("PLAN='{}' cargo test --test lab -- plans: {}", outcome.plan, outcome.broken.join("; "))
    };
    ensure!(failed.is_empty(), "{}", failed.iter().map(line).collect::<Vec<_>>().join("\n  "));
    Ok(())
}
