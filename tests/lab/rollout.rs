//! A FleetRollout of a test: declared with short times, watched, and given verbs as a person gives them.

use crate::{
    apiserver::OPERATOR,
    lab::{Lab, MEMBERS},
    wait::{eventually, seconds},
};
use anyhow::{Context, Result, ensure};
use cutover::api::{FleetRollout, FleetRolloutStatus, Phase, Reason, RolloutRequest, Verb};
use kube::{
    Api,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};
use std::time::Duration;

/// The lab may be busy, and the hub says only after a minute that a write is late: a condition has this long to come true.
pub const PATIENCE: Duration = seconds(90);

/// One service called `name` at eu-1, with one route; nothing is to move yet.
pub fn declaration(name: &str, route: &Value) -> Value {
    json!({
        "apiVersion": "cutover.dev/v1alpha1",
        "kind": "FleetRollout",
        "metadata": {"name": name},
        "spec": {
            "services": [{"name": name, "port": 80, "routes": [route]}],
            "members": members([100, 0, 0], [100, 0, 0]),
            "strategy": {"bake": "2s", "steps": steps(&[10, 30, 60, 100])},
            "analysis": {"interval": "1s", "settle": "1s", "lag": "1s", "metrics": [errors()]},
        },
    })
}

/// The share of failed requests, at most 1 %, of at least 20.
pub fn errors() -> Value {
    let counted = |which: &str| {
        format!("sum(increase(http_requests_total{{service=\"{{{{ service }}}}\"{which}}}[{{{{ window }}}}]))")
    };
    json!({
        "name": "errors",
        "ratio": {"numerator": counted(",code=~\"5..\""), "denominator": counted("")},
        "window": "3s",
        "max": 1,
        "minSamples": 20,
    })
}

/// Weights of eu-1, eu-2, eu-3, and those before the first run. A member without any is left out.
pub fn members(weights: [u32; 3], initial: [u32; 3]) -> Value {
    let all = MEMBERS.iter().zip(weights).zip(initial);
    let used = all.filter(|((_, weight), initial)| weight + initial > 0);
    used.map(|((name, weight), initial)| json!({"name": name, "weight": weight, "initialWeight": initial})).collect()
}

/// eu-1 has it all; eu-3 shall have it.
pub fn to_eu_3() -> Value {
    members([0, 0, 100], [100, 0, 0])
}

/// Steps that go on by themselves.
pub fn steps(progress: &[u32]) -> Value {
    progress.iter().map(|progress| json!({"progress": format!("{progress}%")})).collect()
}

/// Steps of which each waits for a person.
pub fn promoted_steps(progress: &[u32]) -> Value {
    progress.iter().map(|progress| json!({"progress": format!("{progress}%"), "wait": "Promotion"})).collect()
}

pub struct Rollout<'l> {
    lab: &'l Lab,
    namespace: String,
    name: String,
    api: Api<FleetRollout>,
}

impl<'l> Rollout<'l> {
    /// Creates it as the administrator.
    pub async fn declare(lab: &'l Lab, namespace: &str, declaration: &Value) -> Result<Self> {
        let name = declaration["metadata"]["name"].as_str().context("a name")?.to_owned();
        lab.hub.create(namespace, &declaration.to_string()).await?;
        Ok(Self::of(lab, namespace, &name))
    }

    /// One that somebody else declares.
    pub fn of(lab: &'l Lab, namespace: &str, name: &str) -> Self {
        let api = Api::namespaced(lab.hub.client.clone(), namespace);
        Self { lab, namespace: namespace.to_owned(), name: name.to_owned(), api }
    }

    /// Changes its spec.
    pub async fn edit(&self, spec: Value) -> Result<()> {
        self.api.patch(&self.name, &PatchParams::default(), &Patch::Merge(json!({ "spec": spec }))).await?;
        Ok(())
    }

    pub async fn delete(&self) -> Result<()> {
        self.api.delete(&self.name, &DeleteParams::default()).await?;
        Ok(())
    }

    /// Waits until its finalizer is off and it is gone.
    pub async fn is_gone(&self) -> Result<()> {
        eventually(&format!("the end of {}", self.name), PATIENCE, async || {
            let left = self.api.get_opt(&self.name).await?;
            ensure!(left.is_none(), "{:?}", left.and_then(|rollout| rollout.status).map(|status| status.message));
            Ok(())
        })
        .await
    }

