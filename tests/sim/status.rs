//! What the hub records of a rollout: the only place that knows how its status is written.

use std::sync::Arc;

use serde_json::Value;

use super::routes::{MATCHED, Weights};

/// The status of a rollout as it was stored at one time.
#[derive(Clone, Debug, Default)]
pub struct Status(Arc<Value>);

impl Status {
    pub fn of(rollout: &Arc<Value>) -> Self {
        Self(rollout.clone())
    }

    /// A field as it stands there.
    pub fn field(&self, name: &str) -> &Value {
        &self.0["status"][name]
    }

    /// The live run; null where there is none.
    fn run(&self) -> &Value {
        self.field("run")
    }

    /// The record of the last run, if none is live.
    fn ended(&self) -> Option<&Value> {
        self.field("history").as_array()?.last().filter(|_| !self.has_live_run())
    }

    /// The state of the live run, with its fields.
    fn state(&self, name: &str) -> Option<&Value> {
        self.run()["state"].get(name)
    }

    pub fn desired(&self) -> &Value {
        self.field("desired")
    }

    pub fn phase(&self) -> &str {
        self.field("phase").as_str().unwrap_or_default()
    }

    pub fn reason(&self) -> &str {
        self.field("reason").as_str().unwrap_or_default()
    }

    pub fn observed_generation(&self) -> Option<i64> {
        self.field("observedGeneration").as_i64()
    }

    /// The number of the last transition.
    pub fn last_transition(&self) -> Option<u64> {
        self.field("transitions").as_array()?.last()?["number"].as_u64()
    }

    pub fn sequence(&self) -> u64 {
        self.field("sequence").as_u64().unwrap_or_default()
    }

    pub fn primary(&self) -> Weights {
        distribution(self.field("primary"))
    }

    /// A run began, and may be over.
    pub fn has_run(&self) -> bool {
        self.run_number() > 0
    }

    /// The number of the last run; 0 before the first.
    pub fn run_number(&self) -> u64 {
        self.ended().unwrap_or(self.run())["number"].as_u64().unwrap_or_default()
    }

    /// How the last run ended, if none is live.
    pub fn outcome(&self) -> Option<&str> {
        self.ended()?["outcome"].as_str()
    }

    pub fn has_live_run(&self) -> bool {
        self.run().is_object()
    }

    /// A run is live, and not rolling back.
    pub fn goes_forward(&self) -> bool {
        self.has_live_run() && self.rollback().is_none()
    }

    /// The rollback of the last run.
    pub fn rollback(&self) -> Option<&Value> {
        let back = |ended: &&Value| matches!(ended["outcome"].as_str(), Some("Failed" | "RolledBack"));
        self.state("rollingBack").or_else(|| self.ended().filter(back))
    }

    pub fn rollback_reason(&self) -> &Value {
        self.rollback().map_or(&Value::Null, |rollback| &rollback["reason"])
    }

    /// The step that the last run reached, from 1; 0 before the first.
    pub fn step(&self) -> Option<u64> {
        let state = || self.run()["state"].as_object()?.values().next();
        let of = self.ended().or_else(state)?;
        Some(of["step"].as_u64().unwrap_or_default())
    }

    /// How many steps are planned.
    pub fn planned(&self) -> usize {
        self.run()["plan"].as_array().map_or(0, Vec::len)
    }

    /// The generation that declared the run.
    pub fn run_generation(&self) -> Option<i64> {
        self.run()["generation"].as_i64()
    }

    pub fn start(&self) -> Weights {
        distribution(&self.run()["start"])
    }

    pub fn target(&self) -> Weights {
        distribution(&self.run()["target"])
    }

    pub fn is_unavailable(&self, member: &str) -> bool {
        self.run()["unavailable"].as_array().is_some_and(|names| names.iter().any(|name| name == member))
    }

    pub fn verdict(&self) -> &Value {
        &self.run()["check"]["verdict"]
    }

    pub fn hold_reason(&self) -> &Value {
        &self.run()["hold"]["reason"]
    }

    /// Every route took what is desired.
    pub fn is_confirmed(&self) -> bool {
        self.desired()["confirmedAt"].is_string()
    }

    /// The weights that are desired, for all requests and for those that match.
    pub fn desired_weights(&self) -> Weights {
        let matched = distribution(&self.desired()["split"]["steering"]["matched"]["weights"]);
        let matched = matched.into_iter().map(|(member, weight)| (format!("{member}{MATCHED}"), weight));
        distribution(&self.desired()["split"]["weights"]).into_iter().chain(matched).collect()
    }

    /// Who shall get copies, and of how many requests in a hundred.
    pub fn desired_copies(&self) -> impl Iterator<Item = (&str, u32)> {
        let mirrored = &self.desired()["split"]["steering"]["mirrored"];
        let percent = u32::try_from(mirrored["percent"].as_u64().unwrap_or_default()).unwrap_or_default();
        let members = mirrored["members"].as_array().into_iter().flatten().filter_map(Value::as_str);
        members.map(move |member| (member, percent))
    }

    /// Who shall keep users.
    pub fn desired_bins(&self) -> impl Iterator<Item = &str> {
        let bins = self.desired()["split"]["affinity"]["bins"].as_array().into_iter().flatten();
        bins.filter_map(|bin| bin["member"].as_str())
    }
}

fn distribution(value: &Value) -> Weights {
    let fields = value.as_object().into_iter().flatten();
    fields.map(|(name, weight)| (name.clone(), u32::try_from(weight.as_u64().unwrap_or(0)).unwrap_or(0))).collect()
}
