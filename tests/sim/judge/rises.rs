//! I2, I4, I7: a member gets more than it had.

use jiff::Timestamp;

use super::{
    super::{
        fleet::Fleet,
        plan::{
            Fault, Run,
            sorts::{MetricsFault, Webhook},
        },
        routes::plain,
        world::{World, seconds},
    },
    Judge, Shown, dwell,
    routes::Write,
    weights::{at, nonzero},
};

/// The dwell of a step that counts its checks: settle and a window that is full.
const DWELL_OF_CHECKS: f64 = 3.0 + 10.0 - 0.3;
/// A member that did not answer for so long is known to be down.
const SURELY_DOWN: f64 = 45.0;
/// What was declared for so long is known to a hub whose watches work, and what it decided before is written.
const SURELY_READ: f64 = 3.0;

/// A route gives a member more.
struct Rise<'a> {
    route: &'a str,
    member: &'a str,
    /// The member behind it.
    behind: &'a str,
    from: u32,
    to: u32,
    /// The run that is marked on the route.
    run: u64,
    at: Timestamp,
}

impl Judge {
    pub(super) fn judge_rise(&mut self, world: &World, write: &Write<'_>, (member, from, to): (&str, u32, u32)) {
        let route = write.route;
        let behind = self.behind(self.wanted.get(route).copied().unwrap_or_default(), member);
        let rise = Rise { route, member, behind: &behind, from, to, run: write.run(), at: write.at };
        self.judge_unavailable(world, &rise);
        if to <= at(&self.good, member) || self.stands_in(world, member) {
            return;
        }
        self.judge_consent(world, &rise);
        self.judge_rise_in_rollback(world, &rise);
        // A webhook took a part of what was decided; to write it whole again is no new step.
        let mutated = world.plan.fault == Fault::Webhook(Webhook::Mutate);
        if mutated || self.is_edited(write.at) || to <= at(&self.reached, member) {
            return;
        }
        self.judge_paused(world, &rise);
        // Before all routes showed one distribution, each shows the one at which it began.
        let begun = Shown { weights: self.start.clone(), since: write.at, until: None };
        let shown = self.shown.clone().unwrap_or(begun);
        let first = nonzero(&shown.weights) == nonzero(&self.start) || nonzero(&shown.weights) == nonzero(&self.good);
        if first {
            self.judge_first_step(world, &rise);
        } else {
            self.judge_next_step(world, &rise, &shown);
        }
    }

    /// A primary member carries what another one, which is down, cannot.
    fn stands_in(&self, world: &World, member: &str) -> bool {
        let fleet = world.fleet();
        let mut down = fleet.members.iter().filter(|(_, found)| found.down_since.is_some());
        at(&self.good, member) > 0 && down.any(|(other, _)| other != member && at(&self.good, other) > 0)
    }

    /// I2: nothing for a member that is down, while others answer.
    fn judge_unavailable(&mut self, world: &World, rise: &Rise) {
        let fleet = world.fleet();
        let down = fleet.members.get(rise.behind).and_then(|found| found.down_since);
        let others_answer = fleet.members.iter().any(|(other, found)| {
            other != plain(rise.member) && found.down_since.is_none() && self.good.contains_key(other)
        });
        drop(fleet);
        let surely_down = down.is_some_and(|since| rise.at.duration_since(since) > seconds(SURELY_DOWN));
        if surely_down && others_answer && self.status.has_live_run() && world.hub_was_awake(SURELY_DOWN) {
            let Rise { route, member, from, to, .. } = rise;
            self.break_rule(world, format!("I2: {route} gives {member}, which is down, {to} instead of {from}"));
        }
    }

