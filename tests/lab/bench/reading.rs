//! What hub and API server have used at an instant, and between two of them.

use crate::{hub::Hub, usage};
use anyhow::Result;
use jiff::Timestamp;

/// Both processes at an instant.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    pub at: Timestamp,
    /// Processor time so far, in milliseconds; an API server in this process counts as none.
    pub hub: f64,
    pub server: f64,
    /// Passes of the hub so far: looks at one rollout.
    pub passes: f64,
    /// Memory of both, in MiB, and the most that the hub has held.
    pub hub_memory: f64,
    pub hub_peak: f64,
    pub server_memory: f64,
}

impl Reading {
    pub async fn take(hub: &Hub, server: Option<u32>) -> Result<Self> {
        let passes = hub.passes().await?;
        let hub = hub.id().await?;
        let memory = usage::memory(hub)?;
        let server_memory = server.map(usage::memory).transpose()?;
        Ok(Self {
            at: Timestamp::now(),
            hub: usage::cpu(hub)?.as_secs_f64() * 1000.0,
            server: server.map(usage::cpu).transpose()?.unwrap_or_default().as_secs_f64() * 1000.0,
            passes,
            hub_memory: mib(memory.now),
            hub_peak: mib(memory.peak),
            server_memory: server_memory.map_or(0.0, |memory| mib(memory.now)),
        })
    }

    /// Seconds from an earlier reading to this one.
    pub fn since(&self, from: &Self) -> f64 {
        self.at.duration_since(from.at).as_secs_f64()
    }
}

#[expect(clippy::cast_precision_loss, reason = "no process holds 2^52 KiB")]
fn mib(kib: u64) -> f64 {
    kib as f64 / 1024.0
}
