//! What happens in the demo, for people and for programs.

use std::{collections::BTreeMap, time::Duration};

use serde::Serialize;

use super::{
    declared::{Plan, STEPS, carrying},
    gate::Stopped,
    kept::Command,
    shares::{MemberShare, Shares},
    world::{RATE, World},
    wrong::Wrong,
};
use crate::api::Reason;

/// One thing that happened.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(super) enum Event {
    /// Everything runs; nothing moves yet.
    Started { members: Vec<String>, services: Vec<String>, requests_per_second: u32, carrying: String },
    /// A rollout towards a canary was declared.
    Declared {
        canary: String,
        steps: Vec<u32>,
        #[serde(skip_serializing_if = "Option::is_none")]
        stopped: Option<Stopped>,
    },
    /// Shares were counted.
    Shares { when: String, canary: String, expected: u32, right: bool, services: Vec<Shares> },
    /// A run is over, and its target is the primary.
    Succeeded { message: String },
    /// Something was broken on purpose.
    Broke { what: String },
    /// Nothing moves.
    Held { reason: Reason, message: String },
    /// A person paused the run.
    Paused { step: u32, message: String },
    /// What was broken works again.
    Repaired { what: String },
    /// The canary has no weight any more.
    RolledBack { canary: String, after_seconds: f64, reason: Reason, message: String },
    /// The story is over.
    Ended {
        right: bool,
        wrong: Option<String>,
        requests: u64,
        by_status: BTreeMap<u16, u64>,
        failed: u64,
        seconds: f64,
    },
    /// Everything runs on, to be looked at.
    Kept { kubeconfig: String, commands: Vec<Command> },
}

impl Event {
    pub(super) fn started(plan: &Plan) -> Self {
        let carrying = carrying(&plan.first());
        let (members, services) = (plan.members.clone(), plan.services.clone());
        Self::Started { members, services, requests_per_second: RATE, carrying }
    }

    pub(super) fn declared(canary: &str, stopped: Option<Stopped>) -> Self {
        Self::Declared { canary: canary.to_owned(), steps: STEPS.into(), stopped }
    }

    pub(super) fn ended(world: &World, wrong: Option<&Wrong>, took: Duration) -> Self {
        let totals = world.seen_by_clients();
        Self::Ended {
            right: wrong.is_none(),
            wrong: wrong.map(|wrong| wrong.explain(&world.hub_says())),
            requests: totals.ended(),
            failed: totals.failed(),
            by_status: totals.by_status,
            seconds: tenths(took),
        }
    }

    pub(super) fn kept(world: &World, commands: Vec<Command>) -> Self {
        Self::Kept { kubeconfig: world.kubeconfig().display().to_string(), commands }
    }

    /// The lines that tell it to a person.
    pub(super) fn lines(&self) -> Vec<String> {
        match self {
            Self::Started { members, services, requests_per_second, carrying } => vec![
                format!(
                    "Clusters {}; {}: {requests_per_second} requests/s each.",
                    members.join(", "),
                    services.join(", ")
                ),
                format!("They go to {carrying}. The hub, cutover hub, is a process of its own."),
            ],
            Self::Declared { canary, steps, stopped } => {
                let steps = steps.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
                let gate = stopped.iter().flat_map(|Stopped { message, opened_by }| {
                    [format!("The run is {message}."), format!("Opened by: {opened_by}")]
                });
                let header = format!(
                    "{:<24}{:>7}{:>9}{:>10}{:>9}{:>8}",
                    "", "desired", "applied", "observed", "requests", "within"
                );
                [String::new(), format!("Declared: all traffic to {canary}, in steps of {steps} %.")]
                    .into_iter()
                    .chain(gate)
                    .chain([header])
                    .collect()
            }
            Self::Shares { when, canary, services, .. } => {
                services.iter().filter_map(|shares| share_line(when, canary, shares)).collect()
            }
            Self::Succeeded { message } => vec![format!("Succeeded: {message}")],
            Self::Broke { what } => vec![format!("BREAK: {what}.")],
            Self::Paused { step, message } => vec![format!("PAUSED at step {step}/{}: {message}", STEPS.len())],
            Self::Held { reason, message } => vec![format!("HELD, {reason}: {message}")],
            Self::Repaired { what } => vec![format!("{what}.")],
            Self::RolledBack { canary, after_seconds, reason, message } => vec![
                format!("ROLLED BACK: {after_seconds:.1} s after the break {canary} has no weight any more."),
                format!("{reason}: {message}"),
            ],
            Self::Ended { wrong, requests, failed, seconds, .. } => {
                let right =
                    "Every share was right: observed as desired, within the points by which chance moves a share.";
                let verdict = wrong.as_ref().map_or(right.to_owned(), |wrong| format!("WRONG: {wrong}"));
                let counted = format!("{requests} requests in {seconds:.0} s; clients saw {failed} of them fail.");
                [String::new()].into_iter().chain(verdict.lines().map(str::to_owned)).chain([counted]).collect()
            }
            Self::Kept { kubeconfig, commands } => {
                let head = [String::new(), "It runs on until ^C. In another terminal:".to_owned()];
                let lines = commands.iter().map(|command| format!("  {command}"));
                head.into_iter().chain([format!("  export KUBECONFIG={kubeconfig}")]).chain(lines).collect()
            }
        }
    }
}

/// `step 1/4  catalog eu-3    5 %    5 %    4.9 %   2013     2.2`.
fn share_line(when: &str, canary: &str, shares: &Shares) -> Option<String> {
    let one = shares.of(canary)?;
    let name = format!("{when:<10}{} {canary}", shares.service);
    let MemberShare { desired, applied, observed, within, .. } = one;
    Some(format!("{name:<24}{desired:>5} %{applied:>7} %{observed:>8.1} %{:>9}{within:>8.1}", shares.requests))
}

pub(super) fn tenths(time: Duration) -> f64 {
    (time.as_secs_f64() * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Distribution;

    #[test]
    fn shares_fit_into_the_columns_of_their_header() {
        let all = Distribution::from([("eu-3".to_owned(), 100)]);
        let counted = [("eu-3".to_owned(), 123_456)].into();
        let services = vec![Shares::new("checkout", &all, &all, &counted)];
        let when = "meanwhile".to_owned();
        let event = Event::Shares { when, canary: "eu-3".to_owned(), expected: 100, right: true, services };
        assert_eq!(event.lines(), ["meanwhile checkout eu-3   100 %    100 %   100.0 %   123456     1.0"]);
        let header = Event::declared("eu-3", None).lines().pop().unwrap();
        assert_eq!(header, "                        desired  applied  observed requests  within");
    }

    #[test]
    fn programs_read_one_object_per_event() {
        let event = serde_json::to_value(Event::declared("eu-3", None)).unwrap();
        assert_eq!(event, serde_json::json!({"event": "declared", "canary": "eu-3", "steps": [5, 25, 50, 100]}));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let ended = |wrong: Option<&str>| Event::Ended {
            right: wrong.is_none(),
            wrong: wrong.map(str::to_owned),
            requests: 5,
            by_status: BTreeMap::from([(200, 4), (503, 1)]),
            failed: 1,
            seconds: 23.4,
        };
        let right = "Every share was right: observed as desired, within the points by which chance moves a share.";
        let counted = "5 requests in 23 s; clients saw 1 of them fail.";
        assert_eq!(ended(None).lines(), ["", right, counted]);
        assert_eq!(ended(Some("this\nand that")).lines(), ["", "WRONG: this", "and that", counted]);
    }
}
