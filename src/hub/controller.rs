//! One task for each rollout that there is.

use std::{collections::BTreeMap, sync::Arc};

use kube::ResourceExt;
use tokio::task::JoinHandle;

use super::{Hub, cache::Key, task};
use crate::supervise;

/// Begins a task for every rollout that has none, whenever the rollouts change. Ends when this process resigns, with
/// every pass that was under way.
pub(super) async fn run(hub: Arc<Hub>) {
    let mut tasks: BTreeMap<(Key, String), JoinHandle<()>> = BTreeMap::new();
    loop {
        tasks.retain(|_, task| !task.is_finished());
        if hub.missing().is_none() {
            start_tasks(&hub, &mut tasks);
        }
        tokio::select! {
            biased;
            () = hub.leadership.resigned() => break,
            () = hub.changed.notified() => {}
        }
    }
    for (_, task) in tasks {
        // Panics are caught inside; a task that ended otherwise has nothing left to wait for.
        let _ = task.await;
    }
}

/// A task ends by itself when its rollout is gone; one of the same name with another uid is another rollout.
fn start_tasks(hub: &Arc<Hub>, tasks: &mut BTreeMap<(Key, String), JoinHandle<()>>) {
    for guarded in hub.rollouts.all() {
        let (key, uid) = (Key::of(guarded.as_ref()), guarded.uid().unwrap_or_default());
        tasks.entry((key.clone(), uid.clone())).or_insert_with(|| {
            let hub = hub.clone();
            tokio::spawn(async move {
                let name = key.to_string();
                let work = Box::pin(task::run(hub.clone(), key.clone(), uid));
                supervise::catch_panic(&name, &hub.metrics, work).await;
                hub.task_ended(&key);
            })
        });
    }
}

#[cfg(test)]
mod tests;
