//! The demo's judgement can fail.

use crate::{
    demo::Demo,
    lab::member_address,
    runner::{Place, Scene, Test},
};
use anyhow::{Result, bail, ensure};

pub const TESTS: &[Test] =
    &[Test { name: "the_demo_sees_a_wrong_share", place: Place::Shared, run: |scene| Box::pin(wrong_share(scene)) }];

/// eu-3's name leads to eu-1: at the first step eu-1 receives everything.
async fn wrong_share(scene: Scene) -> Result<()> {
    let name = &scene.namespace;
    scene.dns.point(&format!("{name}.eu-3.lab"), Some(member_address("eu-1")));
    let Err(error) = Demo { lab: &scene, namespace: name, service: name, say: |_| {} }.tell().await else {
        bail!("the demo found every share right");
    };
    let said = format!("{error:#}");
    ensure!(said.starts_with("eu-1 observed at 100.0 %, desired 95 % ± 2.0, of 2"), "{said}");
    Ok(())
}
