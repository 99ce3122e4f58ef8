//! The one layer between the hub and its API server: it counts every call and knows which one goes wrong, and how.

mod answers;
mod call;
mod events;
mod fate;
mod layer;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use cutover::sandbox::api::Change;
use jiff::Timestamp;
use tokio::sync::Notify;

use super::{
    plan::{Dice, Fault, Plan, sorts::BadCalls},
    routes::Form,
};
use call::Call;
pub use layer::Layer;

/// Calls to one target in ten seconds that are still no hot loop.
const MOST: usize = 45;

/// The event that a watch holds back.
pub struct Held {
    plural: String,
    name: String,
    revision: u64,
}

impl Held {
    /// A later change of the same object, which cancels what is held back.
    pub fn is_cancelled_by(&self, change: &Change) -> bool {
        change.revision > self.revision && change.plural == self.plural && change.name == self.name
    }
}

/// Everything that goes wrong between the hub and its API server, and what was counted.
pub struct Faults {
    plan: Plan,
    form: &'static dyn Form,
    pub dice: Dice,
    pub calls: usize,
    pub writes: usize,
    pub events: usize,
    /// Writes since the last instance began.
    writes_of_instance: usize,
    killed: BTreeSet<usize>,
    stopped: BTreeMap<usize, Arc<Notify>>,
    crashed: Option<usize>,
    /// When the plan's fault began and ended.
    pub begun: Option<Timestamp>,
    pub relieved: Option<Timestamp>,
    /// How often it struck: calls, answers and events that it changed, and changes that it made itself.
    strikes: usize,
    /// Calls left that go bad.
    left: usize,
    pub frozen: Option<u64>,
    pub held: Option<Held>,
    pub thaw: Arc<Notify>,
    born: Timestamp,
    pub instances: usize,
    pub trace: Vec<String>,
    /// Calls by target in the present ten seconds.
    rate: BTreeMap<String, (i64, usize)>,
    pub hot: Option<String>,
    pub unguarded_delete: Option<String>,
    /// Deliveries of alerts.
    pub deliveries: usize,
}

impl Faults {
    pub fn new(plan: Plan) -> Self {
        Self {
            plan,
            form: plan.kind.form(),
            dice: Dice(plan.seed ^ (plan.k as u64) << 20),
            calls: 0,
            writes: 0,
            events: 0,
            writes_of_instance: 0,
            killed: BTreeSet::new(),
            stopped: BTreeMap::new(),
            crashed: None,
            begun: None,
            relieved: None,
            strikes: 0,
            left: 0,
            frozen: None,
            held: None,
            thaw: Arc::default(),
            born: super::world::GENESIS,
            instances: 0,
            trace: Vec::new(),
            rate: BTreeMap::new(),
            hot: None,
            unguarded_delete: None,
            deliveries: 0,
        }
    }

    pub fn is_killed(&self, instance: usize) -> bool {
        self.killed.contains(&instance)
    }

    /// A process ends: nothing that it still does reaches the world.
    pub fn kill(&mut self, instance: usize) {
        self.killed.insert(instance);
    }

    /// An instance ends at once, and is noticed to have.
    pub fn crash(&mut self, instance: usize, now: Timestamp) {
        self.begun.get_or_insert(now);
        self.kill(instance);
        self.crashed = Some(instance);
    }

    pub fn take_crash(&mut self) -> Option<usize> {
        self.crashed.take()
    }

    pub fn is_stopped(&self, instance: usize) -> bool {
        self.stopped.contains_key(&instance)
    }

    pub fn go_on(&mut self, instance: usize) {
        if let Some(notify) = self.stopped.remove(&instance) {
            notify.notify_one();
        }
    }

    pub fn begin_life(&mut self, now: Timestamp) {
        self.instances += 1;
        self.writes_of_instance = 0;
        self.born = now;
    }

    /// Seconds since the present instance began.
    pub fn awake(&self, now: Timestamp) -> f64 {
        now.duration_since(self.born).as_secs_f64()
    }

    /// The plan's fault is under way.
    pub fn active(&self) -> bool {
        self.begun.is_some() && self.relieved.is_none()
    }

    /// The plan's fault changed something that the hub does or sees.
    pub fn strike(&mut self) {
        self.strikes += 1;
    }

    /// The plan met its fault: as often as the fault is meant to strike.
    pub fn has_struck(&self) -> bool {
        let least = match self.plan.fault {
            Fault::CrashPair | Fault::BadCalls(BadCalls::Twice) => 2,
            _ => 1,
        };
        self.strikes >= least
    }

    fn count(&mut self, call: &Call, now: Timestamp) {
        let bucket = now.as_second() / 10;
        let target = format!("{} {}/{}", call.method, call.plural, call.name);
        let counted = self.rate.entry(target.clone()).or_insert((bucket, 0));
        if counted.0 != bucket {
            *counted = (bucket, 0);
        }
        counted.1 += 1;
        if counted.1 > MOST {
            self.hot = Some(format!("{target}: {} calls in ten seconds", counted.1));
        }
    }
}
