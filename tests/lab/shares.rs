//! The assertion that everything serves: what the members counted is what was desired.

use anyhow::{Result, ensure};
use std::collections::BTreeMap;

/// Member -> requests of one service counted there so far.
pub type Observed = BTreeMap<&'static str, u64>;

/// Below this, chance alone moves a share by more than a point or two.
const LEAST_REQUESTS: u64 = 2_000;

/// Between two counts at least 2,000 requests arrived, and every member's share is within `within` points of `expected` (percent).
pub fn assert_shares(before: &Observed, after: &Observed, expected: &[(&str, u32)], within: f64) -> Result<()> {
    let arrived: Observed =
        after.iter().map(|(member, count)| (*member, count - before.get(member).unwrap_or(&0))).collect();
    let total: u64 = arrived.values().sum();
    ensure!(
        total >= LEAST_REQUESTS,
        "{total} requests arrived, at least {LEAST_REQUESTS} are needed to judge: {arrived:?}"
    );
    for (member, count) in &arrived {
        let wanted = expected.iter().find(|(name, _)| name == member).map_or(0, |(_, share)| *share);
        let share = percent(*count, total);
        ensure!(
            (share - f64::from(wanted)).abs() <= within,
            "{member} observed at {share:.1} %, desired {wanted} %, of {total} requests: {arrived:?}"
        );
    }
    Ok(())
}

/// A share in percent.
pub fn percent(count: u64, total: u64) -> f64 {
    let exact = |number: u64| f64::from(u32::try_from(number).unwrap_or(u32::MAX));
    100.0 * exact(count) / exact(total)
}
