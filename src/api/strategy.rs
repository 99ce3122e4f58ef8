//! How a rollout moves: stages, steps, and what must pass before the next one.

use std::{fmt, str::FromStr};

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Duration, Mirror, Progress, RequestMatch, SessionAffinity, Window, approval::Approval, duration::NotADuration,
    name, steering::ALL_REQUESTS, text::as_text,
};

/// How traffic moves from the primary to the declared distribution.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("!has(self.sessionAffinity) || (self.steps.all(s, !has(s.matches)) && !(has(self.ramp) && has(self.ramp.matches)))")
    .message("spec.strategy: sessionAffinity keeps users on one member, and matches sends their requests to another; leave one of them out"))]
pub struct Strategy {
    /// Ordered groups of gaining members that move together. Default: one stage with all gaining members.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".to_owned()]))]
    pub stages: Vec<Stage>,
    /// The steps of each stage. Default: 5 %, 25 %, 50 %, 100 %.
    #[serde(default = "default_steps")]
    #[schemars(length(min = 1, max = 32))]
    #[x_kube(
        // Where some steps move no weight the rule would be too dear; `validate` and the hub know it.
        validation = Rule::new("self.exists(s, !has(s.progress)) || (self.map(s, double(s.progress.replace('%', ''))).isSorted() && self.all(s, self.exists_one(t, double(t.progress.replace('%', '')) == double(s.progress.replace('%', '')))))")
            .message("spec.strategy.steps: steps must rise; each progress must be more than the one before it"),
        validation = Rule::new("has(self[size(self) - 1].progress) && self[size(self) - 1].progress == '100%'")
            .message("spec.strategy.steps: the last step must be 100%")
    )]
    pub steps: Vec<Step>,
    /// Service mode: a short form of the canary's shares, instead of `steps`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ramp: Option<Ramp>,
    /// Keeps users during a run on the member that first answered them, as far as the weights allow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_affinity: Option<SessionAffinity>,
    /// Time for which each weight must hold with passing checks, unless a step sets its own.
    #[serde(default = "default_bake")]
    pub bake: Duration,
    /// Times at which steps may begin: a step begins only if its settle and bake end while a window is open. Checks
    /// and a rollback never wait for a window. Default: always.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub windows: Vec<Window>,
    /// Maximum duration of a run; counts only time in which the run waits for nothing but checks, or for a member to become
    /// ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress_deadline: Option<Duration>,
    /// After the last step, checks continue and a rollback stays possible for this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_previous: Option<Duration>,
    /// What happens on a failure.
    #[serde(default)]
    pub on_failure: OnFailure,
}

/// A ramp of the canary's share, in percent, and how traffic returns to the promoted primary.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("[has(self.stepWeight), has(self.stepWeights), has(self.iterations)].exists_one(given, given)")
        .message("a ramp has exactly one of stepWeight, stepWeights and iterations"),
    validation = Rule::new("!has(self.maxWeight) || has(self.stepWeight)").message("maxWeight belongs to stepWeight"),
    validation = Rule::new("!has(self.matches) || (has(self.iterations) && !has(self.mirror) && !has(self.stepWeightPromotion))")
        .message("matches belongs to iterations, without mirror and stepWeightPromotion"),
    validation = Rule::new("!has(self.mirrorWeight) || (has(self.mirror) && self.mirror)")
        .message("mirrorWeight belongs to mirror: true")
)]
pub struct Ramp {
    /// Increase of the canary's share at each step, in percent, until it is at or past `maxWeight`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100))]
    pub step_weight: Option<u32>,
    /// The share at which the ramp ends, in percent. Default: 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100))]
    pub max_weight: Option<u32>,
    /// The rising shares of the canary, in percent. One beyond 100 counts as 100, and the ramp ends there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 32), inner(range(min = 1, max = 1000)))]
    pub step_weights: Vec<u32>,
    /// Blue/green: all traffic moves at once. This many checks must pass: with `mirror`, on copies before the switch; with
    /// `matches`, on the requests that match; otherwise after the switch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub iterations: Option<u32>,
    /// A/B test: during all iterations requests that match any of these go to the canary, all others to the primary. After the
    /// last check the primary is changed under its traffic, without sending all of it to the canary first. Only for backends of
    /// kind `clusterIP`: real data planes refuse requests while an external name changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 8))]
    pub matches: Vec<RequestMatch>,
    /// Sends copies of requests to the canary before it gets a share.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mirror: bool,
    /// Percentage of requests to copy. Default: 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100))]
    pub mirror_weight: Option<u32>,
    /// Share that returns to the promoted primary at each step, in percent. Default: all at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100))]
    pub step_weight_promotion: Option<u32>,
}

