//! One instance of the hub: a runtime of its own, whose time stands still until it is stepped.

use std::{sync::Arc, time::Duration};

use cutover::{
    clock::Clock,
    http::{AddressRules, Network},
    hub,
};
use jiff::Timestamp;
use tokio::{
    runtime::{Builder, RngSeed, Runtime},
    task::JoinHandle,
    time::sleep,
};

use super::{members::Doors, server::Layer, world::World};

pub struct Hub {
    clock: Clock,
    task: JoinHandle<()>,
    runtime: Runtime,
}

impl Hub {
    /// The `index`th instance; whoever drops it kills it.
    pub fn begin(world: &Arc<World>, index: u64, leader_election: bool) -> Self {
        let seed = RngSeed::from_bytes(&(world.seed + index).to_le_bytes());
        let runtime = Builder::new_current_thread().enable_time().start_paused(true).rng_seed(seed).build();
        let runtime = runtime.expect("a runtime without sockets");
        let inside = runtime.enter();
        let clock = Clock::starting_at(world.now());
        let doors = Arc::new(Doors { world: world.clone(), clock: clock.clone() });
        let instance = hub::Instance {
            client: kube::Client::new(Layer { world: world.clone(), clock: clock.clone() }, "default"),
            network: Network::new(AddressRules::default()).with_names(doors.clone()).with_peers(doors),
            clock: clock.clone(),
            name: format!("hub-{index}"),
            namespace: "cutover-system".to_owned(),
            external_names: Vec::new(),
            leader_election,
            listener: None,
        };
        let task = runtime.spawn(async move {
            let _ = hub::run_instance(instance, std::future::pending()).await;
        });
        drop(inside);
        Self { clock, task, runtime }
    }

    /// Lives on until the true time is this.
    pub fn step(&self, until: Timestamp) {
        self.runtime.block_on(async {
            // The clock shows the runtime's time only here.
            let rest = Duration::try_from(until.duration_since(self.clock.now())).unwrap_or_default();
            sleep(rest).await;
        });
        assert!(!self.task.is_finished(), "the hub ended by itself");
    }
}
