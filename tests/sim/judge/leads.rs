//! I17: the Services of primary and canary, and where they lead.

use cutover::sandbox::api::{Change, Verb};

use super::{
    super::{
        data_plane::member,
        routes::{Weights, plain},
        world::{World, seconds},
    },
    DWELL, Judge, Shown,
    weights::at,
};

impl Judge {
    pub(super) fn see_backend(&mut self, world: &World, change: &Change, by_hub: bool) {
        let host = change.after.as_ref().and_then(|service| service["spec"]["externalName"].as_str());
        let member = member(host.unwrap_or_default());
        let before = self.leads.insert(change.name.clone(), member.clone());
        let named = |route: &String| {
            let weights = self.stored.of("shop", route).map(|objects| self.form.weights(&objects)).unwrap_or_default();
            weights.get(&change.name).is_some_and(|weight| *weight > 0)
        };
        let changed = before.as_ref().is_some_and(|before| *before != member);
        let own = self.wanted.values().any(|service| *service == change.name);
        if own && !by_hub && changed && self.wanted.keys().any(named) {
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
        let stood = self.shown.iter().chain(&self.past).any(proves);
        let same = self.leads.get(&change.name.replace("-primary", "-canary")).map(String::as_str) == Some(member);
        if !(stood && same) {
            self.break_rule(world, format!("I17: {} becomes {member}, which was not proven", change.name));
        }
    }

    /// I17: a route that leads a backend itself leads it where the Service of that name leads, if there is one.
    pub(super) fn judge_hosts(&mut self, world: &World, route: &str, named: &Weights) {
        let objects = self.stored.of("shop", route).unwrap_or_default();
        let led = |name: &String| Some((plain(name).to_owned(), member(&self.form.host_of(&objects, plain(name))?)));
        let mut carrying = named.iter().filter(|(_, weight)| **weight > 0).filter_map(|(name, _)| led(name));
        let lead = |name: &String| self.leads.get(name).filter(|_| self.backends.contains(name));
        let elsewhere = carrying.find(|(name, member)| lead(name).is_some_and(|lead| lead != member));
        if let Some((name, member)) = elsewhere {
            self.break_rule(world, format!("I17: {route} leads {name} to {member}, and its Service leads elsewhere"));
        }
    }

    /// The member behind a member of the distribution: in service mode where the copy leads.
    pub(super) fn behind(&self, service: &str, member: &str) -> String {
        let member = plain(member);
        let copy = self.leads.get(&format!("{service}-{member}")).filter(|_| ["primary", "canary"].contains(&member));
        copy.cloned().unwrap_or_else(|| member.to_owned())
    }
}
