//! Waiting for a condition, never for a time.

use anyhow::{Context, Result};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Tries `attempt` every 50 ms until it succeeds; after `within`, its last error says why it did not.
pub async fn eventually<T>(what: &str, within: Duration, mut attempt: impl AsyncFnMut() -> Result<T>) -> Result<T> {
    let deadline = Instant::now() + within;
    loop {
        match tokio::time::timeout_at(deadline, attempt()).await {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(error)) if Instant::now() >= deadline => {
                return Err(error).with_context(|| format!("{what}: not within {within:?}"));
            }
            Ok(Err(_)) => sleep(Duration::from_millis(50)).await,
            Err(_) => anyhow::bail!("{what}: no answer within {within:?}"),
        }
    }
}

/// One GET; anything but a success is an error.
pub async fn answers(url: &str) -> Result<()> {
    reqwest::get(url).await?.error_for_status()?;
    Ok(())
}

pub const fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}
