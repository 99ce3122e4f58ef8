//! The judge: looks at every change as it is committed, and at what the members really counted; never at what the hub
//! says of itself, but to see that it is true.

mod alerts;
mod copies;
mod course;
mod health;
mod kept;
mod leads;
mod owned;
mod receiver;
mod records;
mod rises;
mod route;
mod routes;
mod story;
mod weights;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use cutover::sandbox::api::{Change, Verb};
use jiff::Timestamp;
use serde_json::Value;

use super::{
    deeds::GITOPS,
    routes::{Form, Shows, Stored, Weights},
    scenario::{Scenario, tenant},
    status::Status,
    world::World,
};
use alerts::Alerts;
use course::Course;
pub use receiver::Receiver;
use route::{Ownership, Route};
pub use weights::nonzero;

/// Settle and bake of every step, less the clock's grain.
const DWELL: f64 = 3.0 + 15.0 - 0.3;

/// Where nothing says when a data plane obeys, settle goes by before it does, and the time of a step begins with the last check
/// that did not see it.
const UNSEEN: f64 = 3.0 + 5.0;

/// Seconds for which a step stands at least, as its route shows it.
fn dwell(world: &World) -> f64 {
    DWELL - if world.only_shares_tell() { UNSEEN } else { 0.0 }
}

/// How often the hub created, updated and deleted each object, as `kind/name`.
pub type Written = BTreeMap<(Verb, String), usize>;

/// What all routes showed together, from when to when.
#[derive(Clone, Debug)]
struct Shown {
    weights: Weights,
    since: Timestamp,
    until: Option<Timestamp>,
}

/// P11: the tool that puts routes back.
#[derive(Default)]
pub struct Fight {
    /// How often it moved traffic of a live run.
    pub edits: usize,
    /// What the hub said in statuses and events names it.
    pub is_named: bool,
}

pub struct Judge {
    seen: usize,
    /// Broken rules, with what broke them.
    pub broken: Vec<String>,
    /// What was done, for people.
    pub story: Vec<String>,
    form: &'static dyn Form,
    stored: Stored,
    routes: BTreeMap<String, Route>,
    wanted: BTreeMap<String, &'static str>,
    start: Weights,
    /// The last known good distribution: where it began, or what stood proven to the end.
    good: Weights,
    shown: Option<Shown>,
    /// What they showed before that, the newest last.
    past: Vec<Shown>,
    /// The highest weight that each member showed everywhere since the last declaration.
    reached: Weights,
    /// The rollout as it is stored.
    pub rollout: Option<Arc<Value>>,
    /// Its UID, also after it is gone.
    uid: String,
    status: Status,
    generation: i64,
    /// The rollout of each generation.
    declared: BTreeMap<i64, Arc<Value>>,
    /// The steps that were declared, each from where it was.
    courses: Vec<Course>,
    /// A target was declared, and no step was made towards it yet.
    new_target: bool,
    /// A step was made since.
    stepped: bool,
    /// The run that was marked last when it was declared.
    run_before: u64,
    rollback: Option<(i64, u64)>,
    /// Since when `spec.paused` is declared.
    paused: Option<Timestamp>,
    requested: BTreeSet<String>,
    /// Routes on which somebody lowered a canary, as they left them, until the run goes back or a person decides.
    lowered: BTreeMap<String, Weights>,
    /// Somebody else changed a route, a status or what is declared.
    pub meddled: Option<Timestamp>,
    /// A status may be older than what was done: a backup was restored.
    pub restored: bool,
    pub written: Written,
    /// What the hub wrote to the routes: when, in seconds since the world began, to which, and which weights.
    pub course: Vec<(f64, String, Weights)>,
    last_hub_write: Option<Timestamp>,
    /// What a route showed before the hub wrote it for a rollout, by the rollout's UID and the route.
    found: BTreeMap<(String, String), Weights>,
    /// Routes that somebody edited while no run was live, as they left them: that is reported and stays.
    pub drifted: BTreeMap<String, Weights>,
    pub fight: Fight,
    backends: BTreeSet<String>,
    /// The member to which each Service leads.
    leads: BTreeMap<String, String>,
    alerts: Alerts,
}

