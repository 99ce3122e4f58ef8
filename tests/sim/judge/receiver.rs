//! I8: what hooks were called for is what happened, at least once; one instance of the hub calls once for a key.

use std::collections::BTreeSet;

use serde_json::Value;

/// Who takes the calls of hooks, and says yes to each.
#[derive(Default)]
pub struct Receiver {
    /// The instance that called, and the key.
    calls: Vec<(usize, String)>,
}

impl Receiver {
    pub fn take(&mut self, instance: usize, key: &str) {
        self.calls.push((instance, key.to_owned()));
    }

    /// What was called wrongly, or not at all, by what the rollout records at the end.
    pub fn broken(&self, rollout: &Value) -> Vec<String> {
        let called: BTreeSet<&str> = self.calls.iter().map(|(_, key)| key.as_str()).collect();
        let mut broken = self.repeated();
        let meant = Meant::of(rollout);
        for key in meant.events.iter().chain(&meant.ended).filter(|key| !called.contains(key.as_str())) {
            broken.push(format!("I8: {key} was never called"));
        }
        for key in called {
            let is_end = key.contains("/ended/") && !meant.ended.contains(key);
            let is_event = key.contains("/event-") && !meant.events.contains(key);
            if is_end || is_event {
                broken.push(format!("I8: {key} was called for what did not happen"));
            }
        }
        for moment in ["/step-0/", "/step-1/", "/step-2/", "/step-3/"] {
            if !self.calls.iter().any(|(_, key)| key.contains(moment)) {
                broken.push(format!("I8: nothing was called at{moment}"));
            }
        }
        broken
    }

    fn repeated(&self) -> Vec<String> {
        let mut seen = BTreeSet::new();
        let again = self.calls.iter().filter(|call| !seen.insert(*call));
        again.map(|(instance, key)| format!("I8: hub-{instance} called {key} twice")).collect()
    }
}

/// The keys of what happened.
struct Meant {
    events: BTreeSet<String>,
    ended: BTreeSet<String>,
}

impl Meant {
    fn of(rollout: &Value) -> Self {
        let (uid, status) = (rollout["metadata"]["uid"].as_str().unwrap_or_default(), &rollout["status"]);
        let last = status["transitions"].as_array().and_then(|all| all.last()?["number"].as_u64()).unwrap_or_default();
        let records = status["history"].as_array().into_iter().flatten();
        let ended = records.filter(|record| record["outcome"] != "Superseded");
        Self {
            events: (1..=last).map(|number| format!("{uid}/event-{number}/bus")).collect(),
            ended: ended.map(|record| format!("{uid}/run-{}/ended/report", record["number"])).collect(),
        }
    }
}