impl Ramp {
    /// The canary's steps: first mirroring, if declared, then its shares; or an A/B test alone.
    pub fn steps(&self) -> Vec<Step> {
        if !self.matches.is_empty() {
            let (matches, iterations) = (self.matches.clone(), self.iterations);
            return vec![Step { matches, iterations, ..Step::default() }];
        }
        let percent = self.mirror_weight.unwrap_or(ALL_REQUESTS);
        let mirror = self.mirror.then_some(Mirror { percent });
        let copied = mirror.map(|_| Step { mirror, iterations: self.iterations, ..Step::default() });
        let iterations = self.iterations.filter(|_| !self.mirror);
        let shares = self.shares().into_iter();
        let switched = shares.map(|share| Step { progress: Some(share), iterations, ..Step::default() });
        copied.into_iter().chain(switched).collect()
    }

    /// How many of the `stepWeights` come into effect: at the first of 100 or more the canary has all traffic.
    pub fn weights_until_all(&self) -> usize {
        let all = self.step_weights.iter().position(|share| *share >= 100);
        all.map_or(self.step_weights.len(), |place| place + 1)
    }

    fn shares(&self) -> Vec<Progress> {
        if self.iterations.is_some() {
            return vec![Progress::ALL];
        }
        let Some(step) = self.step_weight.filter(|step| *step > 0) else {
            let reached = self.step_weights.iter().take(self.weights_until_all());
            return reached.map(|share| Progress::percent(*share)).collect();
        };
        let most = self.max_weight.unwrap_or(100);
        let steps = most.div_ceil(step);
        (1..=steps).map(|count| Progress::percent(count * step)).collect()
    }
}

/// An ordered group of gaining members.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Stage {
    /// The name of the stage, shown in the status.
    #[schemars(length(min = 1, max = 63), regex(pattern = name::LABEL))]
    pub name: String,
    /// Members that gain weight in this stage.
    #[schemars(length(min = 1, max = 64), inner(length(min = 1, max = 61), regex(pattern = name::LABEL)))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub members: Vec<String>,
}

/// One step of a stage: a weight, or requests that are matched or mirrored to the gaining members, and what must pass
/// before the next step.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("[has(self.progress), has(self.matches), has(self.mirror)].exists_one(given, given)")
        .message("a step has exactly one of progress, matches and mirror"),
    validation = Rule::new("!has(self.approval) || (has(self.wait) && self.wait == 'Promotion')")
        .message("approval belongs to wait: Promotion")
)]
pub struct Step {
    /// Part of the way from the old to the new weights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
    /// During this step, requests that match any of these go to the stage's gaining members; all others follow the
    /// weights of the step before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 8))]
    pub matches: Vec<RequestMatch>,
    /// During this step, the stage's gaining members get copies of requests; the answers follow the weights of the
    /// step before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mirror: Option<Mirror>,
    /// Number of checks that must pass before the step ends, one per interval. If set, the strategy's bake does not
    /// apply to this step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub iterations: Option<u32>,
    /// Time for which this weight must hold with passing checks; overrides the strategy's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bake: Option<Duration>,
    /// The wait after the bake: `Promotion`, or a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<Wait>,
    /// Who must promote the step; only with `wait: Promotion`. Default: anybody who may create a `RolloutRequest`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approval>,
}

/// The wait of a step after its bake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Until somebody promotes the step.
    Promotion,
    /// For this time.
    For(Duration),
}

/// What happens on a failure.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// Roll back to the last known good distribution at once.
    #[default]
    Rollback,
    /// Do not advance until retry or abort; a guard and an unavailable canary still roll back.
    Hold,
}

impl Default for Strategy {
    fn default() -> Self {
        Self {
            stages: Vec::new(),
            steps: default_steps(),
            ramp: None,
            session_affinity: None,
            bake: default_bake(),
            windows: Vec::new(),
            progress_deadline: None,
            keep_previous: None,
            on_failure: OnFailure::default(),
        }
    }
}

fn default_steps() -> Vec<Step> {
    ["5%", "25%", "50%", "100%"]
        .iter()
        .filter_map(|progress| progress.parse().ok())
        .map(|progress| Step { progress: Some(progress), ..Step::default() })
        .collect()
}

const fn default_bake() -> Duration {
    Duration::from_secs(300)
}

impl FromStr for Wait {
    type Err = NotADuration;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "Promotion" => Ok(Self::Promotion),
            time => time.parse().map(Self::For),
        }
    }
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Promotion => f.write_str("Promotion"),
            Self::For(time) => time.fmt(f),
        }
    }
}

as_text!(Wait, "^(Promotion|([0-9]{1,5}(h|m|s|ms)){1,4})$", 32);
