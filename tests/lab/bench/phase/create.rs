//! All rollouts are declared at once.

use crate::{
    bench::{
        requests::{Counts, counted},
        rollouts::Rollouts,
        stats::float,
        world::World,
    },
    wait::seconds,
};
use anyhow::Result;
use cutover::api::Phase;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Create {
    /// Until every route and backend is made.
    pub seconds: f64,
    pub requests_per_rollout: Counts,
}

pub async fn create(world: &World<'_>, rollouts: &Rollouts<'_>) -> Result<Create> {
    rollouts.make_room().await?;
    let from = world.reading().await?;
    rollouts.declare().await?;
    rollouts.reach(Phase::Initialized, seconds(60) + seconds(1) * u32::try_from(rollouts.plan.rollouts)?).await?;
    let to = world.reading().await?;
    let requests = world.of_the_hub(from.at, to.at)?;
    Ok(Create { seconds: to.since(&from), requests_per_rollout: counted(&requests, float(rollouts.plan.rollouts)) })
}
