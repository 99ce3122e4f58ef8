//! I2, I4, I7: a member gets more than it had.

use cutover::sandbox::api::Change;

use super::{
    super::{
        data_plane::plain,
        plan::{Fault, Run, sorts::Webhook},
        world::{World, seconds},
    },
    DWELL, Judge, Shown,
    weights::{at, nonzero},
};

/// The dwell of a step that counts its checks: settle and a window that is full.
const DWELL_OF_CHECKS: f64 = 3.0 + 10.0 - 0.3;
/// A member that did not answer for so long is known to be dead.
const SURELY_DEAD: f64 = 45.0;

impl Judge {
    /// I2, I4, I7: a member's weight rises.
    pub(super) fn judge_rise(
        &mut self,
        world: &World,
        change: &Change,
        (member, from, to): (&str, u32, u32),
        mark: (u64, u64),
    ) {
        let name = &change.name;
        let now = change.at;
        let behind = self.behind(self.wanted.get(name).copied().unwrap_or_default(), member);
        let (down, probed, proven, others_answer) = {
            let fleet = world.fleet();
            let found = fleet.members.get(&behind);
            let others = fleet.members.iter().any(|(other, found)| {
                other != plain(member) && found.down_since.is_none() && self.good.contains_key(other)
            });
            (
                found.and_then(|found| found.down_since),
                found.and_then(|found| found.probed),
                found.and_then(|found| found.proven),
                others,
            )
        };
        let surely_dead = down.is_some_and(|since| now.duration_since(since) > seconds(SURELY_DEAD));
        let quiet = world.hub_was_awake(SURELY_DEAD);
        if surely_dead && others_answer && self.status.has_live_run() && quiet {
            self.break_rule(world, format!("I2: {name} gives {member}, which is dead, {to} instead of {from}"));
        }
        if to <= at(&self.good, member) || self.stands_in(world, member) {
            return;
        }
        if let Some((generation, run)) = self.rollback
            && generation == self.generation
            && self.status.run_number() == run
        {
            self.break_rule(world, format!("I4: {name} gives {member} {to} instead of {from} in a rollback"));
        }
        // A webhook took a part of what was decided; to write it whole again is no new step.
        let mutated = world.plan.fault == Fault::Webhook(Webhook::Mutate);
        if mutated || self.meddled.is_some() || to <= at(&self.reached, member) {
            return;
        }
        // Before all routes showed one distribution, each shows the one at which it began.
        let begun = Shown { weights: self.start.clone(), since: now, until: None };
        let shown = self.shown.clone().unwrap_or(begun);
        let first = nonzero(&shown.weights) == nonzero(&self.start) || nonzero(&shown.weights) == nonzero(&self.good);
        if first {
            let fresh = probed.is_some_and(|at| now.duration_since(at) < seconds(60.0));
            if !fresh {
                self.break_rule(world, format!("I2: {name} gives {member} {to} although its endpoint did not answer"));
            }
            return;
        }
        self.stepped |= mark.0 > self.run_before;
        let left = shown.until.unwrap_or(now);
        let stood = left.duration_since(shown.since).as_secs_f64();
        let counts_checks = shown.weights.keys().any(|member| plain(member) != member);
        if stood < if counts_checks { DWELL_OF_CHECKS } else { DWELL } && !self.new_target {
            self.break_rule(world, format!("I7: {name} gives {member} {to} after {stood:.1} s at {:?}", shown.weights));
        }
        let evidence = proven.is_some_and(|(_, about)| about >= shown.since);
        let had_some = shown.weights.iter().any(|(one, weight)| plain(one) == plain(member) && *weight > 0);
        if had_some && !evidence {
            self.break_rule(world, format!("I2: {name} gives {member} {to} without a good measurement at {from}"));
        }
        let waits = self.generation == 1 && to > 20;
        if waits && world.scenario.run == Run::Promotion && !self.desired.contains("Promote") {
            self.break_rule(world, format!("{name} gives {member} {to}, and nobody promoted"));
        }
    }

    /// A primary member carries what another one, which is down, cannot.
    fn stands_in(&self, world: &World, member: &str) -> bool {
        let fleet = world.fleet();
        let mut down = fleet.members.iter().filter(|(_, found)| found.down_since.is_some());
        at(&self.good, member) > 0 && down.any(|(other, _)| other != member && at(&self.good, other) > 0)
    }
}
