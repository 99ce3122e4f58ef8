//! What the task of one rollout remembers between passes. All of it can be lost: the status is the machine's state.

use std::collections::BTreeMap;

use super::{addresses::Addresses, attempts::Attempts, calls::CallError, measuring::Measuring, probes::Probes};
use crate::{api::FleetRolloutStatus, rollout::RouteKey};

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

fn run(status: &FleetRolloutStatus) -> u64 {
    status.run.as_ref().map_or(0, |run| run.number)
}
