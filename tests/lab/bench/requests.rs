//! What requests to the API server say: how many there were, which were refused, and how long one took to follow another.

use super::stats::{Quantiles, float};
use crate::audit::Request;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Verb and resource -> how many.
pub type Counts = BTreeMap<String, f64>;

/// Answers that say: it changed meanwhile, too many requests, too late.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Refused {
    pub conflict_409: usize,
    pub too_many_429: usize,
    pub timeout_504: usize,
}

/// Everything but watches and the Lease, divided.
pub fn counted(requests: &[Request], by: f64) -> Counts {
    let of_rollouts =
        requests.iter().filter(|request| request.verb != "watch" && request.object_ref.resource != "leases");
    of_rollouts.fold(Counts::new(), |mut counts, request| {
        *counts.entry(format!("{} {}", request.verb, request.resource())).or_default() += 1.0 / by;
        counts
    })
}

/// The sum over all verbs; of none it is not the negative zero that floats begin with.
pub fn total(counts: &Counts) -> f64 {
    counts.values().fold(0.0, |sum, count| sum + count)
}

impl Refused {
    pub fn of(requests: &[Request]) -> Self {
        let with = |code: u16| requests.iter().filter(|request| request.code() == code).count();
        Self { conflict_409: with(409), too_many_429: with(429), timeout_504: with(504) }
    }
}

/// A change of a rollout's `RouteGroup` that was made.
pub fn is_route_write(request: &Request) -> bool {
    request.verb == "update" && request.resource() == "routegroups" && request.code() == 200 && !request.is_dry_run()
}

/// A status that was written.
pub fn is_status_write(request: &Request) -> bool {
    request.verb == "update" && request.resource() == "fleetrollouts/status" && request.code() == 200
}

/// From each beginning to the first of the requests about the same rollout that arrived after it, in milliseconds.
pub fn delays(begun: &BTreeMap<String, Timestamp>, requests: &[&Request]) -> Option<Quantiles> {
    let first = |name: &str, since: Timestamp| {
        let of_it = requests.iter().filter(|request| request.object_ref.name == name && request.arrived >= since);
        of_it.map(|request| request.arrived).min()
    };
    let all = begun.iter().filter_map(|(name, since)| Some(millis(*since, first(name, *since)?)));
    Quantiles::of(all.collect())
}

pub fn millis(from: Timestamp, to: Timestamp) -> f64 {
    to.duration_since(from).as_secs_f64() * 1000.0
}

/// Requests a second.
pub fn rate(requests: usize, seconds: f64) -> f64 {
    float(requests) / seconds
}
