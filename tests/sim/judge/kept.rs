//! I19: users are kept where the weights are, by the desired rules, and by none during a rollback nor in the end.

use std::collections::BTreeSet;

use super::{
    super::{
        routes::{Form, Objects, Weights},
        status::Status,
        world::World,
    },
    Judge,
    weights::{answering, by_member},
};

type Members = BTreeSet<String>;

impl Judge {
    /// Looks at a route that the hub wrote.
    pub(super) fn judge_kept(&mut self, world: &World, name: &str, kept: &Members, weights: &Weights) {
        let carrying = answering(weights).into_keys().collect::<Members>();
        if kept.is_empty() {
            return;
        }
        if *kept != carrying {
            self.break_rule(world, format!("I19: {name} keeps users at {kept:?}, and {carrying:?} have weight"));
        }
        if !self.status.goes_forward() && !self.restored {
            self.break_rule(world, format!("I19: {name} keeps users at {kept:?}, and no run moves them"));
        }
    }

    /// Looks at what is recorded as confirmed.
    pub(super) fn judge_confirmed_kept(&mut self, world: &World, status: &Status) {
        let desired: Members = status.desired_bins().map(str::to_owned).collect();
        let other = self.routes.iter().find(|(_, route)| route.kept != desired);
        if let Some((name, route)) = other.map(|(name, route)| (name.clone(), route.kept.clone())) {
            self.break_rule(world, format!("I19: {name} keeps users at {route:?}, and {desired:?} is confirmed"));
        }
    }
}

/// Members to which requests with a cookie are led.
pub(super) fn kept(form: &dyn Form, objects: Objects<'_>, service: &str) -> Members {
    let named = form.keeping(objects).into_iter().map(|name| (name, 1));
    by_member(&named.collect(), service).into_keys().collect()
}
