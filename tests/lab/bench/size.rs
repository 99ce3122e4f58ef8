//! One size: all phases in a world of its own.

use super::{
    phase::{
        crash::{Bad, Crash, bad, crash},
        create::{Create, create},
        idle::{Idle, idle},
        members::per_member,
        run::{Run, run},
    },
    rollouts::{Plan, Rollouts},
    stub::Stub,
    world::World,
};
use crate::parts::Parts;
use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::path::Path;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Size {
    pub plan: Plan,
    pub create: Create,
    pub idle: Idle,
    pub run: Run,
    pub crash: Crash,
    pub bad: Bad,
    /// KiB of the hub; measured with one rollout only.
    pub kib_per_member: Option<f64>,
}

/// More than these are as a fleet would have them: a check a minute, and three for each step.
const FLEET: usize = 3000;

/// Ten rollouts a namespace, four steps, and an interval in which many rollouts demand ten advances a second; it is not shorter
/// than a step: a route of this kind counts as applied four seconds after it was written, settle, lag and the window take three.
pub fn plan(rollouts: usize) -> Plan {
    if rollouts > FLEET {
        return Plan { rollouts, per_namespace: 10, interval: 60, steps: 2, checks: 3 };
    }
    let interval = u64::try_from(rollouts / 10).unwrap_or(u64::MAX).clamp(8, 200);
    Plan { rollouts, per_namespace: 10, interval, steps: 4, checks: 1 }
}

pub async fn measure(plan: &Plan, parts: &Parts, folder: &Path, stub: &Stub) -> Result<Size> {
    let world = World::start(&format!("bench-{}", plan.rollouts), plan.rollouts, parts, folder, stub).await?;
    let size = phases(plan, &world).await;
    world.end().await?;
    size
}

async fn phases(plan: &Plan, world: &World<'_>) -> Result<Size> {
    let rollouts = Rollouts::new(world, *plan);
    let create = create(world, &rollouts).await?;
    let idle = idle(world).await?;
    let run = run(world, &rollouts, Some(&idle)).await?;
    let crash = crash(world, &rollouts).await?;
    let bad = bad(world, &rollouts).await?;
    let kib_per_member = if plan.rollouts == 1 { Some(per_member(world).await?) } else { None };
    Ok(Size { plan: *plan, create, idle, run, crash, bad, kib_per_member })
}
