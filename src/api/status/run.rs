//! A run: where it came from, its plan, and how far it is.

use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::check::Check;
use crate::api::{
    Distribution, Duration, Progress, Reason, ServiceCopy, ServiceSpec, Steering, Strategy, strategy::Wait,
};

/// One attempt to reach a distribution.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// Counts the runs of this rollout, from 1.
    pub number: u64,
    /// What this run is about: the declared weights and services.
    pub revision: String,
    /// The generation that declared it.
    pub generation: i64,
    /// When it began.
    #[schemars(with = "String")]
    pub started_at: Timestamp,
    /// Where it began.
    pub start: Distribution,
    /// Where a rollback goes.
    pub rollback_to: Distribution,
    /// Where it ends.
    pub target: Distribution,
    /// What was declared when it began.
    pub pinned: Pinned,
    /// Every step with its weights.
    pub plan: Vec<PlannedStep>,
    /// Service mode: the Services that are being proven.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub services: BTreeMap<String, ServiceCopy>,
    /// Service mode: since when the primary gets the Services that passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub promoting_since: Option<Timestamp>,
    /// Which cluster and endpoint each member was when the run began.
    #[serde(default)]
    pub identities: BTreeMap<String, String>,
    /// The present step, from 1; 0 before the first.
    #[serde(default)]
    pub step: u32,
    /// Time that the present weights held with passing checks.
    #[serde(default)]
    pub baked: Duration,
    /// Checks in a row that passed at the present weights, an Unknown aside.
    #[serde(default)]
    pub passes: u32,
    /// Up to when `baked` is accounted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub baked_until: Option<Timestamp>,
    /// Since when only the present step's wait, or the soak, stood in the way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub waiting_since: Option<Timestamp>,
    /// The steps whose wait a person opened.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub promoted: Vec<u32>,
    /// A pause that a person asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<Stop>,
    /// A hold that only retry, abort or rollback end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<Stop>,
    /// The rollback, once it is decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollback: Option<Rollback>,
    /// All steps are done and rollback stays possible, since then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub soaking_since: Option<Timestamp>,
    /// Time in which nothing but checks stood in the way, against `progressDeadline`.
    #[serde(default)]
    pub deadline_used: Duration,
    /// Members that cannot serve: `EndpointDown`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dead: Vec<String>,
    /// The last check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<Check>,
    /// Names the analysis of the last check, with what its templates said then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub analysis: Option<String>,
    /// Times at which a raised canary was put back; the last hour's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<String>")]
    pub put_back: Vec<Timestamp>,
    /// How it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
}

impl Run {
    /// A step of the plan by its number, from 1.
    #[must_use]
    pub fn step_at(&self, number: u32) -> Option<&PlannedStep> {
        self.plan.get(usize::try_from(number).ok()?.checked_sub(1)?)
    }

    /// What was proven at the present weights counts no more.
    pub fn forget_evidence(&mut self) {
        (self.baked, self.passes) = (Duration::ZERO, 0);
    }

    /// The present step; none before the first.
    #[must_use]
    pub fn present(&self) -> Option<&PlannedStep> {
        self.step_at(self.step)
    }

    /// The step after the present one; none after the last.
    #[must_use]
    pub fn next(&self) -> Option<&PlannedStep> {
        self.step_at(self.step.saturating_add(1))
    }
}

/// The Services that passed last, by name: what the primary is.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Promoted {
    /// Their revision.
    pub revision: String,
    /// Each of them.
    pub services: BTreeMap<String, ServiceCopy>,
    /// Before any run: since when there are Services for primary and canary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub made_at: Option<Timestamp>,
}

/// What was declared when a run began; later edits start another run.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Pinned {
    /// The services.
    pub services: Vec<ServiceSpec>,
    /// The strategy.
    pub strategy: Strategy,
    /// What all weights sum to.
    pub weight_total: u32,
}

/// One step of a plan.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct PlannedStep {
    /// Name of its stage; empty where stages are not declared.
    pub stage: String,
    /// How far the stage has moved; nothing where the step leaves the weights as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
    /// Weight of every member.
    pub weights: Distribution,
    /// The requests that reach the stage's gaining members whatever the weights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steering: Option<Steering>,
    /// Checks that must pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iterations: Option<u32>,
    /// Time that the weights must hold with passing checks.
    pub bake: Duration,
    /// What is waited for after the bake.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<Wait>,
    /// Service mode: traffic goes back to the primary, which has become what passed. Nothing is left to prove.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub promotes: bool,
}

/// Something that stops advances: a pause or a hold.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Stop {
    /// Why.
    pub reason: Reason,
    /// In one sentence, with who and what.
    pub message: String,
    /// Since when.
    #[schemars(with = "String")]
    pub at: Timestamp,
}

impl Stop {
    /// Whether it is the pause after somebody lowered a canary by hand: it holds the weights where they are.
    #[must_use]
    pub fn is_by_foreign_edit(&self) -> bool {
        self.reason == Reason::PausedByForeignEdit
    }
}

/// A rollback that was decided.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Rollback {
    /// Why.
    pub reason: Reason,
    /// In one sentence, with numbers or names.
    pub message: String,
    /// When it was decided.
    #[schemars(with = "String")]
    pub at: Timestamp,
    /// A person decided it, not a verdict.
    pub by_person: bool,
}

/// How a run ended.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The target is the primary.
    Succeeded,
    /// Rolled back by a verdict.
    Failed,
    /// Rolled back by a person.
    RolledBack,
    /// Another run took its place.
    Superseded,
}

/// A run that ended.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct RunRecord {
    /// Its number.
    pub number: u64,
    /// Its revision.
    pub revision: String,
    /// How it ended.
    pub outcome: Outcome,
    /// Why.
    pub reason: Reason,
    /// In one sentence.
    pub message: String,
    /// When it began.
    #[schemars(with = "String")]
    pub started_at: Timestamp,
    /// When it ended.
    #[schemars(with = "String")]
    pub ended_at: Timestamp,
    /// The distribution that it left behind.
    pub weights: Distribution,
}
