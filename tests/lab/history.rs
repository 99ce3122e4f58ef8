//! A test's own watch of a route: every state that anybody could have seen.

use anyhow::{Context, Result};
use futures::{StreamExt, pin_mut};
use jiff::Timestamp;
use kube::{
    Api,
    api::DynamicObject,
    runtime::watcher::{Config, Event, watcher},
};
use std::sync::{Arc, Mutex};
use tokio::{sync::oneshot, task::AbortHandle};

#[derive(Debug, Clone)]
pub struct Entry {
    pub resource_version: String,
    /// When the watch reported it.
    pub at: Timestamp,
    /// `None`: deleted.
    pub object: Option<DynamicObject>,
}

/// Records until it is dropped.
pub struct History {
    entries: Arc<Mutex<Vec<Entry>>>,
    watch: AbortHandle,
}

impl History {
    /// Watches one object, which need not exist yet; returns once the watch has begun.
    pub async fn start(api: Api<DynamicObject>, name: &str) -> Result<Self> {
        let entries = Arc::<Mutex<Vec<Entry>>>::default();
        let (begun, beginning) = oneshot::channel();
        let config = Config::default().fields(&format!("metadata.name={name}"));
        let watch = tokio::spawn(record(api, config, entries.clone(), begun)).abort_handle();
        beginning.await.context("the watch ended before it began")?;
        Ok(Self { entries, watch })
    }

    pub fn entries(&self) -> Vec<Entry> {
        self.entries.lock().unwrap().clone()
    }
}

impl Drop for History {
    fn drop(&mut self) {
        self.watch.abort();
    }
}

async fn record(api: Api<DynamicObject>, config: Config, entries: Arc<Mutex<Vec<Entry>>>, begun: oneshot::Sender<()>) {
    let events = watcher(api, config);
    pin_mut!(events);
    let mut begun = Some(begun);
    while let Some(event) = events.next().await {
        let (object, deleted) = match event {
            Ok(Event::Apply(object) | Event::InitApply(object)) => (object, false),
            Ok(Event::Delete(object)) => (object, true),
            Ok(Event::InitDone) => {
                begun.take().map(|begun| begun.send(()));
                continue;
            }
            Ok(Event::Init) | Err(_) => continue,
        };
        let resource_version = object.metadata.resource_version.clone().unwrap_or_default();
        let mut entries = entries.lock().unwrap();
        // A watch that began anew tells the present state again.
        if entries.last().is_none_or(|last| last.resource_version != resource_version) {
            entries.push(Entry { resource_version, at: Timestamp::now(), object: (!deleted).then_some(object) });
        }
    }
}
