//! The worlds that are searched: small ones, each for a few features.

use cutover::api::Distribution;

use super::{
    super::world::{World, spec},
    moves::{Move, Target},
};

/// Walks in each world.
pub const WALKS: u64 = 65;

/// What is declared, where it begins, and who plays which part in it.
#[derive(Debug)]
pub struct SmallWorld {
    pub name: &'static str,
    spec: &'static str,
    live: &'static [(&'static str, u32)],
    /// What happens before anything else can.
    pub begins: &'static [Move],
    /// Who is edited, taken down and replaced as a canary, and as a primary.
    pub canary: &'static str,
    pub primary: &'static str,
    /// The new, the old and the third target: weights, in service mode the cluster that the Service leads to.
    targets: [Declared; 3],
    /// Its first step waits for a person.
    pub waits_first: bool,
    pub depth: usize,
}

#[derive(Debug)]
enum Declared {
    Weights(&'static [(&'static str, u32)]),
    Cluster(&'static str),
}

impl SmallWorld {
    pub fn begin(&self) -> World {
        let mut world = World::new(spec(self.spec), self.live);
        if let [_, Declared::Cluster(old), _] = self.targets {
            world.point(old);
        }
        world
    }

    pub fn declare(&self, target: Target, world: &mut World) {
        match &self.targets[target as usize] {
            Declared::Weights(weights) => world.declare(weights),
            Declared::Cluster(host) => world.point(host),
        };
    }

    /// Where a person brings the routes of which the first one shows this: in service mode to the primary.
    pub fn meant(&self, shown: Distribution) -> Distribution {
        match self.targets[0] {
            Declared::Weights(_) => shown,
            Declared::Cluster(_) => self.live.iter().copied().collect(),
        }
    }

    /// The weights of an applied manifest: those with which the world began.
    pub const fn first_weights(&self) -> &'static [(&'static str, u32)] {
        self.live
    }
}

/// Two routes, a promotion, a timed wait, a soak, a deadline.
pub static MEMBERS: SmallWorld = SmallWorld {
    name: "members",
    spec: "
services: [{name: shop, port: 80, routes: [{gatewayAPI: {name: a}}, {gatewayAPI: {name: b}}]}]
members: [{name: eu-1, weight: 0}, {name: eu-2, weight: 0}, {name: eu-3, weight: 100}]
strategy:
  bake: 25s
  keepPrevious: 30s
  progressDeadline: 5m
  steps: [{progress: 20%, wait: Promotion}, {progress: 60%, wait: 30s}, {progress: 100%}]
analysis: {unknown: {limit: 3, action: Rollback}}
",
    live: &[("eu-1", 50), ("eu-2", 50)],
    begins: &[],
    canary: "eu-3",
    primary: "eu-1",
    targets: [
        Declared::Weights(&[("eu-3", 100)]),
        Declared::Weights(&[("eu-1", 50), ("eu-2", 50)]),
        Declared::Weights(&[("eu-1", 50), ("eu-3", 50)]),
    ],
    waits_first: true,
    depth: 2,
};

/// A Service is pointed to another cluster; the promoted primary gets its traffic back in two steps.
pub static SERVICES: SmallWorld = SmallWorld {
    name: "services",
    spec: "strategy: {bake: 25s, ramp: {stepWeights: [20, 50], stepWeightPromotion: 50}}",
    live: &[("primary", 100)],
    begins: &[Move::Wait(11), Move::Wait(1), Move::Declare(Target::New)],
    canary: "canary",
    primary: "primary",
    targets: [
        Declared::Cluster("eu-3.example.com"),
        Declared::Cluster("eu-1.example.com"),
        Declared::Cluster("eu-4.example.com"),
    ],
    waits_first: false,
    depth: 1,
};

/// Two members gain, one after the other.
pub static STAGES: SmallWorld = SmallWorld {
    name: "stages",
    spec: "
members: [{name: eu-1, weight: 20}, {name: eu-2, weight: 40}, {name: eu-3, weight: 40}]
strategy:
  bake: 25s
  onFailure: Hold
  progressDeadline: 5m
  stages: [{name: first, members: [eu-3]}, {name: second, members: [eu-1, eu-2]}]
  steps: [{progress: 50%}, {progress: 100%}]
",
    live: &[("eu-1", 100)],
    begins: &[],
    canary: "eu-3",
    primary: "eu-1",
    targets: [
        Declared::Weights(&[("eu-1", 20), ("eu-2", 40), ("eu-3", 40)]),
        Declared::Weights(&[("eu-1", 100)]),
        Declared::Weights(&[("eu-2", 60), ("eu-3", 40)]),
    ],
    waits_first: false,
    depth: 1,
};

/// Copies of requests first, then requests that match, then weights.
pub static STEERING: SmallWorld = SmallWorld {
    name: "steering",
    spec: "
members: [{name: eu-1, weight: 0}, {name: eu-2, weight: 60}, {name: eu-3, weight: 40}]
strategy:
  bake: 25s
  steps:
    - {mirror: {percent: 30}, wait: Promotion}
    - {matches: [{headers: [{name: x-test, exact: a}]}], bake: 25s, iterations: 3}
    - {progress: 50%}
    - {progress: 100%}
",
    live: &[("eu-1", 100)],
    begins: &[],
    canary: "eu-3",
    primary: "eu-1",
    targets: [
        Declared::Weights(&[("eu-2", 60), ("eu-3", 40)]),
        Declared::Weights(&[("eu-1", 100)]),
        Declared::Weights(&[("eu-1", 50), ("eu-3", 50)]),
    ],
    waits_first: true,
    depth: 1,
};
