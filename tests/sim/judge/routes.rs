//! Routes: what they show, and what the hub and others write to them.

use std::collections::BTreeSet;

use cutover::sandbox::api::Change;
use jiff::Timestamp;
use serde_json::Value;

use super::{
    super::{
        data_plane::{Weights, plain, weights},
        deeds::GITOPS,
        world::World,
    },
    Judge, Shown, kept,
    weights::{answering, at, by_member, nonzero},
};

#[derive(Clone, Debug)]
pub struct Route {
    pub weights: Weights,
    pub accepted: bool,
    pub mark: (u64, u64),
    /// Members that keep users.
    pub kept: BTreeSet<String>,
    /// Who owns it for good: the hub gave it back, or somebody has edited it since.
    pub ownership: Ownership,
}

/// Whose a route is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ownership {
    /// The hub's, as long as it carries a mark.
    Hub,
    /// The hub gave it back, at the end of the rollout.
    Released,
    /// It was edited after the hub gave it back: what it shows is not the hub's concern any more.
    Foreign,
}

impl Judge {
    pub(super) fn see_route(&mut self, world: &World, change: &Change, by_hub: bool) {
        let Some(service) = self.wanted.get(&change.name).copied() else { return };
        let Some(after) = &change.after else {
            self.routes.remove(&change.name);
            self.end_shown(change.at);
            return;
        };
        let new: Weights = by_member(&weights(after), service);
        let before = self.routes.get(&change.name).cloned();
        let old = before.as_ref().map_or_else(|| new.clone(), |route| route.weights.clone());
        let mark = mark(after, &self.uid);
        if by_hub {
            self.drifted.remove(&change.name);
            if mark != (0, 0) {
                self.found.entry((self.uid.clone(), change.name.clone())).or_insert_with(|| old.clone());
            }
            if nonzero(&old) != nonzero(&new) {
                self.course.push((world.age(), change.name.clone(), nonzero(&new)));
            }
            self.judge_write(world, change, &old, &new, before.as_ref(), mark);
        } else if change.author.manager != "data-plane" && self.generation > 0 {
            self.meddled = Some(change.at);
            self.see_edit(change, &old, &new);
            self.remember_edit(&change.name, &old, &new);
        }
        if nonzero(&old) != nonzero(&new) {
            self.end_shown(change.at);
        }
        let accepted = accepted(after);
        let kept = kept::kept(after, service);
        let ownership = match before.as_ref().map(|route| route.ownership) {
            _ if by_hub && mark != (0, 0) => Ownership::Hub,
            Some(Ownership::Hub) if by_hub => Ownership::Released,
            Some(Ownership::Released) if !by_hub && new != old => Ownership::Foreign,
            before => before.unwrap_or(Ownership::Hub),
        };
        // What somebody else marks is not what the hub has reached; what is taken off is gone.
        let mark = if by_hub { mark } else { before.map_or(mark, |before| before.mark.min(mark)) };
        self.routes.insert(change.name.clone(), Route { weights: new, accepted, mark, kept, ownership });
        self.look_at_all(world, change.at);
    }

    fn see_edit(&mut self, change: &Change, old: &Weights, new: &Weights) {
        if nonzero(old) == nonzero(new) {
            return;
        }
        if !self.status.has_live_run() {
            self.drifted.insert(change.name.clone(), nonzero(new));
        } else if change.author.manager == GITOPS {
            self.fight.edits += 1;
        }
    }

    /// An edit that only lowers canaries is obeyed.
    fn remember_edit(&mut self, route: &str, old: &Weights, new: &Weights) {
        let moving = self.status.step() > Some(0) && self.status.goes_forward();
        let is_canary = |member: &&String| at(old, member) > at(&self.good, member);
        let lowers = old.keys().filter(is_canary).any(|member| at(new, member) < at(old, member));
        let raises =
            new.keys().any(|member| at(new, member) > at(old, member) && at(&self.good, member) < at(new, member));
        if moving && lowers && !raises {
            self.lowered.insert(route.to_owned(), new.clone());
        }
    }

