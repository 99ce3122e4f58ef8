//! A live run: where it came from, its plan, and what it is doing.

use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Bake, Move, Phase, Requested, RunState, check::Check};
use crate::api::{
    Distribution, Duration, Progress, Reason, ServiceCopy, ServiceSpec, Split, Strategy,
    approval::{Approval, Approved},
    hook::HookRecord,
    strategy::Wait,
    track::Configs,
};

/// One attempt to reach a distribution, while it lasts; a run that ended is a [`super::RunRecord`].
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
    /// Who began it: the field manager of the declaration, or who requested a retry; absent where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_by: Option<String>,
    /// The distribution where it began.
    pub start: Distribution,
    /// The distribution to which a rollback goes.
    pub rollback_to: Distribution,
    /// The distribution where it ends.
    pub target: Distribution,
    /// What was declared when it began.
    pub pinned: Pinned,
    /// Every step with its weights.
    pub plan: Vec<PlannedStep>,
    /// Service mode: the Services that are being proven.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub services: BTreeMap<String, ServiceCopy>,
    /// What the run is about beside that: ConfigMaps and Secrets that are tracked.
    #[serde(default, skip_serializing_if = "Configs::is_empty")]
    pub configs: Configs,
    /// Which cluster and endpoint each member was when the run began.
    #[serde(default)]
    pub identities: BTreeMap<String, String>,
    /// What it is doing.
    pub state: RunState,
    /// The steps whose wait a person opened.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approved: Vec<u32>,
    /// A pause that a person requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<Stop>,
    /// A hold that only retry, abort or rollback end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<Stop>,
    /// Time in which nothing but checks stood in the way, against `progressDeadline`.
    #[serde(default)]
    pub deadline_used: Duration,
    /// Since when a member that is to gain traffic is not ready and nothing else stands in the way; that time counts too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub not_ready_since: Option<Timestamp>,
    /// Members that cannot serve: `EndpointDown`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unavailable: Vec<String>,
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
    /// How its weights moved, newest last; at most sixteen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moves: Vec<Move>,
    /// What people requested of it, newest last; at most eight.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<Requested>,
    /// Who declared its target, by the annotation `cutover.dev/declared-by`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// What hooks of type `Skip`, `PreRollout` and `Rollout` answered last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<HookRecord>,
    /// Who approved the steps that need approvals, until these are void.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvals: Vec<Approved>,
}

impl Run {
    /// A step of the plan by its number, from 1.
    pub fn step_at(&self, number: u32) -> Option<&PlannedStep> {
        self.plan.get(usize::try_from(number).ok()?.checked_sub(1)?)
    }

    /// The number of the step that stands, or from which the run goes back; 0 before the first.
    pub const fn step(&self) -> u32 {
        self.state.step()
    }

    /// The time that counts against `progressDeadline` until `now`: a member that is still not ready counts too.
    pub fn deadline_used_at(&self, now: Timestamp) -> Duration {
        let waited = self.not_ready_since.map_or(0, |since| now.duration_since(since).as_millis());
        self.deadline_used.saturating_add(Duration::from_millis(u64::try_from(waited).unwrap_or(0)))
    }

    /// The present step; none before the first.
    pub fn present(&self) -> Option<&PlannedStep> {
        self.step_at(self.step())
    }

    /// The step after the present one; none after the last.
    pub fn next(&self) -> Option<&PlannedStep> {
        self.step_at(self.step().saturating_add(1))
    }

    /// Whether a rollback is decided.
    pub const fn is_rolling_back(&self) -> bool {
        self.state.rollback().is_some()
    }

    /// Whether what passed has become the primary.
    pub const fn is_promoted(&self) -> bool {
        match &self.state {
            RunState::Promoting(promoting) => promoting.copied_at.is_some(),
            RunState::RollingBack(rollback) => rollback.promoted,
            RunState::Preparing(_) | RunState::Stepping(_) | RunState::Soaking(_) => false,
        }
    }

    /// Service mode: the step that stands is the last, in which the primary has all traffic again: only the routes have to
    /// confirm that, and that they steer and keep nobody any more.
    pub const fn is_finalizing(&self) -> bool {
        self.is_promoted() && !self.is_rolling_back() && self.step() as usize == self.plan.len()
    }

    /// The phase while what passed becomes the primary.
    pub const fn promotion_phase(&self) -> Phase {
        if self.is_finalizing() { Phase::Finalizing } else { Phase::Promoting }
    }

    /// Service mode: no step proves anything, by `skipAnalysis` or a hook of type `Skip`: the change is promoted as it is.
    pub fn is_without_analysis(&self) -> bool {
        self.plan.iter().all(|step| step.promotes)
    }

    /// The weights that the state means, before projection.
    pub fn weights(&self) -> &Distribution {
        if self.is_rolling_back() { &self.rollback_to } else { self.weights_of_step(self.step()) }
    }

    /// The weights of a step; of the start where it is 0.
    pub fn weights_of_step(&self, number: u32) -> &Distribution {
        self.step_at(number).map_or(&self.start, |step| &step.split.weights)
    }

    /// All that the state means the routes to show, before projection. A rollback steers nothing and keeps nobody.
    pub fn split(&self) -> Split {
        let step = self.present().filter(|_| !self.is_rolling_back());
        step.map_or_else(|| self.weights().clone().into(), |step| step.split.clone())
    }

    /// What is being proven at the present step, by name: every member above its weight in the rollback target, or to
    /// which requests are steered.
    pub fn canaries(&self) -> Vec<String> {
        let mut canaries = self.weights_of_step(self.step()).above(&self.rollback_to);
        canaries.extend(self.present().into_iter().flat_map(|step| step.split.steered()).map(str::to_owned));
        canaries.sort();
        canaries.dedup();
        canaries
    }

    /// Whether this member cannot serve.
    pub fn is_unavailable(&self, member: &str) -> bool {
        self.unavailable.iter().any(|name| name == member)
    }

    /// Whether something is proven now: not before the first step, and not once it is promoted or goes back.
    pub const fn is_judged(&self) -> bool {
        match &self.state {
            RunState::Stepping(_) | RunState::Soaking(_) => true,
            RunState::Promoting(promoting) => promoting.copied_at.is_none() && promoting.step > 0,
            RunState::Preparing(_) | RunState::RollingBack(_) => false,
        }
    }

    /// How long the present weights have held with passing checks.
    pub fn bake(&self) -> Bake {
        self.state.bake().copied().unwrap_or_default()
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
    /// ConfigMaps and Secrets that are tracked, as they were when these passed.
    #[serde(default, skip_serializing_if = "Configs::is_empty")]
    pub configs: Configs,
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
    /// What every route shows at this step.
    pub split: Split,
    /// Checks that must pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iterations: Option<u32>,
    /// Time that the weights must hold with passing checks.
    pub bake: Duration,
    /// What is waited for after the bake.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<Wait>,
    /// Who must promote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approval>,
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
    pub fn is_by_foreign_edit(&self) -> bool {
        self.reason == Reason::PausedByForeignEdit
    }
}
