//! `make lab`: a promotion through 5, 25, 50, 100 %, then one that fails at 25 % and is rolled back. It only applies YAML,
//! sends requests and reads.

use crate::{
    fleet::source,
    gateway::Behaviour,
    history::History,
    lab::Lab,
    load::Load,
    rollout::Rollout,
    shares::{assert_shares, percent},
    shown::shown,
    stage::{clients, host, to_eu_1},
    wait::{eventually, seconds},
};
use anyhow::{Context, Result, ensure};
use cutover::api::{Phase, Verb};
use serde_json::{Value, json};
use std::time::Instant;

const REQUESTS: u64 = 2_500;
/// At 5 % the other extreme, nothing at all, must be seen as wrong as well.
const STEPS: [u32; 4] = [5, 25, 50, 100];

/// A demo on a running lab, with a service and a namespace of its own.
pub struct Demo<'l> {
    pub lab: &'l Lab,
    pub namespace: &'l str,
    pub service: &'l str,
    /// What to do with each line of the story.
    pub say: fn(&str),
}

impl Demo<'_> {
    /// The whole story. An error says which share was wrong, or what did not happen.
    pub async fn tell(&self) -> Result<()> {
        let since = Instant::now();
        self.say("");
        self.say(&format!("1  All requests to {} go to the old cluster, eu-1.", host(self.service)));
        to_eu_1(&self.lab.hub, self.namespace, self.service).await?;
        let load = clients(self.lab, self.service).await?;
        self.say(&format!("   The route says {}; 500 requests a second are on their way.", self.applied().await?));
        let rollout = self.promotion(&load).await?;
        let all = load.so_far();
        ensure!(all.by_status.keys().eq([&200]) && all.failed == 0, "a request failed on the way: {all:?}");
        self.say(&format!("   {} requests so far, every one answered with 200.", all.sent));
        self.failure(&rollout, &load).await?;
        self.say(&format!(
            "\nThat took {:.0?}. The route belongs to you again with: kubectl delete fleetrollout",
            since.elapsed()
        ));
        Ok(())
    }

    async fn promotion(&self, load: &Load) -> Result<Rollout<'_>> {
        self.say("\n2  We declare where it shall go: eu-3, in four steps. It is examples/first-rollout with seconds for minutes.");
        let rollout = Rollout::declare(self.lab, self.namespace, &self.declaration()?).await?;
        self.say("   weight of eu-3      desired  applied  observed  (applied: the live route; observed: the members' counters)");
        for (step, weight) in (1..).zip(STEPS) {
            self.step(&rollout, load, step, ("eu-1", "eu-3"), weight).await?;
            if step == 1 {
                self.say("   ... the first step waits for a person: cutover promote");
                rollout.phase(Phase::WaitingPromotion).await?;
                rollout.ask(Verb::Promote).await?;
            }
        }
        let status = rollout.phase(Phase::Succeeded).await?;
        self.say(&format!("   Succeeded: {}.", status.message));
        Ok(rollout)
    }

    async fn failure(&self, rollout: &Rollout<'_>, load: &Load) -> Result<()> {
        self.say("\n3  The next new cluster is eu-2. At 25 % it starts to fail: every third answer is an error.");
        let routes = self.lab.hub.api("gateway.networking.k8s.io/v1", "HTTPRoute", self.namespace).await?;
        let history = History::start(routes, "public").await?;
        let members =
            json!([{"name": "eu-3", "weight": 0}, {"name": "eu-2", "weight": 100}, {"name": "eu-1", "weight": 0}]);
        rollout.edit(json!({"members": members})).await?;
        self.say("   weight of eu-2      desired  applied  observed");
        self.step(rollout, load, 1, ("eu-3", "eu-2"), 5).await?;
        rollout.phase(Phase::WaitingPromotion).await?;
        rollout.ask(Verb::Promote).await?;
        self.step(rollout, load, 2, ("eu-3", "eu-2"), 25).await?;
        let (since, failing) = (Instant::now(), jiff::Timestamp::now());
        let behave = |behaviour| self.lab.member("eu-2").gateway.behave(self.service, behaviour);
        behave(Behaviour { fail_every: Some(3), ..Behaviour::default() });
        let back = eventually("the rollback", seconds(40), async || {
            let entries = history.entries().into_iter().filter(|entry| entry.at > failing);
            let mut back = entries.filter(|entry| {
                entry.object.as_ref().is_some_and(|route| !shown(route, self.service).contains_key("eu-2"))
            });
            back.next().context("eu-2 still has weight")
        })
        .await?;
        self.say(&format!(
            "   {:.1?} after the first error eu-2 has no weight any more (seen {:.0}).",
            since.elapsed(),
            back.at
        ));
        let status = rollout.phase(Phase::Failed).await?;
        self.say(&format!("   Failed: {}", status.message));
        behave(Behaviour::default());
        let before = self.lab.observed(self.service);
        load.sends(REQUESTS).await?;
        assert_shares(&before, &self.lab.observed(self.service), &[("eu-3", 100)])?;
        self.say(&format!("   The route says {}; all requests go to eu-3 again.", self.applied().await?));
        Ok(())
    }

    /// Shows and judges one step: desired by the status, applied by the route, observed by the members; each read now.
    async fn step(
        &self,
        rollout: &Rollout<'_>,
        load: &Load,
        step: u32,
        (old, new): (&str, &str),
        weight: u32,
    ) -> Result<()> {
        let status = rollout.applied(step).await?;
        let desired = status.desired.context("nothing is desired")?.split.weights.weight(new);
        let route =
            self.lab.hub.api("gateway.networking.k8s.io/v1", "HTTPRoute", self.namespace).await?.get("public").await?;
        let applied = shown(&route, self.service).get(new).copied().unwrap_or_default();
        let before = self.lab.observed(self.service);
        load.sends(REQUESTS).await?;
        let after = self.lab.observed(self.service);
        let arrived = |member: &str| after[member] - before[member];
        let total: u64 = after.keys().map(|member| arrived(member)).sum();
        let observed = percent(arrived(new), total);
        self.say(&format!(
            "   step {step}/4              {desired:>4} %   {applied:>4} %    {observed:>4.1} %  of {total} requests"
        ));
        ensure!(
            (desired, applied) == (weight, weight),
            "{new} is desired at {desired} % and the route says {applied} %, not {weight} %"
        );
        assert_shares(&before, &after, &[(old, 100 - weight), (new, weight)])
    }

    /// The example, with short times and this demo's names.
    fn declaration(&self) -> Result<Value> {
        let text = std::fs::read_to_string(source("examples/first-rollout/rollout.yaml"))?;
        let mut declared: Value = serde_yaml::from_str(&text.replace("storefront", self.service))?;
        declared["metadata"]["namespace"] = json!(self.namespace);
        declared["spec"]["strategy"]["bake"] = json!("10s");
        let analysis = &mut declared["spec"]["analysis"];
        json_patch::merge(analysis, &json!({"interval": "1s", "settle": "1s", "lag": "1s"}));
        json_patch::merge(&mut analysis["metrics"][0], &json!({"window": "3s", "minSamples": 20}));
        Ok(declared)
    }

    async fn applied(&self) -> Result<String> {
        let routes = self.lab.hub.api("gateway.networking.k8s.io/v1", "HTTPRoute", self.namespace).await?;
        let weights = shown(&routes.get("public").await?, self.service);
        let total: u32 = weights.values().sum();
        Ok(weights
            .iter()
            .map(|(member, weight)| format!("{member} {} %", weight * 100 / total))
            .collect::<Vec<_>>()
            .join(", "))
    }

    fn say(&self, line: &str) {
        (self.say)(line);
    }
}
