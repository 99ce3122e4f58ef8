//! Waiting for a condition, never for a time.

use anyhow::{Context, Result, anyhow};
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout_at};

/// Tries `attempt` every 50 ms until it succeeds; after `within`, its last error says why it did not.
pub async fn eventually<T>(what: &str, within: Duration, mut attempt: impl AsyncFnMut() -> Result<T>) -> Result<T> {
    let deadline = Instant::now() + within;
    let mut last = anyhow!("no answer");
    while let Ok(outcome) = timeout_at(deadline, attempt()).await {
        match outcome {
            Ok(value) => return Ok(value),
            Err(error) => last = error,
        }
        sleep(Duration::from_millis(50)).await;
        // An attempt that waits for nothing is never late by itself.
        if Instant::now() >= deadline {
            break;
        }
    }
    Err(last).with_context(|| format!("{what}: not within {within:?}"))
}

/// One GET; anything but a success is an error.
pub async fn answers(url: &str) -> Result<()> {
    reqwest::get(url).await?.error_for_status()?;
    Ok(())
}

pub const fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}
