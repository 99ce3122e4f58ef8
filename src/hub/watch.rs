//! Fills a cache from a watch that never ends.

use std::{fmt::Debug, sync::Arc, time::Duration};

use futures::StreamExt;
use kube::{
    Api, Resource,
    runtime::watcher::{self, watcher},
};
use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep};

use super::{
    backoff::Waits,
    cache::{Availability, Cache, Change},
};

/// A watch that fails after so long begins again at once: nothing was wrong when it began. An API server sends no bookmarks
/// for a kind of which nothing was ever written, and such a watch is taken for a silent one again and again.
const LASTED: Duration = Duration::from_mins(1);

/// Watches what `api` and `config` select, for ever; `trim` drops what nobody reads, `changed` is called for every event.
/// Each watch waits for itself after an error: one kind that is not installed delays no other.
pub(super) async fn fill<K>(
    api: Api<K>,
    config: watcher::Config,
    cache: Arc<Cache<K>>,
    trim: impl Fn(&mut K),
    changed: impl Fn(&Change),
) where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
{
    let mut events = watcher(api, config).boxed();
    let (mut waits, mut began) = (Waits::default(), Instant::now());
    while let Some(event) = events.next().await {
        match event {
            Ok(event) => {
                // The start of a list is no success yet.
                if !matches!(event, watcher::Event::Init) {
                    waits = Waits::default();
                }
                changed(&cache.take(trimmed(event, &trim)));
            }
            Err(error) => {
                tracing::debug!(%error, "a watch failed and begins again");
                let change = unavailable(&error).map_or(Change::Nothing, |why| cache.unavailable(why));
                changed(&change);
                if began.elapsed() < LASTED {
                    sleep(waits.after_failure()).await;
                } else {
                    waits = Waits::default();
                }
                began = Instant::now();
            }
        }
    }
}

fn trimmed<K>(event: watcher::Event<K>, trim: &impl Fn(&mut K)) -> watcher::Event<K> {
    let cut = |mut object: K| {
        trim(&mut object);
        object
    };
    match event {
        watcher::Event::Init => watcher::Event::Init,
        watcher::Event::InitDone => watcher::Event::InitDone,
        watcher::Event::InitApply(object) => watcher::Event::InitApply(cut(object)),
        watcher::Event::Apply(object) => watcher::Event::Apply(cut(object)),
        watcher::Event::Delete(object) => watcher::Event::Delete(cut(object)),
    }
}

/// A kind that cannot be listed; all other errors pass, and what was seen before still counts.
fn unavailable(error: &watcher::Error) -> Option<Availability> {
    let watcher::Error::InitialListFailed(kube::Error::Api(status)) = error else { return None };
    match status.code {
        404 => Some(Availability::NotInstalled),
        401 | 403 => Some(Availability::Forbidden),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
