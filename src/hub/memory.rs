//! What the task of one rollout remembers between passes. All of it can be lost: the status is the machine's state.

use std::collections::BTreeMap;

use super::{addresses::Addresses, attempts::Attempts, calls::CallError, measuring::Measuring, probes::Probes};
use crate::{
    api::{Analysis, FleetRollout, FleetRolloutStatus, Reason},
    rollout::{RouteKey, input::Problem},
    validate::{self, Severity},
};

/// What one task remembers.
#[derive(Default)]
pub(super) struct Memory {
    pub(super) measuring: Measuring,
    pub(super) probes: Probes,
    pub(super) addresses: Addresses,
    pub(super) attempts: Attempts,
    /// Number of the last transition that was announced; nothing before the first pass.
    pub(super) announced: Option<u64>,
    rehearsed: Rehearsed,
    judged: Option<Judged>,
}

/// What the rules say of one generation of the spec and what its templates say; they read every query, so they are
/// evaluated once.
struct Judged {
    generation: Option<i64>,
    analysis: Analysis,
    problem: Option<Problem>,
}

/// The dry runs of one run's first write.
#[derive(Default)]
struct Rehearsed {
    run: u64,
    results: BTreeMap<RouteKey, Result<(), String>>,
}

impl Memory {
    /// Takes what was sent for and has come back.
    pub(super) fn collect(&mut self) {
        self.measuring.collect();
        self.probes.collect();
        self.addresses.collect();
    }

    /// The first rule that the spec, with its metrics resolved, breaks.
    pub(super) fn refused(&mut self, rollout: &FleetRollout) -> Option<Problem> {
        let (generation, analysis) = (rollout.metadata.generation, &rollout.spec.analysis);
        let judged = self.judged.take();
        let judged = judged.filter(|judged| judged.generation == generation && judged.analysis == *analysis);
        let judged =
            judged.unwrap_or_else(|| Judged { generation, analysis: analysis.clone(), problem: broken_rule(rollout) });
        self.judged.insert(judged).problem.clone()
    }

    /// The dry runs of the present run.
    pub(super) fn rehearsals(&self, status: &FleetRolloutStatus) -> BTreeMap<RouteKey, Result<(), String>> {
        if self.rehearsed.run == run(status) { self.rehearsed.results.clone() } else { BTreeMap::new() }
    }

    /// Remembers a dry run. One that met a newer object says nothing.
    pub(super) fn rehearsed(&mut self, status: &FleetRolloutStatus, route: &RouteKey, result: &Result<(), CallError>) {
        if self.rehearsed.run != run(status) {
            self.rehearsed = Rehearsed { run: run(status), results: BTreeMap::new() };
        }
        let result = match result {
            Ok(()) => Ok(()),
            Err(CallError::NotLeading | CallError::Conflict) => return,
            Err(error) => Err(error.to_string()),
        };
        self.rehearsed.results.insert(route.clone(), result);
    }
}

fn broken_rule(rollout: &FleetRollout) -> Option<Problem> {
    let problems = validate::rollout(&rollout.spec);
    let error = problems.into_iter().find(|problem| problem.severity == Severity::Error)?;
    Some(Problem::new(Reason::InvalidSpec, error.to_string()))
}

fn run(status: &FleetRolloutStatus) -> u64 {
    status.last_run()
}
