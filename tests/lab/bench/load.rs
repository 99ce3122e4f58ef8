//! What depends on the load and not on the number: many rollouts in one namespace, and more than fits.

use super::{
    phase::{
        create::create,
        overload::{Overload, overload},
        run::{Run, run},
    },
    rollouts::{Plan, Rollouts},
    stub::Stub,
    world::World,
};
use crate::parts::Parts;
use anyhow::Result;
use std::path::Path;

/// Fifty rollouts in one namespace.
const CROWDED: Plan = Plan { rollouts: 50, per_namespace: 50, interval: 8, steps: 4, checks: 1 };
/// More than two cores carry, with runs that last longer than the phase.
const MANY: Plan = Plan { rollouts: 400, per_namespace: 10, interval: 10, steps: 25, checks: 1 };

/// A run of fifty rollouts in one namespace.
pub async fn crowded(parts: &Parts, folder: &Path, stub: &Stub) -> Result<Run> {
    let world = World::start("bench-crowded", CROWDED.rollouts, parts, folder, stub).await?;
    let run = crowded_run(&world).await;
    world.end().await?;
    run
}

async fn crowded_run(world: &World<'_>) -> Result<Run> {
    let rollouts = Rollouts::new(world, CROWDED);
    create(world, &rollouts).await?;
    run(world, &rollouts, None).await
}

/// As many runs as fit, and twice as many.
pub async fn overloaded(parts: &Parts, folder: &Path, stub: &Stub) -> Result<Overload> {
    let world = World::start("bench-overload", MANY.rollouts, parts, folder, stub).await?;
    let overload = overload_of(&world).await;
    world.end().await?;
    overload
}

async fn overload_of(world: &World<'_>) -> Result<Overload> {
    let rollouts = Rollouts::new(world, MANY);
    create(world, &rollouts).await?;
    overload(world, &rollouts).await
}
