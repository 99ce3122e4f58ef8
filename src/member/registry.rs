//! The registry: every member as it is declared now, and how it is.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use backoff::ExponentialBuilder;
use futures::{Stream, StreamExt, stream};
use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api, Client, Resource, ResourceExt,
    core::DeserializeGuard,
    runtime::{
        WatchStreamExt,
        reflector::{self, Store},
        watcher,
    },
};
use tokio::{sync::watch, task::JoinHandle};

use super::{Declared, Member, Secrets, watch::Watch};
use crate::{api::MemberCluster, clock::Clock, http::Network};

/// Members by name.
pub(crate) type Members = BTreeMap<String, Arc<Member>>;
/// One object of the wrong shape must not stop the watch of the others.
pub(super) type Guarded = DeserializeGuard<MemberCluster>;

/// Every member as it is declared now, and how it is. Cheap to clone; clones are one registry.
#[derive(Clone, Debug)]
pub(crate) struct Registry {
    /// What the time is to members.
    pub(super) clock: Clock,
    /// None until the first list of members and Secrets is complete.
    pub(super) members: Arc<watch::Sender<Option<Members>>>,
    objects: Arc<watch::Sender<Vec<Arc<Guarded>>>>,
}

impl Registry {
    /// Knows no member yet.
    #[must_use]
    pub(crate) fn new(clock: Clock) -> Self {
        let objects = Arc::new(watch::Sender::new(Vec::new()));
        Self { clock, members: Arc::new(watch::Sender::new(None)), objects }
    }

    /// A member by name.
    #[must_use]
    pub(crate) fn member(&self, name: &str) -> Option<Arc<Member>> {
        self.members.borrow().as_ref()?.get(name).cloned()
    }

    /// Fires whenever a member or its health changed. Holds none until the first list is complete: before that a member
    /// that is not found may only not be known yet.
    #[must_use]
    pub(crate) fn changes(&self) -> watch::Receiver<Option<Members>> {
        self.members.subscribe()
    }

    /// The objects themselves, those that cannot be read among them.
    #[must_use]
    pub(crate) fn objects(&self) -> watch::Receiver<Vec<Arc<DeserializeGuard<MemberCluster>>>> {
        self.objects.subscribe()
    }

    /// Watches members and the Secrets of the hub's `namespace`, and keeps this registry and the members' status up to
    /// date. Members are asked, and status is written, only while `leading`. Never ends.
    pub(crate) async fn run(&self, client: Client, namespace: &str, network: Network, leading: watch::Receiver<bool>) {
        let (members, member_events) = mirror(Api::<Guarded>::all(client.clone()));
        let (secrets, secret_events) = mirror(Api::<Secret>::namespaced(client.clone(), namespace));
        let mut keeper = Keeper {
            registry: self.clone(),
            api: Api::all(client),
            members,
            secrets,
            network,
            leading,
            tasks: BTreeMap::new(),
        };
        let mut events = stream::select(member_events, secret_events);
        let mut complete = 0;
        while let Some(listed) = events.next().await {
            complete += usize::from(listed);
            // Both lists, or a member would seem to have lost its Secret.
            if complete >= 2 {
                keeper.catch_up();
            }
        }
    }
}

/// A store that follows the cluster, and the stream that drives it; an item is true when the first list is complete.
fn mirror<K>(api: Api<K>) -> (Store<K>, impl Stream<Item = bool> + Unpin)
where
    K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + serde::de::DeserializeOwned + Send + Sync + 'static,
{
    let (store, writer) = reflector::store();
    let mut listed = false;
    let events = watcher(api, watcher::Config::default()).backoff(between_tries()).reflect(writer);
    let events = events.filter_map(move |event| {
        let first = matches!(event, Ok(watcher::Event::InitDone)) && !std::mem::replace(&mut listed, true);
        let seen = match event {
            Ok(watcher::Event::Init | watcher::Event::InitApply(_)) => None,
            Ok(watcher::Event::InitDone | watcher::Event::Apply(_) | watcher::Event::Delete(_)) => Some(first),
            Err(error) => {
                tracing::warn!(kind = %K::kind(&()), %error, "the watch failed and is tried again");
                None
            }
        };
        std::future::ready(seen)
    });
    (store, events.boxed())
}

/// Between a second and ten, as everything that the hub tries again.
fn between_tries() -> watcher::ExponentialBackoff {
    let waits =
        ExponentialBuilder::new().with_min_delay(Duration::from_secs(1)).with_max_delay(Duration::from_secs(10));
    waits.without_max_times().into()
}

/// What keeps the registry up to date.
struct Keeper {
    registry: Registry,
    api: Api<MemberCluster>,
    members: Store<Guarded>,
    secrets: Store<Secret>,
    network: Network,
    leading: watch::Receiver<bool>,
    tasks: BTreeMap<String, Task>,
}

/// A task that ends when it is dropped.
struct Task(JoinHandle<()>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Keeper {
    /// Makes anew every member whose declaration or Secrets changed, and forgets those that are gone.
    fn catch_up(&mut self) {
        let mut objects = self.members.state();
        objects.sort_by_key(|object| object.name_any());
        self.registry.objects.send_replace(objects);
        let declared = self.declared();
        let before = self.registry.members.borrow().clone();
        let mut changed = before.as_ref().is_none_or(|before| before.len() != declared.len());
        self.tasks.retain(|name, task| declared.contains_key(name) && !task.0.is_finished());
        let known = before.unwrap_or_default();
        let mut members = Members::new();
        for (name, declared) in declared {
            let member = match known.get(&name) {
                Some(member) if member.declared == declared && self.tasks.contains_key(&name) => Arc::clone(member),
                Some(_) | None => {
                    changed = true;
                    self.start(declared)
                }
            };
            members.insert(name, member);
        }
        if changed {
            self.registry.members.send_replace(Some(members));
        }
    }

    /// What is declared now. An object that cannot be read is told and left out.
    fn declared(&self) -> BTreeMap<String, Declared> {
        let mut declared = BTreeMap::new();
        for object in self.members.state() {
            match &object.0 {
                Ok(object) => {
                    let one = self.declaration(object);
                    declared.insert(one.name.clone(), one);
                }
                Err(invalid) => {
                    tracing::warn!(member = invalid.metadata.name, "this MemberCluster cannot be read and is left out");
                }
            }
        }
        declared
    }

    fn declaration(&self, object: &MemberCluster) -> Declared {
        let state = self.secrets.state();
        let find = |name: &str| state.iter().find(|secret| secret.name_any() == name).map(AsRef::as_ref);
        Declared {
            name: object.name_any(),
            uid: object.uid(),
            generation: object.metadata.generation,
            spec: object.spec.clone(),
            secrets: Secrets::pick(&object.spec, find),
        }
    }

    /// Makes the member's clients and starts its own task: one member's trouble never delays another's.
    fn start(&mut self, declared: Declared) -> Arc<Member> {
        let name = declared.name.clone();
        let member = Arc::new(Member::new(declared, self.network.clone(), self.registry.clock.now()));
        let watch = Watch {
            member: Arc::clone(&member),
            registry: self.registry.clone(),
            api: self.api.clone(),
            objects: self.members.clone(),
            leading: self.leading.clone(),
        };
        // The task of an earlier declaration ends as it is replaced.
        self.tasks.insert(name, Task(tokio::spawn(watch.go_on())));
        member
    }
}

#[cfg(test)]
mod tests;
