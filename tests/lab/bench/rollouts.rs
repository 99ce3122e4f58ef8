//! The rollouts of a world: numbered, declared alike, moved together.

use super::world::{World, create};
use crate::{
    lab::MEMBERS,
    rollout::{errors, steps},
    wait::{eventually, seconds},
};
use anyhow::{Context, Result, ensure};
use cutover::api::{FleetRollout, Phase};
use futures::{StreamExt, TryStreamExt, stream};
use kube::{
    Api, ResourceExt,
    api::{Patch, PatchParams, PostParams},
    runtime::{
        WatchStreamExt, reflector,
        watcher::{Config, watcher},
    },
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{ops::Range, sync::Arc, time::Duration};
use tokio::task::AbortHandle;

/// Requests of the bench's own under way.
const AT_A_TIME: usize = 8;

/// How the rollouts are declared.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Plan {
    pub rollouts: usize,
    pub per_namespace: usize,
    /// Seconds between two checks.
    pub interval: u64,
    pub steps: u32,
    /// How many a step takes.
    pub checks: u64,
}

impl Plan {
    /// Long enough for all steps, also where each takes twice its time.
    pub fn patience(&self) -> Duration {
        seconds(60 + self.interval * self.checks * u64::from(self.steps + 2) * 2)
    }

    /// A step goes on at the first check after its bake.
    fn bake(&self) -> u64 {
        self.interval * (self.checks - 1) + 1
    }
}

pub struct Rollouts<'w> {
    pub plan: Plan,
    world: &'w World<'w>,
    seen: reflector::Store<FleetRollout>,
    watch: AbortHandle,
}

/// The namespace and the name of a rollout.
pub fn place(plan: &Plan, number: usize) -> (String, String) {
    (format!("bench-{}", number / plan.per_namespace), format!("svc-{number:05}"))
}

impl<'w> Rollouts<'w> {
    /// None is declared yet.
    pub fn new(world: &'w World<'w>, plan: Plan) -> Self {
        let (seen, writer) = reflector::store();
        let all = Api::<FleetRollout>::all(world.client.clone());
        let watched = watcher(all, Config::default()).default_backoff().reflect(writer).for_each(|_| async {});
        Self { plan, world, seen, watch: tokio::spawn(watched).abort_handle() }
    }

    /// Namespaces first: they are nobody's measure.
    pub async fn make_room(&self) -> Result<()> {
        for namespace in 0..self.plan.rollouts.div_ceil(self.plan.per_namespace) {
            let metadata = json!({"name": format!("bench-{namespace}")});
            create(&self.world.client, json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})).await?;
        }
        Ok(())
    }

    /// All at eu-1, by a `RouteGroup` that the hub makes.
    pub async fn declare(&self) -> Result<()> {
        self.each(0..self.plan.rollouts, async |api, number| {
            let declared = serde_json::from_value(declaration(&self.plan, number))?;
            api.create(&PostParams::default(), &declared).await?;
            Ok(())
        })
        .await
    }

    /// Weights of eu-1, eu-2, eu-3 from now on, for some of them.
    pub async fn send_to(&self, numbers: Range<usize>, weights: [u32; 3]) -> Result<()> {
        self.edit(numbers, &json!({"members": declared(weights)})).await
    }

    /// Merges into the spec of some of them.
    pub async fn edit(&self, numbers: Range<usize>, spec: &Value) -> Result<()> {
        let patch = json!({ "spec": spec });
        self.each(numbers, async |api, number| {
            api.patch(&place(&self.plan, number).1, &PatchParams::default(), &Patch::Merge(&patch)).await?;
            Ok(())
        })
        .await
    }

    async fn each(
        &self,
        numbers: Range<usize>,
        act: impl AsyncFn(Api<FleetRollout>, usize) -> Result<()>,
    ) -> Result<()> {
        let act = &act;
        let acts = stream::iter(numbers).map(|number| async move {
            let api = Api::namespaced(self.world.client.clone(), &place(&self.plan, number).0);
            act(api, number).await.with_context(|| format!("rollout {number}"))
        });
        acts.buffer_unordered(AT_A_TIME).try_collect().await
    }

    /// How each rollout stands, as the bench's own watch shows it.
    pub fn state(&self) -> Vec<Arc<FleetRollout>> {
        self.seen.state()
    }

    /// How many are in this phase.
    pub fn count(&self, phase: Phase) -> usize {
        self.state()
            .iter()
            .filter(|rollout| rollout.status.as_ref().is_some_and(|status| status.phase == phase))
            .count()
    }

    /// All of them are in this phase.
    pub async fn reach(&self, phase: Phase, within: Duration) -> Result<()> {
        let most = self.plan.rollouts;
        eventually(&format!("{most} rollouts {phase:?}"), within, async || {
            self.world.process.check().await?;
            let there = self.count(phase);
            ensure!(there == most, "{there} of {most}; {}", self.another(phase));
            Ok(())
        })
        .await
    }

    /// One that is in another phase, and why.
    fn another(&self, phase: Phase) -> String {
        let mut all = self.state().into_iter();
        let other = all.find(|rollout| rollout.status.as_ref().is_none_or(|status| status.phase != phase));
        let said = |rollout: Arc<FleetRollout>| {
            let status = rollout.status.clone().unwrap_or_default();
            format!("{}: {:?}, {}: {}", rollout.name_any(), status.phase, status.reason, status.message)
        };
        other.map_or_else(String::new, said)
    }
}

impl Drop for Rollouts<'_> {
    fn drop(&mut self) {
        self.watch.abort();
    }
}

/// Every member, with its weight; eu-1 has all traffic before the first run.
fn declared(weights: [u32; 3]) -> Value {
    let all = MEMBERS.iter().zip(weights).zip([100, 0, 0]);
    all.map(|((name, weight), initial)| json!({"name": name, "weight": weight, "initialWeight": initial})).collect()
}

fn declaration(plan: &Plan, number: usize) -> Value {
    let (namespace, name) = place(plan, number);
    let progress: Vec<u32> = (1..=plan.steps).map(|step| step * 100 / plan.steps).collect();
    let mut errors = errors();
    // One check may be enough for a step: the window and the lag are over when it comes.
    errors["window"] = json!("1s");
    json!({
        "apiVersion": "cutover.dev/v1alpha1",
        "kind": "FleetRollout",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {
            "services": [{"name": name, "port": 80, "routes": [{"skipper": {"create": {"hosts": [format!("{name}.example.com")]}}}]}],
            "members": declared([100, 0, 0]),
            "strategy": {"bake": format!("{}s", plan.bake()), "steps": steps(&progress)},
            "analysis": {
                "interval": format!("{}s", plan.interval),
                "settle": "1s",
                "lag": "1s",
                "failures": {"limit": 1, "within": 1},
                "metrics": [errors],
            },
        },
    })
}
