//! I19: users are kept where the weights are, by the desired rules, and by none during a rollback nor in the end.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    super::{
        data_plane::{Weights, keeps},
        status::Status,
        world::World,
    },
    Judge,
    weights::{answering, by_member},
};

type Members = BTreeSet<String>;

impl Judge {
    /// Looks at a route that the hub wrote.
    pub(super) fn judge_kept(&mut self, world: &World, name: &str, route: &Value, weights: &Weights) {
        let service = self.wanted.get(name).copied().unwrap_or_default();
        let (kept, carrying) = (kept(route, service), answering(weights).into_keys().collect::<Members>());
        if kept.is_empty() {
            return;
        }
        if kept != carrying {
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

/// Members to which rules lead that look at cookies.
pub(super) fn kept(route: &Value, service: &str) -> Members {
    let rules = route.pointer("/spec/rules").and_then(Value::as_array).into_iter().flatten();
    let backends = rules.filter(|rule| keeps(rule)).filter_map(|rule| rule["backendRefs"].as_array()).flatten();
    let named = backends.filter_map(|backend| backend["name"].as_str()).map(|name| (name.to_owned(), 1));
    by_member(&named.collect(), service).into_keys().collect()
}
