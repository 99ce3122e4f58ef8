//! What the status says of the run: the only place where the tests look into it.

use cutover::api::{
    Duration,
    status::{Check, Outcome, RollingBack, Run, RunRecord},
};

use super::World;

impl World {
    pub fn live_run(&self) -> Option<&Run> {
        self.status.run.as_ref()
    }

    pub fn run(&self) -> &Run {
        self.live_run().expect("a live run")
    }

    /// The record of the run that ended last, while none is live.
    pub fn ended_run(&self) -> Option<&RunRecord> {
        self.status.history.last().filter(|_| self.live_run().is_none())
    }

    /// How the last run ended; nothing while one is live.
    pub fn outcome(&self) -> Option<Outcome> {
        self.ended_run().map(|ended| ended.outcome)
    }

    pub fn rollback(&self) -> Option<&RollingBack> {
        self.live_run()?.state.rollback()
    }

    pub fn is_rolling_back(&self) -> bool {
        self.rollback().is_some()
    }

    /// What passed is recorded as what the primary shall be.
    pub fn is_promoting(&self) -> bool {
        self.live_run().is_some_and(Run::is_promoted)
    }

    pub fn check(&self) -> Option<&Check> {
        self.live_run().map_or_else(|| self.ended_run()?.check.as_ref(), |run| run.check.as_ref())
    }

    pub fn baked(&self) -> Duration {
        self.run().bake().time
    }
}