    pub async fn get(&self) -> Result<FleetRollout> {
        Ok(self.api.get(&self.name).await?)
    }

    pub async fn status(&self) -> Result<FleetRolloutStatus> {
        Ok(self.get().await?.status.unwrap_or_default())
    }

    /// Writes a status over the present one, as one who restores a backup.
    pub async fn restore_status(&self, status: &FleetRolloutStatus) -> Result<()> {
        let mut rollout = self.get().await?;
        rollout.status = Some(status.clone());
        self.api.replace_status(&self.name, &PostParams::default(), &rollout).await?;
        Ok(())
    }

    /// The first status for which the condition holds.
    pub async fn until(
        &self,
        what: &str,
        condition: impl Fn(&FleetRolloutStatus) -> bool,
    ) -> Result<FleetRolloutStatus> {
        eventually(&format!("{}: {what}", self.name), PATIENCE, async || {
            let status = self.status().await?;
            ensure!(condition(&status), "{}", described(&status));
            Ok(status)
        })
        .await
    }

    pub async fn phase(&self, phase: Phase) -> Result<FleetRolloutStatus> {
        self.until(&format!("{phase:?}"), |status| status.phase == phase).await
    }

    /// The phase for this reason.
    pub async fn stands(&self, phase: Phase, reason: Reason) -> Result<FleetRolloutStatus> {
        self.until(&format!("{phase:?} for {reason}"), |status| status.phase == phase && status.reason == reason).await
    }

    /// Every route has confirmed the weights of this step, at least a second ago.
    pub async fn applied(&self, step: u32) -> Result<FleetRolloutStatus> {
        self.until(&format!("step {step} applied"), |status| {
            let confirmed = status.desired.as_ref().and_then(|desired| desired.confirmed_at);
            let settled = confirmed.is_some_and(|at| at + jiff::SignedDuration::from_secs(1) <= jiff::Timestamp::now());
            settled && status.run.as_ref().is_some_and(|run| run.step() == step)
        })
        .await
    }

    /// The same, and the samples of this step are judged.
    pub async fn at_step(&self, step: u32) -> Result<FleetRolloutStatus> {
        let settled = [Phase::WaitingPromotion, Phase::Progressing, Phase::Held, Phase::Paused];
        self.until(&format!("step {step} confirmed"), |status| {
            let confirmed = status.desired.as_ref().is_some_and(|desired| desired.confirmed_at.is_some());
            let reached = status.run.as_ref().is_some_and(|run| run.step() == step);
            reached && confirmed && settled.contains(&status.phase) && status.reason != Reason::Settling
        })
        .await
    }

    /// Asks for a verb as a person with the operator's role, and waits until it is applied.
    pub async fn ask(&self, verb: Verb) -> Result<()> {
        let (requests, name) = self.request(verb).await?;
        eventually(&format!("{verb} of {}", self.name), PATIENCE, async || {
            let status = requests.get(&name).await?.status.unwrap_or_default();
            ensure!(status.state == Some(cutover::api::request::RequestState::Applied), "{status:?}");
            Ok(())
        })
        .await
    }

    /// Asks for a verb as a person with the operator's role: the request's name, and where it can be read.
    pub async fn request(&self, verb: Verb) -> Result<(Api<RolloutRequest>, String)> {
        let rollout = self.get().await?;
        let status = rollout.status.unwrap_or_default();
        let mut spec = json!({
            "rollout": {"name": self.name, "uid": rollout.metadata.uid},
            "verb": verb,
            "run": status.last_run(),
            "requestedBy": OPERATOR,
        });
        if verb == Verb::Promote {
            spec["step"] = json!(status.run.map_or(0, |run| run.step()));
        }
        let request = json!({"apiVersion": "cutover.dev/v1alpha1", "kind": "RolloutRequest", "metadata": {"generateName": "lab-"}, "spec": spec});
        let requests = Api::<RolloutRequest>::namespaced(self.lab.hub.client_as(OPERATOR).await?, &self.namespace);
        let request = requests.create(&PostParams::default(), &serde_json::from_value(request)?).await?;
        let name = request.metadata.name.unwrap_or_default();
        Ok((requests, name))
    }
}

/// Where it stands, for a test that waits for something else.
fn described(status: &FleetRolloutStatus) -> String {
    let step = &status.summary.step;
    format!("{:?} at step {step} ({}), {}: {}", status.phase, status.summary.weights, status.reason, status.message)
}
