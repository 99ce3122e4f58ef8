//! Nothing is to be done.

use crate::bench::{
    requests::{counted, total},
    world::World,
};
use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use tokio::time::sleep;

/// What was begun before has ended by then: a route counts as applied four seconds after it was written.
const REST: Duration = Duration::from_secs(6);
const IDLE: Duration = Duration::from_secs(12);

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Idle {
    pub requests_per_minute: f64,
    /// Percent of one core.
    pub hub_cpu: f64,
    pub api_server_cpu: f64,
    pub hub_mib: f64,
    pub api_server_mib: f64,
}

pub async fn idle(world: &World<'_>) -> Result<Idle> {
    sleep(REST).await;
    let from = world.reading().await?;
    sleep(IDLE).await;
    let to = world.reading().await?;
    let seconds = to.since(&from);
    let requests = total(&counted(&world.of_the_hub(from.at, to.at)?, 1.0));
    // Milliseconds of a second are tenths of a percent.
    let percent = |from: f64, to: f64| (to - from) / seconds / 10.0;
    Ok(Idle {
        requests_per_minute: requests * 60.0 / seconds,
        hub_cpu: percent(from.hub, to.hub),
        api_server_cpu: percent(from.server, to.server),
        hub_mib: to.hub_memory,
        api_server_mib: to.server_memory,
    })
}
