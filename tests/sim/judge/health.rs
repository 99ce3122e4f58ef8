//! I10, I12, I13 of members: what is said of a member's health was answered by it, nobody is called without pause, and one
//! member's trouble delays no other's check.

use cutover::sandbox::api::Change;
use jiff::Timestamp;
use serde_json::Value;

use super::{
    super::{
        fleet::Door,
        plan::Fault,
        world::{World, seconds},
    },
    Judge,
};

/// Seconds from an answer to the status that tells of it: the time between two checks, the slowest answer, and a write
/// that is tried again.
const FRESH: f64 = 60.0;

impl Judge {
    /// I10: the conditions that the hub writes of a member.
    pub(super) fn judge_health(&mut self, world: &World, change: &Change) {
        if !world.hub_was_awake(FRESH) {
            return;
        }
        let after = change.after.as_deref().unwrap_or(&Value::Null);
        let conditions = after["status"]["conditions"].as_array().into_iter().flatten();
        for condition in conditions.filter(|condition| tells_of_answers(condition)) {
            let doors = [Door::ApiServer, Door::Endpoint, Door::Prometheus];
            let Some(door) = doors.into_iter().find(|door| condition["type"] == door.condition()) else { continue };
            let answers = {
                let mut fleet = world.fleet();
                let calls = fleet.member(&change.name).at(door);
                (calls.well, calls.badly)
            };
            let truly = match condition["status"].as_str() {
                Some("True") => is_fresh(answers.0, change.at),
                Some("False") => is_fresh(answers.1, change.at),
                _ => true,
            };
            if !truly {
                self.break_rule(
                    world,
                    format!("I10: {} is said to be {condition}; it answered {answers:?}", change.name),
                );
            }
        }
    }

    /// I12, I13: how often and how regularly members are called.
    pub fn judge_calls(&mut self, world: &World) {
        let (hot, late) = {
            let fleet = world.fleet();
            (fleet.hot(), fleet.late_check())
        };
        if let Some((member, door, times)) = hot {
            self.break_rule(world, format!("I12: {door:?} of {member} was called {times} times within ten seconds"));
        }
        let alive = matches!(world.plan.fault, Fault::None | Fault::Member(_) | Fault::Metrics(_));
        if let Some((member, gap)) = late.filter(|_| alive) {
            self.break_rule(world, format!("I13: {gap:?} passed between two checks of {member}"));
        }
    }
}

/// Other conditions tell of what is declared: a Secret that is missing, an address that is not allowed.
fn tells_of_answers(condition: &Value) -> bool {
    let reasons = [
        "ApiServerAnswers",
        "ApiServerUnreachable",
        "EndpointsAnswer",
        "EndpointUnreachable",
        "MetricsAnswer",
        "MetricsUnreachable",
    ];
    reasons.iter().any(|reason| condition["reason"] == *reason)
}

fn is_fresh(answer: Option<Timestamp>, now: Timestamp) -> bool {
    answer.is_some_and(|at| now.duration_since(at) <= seconds(FRESH))
}
