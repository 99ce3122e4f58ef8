//! A rollout, read: the only place that knows how its status is written.

use std::collections::BTreeMap;

use serde_json::Value;

/// A rollout as it is stored.
#[derive(Clone, Copy)]
pub struct Rollout<'v>(pub &'v Value);

impl<'v> Rollout<'v> {
    fn status(self) -> &'v Value {
        &self.0["status"]
    }

    pub fn phase(self) -> &'v str {
        self.status()["phase"].as_str().unwrap_or_default()
    }

    /// The phase, the reason and the message.
    pub fn why(self) -> String {
        ["phase", "reason", "message"].map(|field| self.status()[field].to_string()).join(" ")
    }

    /// The status is about what is declared.
    pub fn is_observed(self) -> bool {
        self.status()["observedGeneration"] == self.0["metadata"]["generation"]
    }

    pub fn has_live_run(self) -> bool {
        self.status()["run"].is_object()
    }

    /// The step of the live run, from 1.
    pub fn step(self) -> Option<u64> {
        self.status()["run"]["state"]["stepping"]["step"].as_u64()
    }

    /// The records of runs that ended.
    pub fn records(self) -> usize {
        self.status()["history"].as_array().map_or(0, Vec::len)
    }

    /// The number of the last run that ended; 0 before the first.
    pub fn runs(self) -> u64 {
        let last = self.status()["history"].as_array().and_then(|records| records.last());
        last.and_then(|record| record["number"].as_u64()).unwrap_or_default()
    }

    /// The number of the live run, or of the last one.
    pub fn run(self) -> u64 {
        self.status()["run"]["number"].as_u64().unwrap_or(self.runs())
    }

    /// Every transition was sent as an event, and no alert waits.
    pub fn is_delivered(self) -> bool {
        let status = self.status();
        let last = status["transitions"].as_array().and_then(|all| all.last()?["number"].as_u64()).unwrap_or_default();
        status["alerts"]["pending"].is_null() && status["delivered"][0]["transition"] == last
    }

    /// Bytes of the status as JSON.
    pub fn status_bytes(self) -> usize {
        self.status().to_string().len()
    }

    /// The weights that the status desires, but for those that are 0.
    pub fn desired(self) -> BTreeMap<String, u64> {
        let weights = self.status()["desired"]["split"]["weights"].as_object().into_iter().flatten();
        let weights = weights.map(|(member, weight)| (member.clone(), weight.as_u64().unwrap_or_default()));
        weights.filter(|(_, weight)| *weight > 0).collect()
    }
}

/// The weights of a route by member, but for those that are 0.
pub fn weights_of(route: &Value) -> BTreeMap<String, u64> {
    let service = route["metadata"]["name"].as_str().unwrap_or_default();
    let backends = route["spec"]["rules"][0]["backendRefs"].as_array().into_iter().flatten();
    let weight = |backend: &Value| {
        let member = backend["name"].as_str()?.strip_prefix(service)?.strip_prefix('-')?;
        Some((member.to_owned(), backend["weight"].as_u64().unwrap_or(1)))
    };
    backends.filter_map(weight).filter(|(_, weight)| *weight > 0).collect()
}