impl Judge {
    pub fn new(scenario: &Scenario) -> Self {
        Self {
            seen: 0,
            broken: Vec::new(),
            story: Vec::new(),
            form: scenario.form,
            stored: Stored::new(scenario.form),
            routes: BTreeMap::new(),
            wanted: scenario.routes.iter().map(|(route, service)| ((*route).to_owned(), *service)).collect(),
            start: scenario.start.clone(),
            good: scenario.start.clone(),
            shown: None,
            past: Vec::new(),
            reached: scenario.start.clone(),
            rollout: None,
            uid: String::new(),
            status: Status::default(),
            generation: 0,
            declared: BTreeMap::new(),
            courses: Vec::new(),
            new_target: false,
            stepped: false,
            run_before: 0,
            rollback: None,
            paused: None,
            requested: BTreeSet::new(),
            lowered: BTreeMap::new(),
            meddled: None,
            restored: false,
            written: BTreeMap::new(),
            course: Vec::new(),
            last_hub_write: None,
            found: BTreeMap::new(),
            drifted: BTreeMap::new(),
            fight: Fight::default(),
            backends: BTreeSet::new(),
            leads: BTreeMap::new(),
            alerts: Alerts::default(),
        }
    }

    pub const fn seen(&self) -> usize {
        self.seen
    }

    pub fn requested(&mut self, verb: &str) {
        self.requested.insert(verb.to_owned());
        self.lowered.clear();
        if (verb == "Retry" || verb == "Adopt") && self.rollback.take().is_some() {
            self.begin_courses_again();
            self.reached = self.good.clone();
        }
        self.story.push(format!("           a person asks to {verb}"));
    }

    pub fn has_requested(&self, verb: &str) -> bool {
        self.requested.contains(verb)
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
        self.stored.see(change);
        self.tell(world, change);
        let by_hub = change.author.manager == "cutover";
        if change.namespace == tenant::NAMESPACE {
            if by_hub {
                self.see_tenant(world, change);
            }
            return;
        }
        if by_hub && change.plural != "leases" {
            self.last_hub_write = Some(change.at);
            if change.name != tenant::INTRUDER {
                *self.written.entry((change.verb, format!("{}/{}", change.plural, change.name))).or_default() += 1;
            }
            self.owned(change);
            self.no_leak(change);
            // What is put back before it must have been taken is no edit for the hub, which says that nothing is confirmed.
            let unconfirmed = self.form.shows() == Shows::Taken && owned::says(change, "Skewed");
            self.fight.is_named |= owned::says(change, GITOPS) || unconfirmed;
        }
        match change.plural.as_str() {
            plural if plural == self.form.plural() => self.see_route(world, change, by_hub),
            "fleetrollouts" if change.name == "shop" => self.see_rollout(world, change, by_hub),
            "services" if change.namespace == "shop" => self.see_backend(world, change, by_hub),
            "memberclusters" if by_hub => self.judge_health(world, change),
            _ => {}
        }
    }

    /// What the routes show that are the hub's, or that it gave back as they are.
    pub fn live(&self) -> BTreeMap<String, Weights> {
        let ours = self.routes.iter().filter(|(_, route)| route.ownership != Ownership::Foreign);
        ours.map(|(name, route)| (name.clone(), nonzero(&route.weights))).collect()
    }

    /// All routes show the same.
    pub fn routes_agree(&self) -> bool {
        let mut weights = self.routes.values().map(|route| nonzero(&route.weights));
        let first = weights.next();
        weights.all(|other| Some(other) == first)
    }

    /// Routes that keep users.
    pub fn keeping(&self) -> Vec<String> {
        self.routes.iter().filter(|(_, route)| !route.kept.is_empty()).map(|(name, _)| name.clone()).collect()
    }

    /// What a route showed before the present rollout was there.
    pub fn found(&self, route: &str) -> Option<Weights> {
        self.found.get(&(self.uid.clone(), route.to_owned())).map(nonzero)
    }

    pub fn good(&self) -> Weights {
        nonzero(&self.good)
    }

    pub fn uid(&self) -> &str {
        &self.uid
    }

    pub fn backends(&self) -> &BTreeSet<String> {
        &self.backends
    }
}
