//! The assertion that everything serves: what the members counted is what was desired.

use anyhow::{Result, ensure};
use std::collections::BTreeMap;

/// Member -> requests of one service counted there so far.
pub type Observed = BTreeMap<&'static str, u64>;

/// Below this, chance alone moves a share by more than a point or two.
const LEAST_REQUESTS: u64 = 2_000;

/// Chance moves a share by so many standard deviations once in 150,000 counts.
const DEVIATIONS: f64 = 4.5;

/// Between two counts at least 2,000 requests arrived, and every member's share (percent) is as `expected`, as closely as
/// a sample of that size can tell; nothing and everything exactly.
pub fn assert_shares(before: &Observed, after: &Observed, expected: &[(&str, u32)]) -> Result<()> {
    let arrived: Observed =
        after.iter().map(|(member, count)| (*member, count - before.get(member).unwrap_or(&0))).collect();
    let total: u64 = arrived.values().sum();
    ensure!(
        total >= LEAST_REQUESTS,
        "{total} requests arrived, at least {LEAST_REQUESTS} are needed to judge: {arrived:?}"
    );
    for (member, count) in &arrived {
        let wanted = expected.iter().find(|(name, _)| name == member).map_or(0, |(_, share)| *share);
        let (share, within) = (percent(*count, total), tolerance(wanted, total));
        ensure!(
            (share - f64::from(wanted)).abs() <= within,
            "{member} observed at {share:.1} %, desired {wanted} % ± {within:.1}, of {total} requests: {arrived:?}"
        );
    }
    Ok(())
}

/// Each request is routed by chance, so a count of them is binomial. In points.
fn tolerance(share: u32, total: u64) -> f64 {
    let part = f64::from(share) / 100.0;
    DEVIATIONS * (part * (1.0 - part) / exact(total)).sqrt() * 100.0
}

/// A share in percent.
pub fn percent(count: u64, total: u64) -> f64 {
    100.0 * exact(count) / exact(total)
}

fn exact(number: u64) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}
