//! I8: every transition of a rollout with alerts is announced, nothing else is, and each with one key.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::Value;

use super::{
    super::{status::Status, world::World},
    Judge,
};

/// Reasons of holds in which nobody knows anything bad.
const IGNORANCE: [&str; 3] = ["MetricsUnknown", "TooFewSamples", "WeightNotObserved"];

/// What was recorded, and what was delivered.
#[derive(Default)]
pub struct Alerts {
    /// Keys, with what they announce.
    recorded: BTreeMap<String, String>,
    delivered: BTreeSet<String>,
}

impl Judge {
    /// The service took an alert with this key.
    pub fn delivered(&mut self, key: &str) {
        if !self.alerts.recorded.contains_key(key) {
            self.broken.push(format!("I8: an alert was sent that was not recorded: {key}"));
        }
        self.alerts.delivered.insert(key.to_owned());
    }

    /// What is recorded to be announced happened, and all that happened is recorded to be announced.
    pub(super) fn judge_alerts(&mut self, world: &World, rollout: &Value, status: &Status) {
        if rollout["spec"]["alerts"].is_null() {
            return;
        }
        let pending = status.field("alerts")["pending"].as_array().cloned().unwrap_or_default();
        let happened: Vec<&Value> = status.field("transitions").as_array().into_iter().flatten().collect();
        let last = self.status.last_transition();
        for alert in &pending {
            let (key, message) = (key(rollout, alert), text(&alert["message"]));
            let is_true = happened.iter().any(|one| one["message"] == message) || *status.field("message") == message;
            match self.alerts.recorded.get(&key) {
                Some(known) if *known != message => {
                    self.break_rule(world, format!("I8: {key} announces {message:?}, and announced {known:?}"));
                }
                Some(_) => {}
                None if is_true => {
                    self.alerts.recorded.insert(key, message);
                }
                None => self.break_rule(world, format!("I8: {message:?} is to be announced and did not happen")),
            }
        }
        // A hold for want of metrics waits before it calls somebody.
        let waits = |one: &Value| IGNORANCE.iter().any(|reason| one["reason"] == *reason);
        for new in happened.iter().filter(|one| one["number"].as_u64() > last && !waits(one)) {
            let said = self.alerts.recorded.values().any(|message| new["message"] == *message);
            if !said {
                self.break_rule(world, format!("I8: nobody is to hear of {}", new["message"]));
            }
        }
    }

    /// What was recorded and never delivered.
    pub fn lost_alerts(&self) -> Vec<String> {
        let lost = self.alerts.recorded.iter().filter(|(key, _)| !self.alerts.delivered.contains(*key));
        lost.map(|(key, message)| format!("I8: {key} was never delivered: {message}")).collect()
    }
}

fn key(rollout: &Value, alert: &Value) -> String {
    let at = text(&alert["at"]).parse::<Timestamp>().unwrap_or_default();
    format!("{}.{}.{}", text(&rollout["metadata"]["uid"]), alert["number"], at.as_second())
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
