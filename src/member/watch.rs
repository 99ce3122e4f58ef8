//! Watching over one member, and telling how it is.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use kube::{
    Api,
    api::{Patch, PatchParams},
    runtime::reflector::{ObjectRef, Store},
};
use serde_json::json;
use tokio::{sync::watch, time::timeout};

use super::{Health, Member, Registry, health, registry::Guarded, status};
use crate::{
    api::{FIELD_MANAGER, MemberCluster, MemberClusterStatus},
    http::DEADLINE,
};

/// Time between two checks of a member.
const BETWEEN_CHECKS: Duration = Duration::from_secs(30);

/// What watches over one member.
pub(super) struct Watch {
    pub member: Arc<Member>,
    pub registry: Registry,
    pub api: Api<MemberCluster>,
    pub objects: Store<Guarded>,
    pub leading: watch::Receiver<bool>,
}

impl Watch {
    /// Checks the member at once and then every 30 seconds, while this process leads.
    pub(super) async fn go_on(mut self) {
        while self.leading.wait_for(|leading| *leading).await.is_ok() {
            let now = self.registry.clock.now();
            let health = health::check(&self.member, now).await;
            if self.member.health().as_ref() != Some(&health) {
                self.member.health.send_replace(Some(health.clone()));
                self.registry.members.send_modify(|_| ());
            }
            let twin = self.twin(&health);
            self.publish(&health, twin.as_deref(), now).await;
            self.rest(&health, twin).await;
        }
    }

    /// Waits for the next check. A member that turns out meanwhile to be the same cluster is told at once.
    async fn rest(&self, health: &Health, mut known: Option<String>) {
        let pause = tokio::time::sleep(BETWEEN_CHECKS);
        tokio::pin!(pause);
        let mut changes = self.registry.changes();
        loop {
            let other = self.twin(health);
            if other != known {
                self.publish(health, other.as_deref(), self.registry.clock.now()).await;
                known = other;
            }
            tokio::select! {
                () = &mut pause => return,
                news = changes.changed() => if news.is_err() { return },
            }
        }
    }

    /// Writes the status, if it changed; a failed write is tried again after the next check.
    async fn publish(&self, health: &Health, twin: Option<&str>, now: Timestamp) {
        let name = &self.member.declared.name;
        let before = self.written(name);
        let generation = self.member.declared.generation;
        let Some(after) = status::next(&before, health, twin, generation, now) else { return };
        let parameters = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        let patch = Patch::Merge(json!({"status": after}));
        match timeout(DEADLINE, self.api.patch_status(name, &parameters, &patch)).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::warn!(member = name, %error, "the member's status could not be written"),
            Err(_) => tracing::warn!(member = name, "the member's status could not be written in time"),
        }
    }

    fn written(&self, name: &str) -> MemberClusterStatus {
        let object = self.objects.get(&ObjectRef::new(name));
        object.and_then(|object| object.0.as_ref().ok()?.status.clone()).unwrap_or_default()
    }

    /// Another member with the same cluster id.
    fn twin(&self, health: &Health) -> Option<String> {
        let cluster = health.cluster_id.as_ref()?;
        let members = self.registry.members.borrow().clone()?;
        let others = members.into_iter().filter(|(name, _)| *name != self.member.declared.name);
        let mut twins =
            others.filter(|(_, other)| other.health().and_then(|health| health.cluster_id).as_ref() == Some(cluster));
        twins.next().map(|(name, _)| name)
    }
}
