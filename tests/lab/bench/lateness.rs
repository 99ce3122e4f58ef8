//! How late checks come, as the members' Prometheus sees them.

use super::{
    requests::millis,
    stats::{Quantiles, float},
    stub::Round,
};
use jiff::Timestamp;
use std::collections::BTreeMap;

/// A check is due one interval after the one before it; the time that it comes later, in milliseconds.
pub fn lateness(rounds: &[Round], member: &str, interval: u64) -> Option<Quantiles> {
    let mut by_service: BTreeMap<usize, Vec<Timestamp>> = BTreeMap::new();
    for round in rounds.iter().filter(|round| round.member == member) {
        by_service.entry(round.service).or_default().push(round.at);
    }
    let due = float(usize::try_from(interval).unwrap_or_default()) * 1000.0;
    let gaps = by_service.values().flat_map(|times| times.windows(2).map(|pair| millis(pair[0], pair[1])));
    Quantiles::of(gaps.map(|gap| (gap - due).max(0.0)).collect())
}