    /// I2: in a live run a primary member that is down has no weight while another one answers. Looked at in every moment.
    pub fn look_at_down(&mut self, world: &World, now: Timestamp) {
        let down = |fleet: &Fleet, name: &str| {
            let since = fleet.members.get(name).and_then(|found| found.down_since);
            since.is_some_and(|since| now.duration_since(since) > seconds(SURELY_DOWN))
        };
        let fleet = world.fleet();
        let (gone, alive): (Vec<&String>, Vec<&String>) = self.good.keys().partition(|name| down(&fleet, name));
        let kept =
            gone.into_iter().find(|name| self.routes.values().any(|route| at(&route.weights, name) > 0)).cloned();
        let stands_in = !alive.is_empty();
        drop(fleet);
        let acts = self.rollout.is_some() && self.status.has_live_run() && world.hub_was_awake(SURELY_DOWN);
        if let Some(member) = kept.filter(|_| stands_in && acts) {
            self.break_rule(world, format!("I2: {member} is down and keeps its weight, although another one answers"));
        }
    }

    /// I2: nothing for a member that does not allow the namespace.
    fn judge_consent(&mut self, world: &World, rise: &Rise) {
        let Rise { route, member, from, to, at, .. } = rise;
        if world.fleet().members.get(rise.behind).is_some_and(|found| found.is_closed(*at)) {
            let broken =
                format!("I2: {route} gives {member}, which does not allow the namespace, {to} instead of {from}");
            self.break_rule(world, broken);
        }
    }

    /// I6: nothing rises while a person has paused the rollout, but what was decided before.
    fn judge_paused(&mut self, world: &World, rise: &Rise) {
        let Rise { route, member, from, to, at, .. } = rise;
        if self.paused.is_some_and(|since| at.duration_since(since) > seconds(SURELY_READ)) {
            self.break_rule(
                world,
                format!("I6: {route} gives {member} {to} instead of {from}, although spec.paused is true"),
            );
        }
    }

    /// I4.
    fn judge_rise_in_rollback(&mut self, world: &World, rise: &Rise) {
        let Rise { route, member, from, to, .. } = rise;
        if self.rollback == Some((self.generation, self.status.run_number())) {
            self.break_rule(world, format!("I4: {route} gives {member} {to} instead of {from} in a rollback"));
        }
    }

    /// I2: its endpoint answers before the first step.
    fn judge_first_step(&mut self, world: &World, rise: &Rise) {
        let Rise { route, member, to, .. } = rise;
        let probed = world.fleet().members.get(rise.behind).and_then(|found| found.probed);
        if probed.is_none_or(|at| rise.at.duration_since(at) >= seconds(60.0)) {
            self.break_rule(world, format!("I2: {route} gives {member} {to} although its endpoint did not answer"));
        }
    }

    /// I2, I7: what was shown before stood long enough, and was measured and good.
    fn judge_next_step(&mut self, world: &World, rise: &Rise, shown: &Shown) {
        let Rise { route, member, from, to, .. } = rise;
        self.stepped |= rise.run > self.run_before;
        let stood = shown.until.unwrap_or(rise.at).duration_since(shown.since).as_secs_f64();
        let counts_checks = shown.weights.keys().any(|member| plain(member) != member);
        if stood < if counts_checks { DWELL_OF_CHECKS } else { dwell(world) } && !self.new_target && self.has_begun() {
            self.break_rule(
                world,
                format!("I7: {route} gives {member} {to} after {stood:.1} s at {:?}", shown.weights),
            );
        }
        let proven = world.fleet().members.get(rise.behind).and_then(|found| found.proven);
        // Of a number that may have been counted nobody can know that it was not.
        let evidence = proven.is_some_and(|(_, about)| about >= shown.since)
            || world.plan.fault == Fault::Metrics(MetricsFault::Scalar);
        let had_some = shown.weights.iter().any(|(one, weight)| plain(one) == plain(member) && *weight > 0);
        if had_some && !evidence {
            self.break_rule(world, format!("I2: {route} gives {member} {to} without a good measurement at {from}"));
        }
        let waits = self.generation == 1 && *to > 20;
        if waits && world.scenario.run == Run::Promotion && !self.requested.contains("Promote") {
            self.break_rule(world, format!("{route} gives {member} {to}, and nobody promoted"));
        }
    }
}
