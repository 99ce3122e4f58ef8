//! I18: copies of requests go to whom the step declares and to nobody else, and change nobody's share.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    super::{
        plan::Fault,
        routes::{COPIED, Weights},
        status::Status,
        world::World,
    },
    Judge,
    weights::{answering, at, nonzero},
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
        let moves = matches!(world.plan.fault, Fault::Member(_) | Fault::Webhook(_)) || self.meddled.is_some();
        if !gets.is_subset(&had) && answering(old) != answering(new) && !moves {
            self.break_rule(world, format!("I18: {route} copies to {gets:?}, and {old:?} becomes {new:?}"));
        }
    }

    /// Looks at what is recorded as confirmed: every member to which copies are declared gets them, unless unavailable.
    pub(super) fn judge_confirmed_copies(&mut self, world: &World, status: &Status) {
        let Some(mut declared) = self.declared(status) else { return };
        declared.retain(|member| !status.is_unavailable(member));
        let gets = copied(&desired(status).collect());
        if gets != declared {
            self.break_rule(world, format!("I18: {gets:?} get copies, and {declared:?} is declared"));
        }
    }

    /// To whom the present step of a run declares copies: the members that gain. Once a run goes back or is over, to
    /// nobody. Nothing is known of what was declared before the world began.
    fn declared(&self, status: &Status) -> Option<Members> {
        if !status.goes_forward() {
            return Some(Members::new());
        }
        let spec = &self.declared.get(&status.run_generation()?)?["spec"];
        let (start, target) = (status.start(), status.target());
        let gains = target.into_iter().filter(|(name, weight)| *weight > at(&start, name)).map(|(name, _)| name);
        Some(gains.filter(|_| mirrors(status, &spec["strategy"]["steps"])).collect())
    }
}

/// Whether the step at which a run is was declared to mirror. A canary that had weight is proven first, in a step that
/// nobody declared.
fn mirrors(status: &Status, steps: &Value) -> bool {
    let undeclared = status.planned().checked_sub(steps.as_array().map_or(0, Vec::len));
    let step = status.step().and_then(|step| usize::try_from(step).ok());
    let place = step.zip(undeclared).and_then(|(step, undeclared)| step.checked_sub(1 + undeclared));
    place.is_some_and(|place| steps[place]["mirror"].is_object())
}

/// Who gets copies.
fn copied(weights: &Weights) -> Members {
    nonzero(weights).keys().filter_map(|name| name.strip_suffix(COPIED)).map(str::to_owned).collect()
}

/// The copies that a status asks for, as a route shows them.
pub(super) fn desired(status: &Status) -> impl Iterator<Item = (String, u32)> {
    status.desired_copies().map(|(member, percent)| (format!("{member}{COPIED}"), percent))
}
