//! Routes: what they show, and what the hub and others write to them.

use cutover::sandbox::api::Change;
use jiff::Timestamp;

use super::{
    super::{
        deeds::GITOPS,
        routes::{Shows, Weights, plain},
        world::World,
    },
    Judge, Shown,
    route::{self, Mark, Reading, Route, is_marked},
    weights::{answering, at, nonzero},
};

/// A write of the hub to a route.
pub(super) struct Write<'w> {
    pub route: &'w str,
    pub at: Timestamp,
    /// None where an object is removed.
    mark: Option<Mark>,
    reading: &'w Reading,
}

impl Write<'_> {
    /// The run that it marks.
    pub fn run(&self) -> u64 {
        self.mark.map_or(0, |mark| mark.0)
    }
}

impl Judge {
    pub(super) fn see_route(&mut self, world: &World, change: &Change, by_hub: bool) {
        let name = self.form.route_of(&change.name).to_owned();
        let Some(service) = self.wanted.get(&name).copied() else { return };
        let Some(objects) = self.stored.of("shop", &name) else {
            self.routes.remove(&name);
            self.end_shown(change.at);
            return;
        };
        let reading = Reading::of(self.form, &objects, service);
        let before = self.routes.get(&name).cloned();
        let old = before.as_ref().map_or_else(|| reading.weights.clone(), |route| route.weights.clone());
        let mark = change.after.as_ref().map(|after| route::mark(after, &self.uid));
        if by_hub {
            let write = Write { route: &name, at: change.at, mark, reading: &reading };
            self.see_write(world, &write, &old);
            self.judge_mark(world, &change.name, mark, before.as_ref());
        } else if change.author.manager != "data-plane" && self.generation > 0 {
            self.meddled = Some(change.at);
            self.see_edit(change, &name, &old, &reading.weights);
            self.remember_edit(&name, &old, &reading.weights);
        }
        if nonzero(&old) != nonzero(&reading.weights) || !reading.is_served {
            self.end_shown(change.at);
        }
        self.routes.insert(name, Route::after(before, reading, &change.name, mark, by_hub));
        self.look_at_all(world, change.at);
    }

    fn see_write(&mut self, world: &World, write: &Write<'_>, old: &Weights) {
        let (name, new) = (write.route, &write.reading.weights);
        self.drifted.remove(name);
        if is_marked(write.mark) {
            self.found.entry((self.uid.clone(), name.to_owned())).or_insert_with(|| old.clone());
        }
        if nonzero(old) != nonzero(new) {
            self.course.push((world.age(), name.to_owned(), nonzero(new)));
        }
        self.judge_write(world, write, old, new);
    }

    /// The data plane has taken a route as it is stored.
    pub fn see_taken(&mut self, world: &World, route: &str, now: Timestamp) {
        if self.form.shows() != Shows::Taken {
            return;
        }
        if let Some(route) = self.routes.get_mut(route) {
            route.shown = true;
            self.look_at_all(world, now);
        }
    }

    fn see_edit(&mut self, change: &Change, route: &str, old: &Weights, new: &Weights) {
        if nonzero(old) == nonzero(new) {
            return;
        }
        if !self.status.has_live_run() {
            self.drifted.insert(route.to_owned(), nonzero(new));
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

    /// I15: no mark goes back.
    fn judge_mark(&mut self, world: &World, object: &str, mark: Option<Mark>, before: Option<&Route>) {
        let newer = before.and_then(|before| before.marks.get(object));
        let newer = newer.filter(|before| is_marked(mark) && mark < Some(**before));
        if let Some(before) = newer.filter(|_| !self.restored) {
            self.break_rule(world, format!("I15: {object} was marked {mark:?} after {before:?}"));
        }
    }

    fn judge_write(&mut self, world: &World, write: &Write<'_>, old: &Weights, new: &Weights) {
        let (name, moves) = (write.route, nonzero(old) != nonzero(new));
        let live: u32 = answering(new).values().sum();
        if moves && live != 100 {
            self.break_rule(world, format!("I1: {name} sums to {live}: {new:?}"));
        }
        let carries = write.reading.named.iter().filter(|(_, weight)| **weight > 0).map(|(backend, _)| backend);
        let unnamed: Vec<&String> = carries.filter(|backend| !self.backends.contains(plain(backend))).collect();
        if !unnamed.is_empty() && !world.judge_excuses_missing_backends() && moves {
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
        self.judge_kept(world, name, &write.reading.kept, new);
        self.judge_hosts(world, name, &write.reading.named);
        for (member, weight) in new {
            if *weight > at(old, member) {
                self.judge_rise(world, write, (member, at(old, member), *weight));
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
            && first.shown
            && routes.all(|route| route.shown && nonzero(&route.weights) == nonzero(&first.weights));
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
