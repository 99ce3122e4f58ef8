//! I3, I9, I10, I15: what the hub records of a rollout is true.

use cutover::sandbox::api::{Change, Verb};
use jiff::Timestamp;
use serde_json::Value;

use super::{
    super::{
        status::Status,
        world::{World, seconds},
    },
    Judge, Route, copies, dwell,
    weights::{at, nonzero},
};

impl Judge {
    pub(super) fn see_rollout(&mut self, world: &World, change: &Change, by_hub: bool) {
        self.rollout.clone_from(&change.after);
        let Some(after) = &change.after else { return };
        after["metadata"]["uid"].as_str().unwrap_or_default().clone_into(&mut self.uid);
        let status = Status::of(after);
        if change.verb == Verb::Create && self.generation > 0 {
            self.begin_anew(change.at);
        }
        let paused = (after["spec"]["paused"] == true).then_some(change.at);
        self.paused = paused.map(|now| self.paused.unwrap_or(now));
        let generation = after["metadata"]["generation"].as_i64().unwrap_or_default();
        if generation != self.generation {
            self.declared.insert(generation, after.clone());
            self.set_course(generation, &after["spec"]);
            if self.generation > 0 {
                self.rollback = None;
                (self.new_target, self.stepped) = (true, false);
                self.run_before = self.routes.values().map(Route::run).max().unwrap_or(0);
            }
            self.generation = generation;
        }
        if by_hub {
            self.judge_status(world, change, &status, generation);
        } else if change.author.subresource.as_deref() == Some("status") {
            self.restored = true;
            self.meddled = Some(change.at);
        }
        self.status = status;
    }

    /// Another rollout has the name: nothing that was recorded of the former one is about it.
    fn begin_anew(&mut self, now: Timestamp) {
        (self.status, self.generation, self.rollback) = (Status::default(), 0, None);
        self.declared.clear();
        self.lowered.clear();
        self.courses.clear();
        self.routes.values_mut().for_each(|route| route.marks.clear());
        self.meddled = Some(now);
    }

    fn judge_status(&mut self, world: &World, change: &Change, status: &Status, generation: i64) {
        if status.observed_generation().is_some_and(|observed| observed > generation) {
            self.break_rule(world, "I10: a generation was observed that is not there".to_owned());
        }
        if status.sequence() < self.status.sequence() && !self.restored {
            self.break_rule(world, "I15: the sequence went back".to_owned());
        }
        if status.run_number() < self.status.run_number() && !self.restored {
            self.break_rule(world, "I15: the number of the run went back".to_owned());
        }
        if status.rollback().is_some() || status.run_number() != self.status.run_number() {
            self.lowered.clear();
        }
        if let Some(rollout) = &change.after {
            self.judge_alerts(world, rollout, status);
        }
        self.judge_confirmation(world, change, status);
        self.judge_primary(world, change, status);
        if let Some(rollback) = status.rollback().filter(|_| self.status.rollback().is_none()) {
            self.rollback = Some((generation, status.run_number()));
            self.judge_rollback(world, change, rollback, generation);
        }
    }

    /// I10: what is recorded as confirmed was shown by every route.
    fn judge_confirmation(&mut self, world: &World, change: &Change, status: &Status) {
        let fresh = status.is_confirmed()
            && (!self.status.is_confirmed() || self.status.desired()["sequence"] != status.desired()["sequence"]);
        if !fresh || self.is_edited(change.at) || world.only_shares_tell() {
            return;
        }
        let mut desired = nonzero(&status.desired_weights());
        desired.extend(copies::desired(status));
        self.judge_confirmed_copies(world, status);
        self.judge_confirmed_kept(world, status);
        let shown = self.shown.as_ref().filter(|shown| shown.until.is_none()).map(|shown| shown.weights.clone());
        if shown.as_ref() != Some(&desired) && self.routes.len() == self.wanted.len() {
            self.break_rule(
                world,
                format!("I10: {desired:?} was recorded as confirmed, and the routes show {shown:?}"),
            );
        }
    }

    /// I3: the last known good distribution is recorded, and changes only after a full pass.
    fn judge_primary(&mut self, world: &World, change: &Change, status: &Status) {
        let (new, old) = (nonzero(&status.primary()), nonzero(&self.status.primary()));
        if old.is_empty() && new.is_empty() || old == new {
            return;
        }
        // Another target ends the soak: what soaked has passed every step.
        let soak = if self.generation > 1 { 0.0 } else { world.scenario.soak() };
        let stood = self.shown.as_ref().filter(|shown| shown.weights == new);
        let earned = stood.is_some_and(|shown| {
            shown.until.unwrap_or(change.at).duration_since(shown.since) >= seconds(soak + dwell(world))
                && new.iter().filter(|(member, weight)| **weight > at(&self.good, member)).all(|(member, _)| {
                    let proven = world.fleet().members.get(member).and_then(|member| member.proven);
                    proven.is_some_and(|(_, about)| about >= shown.since)
                })
        });
        if old.is_empty() && self.requested.contains("Adopt") {
            self.good = new;
            self.set_course_anew();
        } else if old.is_empty() {
            if new != nonzero(&self.good) && self.meddled.is_none() {
                self.break_rule(world, format!("I3: {new:?} was taken as the last known good"));
            }
        } else if earned || self.is_edited(change.at) || self.restored || self.requested.contains("Adopt") {
            self.good = new;
        } else {
            self.break_rule(world, format!("I3: the last known good became {new:?} without a full pass"));
        }
    }

    /// I9: a rollback by a verdict has its reason in the world.
    fn judge_rollback(&mut self, world: &World, change: &Change, rollback: &Value, generation: i64) {
        let fleet = world.fleet();
        let bad = fleet
            .members
            .values()
            .any(|member| member.bad_at.is_some_and(|at| change.at.duration_since(at) < seconds(60.0)));
        let down = fleet
            .members
            .values()
            .any(|member| member.down_since.is_some_and(|since| change.at.duration_since(since) > seconds(8.0)));
        drop(fleet);
        let justified = match rollback["reason"].as_str().unwrap_or_default() {
            "ChecksFailed" | "GuardBreached" => bad || world.spoiled_values(),
            "EndpointDown" => down,
            "Aborted" => self.requested.contains("Abort"),
            "RollbackRequested" => self.requested.contains("Rollback"),
            "NewTarget" | "OldTargetDeclared" => generation > 1,
            "Deleting" => change.after.as_ref().is_some_and(|after| after["metadata"]["deletionTimestamp"].is_string()),
            // The runs hold on Unknown, and no plan lasts as long as their deadline.
            _ => false,
        };
        if !justified {
            self.break_rule(world, format!("I9: a rollback without a reason in the world: {rollback}"));
        }
    }
}
