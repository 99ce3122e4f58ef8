//! What the task of one rollout remembers between passes. All of it can be lost: the status is the machine's state.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{
    addresses::Addresses, alerts::Alerts, attempts::Attempts, calls::CallError, configs::Configs, hooks::Hooks,
    measuring::Measuring, probes::Probes, propagation::Propagation, turns::Place,
};
use crate::{
    api::{Analysis, Distribution, FleetRollout, FleetRolloutStatus, Reason},
    rollout::{
        RouteKey,
        input::{Problem, Rehearsal},
    },
    validate::{self, Severity},
};

/// What one task remembers.
#[derive(Default)]
pub(super) struct Memory {
    pub(super) measuring: Measuring,
    pub(super) probes: Probes,
    pub(super) addresses: Addresses,
    pub(super) configs: Configs,
    pub(super) hooks: Hooks,
    pub(super) alerts: Alerts,
    pub(super) attempts: Attempts,
    pub(super) propagation: Propagation,
    /// Number of the last transition that was announced; nothing before the first pass.
    pub(super) announced: Option<u64>,
    /// Its place among those that wait for a turn at the API server.
    pub(super) place: Option<Place>,
    pub(super) known: Known,
    /// When the watch of what a decision rested on was found to be behind the last time.
    pub(super) behind_at: Option<Timestamp>,
    rehearsed: Rehearsed,
    judged: Option<Judged>,
    planned: Option<Planned>,
}

/// Whether what is known of the rollout is what is stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Known {
    /// As far as anybody can tell.
    #[default]
    Current,
    /// A write over this version met a newer one, or got no answer: the object is read before the next write, unless the
    /// watch shows a newer one first.
    Unsure(Option<String>),
}

impl Known {
    /// The object must be read before it is written.
    pub(super) fn is_unsure(&self, version: Option<&str>) -> bool {
        matches!(self, Self::Unsure(known) if known.as_deref() == version)
    }
}

/// What the rules say of one generation of the spec and what its templates say; they read every query, so they are
/// evaluated once.
struct Judged {
    generation: Option<i64>,
    analysis: Analysis,
    problem: Option<Problem>,
}

/// What is wrong with the plan that one generation of the spec has between these ends: the first step that a route cannot hold.
/// It is planned once.
struct Planned {
    generation: Option<i64>,
    start: Distribution,
    rollback_to: Distribution,
    problem: Option<Problem>,
}

/// The dry runs of one run's first write.
#[derive(Default)]
struct Rehearsed {
    run: u64,
    results: BTreeMap<RouteKey, Rehearsal>,
}

impl Memory {
    /// Takes what was sent for and has come back.
    pub(super) fn collect(&mut self, now: Timestamp) {
        self.measuring.collect();
        self.probes.collect();
        self.addresses.collect();
        self.configs.collect();
        self.hooks.collect(now);
        self.alerts.collect();
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

    /// What is wrong with the plan of this generation between these ends, by `judge` where that is not known yet.
    pub(super) fn planned(
        &mut self,
        generation: Option<i64>,
        (start, rollback_to): (&Distribution, &Distribution),
        judge: impl FnOnce() -> Option<Problem>,
    ) -> Option<Problem> {
        let known = self.planned.take().filter(|planned| {
            planned.generation == generation && planned.start == *start && planned.rollback_to == *rollback_to
        });
        let planned = known.unwrap_or_else(|| {
            let (start, rollback_to) = (start.clone(), rollback_to.clone());
            Planned { generation, start, rollback_to, problem: judge() }
        });
        self.planned.insert(planned).problem.clone()
    }

    /// The dry runs of the present run.
    pub(super) fn rehearsals(&self, status: &FleetRolloutStatus) -> BTreeMap<RouteKey, Rehearsal> {
        if self.rehearsed.run == run(status) { self.rehearsed.results.clone() } else { BTreeMap::new() }
    }

    /// Remembers a dry run. One that met a newer object says nothing.
    pub(super) fn rehearsed(&mut self, status: &FleetRolloutStatus, route: &RouteKey, result: &Result<(), CallError>) {
        if self.rehearsed.run != run(status) {
            self.rehearsed = Rehearsed { run: run(status), results: BTreeMap::new() };
        }
        let result = match result {
            Ok(()) => Rehearsal::Passed,
            Err(CallError::NotLeading | CallError::Conflict) => return,
            Err(error @ (CallError::Late | CallError::Overloaded(_))) => Rehearsal::Unanswered(error.to_string()),
            Err(error @ (CallError::Gone | CallError::Refused(_) | CallError::Failed(_))) => {
                Rehearsal::Refused(error.to_string())
            }
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::hub::fixtures::objects;

    fn status(run: u64) -> FleetRolloutStatus {
        let mut status = objects::stepping();
        status["run"]["number"] = json!(run);
        serde_json::from_value(status).unwrap()
    }

    #[test]
    fn a_dry_run_counts_for_its_own_run_and_says_nothing_where_it_met_a_newer_object() {
        let mut memory = Memory::default();
        let route = |name: &str| RouteKey { service: "shop".to_owned(), route: name.to_owned() };
        let refused = || Err(CallError::Refused("no".to_owned()));
        for (name, result) in [
            ("good", Ok(())),
            ("bad", refused()),
            ("late", Err(CallError::Late)),
            ("newer", Err(CallError::Conflict)),
            ("not sent", Err(CallError::NotLeading)),
        ] {
            memory.rehearsed(&status(1), &route(name), &result);
        }
        let late = Rehearsal::Unanswered(CallError::Late.to_string());
        let expected = BTreeMap::from([
            (route("good"), Rehearsal::Passed),
            (route("bad"), Rehearsal::Refused("no".to_owned())),
            (route("late"), late),
        ]);
        assert_eq!(memory.rehearsals(&status(1)), expected);
        assert!(memory.rehearsals(&status(2)).is_empty());
        memory.rehearsed(&status(2), &route("good"), &refused());
        assert_eq!(memory.rehearsals(&status(2)).len(), 1, "those of the run before are forgotten");
    }

    #[test]
    fn a_declaration_is_judged_anew_when_it_or_what_its_templates_say_has_changed() {
        let mut memory = Memory::default();
        let rollout = objects::rollout(&json!({}));
        let mut is_refused = |change: fn(&mut serde_json::Value)| {
            let mut changed = rollout.clone();
            change(&mut changed);
            memory.refused(&serde_json::from_value(changed).unwrap()).is_some()
        };
        let bad_steps =
            |object: &mut serde_json::Value| object["spec"]["strategy"]["steps"] = json!([{"progress": "20%"}]);
        assert!(!is_refused(|_| {}));
        assert!(!is_refused(bad_steps), "the same generation is the same declaration");
        assert!(is_refused(|object| {
            object["spec"]["strategy"]["steps"] = json!([{"progress": "20%"}]);
            object["metadata"]["generation"] = json!(2);
        }));
        assert!(!is_refused(|object| object["metadata"]["generation"] = json!(3)));
        assert!(is_refused(|object| {
            object["metadata"]["generation"] = json!(3);
            object["spec"]["analysis"]["metrics"][0]["ratio"]["numerator"] = json!("sum(");
        }));
    }
}