    fn judge_write(
        &mut self,
        world: &World,
        change: &Change,
        old: &Weights,
        new: &Weights,
        before: Option<&Route>,
        mark: (u64, u64),
    ) {
        let name = &change.name;
        let live: u32 = answering(new).values().sum();
        if nonzero(old) != nonzero(new) && live != 100 {
            self.break_rule(world, format!("I1: {name} sums to {live}: {new:?}"));
        }
        if before.is_some_and(|before| mark < before.mark && mark != (0, 0)) && !self.restored {
            self.break_rule(
                world,
                format!("I15: {name} was marked {mark:?} after {:?}", before.map(|route| route.mark)),
            );
        }
        let named = weights(change.after.as_deref().unwrap_or(&Value::Null));
        let unnamed: Vec<String> = named
            .into_iter()
            .filter(|(backend, weight)| *weight > 0 && !self.backends.contains(plain(backend)))
            .map(|(backend, _)| backend)
            .collect();
        let taken_away = world.judge_excuses_missing_backends();
        if !unnamed.is_empty() && !taken_away && nonzero(old) != nonzero(new) {
            self.break_rule(world, format!("I16: {name} sends traffic to {unnamed:?}, which does not exist"));
        }
        if self
            .lowered
            .remove(name)
            .is_some_and(|edit| new.keys().any(|member| overrules(&self.good, &edit, new, member)))
        {
            self.break_rule(world, format!("I6: {name}: an edit that lowers a canary was overwritten unseen"));
        }
        self.judge_copies(world, name, old, new);
        self.judge_kept(world, name, change.after.as_deref().unwrap_or(&Value::Null), new);
        for (member, weight) in new {
            if *weight > at(old, member) {
                self.judge_rise(world, change, (member, at(old, member), *weight), mark.0);
            }
        }
    }

    fn end_shown(&mut self, now: Timestamp) {
        if let Some(shown) = self.shown.as_mut().filter(|shown| shown.until.is_none()) {
            shown.until = Some(now);
        }
    }

    fn look_at_all(&mut self, world: &World, now: Timestamp) {
        let mut routes = self.routes.values();
        let Some(first) = routes.next() else { return };
        let same = self.routes.len() == self.wanted.len()
            && first.accepted
            && routes.all(|route| route.accepted && nonzero(&route.weights) == nonzero(&first.weights));
        if !same {
            return;
        }
        let weights = nonzero(&first.weights);
        if self.shown.as_ref().is_some_and(|shown| shown.until.is_none() && shown.weights == weights) {
            return;
        }
        self.judge_course(world, &weights);
        for (member, weight) in &weights {
            let reached = self.reached.entry(member.clone()).or_default();
            *reached = (*reached).max(*weight);
        }
        if self.stepped && self.shown.as_ref().is_some_and(|shown| shown.weights != weights) {
            self.new_target = false;
        }
        self.past.extend(self.shown.replace(Shown { weights, since: now, until: None }));
    }
}

/// A canary gets more again than somebody's edit had left it.
fn overrules(good: &Weights, edit: &Weights, new: &Weights, member: &str) -> bool {
    at(new, member) > at(edit, member).max(at(good, member))
}

/// Run and sequence of the last write for this rollout that is marked on a route.
fn mark(route: &Value, rollout: &str) -> (u64, u64) {
    let text = route["metadata"]["annotations"]["cutover.dev/write"].as_str().unwrap_or_default();
    let parts: Vec<&str> = text.split('/').collect();
    if parts.get(1) != Some(&rollout) {
        return (0, 0);
    }
    let number = |place: usize| parts.get(place).and_then(|part| part.parse().ok()).unwrap_or(0);
    (number(2), number(3))
}

fn accepted(route: &Value) -> bool {
    let generation = &route["metadata"]["generation"];
    let conditions = route.pointer("/status/parents/0/conditions").and_then(Value::as_array);
    conditions.is_some_and(|conditions| {
        !conditions.is_empty()
            && conditions.iter().all(|one| one["status"] == "True" && one["observedGeneration"] == *generation)
    })
}
