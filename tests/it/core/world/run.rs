//! What the status says of the run: the only place where the tests look into it.

use cutover::api::{
    Duration,
    status::{Check, Outcome, Rollback, Run},
};

use super::World;

impl World {
    /// The run that is not over.
    pub fn live_run(&self) -> Option<&Run> {
        self.last_run().filter(|run| run.outcome.is_none())
    }

    /// The run as it is recorded, also when it is over.
    pub fn last_run(&self) -> Option<&Run> {
        self.status.run.as_ref()
    }

    pub fn run(&self) -> &Run {
        self.last_run().unwrap()
    }

    /// The step of the last run; 0 before the first one.
    pub fn step(&self) -> u32 {
        self.last_run().map_or(0, |run| run.step)
    }

    pub fn outcome(&self) -> Option<Outcome> {
        self.last_run().and_then(|run| run.outcome)
    }

    pub fn rollback(&self) -> Option<&Rollback> {
        self.last_run().and_then(|run| run.rollback.as_ref())
    }

    pub fn is_rolling_back(&self) -> bool {
        self.live_run().is_some_and(|run| run.rollback.is_some())
    }

    /// What passed is recorded as what the primary shall be.
    pub fn is_promoting(&self) -> bool {
        self.last_run().is_some_and(|run| run.promoting_since.is_some())
    }

    pub fn is_soaking(&self) -> bool {
        self.last_run().is_some_and(|run| run.soaking_since.is_some())
    }

    pub fn check(&self) -> Option<&Check> {
        self.last_run().and_then(|run| run.check.as_ref())
    }

    pub fn baked(&self) -> Duration {
        self.run().baked
    }
}
