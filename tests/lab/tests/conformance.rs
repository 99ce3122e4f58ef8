//! The sandbox's API server answers as a real one does.

use crate::{
    conformance::{self, Pair},
    runner::{Place, Scene, Test},
};
use anyhow::Result;
use cutover::{clock::Clock, sandbox::api::ApiServer};
use std::sync::Arc;

pub const TESTS: &[Test] =
    &[Test { name: "conformance", place: Place::Shared, run: |scene| Box::pin(conformance(scene)) }];

/// Rows of requests that are made from these.
const SEEDS: [u64; 3] = [1, 2, 3];
const REQUESTS: usize = 120;

async fn conformance(scene: Scene) -> Result<()> {
    let sandbox = ApiServer::new(Arc::new(|| Clock::default().now()), 1);
    let mut pair = Pair::new(scene.hub.client.clone(), sandbox.client(), &scene.namespace).await?;
    let by_hand = conformance::by_hand(&mut pair).await?;
    for seed in SEEDS {
        conformance::generated(&mut pair, seed, REQUESTS).await?;
    }
    println!("lab: {by_hand} cases by hand, {REQUESTS} from each of the seeds {SEEDS:?}");
    Ok(())
}
