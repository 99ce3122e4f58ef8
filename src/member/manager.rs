//! Every declared member is in the registry, with a task that checks it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use tokio::{sync::watch, task::JoinHandle};

use super::{Declared, Member, Registry, checks, registry::Members};
use crate::{clock::Clock, http::Network, supervise, web::Metrics};

/// What keeps a registry up to date: a task for each member, so that one member's trouble never delays another's.
pub(crate) struct Manager {
    registry: Registry,
    network: Network,
    clock: Clock,
    leading: watch::Receiver<bool>,
    metrics: Metrics,
    tasks: BTreeMap<String, Task>,
}

/// A task that ends when it is dropped.
struct Task(JoinHandle<()>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Manager {
    /// Knows no member yet. Members are checked only while `leading`, and until this is dropped.
    pub(crate) fn new(
        registry: Registry,
        network: Network,
        clock: Clock,
        leading: watch::Receiver<bool>,
        metrics: Metrics,
    ) -> Self {
        Self { registry, network, clock, leading, metrics, tasks: BTreeMap::new() }
    }

    /// Takes what is declared now: makes anew every member whose declaration or Secrets changed, and forgets those that
    /// are gone. `unreadable` are the names of those that are declared and cannot be read.
    pub(crate) fn declare(&mut self, declared: impl IntoIterator<Item = Declared>, unreadable: BTreeSet<String>) {
        let declared: BTreeMap<String, Declared> = declared.into_iter().map(|one| (one.name.clone(), one)).collect();
        let before = self.registry.0.borrow().clone();
        let is_as_before = |before: &Members| before.by_name.len() == declared.len() && before.unreadable == unreadable;
        let mut changed = !before.as_ref().is_some_and(is_as_before);
        self.tasks.retain(|name, _| declared.contains_key(name));
        self.metrics.keep_members(|name| declared.contains_key(name));
        let known = before.unwrap_or_default().by_name;
        let mut members = Members { unreadable, ..Members::default() };
        for (name, declared) in declared {
            let member = match known.get(&name) {
                Some(member) if member.declared == declared && self.tasks.contains_key(&name) => Arc::clone(member),
                Some(_) | None => {
                    changed = true;
                    self.start(declared)
                }
            };
            members.by_name.insert(name, member);
        }
        if changed {
            self.registry.0.send_replace(Some(members));
        }
    }

    /// Makes the member's clients and starts its checks.
    fn start(&mut self, declared: Declared) -> Arc<Member> {
        let name = declared.name.clone();
        let member = Arc::new(Member::new(declared, self.network.clone(), self.clock.now()));
        let (checked, registry, clock) = (Arc::clone(&member), self.registry.clone(), self.clock.clone());
        let (leading, metrics, task) = (self.leading.clone(), self.metrics.clone(), format!("checks of {name}"));
        let counted = metrics.clone();
        let checks = async move {
            let begin = || checks::run(&checked, &registry, (&clock, &counted), leading.clone());
            Box::pin(supervise::run_forever(&task, &metrics, begin)).await;
        };
        // The task of an earlier declaration ends as it is replaced.
        self.tasks.insert(name, Task(tokio::spawn(checks)));
        member
    }
}
