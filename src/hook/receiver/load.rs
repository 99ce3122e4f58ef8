//! Load: requests at a steady rate for a while, as a hook's `metadata` says.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use serde::Deserialize;
use tokio::{
    sync::Semaphore,
    time::{Instant, MissedTickBehavior, interval},
};

use crate::{
    api,
    http::{Client, Network, Peer, sanitise},
};

/// The fastest load, in requests a second, and the longest.
const FASTEST: u32 = 1000;
const LONGEST: api::Duration = api::Duration::from_secs(600);
/// Loads at a time, and requests of one of them that are under way.
const LOADS: usize = 16;
const UNDER_WAY: u32 = 64;
/// The time that a request may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// Keys that are remembered.
const KEYS: usize = 1024;

/// The loads of a receiver.
pub(super) struct Loads {
    network: Network,
    targets: Vec<String>,
    roots: Option<Vec<u8>>,
    places: Arc<Semaphore>,
    keys: Mutex<VecDeque<String>>,
}

/// What it needs of a call.
#[derive(Deserialize)]
struct Call {
    #[serde(default)]
    key: String,
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Metadata {
    url: String,
    #[serde(default)]
    rate: Option<String>,
    #[serde(default)]
    duration: Option<String>,
    #[serde(default)]
    host: Option<String>,
}

/// One load.
struct Load {
    client: Client,
    path: String,
    rate: u32,
    duration: Duration,
    url: String,
}

impl Loads {
    pub(super) fn new(network: Network, targets: Vec<String>, roots: Option<Vec<u8>>) -> Self {
        let places = Arc::new(Semaphore::new(LOADS));
        Self { network, targets, roots, places, keys: Mutex::default() }
    }

    /// Begins a load, unless one was begun for this key; in words, what it does.
    ///
    /// # Errors
    /// If the call says nothing that may be done; in words.
    pub(super) fn begin(&self, body: &[u8]) -> Result<String, String> {
        let call: Call = serde_json::from_slice(body)
            .map_err(|_| "the body is no call of a hook whose metadata has a url".to_owned())?;
        let load = self.load(&call.metadata)?;
        let place = Arc::clone(&self.places).try_acquire_owned().map_err(|_| format!("{LOADS} loads are under way"))?;
        if !self.is_new(call.key) {
            return Ok("that key began a load already".to_owned());
        }
        let said = format!("{} requests a second for {} s", load.rate, load.duration.as_secs_f64());
        tokio::spawn(async move {
            let _place = place;
            load.run().await;
        });
        Ok(said)
    }

    fn load(&self, metadata: &Metadata) -> Result<Load, String> {
        let rate = metadata.rate.as_ref().map_or(Ok(10), |rate| rate.parse::<u32>());
        let rate = rate.ok().filter(|rate| (1..=FASTEST).contains(rate));
        let rate = rate.ok_or_else(|| format!("metadata.rate: write a number from 1 to {FASTEST}"))?;
        let duration = metadata.duration.as_ref().map_or(Ok(api::Duration::from_secs(60)), |text| text.parse());
        let duration = duration.ok().filter(|time| *time > api::Duration::ZERO && *time <= LONGEST);
        let duration = duration.ok_or_else(|| format!("metadata.duration: write a time of at most {LONGEST}"))?;
        let mut peer = Peer::at(&metadata.url).map_err(|error| format!("metadata.url: {error}"))?;
        let host = peer.base.host_str().unwrap_or_default();
        let target = format!("{host}:{}", peer.base.port_or_known_default().unwrap_or_default());
        if !self.targets.contains(&target) {
            return Err(format!("metadata.url: {} is no --allow-target of this receiver", sanitise(&target)));
        }
        let path = peer.base.path().to_owned();
        peer.base.set_path("");
        peer.roots.clone_from(&self.roots);
        peer.host_header.clone_from(&metadata.host);
        let client = Client::new(&peer, &self.network).map_err(|error| format!("metadata.url: {error}"))?;
        let duration = Duration::from_millis(duration.as_millis());
        Ok(Load { client, path, rate, duration, url: sanitise(&metadata.url) })
    }

    fn is_new(&self, key: String) -> bool {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        if !key.is_empty() && keys.contains(&key) {
            return false;
        }
        keys.push_back(key);
        if keys.len() > KEYS {
            keys.pop_front();
        }
        true
    }
}

impl Load {
    /// Sends them, each beside the others; a place that is missing is a request that is not sent.
    async fn run(self) {
        let (end, counts) = (Instant::now() + self.duration, Arc::new(Counts::default()));
        let mut ticks = interval(Duration::from_secs(1) / self.rate);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let places = Arc::new(Semaphore::new(UNDER_WAY as usize));
        let path: Arc<str> = self.path.into();
        while ticks.tick().await < end {
            let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
                counts.left_out.fetch_add(1, Ordering::Relaxed);
                continue;
            };
            let (client, path, counts) = (self.client.clone(), Arc::clone(&path), Arc::clone(&counts));
            tokio::spawn(async move {
                let _place = place;
                let is_good = client.status(&path, PATIENCE).await.is_ok_and(|status| status < 500);
                let count = if is_good { &counts.good } else { &counts.bad };
                count.fetch_add(1, Ordering::Relaxed);
            });
        }
        // Whoever holds all places is the last.
        let _ = tokio::time::timeout(PATIENCE, places.acquire_many(UNDER_WAY)).await;
        let [good, bad, left_out] =
            [&counts.good, &counts.bad, &counts.left_out].map(|count| count.load(Ordering::Relaxed));
        tracing::info!(url = self.url, good, bad, left_out, "a load ended");
    }
}

#[derive(Default)]
struct Counts {
    good: AtomicU64,
    bad: AtomicU64,
    left_out: AtomicU64,
}
