//! The judge: looks at every change as it is committed, and at what the members really counted; never at what the hub
//! says of itself, but to see that it is true.

mod copies;
mod kept;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use cutover::sandbox::api::{Change, Verb};
use jiff::Timestamp;
use serde_json::Value;

use super::{
    data_plane::{MATCHED, Weights, chooses, copies_to, plain, weights},
    scenario::{SECRET, Scenario},
    world::{World, seconds},
};

/// Settle and bake of every step, less the clock's grain.
const DWELL: f64 = 3.0 + 15.0 - 0.3;
/// The same of a step that counts its checks: settle and a window that is full.
const DWELL_OF_CHECKS: f64 = 3.0 + 10.0 - 0.3;
/// A member that did not answer for so long is known to be dead.
const SURELY_DEAD: f64 = 45.0;

/// What all routes showed together, from when to when.
#[derive(Clone, Debug)]
struct Shown {
    weights: Weights,
    since: Timestamp,
    until: Option<Timestamp>,
}

#[derive(Clone, Debug)]
struct Route {
    weights: Weights,
    accepted: bool,
    mark: (u64, u64),
    /// Members that keep users.
    kept: BTreeSet<String>,
}

pub struct Judge {
    seen: usize,
    /// Broken rules, with what broke them.
    pub broken: Vec<String>,
    /// What was done, for people.
    pub story: Vec<String>,
    routes: BTreeMap<String, Route>,
    wanted: BTreeMap<String, &'static str>,
    start: Weights,
    /// The last known good distribution: where it began, or what stood proven to the end.
    good: Weights,
    shown: Option<Shown>,
    /// What they showed before that.
    shown_before: Option<Shown>,
    /// The highest weight that each member showed everywhere since the last declaration.
    reached: Weights,
    /// The rollout as it is stored.
    pub rollout: Option<Arc<Value>>,
    status: Value,
    generation: i64,
    /// The rollout of each generation.
    declared: BTreeMap<i64, Arc<Value>>,
    /// A target was declared, and no step was made towards it yet.
    new_target: bool,
    /// A step was made since.
    stepped: bool,
    /// The run that was marked last when it was declared.
    run_before: u64,
    rollback: Option<(i64, u64)>,
    desired: BTreeSet<String>,
    /// Routes on which somebody lowered a canary, as they left them, until the hub has recorded that it saw it.
    lowered: BTreeMap<String, Weights>,
    /// Somebody else changed a route, a status or what is declared.
    pub meddled: Option<Timestamp>,
    /// A status may be older than what was done: a backup was restored.
    pub restored: bool,
    pub written: BTreeMap<String, usize>,
    last_hub_write: Option<Timestamp>,
    backends: BTreeSet<String>,
    /// The member to which each Service leads.
    leads: BTreeMap<String, String>,
}

/// A canary gets more again than somebody's edit had left it.
fn overrules(good: &Weights, edit: &Weights, new: &Weights, member: &str) -> bool {
    at(new, member) > at(edit, member).max(at(good, member))
}

impl Judge {
    pub fn new(scenario: &Scenario) -> Self {
        Self {
            seen: 0,
            broken: Vec::new(),
            story: Vec::new(),
            routes: BTreeMap::new(),
            wanted: scenario.routes.iter().map(|(route, service)| ((*route).to_owned(), *service)).collect(),
            start: scenario.start.clone(),
            good: scenario.start.clone(),
            shown: None,
            shown_before: None,
            reached: scenario.start.clone(),
            rollout: None,
            status: Value::Null,
            generation: 0,
            declared: BTreeMap::new(),
            new_target: false,
            stepped: false,
            run_before: 0,
            rollback: None,
            desired: BTreeSet::new(),
            lowered: BTreeMap::new(),
            meddled: None,
            restored: false,
            written: BTreeMap::new(),
            last_hub_write: None,
            backends: BTreeSet::new(),
            leads: BTreeMap::new(),
        }
    }

    pub const fn seen(&self) -> usize {
        self.seen
    }

