//! The story: what the demo does, and what must come of it. It declares, promotes and breaks; all else is the hub's doing.

use std::time::{Duration, Instant};

use tokio::{sync::mpsc::UnboundedSender, time::sleep};

use super::{
    breakage::{Break, Ending},
    declared::{Plan, STEPS, members},
    event::{Event, tenths},
    gate::Stopped,
    objects, rollout,
    shares::{Shares, between},
    world::{World, WorldError},
    wrong::{PATIENCE, Wrong},
};
use crate::{
    api::{Distribution, FleetRolloutStatus, Phase, Reason, Verb, status::Run},
    sandbox::member::Behaviour,
};

/// How often things are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// The step at which things break.
const BREAKS_AT: u32 = 2;
/// What the rollout says while its gate is shut: the receiver's answer.
const GATE_IS_SHUT: &str = "403";

pub(super) struct Story<'w> {
    pub(super) world: &'w World,
    pub(super) plan: &'w Plan,
    /// The step at which the promotion is paused and the story ends.
    pub(super) pause_at: Option<u32>,
    /// Where events go; the story is over when it is closed.
    pub(super) tell: UnboundedSender<Event>,
}

impl Story<'_> {
    pub(super) async fn tell(self, breaks: Break) -> Result<(), Wrong> {
        self.say(Event::started(self.plan));
        let (canary, first) = (self.plan.new_member(), self.plan.first());
        self.shares("before", canary, 0, &first).await?;
        let target = self.plan.all_to(canary);
        self.declare(&target).await?;
        let stopped = self.gate().await?;
        self.say(Event::declared(canary, Some(stopped)));
        match breaks.ending() {
            Ending::Hold => self.promotion(canary, Some(breaks)).await,
            Ending::Rollback if self.pause_at.is_some() => self.promotion(canary, None).await,
            Ending::Rollback => {
                self.promotion(canary, None).await?;
                self.failure(self.plan.next_member(), breaks).await
            }
        }
    }

    async fn declare(&self, target: &Distribution) -> Result<(), Wrong> {
        Ok(objects::create(&self.world.client, self.plan.rollout(target, &self.world.gate.url())).await?)
    }

    /// Opens the gate before the first run, once that waits for it.
    async fn gate(&self) -> Result<Stopped, Wrong> {
        let waits = |status: &FleetRolloutStatus| {
            status.reason == Reason::WaitingForHook && status.message.contains(GATE_IS_SHUT)
        };
        let message = self.until("the hook before the run", waits).await?.message;
        let opened_by = self.world.gate.open().await.map_err(|error| Wrong::Gate(error.to_string()))?;
        Ok(Stopped { message, opened_by })
    }

    /// All the way, with an interruption if there is one; or to the step at which it is to be paused.
    async fn promotion(&self, canary: &str, interruption: Option<Break>) -> Result<(), Wrong> {
        for (step, expected) in (1..).zip(STEPS) {
            let run = self.step(canary, step, expected).await?;
            if self.pause_at == Some(step) {
                return self.pause(&run).await;
            }
            if let Some(breaks) = interruption.filter(|_| step == BREAKS_AT) {
                self.interruption(breaks, canary, expected).await?;
            }
            if expected < 100 {
                rollout::request(&self.world.client, &run, Verb::Promote).await?;
            }
        }
        let status = self.until("the end of the run", |status| status.phase == Phase::Succeeded).await?;
        self.say(Event::Succeeded { message: status.message });
        Ok(())
    }

    /// What a person does with `cutover pause`.
    async fn pause(&self, run: &Run) -> Result<(), Wrong> {
        rollout::request(&self.world.client, run, Verb::Pause).await?;
        let paused = self.until("the pause", |status| status.phase == Phase::Paused).await?;
        self.say(Event::Paused { step: run.step(), message: paused.message });
        Ok(())
    }

    /// Something that holds the run and is over after a while; the weights stand as they were.
    async fn interruption(&self, breaks: Break, canary: &str, expected: u32) -> Result<(), Wrong> {
        self.befall(breaks, canary).await?;
        if breaks == Break::Metrics {
            let held = self.until("the hold", |status| status.phase == Phase::Held).await?;
            self.say(Event::Held { reason: held.reason, message: held.message });
        }
        let desired = self.desired().await?;
        self.shares("meanwhile", canary, expected, &desired).await?;
        let what = match breaks {
            Break::Hub => {
                self.world.hub.start().await.map_err(WorldError::Io)?;
                "The hub is started again; it goes on from what it wrote down"
            }
            Break::Errors | Break::Latency | Break::Member | Break::Metrics => {
                self.repair(canary);
                "The metrics are back"
            }
        };
        self.say(Event::Repaired { what: what.to_owned() });
        Ok(())
    }

    /// Up to 25 %, then the canary breaks and must lose its weight.
    async fn failure(&self, canary: &str, breaks: Break) -> Result<(), Wrong> {
        let target = self.plan.all_to(canary);
        rollout::redeclare(&self.world.client, members(&target)).await?;
        self.say(Event::declared(canary, None));
        for (step, expected) in (1..=BREAKS_AT).zip(STEPS) {
            let run = self.step(canary, step, expected).await?;
            if step < BREAKS_AT {
                rollout::request(&self.world.client, &run, Verb::Promote).await?;
            }
        }
        self.befall(breaks, canary).await?;
        let since = Instant::now();
        self.until_gone(canary).await?;
        let after_seconds = tenths(since.elapsed());
        let failed = self.until("the failure", |status| status.phase == Phase::Failed).await?;
        let (canary, reason, message) = (canary.to_owned(), failed.reason, failed.message);
        self.say(Event::RolledBack { canary: canary.clone(), after_seconds, reason, message });
        let desired = self.desired().await?;
        self.shares("after", &canary, 0, &desired).await?;
        self.repair(&canary);
        Ok(())
    }

    /// So that a retry finds it good, where somebody goes on by hand.
    fn repair(&self, canary: &str) {
        if let Some(member) = self.world.member(canary) {
            member.behave(Behaviour::default());
            member.show_metrics(true);
        }
    }

    async fn befall(&self, breaks: Break, canary: &str) -> Result<(), Wrong> {
        if breaks == Break::Hub {
            self.world.hub.kill().await.map_err(WorldError::Io)?;
        }
        if let Some(member) = self.world.member(canary) {
            breaks.befall(member);
        }
        self.say(Event::Broke { what: breaks.says(canary) });
        Ok(())
    }

    /// Waits until a step is in force, and counts there. The step goes on only when it is promoted, so the weights stand.
    async fn step(&self, canary: &str, step: u32, expected: u32) -> Result<Run, Wrong> {
        let in_force = |status: &FleetRolloutStatus| {
            let confirmed = status.desired.as_ref().is_some_and(|desired| desired.confirmed_at.is_some());
            let of_canary = |run: &Run| run.step() == step && run.target.weight(canary) == 100;
            confirmed && status.run.as_ref().is_some_and(of_canary)
        };
        let status = self.until(&format!("step {step}"), in_force).await?;
        let desired = status.desired.map(|desired| desired.split.weights).unwrap_or_default();
        self.shares(&format!("step {step}/{}", STEPS.len()), canary, expected, &desired).await?;
        status.run.ok_or_else(|| Wrong::Ended { what: format!("step {step}"), said: status.message })
    }

    async fn desired(&self) -> Result<Distribution, Wrong> {
        let status = rollout::status(&self.world.client).await?;
        Ok(status.desired.map(|desired| desired.split.weights).or(status.primary).unwrap_or_default())
    }

    /// Counts requests of every service, and compares.
    async fn shares(&self, when: &str, canary: &str, expected: u32, desired: &Distribution) -> Result<(), Wrong> {
        let (before, least) = (self.world.observed(), self.plan.pace.requests());
        let counted = self.wait_for("the count of the requests", async || {
            let counted = between(&before, &self.world.observed());
            Ok(counted.values().all(|members| members.values().sum::<u64>() >= least).then_some(counted))
        });
        let (mut counted, mut services) = (counted.await?, Vec::new());
        for service in &self.plan.services {
            let applied = rollout::applied(&self.world.client, service).await?;
            services.push(Shares::new(service, desired, &applied, &counted.remove(service).unwrap_or_default()));
        }
        let wrong = services.iter().find_map(|shares| shares.wrong(canary, expected, least));
        let (when, canary) = (when.to_owned(), canary.to_owned());
        self.say(Event::Shares { when, canary, expected, right: wrong.is_none(), services });
        wrong.map_or(Ok(()), |wrong| Err(Wrong::Share(wrong)))
    }

    /// No live route gives the canary any weight.
    async fn until_gone(&self, canary: &str) -> Result<(), Wrong> {
        self.wait_for("the rollback", async || {
            for service in &self.plan.services {
                if rollout::applied(&self.world.client, service).await?.weight(canary) > 0 {
                    return Ok(None);
                }
            }
            Ok(Some(()))
        })
        .await
    }

    /// The first status for which the condition holds. A run that fails first is wrong.
    async fn until(
        &self,
        what: &str,
        condition: impl Fn(&FleetRolloutStatus) -> bool,
    ) -> Result<FleetRolloutStatus, Wrong> {
        self.wait_for(what, async || {
            let status = rollout::status(&self.world.client).await?;
            if condition(&status) {
                Ok(Some(status))
            } else if [Phase::Failed, Phase::RolledBack].contains(&status.phase) {
                Err(Wrong::Ended { what: what.to_owned(), said: status.message })
            } else {
                Ok(None)
            }
        })
        .await
    }

    async fn wait_for<T>(&self, what: &str, look: impl AsyncFn() -> Result<Option<T>, Wrong>) -> Result<T, Wrong> {
        let began = Instant::now();
        loop {
            if let Some(found) = look().await? {
                return Ok(found);
            }
            if self.world.hub.has_ended().await {
                return Err(Wrong::Hub(what.to_owned()));
            }
            if began.elapsed() > PATIENCE {
                let status = rollout::status(&self.world.client).await?;
                let said =
                    format!("{:?}, step {}, {}: {}", status.phase, status.summary.step, status.reason, status.message);
                return Err(Wrong::Never { what: what.to_owned(), said });
            }
            sleep(LOOK_EVERY).await;
        }
    }

    fn say(&self, event: Event) {
        // Whoever listens no longer wants to know.
        let _ = self.tell.send(event);
    }
}
