//! How long the steps of a plan take.

use crate::api::{Analysis, Duration, status::PlannedStep, strategy::Wait};

/// The time that a step's weights must hold with passing checks: never shorter than what the longest metric window
/// takes to be full and evaluated, nor than its checks take.
#[must_use]
pub fn bake(step: &PlannedStep, analysis: &Analysis) -> Duration {
    let checks = u64::from(step.iterations.unwrap_or(0));
    let checked = Duration::from_millis(analysis.interval.as_millis().saturating_mul(checks));
    step.bake.max(checked).max(longest_window(analysis).saturating_add(analysis.lag))
}

/// The longest time that any metric covers.
#[must_use]
pub fn longest_window(analysis: &Analysis) -> Duration {
    let windows = analysis.metrics.iter().map(|metric| metric.window.unwrap_or(analysis.interval));
    windows.max().unwrap_or(Duration::ZERO)
}

/// The least time that a plan takes: each step's settle, bake and timed wait. People's promotions count as immediate;
/// the soak after the last step, and the promotion of a primary, are not in it.
#[must_use]
pub fn least_time(steps: &[PlannedStep], analysis: &Analysis) -> Duration {
    steps.iter().filter(|step| !step.promotes).fold(Duration::ZERO, |time, step| {
        let wait = match step.wait {
            Some(Wait::For(time)) => time,
            Some(Wait::Promotion) | None => Duration::ZERO,
        };
        time.saturating_add(analysis.settle).saturating_add(bake(step, analysis)).saturating_add(wait)
    })
}

#[cfg(test)]
mod tests {
    use super::least_time;
    use crate::{
        api::{Analysis, Distribution, Strategy},
        rollout::plan::members,
    };

    #[test]
    fn the_least_time_counts_settle_bake_window_and_timed_waits() {
        let strategy: Strategy = serde_json::from_value(serde_json::json!({
            "steps": [{"progress": "50%", "bake": "30s", "wait": "10m"}, {"progress": "100%", "wait": "Promotion"}], "bake": "5m"
        }))
        .unwrap();
        let analysis: Analysis = serde_json::from_value(serde_json::json!({
            "settle": "30s", "metrics": [{"name": "m", "query": "1", "window": "2m", "perMember": {"max": 1.0}}]
        }))
        .unwrap();
        let planned =
            members::steps(&Distribution::from([("a", 100)]), &Distribution::from([("b", 100)]), &strategy, 100)
                .unwrap();
        // (30s + 2m window and 15s lag + 10m) + (30s + 5m)
        assert_eq!(least_time(&planned, &analysis).to_string(), "18m15s");
    }
}