    pub fn desired(&mut self, verb: &str) {
        self.desired.insert(verb.to_owned());
        if verb == "Retry" || verb == "Adopt" {
            self.rollback = None;
            self.reached = self.good.clone();
        }
        self.story.push(format!("           a person asks to {verb}"));
    }

    pub fn has_asked(&self, verb: &str) -> bool {
        self.desired.contains(verb)
    }

    pub fn declared_anew(&mut self) {
        self.rollback = None;
    }

    /// Seconds for which all routes have shown what they show.
    pub fn stood(&self, now: Timestamp) -> f64 {
        let shown = self.shown.as_ref().filter(|shown| shown.until.is_none());
        shown.map_or(0.0, |shown| now.duration_since(shown.since).as_secs_f64())
    }

    pub fn last_hub_write(&self) -> Option<Timestamp> {
        self.last_hub_write
    }

    /// Takes one change, in the order in which they were committed.
    pub fn see(&mut self, world: &World, change: &Change) {
        self.seen += 1;
        self.tell(world, change);
        let by_hub = change.author.manager == "cutover";
        if by_hub && change.plural != "leases" {
            self.last_hub_write = Some(change.at);
            *self.written.entry(format!("{}/{}", change.plural, change.name)).or_default() += 1;
            self.owned(change);
            self.no_leak(change);
        }
        match change.plural.as_str() {
            "httproutes" => self.see_route(world, change, by_hub),
            "fleetrollouts" if change.name == "shop" => self.see_rollout(world, change, by_hub),
            "services" if change.namespace == "shop" => self.see_backend(world, change, by_hub),
            _ => {}
        }
    }

    fn tell(&mut self, world: &World, change: &Change) {
        if ["leases", "customresourcedefinitions", "secrets", "namespaces"].contains(&change.plural.as_str()) {
            return;
        }
        let Change { verb, plural, name, author, revision, .. } = change;
        let what = match (plural.as_str(), &change.after) {
            ("httproutes", Some(after)) => {
                let mark = after["metadata"]["annotations"]["cutover.dev/write"].as_str().unwrap_or("");
                let mark = mark.splitn(3, '/').last().unwrap_or_default();
                format!("{:?} gen {} mark {mark}", weights(after), after["metadata"]["generation"])
            }
            ("fleetrollouts", Some(after)) => {
                let status = &after["status"];
                format!(
                    "gen {} {} {} step {} asked {} conf {} seq {} leader {} rollback {} check {} hold {} prim {}",
                    after["metadata"]["generation"],
                    status["phase"].as_str().unwrap_or("-"),
                    status["reason"].as_str().unwrap_or("-"),
                    status["run"]["step"],
                    status["desired"]["weights"],
                    status["desired"]["confirmedAt"],
                    status["sequence"],
                    status["leader"].as_str().unwrap_or("-"),
                    status["run"]["rollback"]["reason"],
                    status["run"]["check"]["verdict"],
                    status["run"]["hold"]["reason"],
                    status["primary"]
                )
            }
            ("events", Some(after)) => format!("{} {}", after["reason"], after["note"]),
            ("rolloutrequests", Some(after)) => format!("{} {}", after["spec"]["verb"], after["status"]),
            _ => String::new(),
        };
        let sub = author.subresource.as_deref().unwrap_or_default();
        self.story.push(format!(
            "{:9.3}  {revision} {verb:?} {plural}/{name} {sub} by {} {what}",
            world.age(),
            author.manager
        ));
    }

    fn break_rule(&mut self, world: &World, rule: String) {
        let line = format!("{:9.3}  BROKEN {rule}", world.age());
        self.story.push(line);
        self.broken.push(rule);
    }

