//! I18: copies of requests go to whom the step declares and to nobody else, and change nobody's share.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    super::{
        data_plane::{COPIED, Weights},
        world::World,
    },
    Judge, answering, at, distribution, nonzero,
};

type Members = BTreeSet<String>;

impl Judge {
    /// Looks at a route that the hub wrote.
    pub(super) fn judge_copies(&mut self, world: &World, route: &str, old: &Weights, new: &Weights) {
        let (had, gets) = (copied(old), copied(new));
        let declared = self.declared(&self.status);
        if let Some(declared) = declared.filter(|declared| !gets.is_subset(declared) && !self.restored) {
            self.break_rule(world, format!("I18: {route} copies to {gets:?}, and {declared:?} is declared"));
        }
        // Who is down is stood in for at the same time, and what a webhook or a person changed is put right.
        let moves = world.plan.pattern == 8 || world.plan.pattern == 21 || self.meddled.is_some();
        if !gets.is_subset(&had) && answering(old) != answering(new) && !moves {
            self.break_rule(world, format!("I18: {route} copies to {gets:?}, and {old:?} becomes {new:?}"));
        }
    }

    /// Looks at what is recorded as confirmed: everybody to whom copies are declared gets them, unless it is dead.
    pub(super) fn judge_asked_copies(&mut self, world: &World, status: &Value) {
        let Some(mut declared) = self.declared(status) else { return };
        let dead = status["run"]["dead"].as_array().cloned().unwrap_or_default();
        declared.retain(|member| !dead.contains(&member.as_str().into()));
        let gets = copied(&desired(status).collect());
        if gets != declared {
            self.break_rule(world, format!("I18: {gets:?} get copies, and {declared:?} is declared"));
        }
    }

    /// To whom the present step of a run declares copies: the members that gain. Once a run goes back or is over, to
    /// nobody. Nothing is known of what was declared before the world began.
    fn declared(&self, status: &Value) -> Option<Members> {
        let run = &status["run"];
        let is_live = run.is_object() && run.get("outcome").is_none() && run.get("rollback").is_none();
        if !is_live {
            return Some(Members::new());
        }
        let spec = &self.declared.get(&run["generation"].as_i64()?)?["spec"];
        let (start, target) = (distribution(&run["start"]), distribution(&run["target"]));
        let gains = target.into_iter().filter(|(name, weight)| *weight > at(&start, name)).map(|(name, _)| name);
        Some(gains.filter(|_| mirrors(run, &spec["strategy"]["steps"])).collect())
    }
}

/// Whether the step at which a run is was declared to mirror. A canary that had weight is proven first, in a step that
/// nobody declared.
fn mirrors(run: &Value, steps: &Value) -> bool {
    let count = |list: &Value| list.as_array().map_or(0, Vec::len);
    let undeclared = count(&run["plan"]).checked_sub(count(steps));
    let step = run["step"].as_u64().and_then(|step| usize::try_from(step).ok());
    let place = step.zip(undeclared).and_then(|(step, undeclared)| step.checked_sub(1 + undeclared));
    place.is_some_and(|place| steps[place]["mirror"].is_object())
}

/// Who gets copies.
fn copied(weights: &Weights) -> Members {
    nonzero(weights).keys().filter_map(|name| name.strip_suffix(COPIED)).map(str::to_owned).collect()
}

/// The copies that a status asks for, as a route shows them.
pub(super) fn desired(status: &Value) -> impl Iterator<Item = (String, u32)> {
    let mirrored = &status["desired"]["steering"]["mirrored"];
    let percent = u32::try_from(mirrored["percent"].as_u64().unwrap_or_default()).unwrap_or_default();
    let members = mirrored["members"].as_array().into_iter().flatten().filter_map(Value::as_str);
    members.map(move |member| (format!("{member}{COPIED}"), percent))
}
