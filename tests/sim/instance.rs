//! One instance of the hub: a runtime of its own, whose time stands still until it is stepped.

use std::{
    cell::Cell,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use cutover::{
    clock::Clock,
    http::{AddressRules, Network},
    hub,
};
use jiff::{SignedDuration, Timestamp};
use tokio::{
    runtime::{Builder, RngSeed, Runtime},
    sync::Notify,
    time::{advance, sleep},
};

use super::{faults::Layer, fleet::Doors, world::World};

thread_local! {
    /// Panics in this thread, caught or not.
    pub static PANICS: Cell<usize> = const { Cell::new(0) };
}

pub struct Instance {
    pub index: usize,
    /// What the hub takes for the time of day.
    pub clock: Clock,
    truth: Clock,
    halt: Arc<Notify>,
    ended: Arc<AtomicBool>,
    runtime: Runtime,
}

impl Instance {
    pub fn begin(world: &Arc<World>, index: usize, leader_election: bool, wrong: SignedDuration) -> Self {
        let seed = RngSeed::from_bytes(&(world.plan.seed + index as u64).to_le_bytes());
        let runtime = Builder::new_current_thread().enable_time().start_paused(true).rng_seed(seed).build();
        let runtime = runtime.expect("a runtime without sockets");
        let (born, halt, ended) = (world.now(), Arc::<Notify>::default(), Arc::<AtomicBool>::default());
        world.faults().begin_life(born);
        let inside = runtime.enter();
        let (clock, truth) = (Clock::starting_at(born), Clock::starting_at(born));
        clock.set_wrong(wrong);
        let layer = Layer { world: world.clone(), clock: truth.clone(), instance: index, halt: halt.clone() };
        let doors = Arc::new(Doors { world: world.clone(), instance: index, halt: halt.clone() });
        let instance = hub::Instance {
            client: kube::Client::new(layer, "default"),
            network: Network::new(AddressRules::default()).with_names(doors.clone()).with_peers(doors),
            clock: clock.clone(),
            name: format!("hub-{index}"),
            namespace: "cutover-system".to_owned(),
            external_names: Vec::new(),
            leader_election,
            listener: None,
        };
        let over = ended.clone();
        runtime.spawn(async move {
            let _ = hub::run_instance(instance, std::future::pending()).await;
            over.store(true, Ordering::Relaxed);
        });
        drop(inside);
        Self { index, clock, truth, halt, ended, runtime }
    }

    /// Lives on until the true time is this, or until it ends in between.
    pub fn step(&self, until: Timestamp) {
        self.runtime.block_on(async {
            let rest = Duration::try_from(until.duration_since(self.truth.now())).unwrap_or_default();
            tokio::select! {
                biased;
                () = self.halt.notified() => {}
                () = sleep(rest) => {}
            }
        });
    }

    /// Wakes after a stop: what was to be sent goes first, and then it sees that time has passed.
    pub fn wake(&self, world: &World, now: Timestamp) {
        world.faults().go_on(self.index);
        self.runtime.block_on(async {
            for _ in 0..3 {
                tokio::task::yield_now().await;
            }
            let gap = Duration::try_from(now.duration_since(self.truth.now())).unwrap_or_default();
            advance(gap).await;
        });
    }

    pub fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }
}