    /// I6: nothing but the hub's own kinds, and of them only its own fields.
    fn owned(&mut self, change: &Change) {
        let own = match change.plural.as_str() {
            "events" | "memberclusters" | "rolloutrequests" => true,
            "fleetrollouts" => {
                let [before, after] =
                    [&change.before, &change.after].map(|object| object.as_ref().map(|object| &object["spec"]));
                after.is_none() || before == after
            }
            "services" => change.namespace == "shop" && is_made(&change.name),
            "httproutes" => {
                change.namespace == "shop"
                    && self.wanted.contains_key(&change.name)
                    && (change.after.is_none() || masked(change.before.as_deref()) == masked(change.after.as_deref()))
            }
            _ => false,
        };
        if !own {
            let spec = |object: &Option<Arc<Value>>| object.as_ref().map(|object| object["spec"].to_string());
            self.broken.push(format!(
                "I6: the hub changed what is not its own: {}/{}: {:?} became {:?}",
                change.plural,
                change.name,
                spec(&change.before),
                spec(&change.after)
            ));
        }
    }

    /// I14: a secret leaves its Secret.
    fn no_leak(&mut self, change: &Change) {
        if change.after.as_ref().is_some_and(|after| tells(after, SECRET)) {
            self.broken.push(format!("I14: {}/{} shows a secret", change.plural, change.name));
        }
    }

    fn see_backend(&mut self, world: &World, change: &Change, by_hub: bool) {
        let host = change.after.as_ref().and_then(|service| service["spec"]["externalName"].as_str());
        let member = host.and_then(|host| host.split('.').next()).unwrap_or_default().to_owned();
        let before = self.leads.insert(change.name.clone(), member.clone());
        let named = |route: &&String| {
            let object = world.object(&format!("{}/{route}", super::scenario::ROUTES)).unwrap_or_default();
            weights(&object).get(&change.name).is_some_and(|weight| *weight > 0)
        };
        let changed = before.as_ref().is_some_and(|before| *before != member);
        let own = self.wanted.values().any(|service| *service == change.name);
        if own && !by_hub && changed && self.wanted.keys().any(|route| named(&route)) {
            self.break_rule(world, format!("I2: a route names {} itself, which is led to {member}", change.name));
        }
        if by_hub && changed {
            self.judge_lead(world, change, &member);
        }
        match change.verb {
            Verb::Delete => self.backends.remove(&change.name),
            Verb::Create | Verb::Update => self.backends.insert(change.name.clone()),
        };
    }

    /// I17: no traffic is on a Service that is led elsewhere, and the primary becomes what the canary has proven, be it
    /// before it got everything.
    fn judge_lead(&mut self, world: &World, change: &Change, member: &str) {
        let Some((_, slot @ ("primary" | "canary"))) = change.name.rsplit_once('-') else { return };
        let carried = self.routes.values().map(|route| at(&route.weights, slot)).max().unwrap_or(0);
        if carried > 0 {
            self.break_rule(world, format!("I17: {} is led to {member} with {carried} on it", change.name));
        }
        if slot == "canary" {
            return;
        }
        let proven = world.fleet().members.get(member).and_then(|found| found.proven);
        let proves = |shown: &Shown| {
            let time = shown.until.unwrap_or(change.at).duration_since(shown.since);
            let evidence = proven.is_some_and(|(_, about)| about >= shown.since);
            at(&shown.weights, "canary") >= 60 && time >= seconds(DWELL) && evidence
        };
        let stood = [&self.shown, &self.shown_before].into_iter().flatten().any(proves);
        let same = self.leads.get(&change.name.replace("-primary", "-canary")).map(String::as_str) == Some(member);
        if !(stood && same) {
            self.break_rule(world, format!("I17: {} becomes {member}, which was not proven", change.name));
        }
    }

    /// The member behind a member of the distribution: in service mode where the copy leads.
    fn behind(&self, service: &str, member: &str) -> String {
        let member = plain(member);
        let copy = self.leads.get(&format!("{service}-{member}")).filter(|_| ["primary", "canary"].contains(&member));
        copy.cloned().unwrap_or_else(|| member.to_owned())
    }

    fn see_route(&mut self, world: &World, change: &Change, by_hub: bool) {
        let Some(service) = self.wanted.get(&change.name).copied() else { return };
        let Some(after) = &change.after else {
            self.routes.remove(&change.name);
            self.end_shown(change.at);
            return;
        };
        let new: Weights = by_member(&weights(after), service);
        let before = self.routes.get(&change.name).cloned();
        let old = before.as_ref().map_or_else(|| new.clone(), |route| route.weights.clone());
        let mark = mark(after);
        if by_hub {
            self.judge_write(world, change, &old, &new, before.as_ref(), mark);
        } else if change.author.manager != "data-plane" && self.generation > 0 {
            self.meddled = Some(change.at);
            self.remember_edit(&change.name, &old, &new);
        }
        if nonzero(&old) != nonzero(&new) {
            self.end_shown(change.at);
        }
        let accepted = accepted(after);
        let kept = kept::kept(after, service);
        self.routes.insert(change.name.clone(), Route { weights: new, accepted, mark, kept });
        self.look_at_all(change.at);
    }

    /// An edit that only lowers canaries is obeyed.
    fn remember_edit(&mut self, route: &str, old: &Weights, new: &Weights) {
        let run = &self.status["run"];
        let moving = run["step"].as_u64() > Some(0) && run.get("outcome").is_none() && run.get("rollback").is_none();
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
                self.judge_rise(world, change, (member, at(old, member), *weight), mark);
            }
        }
    }

    /// A primary member carries what another one, which is down, cannot.
    fn stands_in(&self, world: &World, member: &str) -> bool {
        let fleet = world.fleet();
        let mut down = fleet.members.iter().filter(|(_, found)| found.down_since.is_some());
        at(&self.good, member) > 0 && down.any(|(other, _)| other != member && at(&self.good, other) > 0)
    }

    /// I2, I4, I7: a member's weight rises.
    fn judge_rise(&mut self, world: &World, change: &Change, (member, from, to): (&str, u32, u32), mark: (u64, u64)) {
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
        let live = self.status["run"].is_object() && self.status["run"].get("outcome").is_none();
        if surely_dead && others_answer && live && quiet {
            self.break_rule(world, format!("I2: {name} gives {member}, which is dead, {to} instead of {from}"));
        }
        if to <= at(&self.good, member) || self.stands_in(world, member) {
            return;
        }
        if let Some((generation, run)) = self.rollback
            && generation == self.generation
            && self.status["run"]["number"].as_u64() == Some(run)
        {
            self.break_rule(world, format!("I4: {name} gives {member} {to} instead of {from} in a rollback"));
        }
        // A webhook took a part of what was decided; to write it whole again is no new step.
        let mutated = world.plan.pattern == 21 && world.plan.variant() == "mutate";
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
        if waits && world.scenario.run == super::plan::Run::Promotion && !self.desired.contains("Promote") {
            self.break_rule(world, format!("{name} gives {member} {to}, and nobody promoted"));
        }
    }

    fn end_shown(&mut self, now: Timestamp) {
        if let Some(shown) = self.shown.as_mut().filter(|shown| shown.until.is_none()) {
            shown.until = Some(now);
        }
    }

    fn look_at_all(&mut self, now: Timestamp) {
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
        for (member, weight) in &weights {
            let reached = self.reached.entry(member.clone()).or_default();
            *reached = (*reached).max(*weight);
        }
        if self.stepped && self.shown.as_ref().is_some_and(|shown| shown.weights != weights) {
            self.new_target = false;
        }
        self.shown_before = self.shown.replace(Shown { weights, since: now, until: None });
    }

    fn see_rollout(&mut self, world: &World, change: &Change, by_hub: bool) {
        self.rollout.clone_from(&change.after);
        let Some(after) = &change.after else { return };
        let status = after["status"].clone();
        let generation = after["metadata"]["generation"].as_i64().unwrap_or_default();
        if generation != self.generation {
            self.declared.insert(generation, after.clone());
            if self.generation > 0 {
                self.rollback = None;
                (self.new_target, self.stepped) = (true, false);
                self.run_before = self.routes.values().map(|route| route.mark.0).max().unwrap_or(0);
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

    fn judge_status(&mut self, world: &World, change: &Change, status: &Value, generation: i64) {
        if status["observedGeneration"].as_i64().is_some_and(|observed| observed > generation) {
            self.break_rule(world, "I10: a generation was observed that is not there".to_owned());
        }
        let number = |status: &Value, key: &str| status[key].as_u64().unwrap_or_default();
        if number(status, "sequence") < number(&self.status, "sequence") && !self.restored {
            self.break_rule(world, "I15: the sequence went back".to_owned());
        }
        let run = |status: &Value| status["run"]["number"].as_u64().unwrap_or_default();
        if run(status) < run(&self.status) && !self.restored {
            self.break_rule(world, "I15: the number of the run went back".to_owned());
        }
        let seen = status["run"]["pause"]["reason"] == "PausedByForeignEdit" || status["run"].get("rollback").is_some();
        if seen || run(status) != run(&self.status) {
            self.lowered.clear();
        }
        self.judge_confirmation(world, change, status);
        self.judge_primary(world, change, status);
        if status["run"]["rollback"].is_object() && !self.status["run"]["rollback"].is_object() {
            self.rollback = Some((generation, run(status)));
            self.judge_rollback(world, change, &status["run"]["rollback"]);
        }
    }

    /// I10: what is recorded as confirmed was shown by every route.
    fn judge_confirmation(&mut self, world: &World, change: &Change, status: &Value) {
        let confirmed = |status: &Value| status["desired"]["confirmedAt"].is_string();
        let fresh = confirmed(status)
            && (!confirmed(&self.status) || self.status["desired"]["sequence"] != status["desired"]["sequence"]);
        let meddled = self.meddled.is_some_and(|at| change.at.duration_since(at) < seconds(15.0));
        if !fresh || meddled {
            return;
        }
        let mut desired = nonzero(&distribution(&status["desired"]["weights"]));
        let matched = nonzero(&distribution(&status["desired"]["steering"]["matched"]["weights"]));
        desired.extend(matched.into_iter().map(|(member, weight)| (format!("{member}{MATCHED}"), weight)));
        desired.extend(copies::desired(status));
        self.judge_asked_copies(world, status);
        self.judge_asked_kept(world, status);
        let shown = self.shown.as_ref().filter(|shown| shown.until.is_none()).map(|shown| shown.weights.clone());
        if shown.as_ref() != Some(&desired) && self.routes.len() == self.wanted.len() {
            self.break_rule(
                world,
                format!("I10: {desired:?} was recorded as confirmed, and the routes show {shown:?}"),
            );
        }
    }

    /// I3: the last known good distribution is recorded, and changes only after a full pass.
    fn judge_primary(&mut self, world: &World, change: &Change, status: &Value) {
        let new = nonzero(&distribution(&status["primary"]));
        let old = nonzero(&distribution(&self.status["primary"]));
        if old.is_empty() && new.is_empty() || old == new {
            return;
        }
        let stood = self.shown.as_ref().filter(|shown| shown.weights == new);
        let earned = stood.is_some_and(|shown| {
            shown.until.unwrap_or(change.at).duration_since(shown.since) >= seconds(DWELL)
                && new.iter().filter(|(member, weight)| **weight > at(&self.good, member)).all(|(member, _)| {
                    let proven = world.fleet().members.get(member).and_then(|member| member.proven);
                    proven.is_some_and(|(_, about)| about >= shown.since)
                })
        });
        if old.is_empty() {
            if new != nonzero(&self.good) && self.meddled.is_none() {
                self.break_rule(world, format!("I3: {new:?} was taken as the last known good"));
            }
        } else if earned || self.meddled.is_some() || self.restored || self.desired.contains("Adopt") {
            self.good = new;
        } else {
            self.break_rule(world, format!("I3: the last known good became {new:?} without a full pass"));
        }
    }

    /// I9: a rollback by a verdict has its reason in the world.
    fn judge_rollback(&mut self, world: &World, change: &Change, rollback: &Value) {
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
            "UnknownLimit" => false,
            _ => true,
        };
        if !justified {
            self.break_rule(world, format!("I9: a rollback without a reason in the world: {rollback}"));
        }
    }

    /// The routes as they are, by member.
    pub fn live(&self) -> BTreeMap<String, Weights> {
        self.routes.iter().map(|(name, route)| (name.clone(), nonzero(&route.weights))).collect()
    }

    /// Routes that keep users.
    pub fn keeping(&self) -> Vec<String> {
        self.routes.iter().filter(|(_, route)| !route.kept.is_empty()).map(|(name, _)| name.clone()).collect()
    }

    pub fn good(&self) -> Weights {
        nonzero(&self.good)
    }

    pub fn backends(&self) -> &BTreeSet<String> {
        &self.backends
    }
}

fn at(weights: &Weights, member: &str) -> u32 {
    weights.get(member).copied().unwrap_or(0)
}

pub fn nonzero(weights: &Weights) -> Weights {
    weights.iter().filter(|(_, weight)| **weight > 0).map(|(name, weight)| (name.clone(), *weight)).collect()
}

/// The weights by which requests are answered, whatever some of them look like.
fn answering(weights: &Weights) -> Weights {
    nonzero(weights).into_iter().filter(|(member, _)| plain(member) == member).collect()
}

fn by_member(weights: &Weights, service: &str) -> Weights {
    let prefix = format!("{service}-");
    let member =
        |name: &str| if name == service { "primary" } else { name.strip_prefix(&prefix).unwrap_or(name) }.to_owned();
    // The Service that the primary was made like may stand beside it.
    let mut sums = Weights::new();
    for (name, weight) in weights {
        *sums.entry(member(name)).or_default() += weight;
    }
    sums
}

fn distribution(value: &Value) -> Weights {
    let fields = value.as_object().into_iter().flatten();
    fields.map(|(name, weight)| (name.clone(), u32::try_from(weight.as_u64().unwrap_or(0)).unwrap_or(0))).collect()
}

/// The text is somewhere in it.
fn tells(value: &Value, text: &str) -> bool {
    match value {
        Value::String(said) => said.contains(text),
        Value::Array(items) => items.iter().any(|item| tells(item, text)),
        Value::Object(fields) => fields.iter().any(|(key, field)| key.contains(text) || tells(field, text)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Run and sequence of the last write that is marked on a route.
fn mark(route: &Value) -> (u64, u64) {
    let text = route["metadata"]["annotations"]["cutover.dev/write"].as_str().unwrap_or_default();
    let parts: Vec<&str> = text.split('/').collect();
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

/// The Service has a name of the sort that the hub gives.
fn is_made(service: &str) -> bool {
    ["-eu-", "-primary", "-canary"].iter().any(|part| service.contains(part))
}

fn take_copies_out(rule: &mut Value) {
    let Some(filters) = rule.get_mut("filters").and_then(Value::as_array_mut) else { return };
    filters.retain(|filter| !copies_to(filter).is_some_and(is_made));
    if filters.is_empty() {
        rule.as_object_mut().map(|fields| fields.remove("filters"));
    }
}

/// A route without what the hub may change.
fn masked(route: Option<&Value>) -> Option<Value> {
    let mut route = route?.clone();
    if let Some(rules) = route.pointer_mut("/spec/rules").and_then(Value::as_array_mut) {
        rules.retain(|rule| !chooses(rule));
        rules.iter_mut().for_each(take_copies_out);
    }
    if let Some(backends) = route.pointer_mut("/spec/rules/0/backendRefs") {
        *backends = Value::Null;
    }
    if let Some(annotations) = route["metadata"]["annotations"].as_object_mut() {
        annotations.retain(|key, _| !key.starts_with("cutover.dev/"));
    }
    if let Some(metadata) = route["metadata"].as_object_mut() {
        metadata.retain(|key, _| !["managedFields", "resourceVersion", "generation"].contains(&key.as_str()));
    }
    Some(route)
}
