//! The hooks of one rollout: each is called in the background, at most once at a time, so that no pass waits for a receiver.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
use kube::Client;
use tokio::sync::Notify;

use super::{Hub, background_task::BackgroundTask, subject::Subject, user_secrets::UserSecrets};
use crate::{
    api::{FleetRollout, FleetRolloutStatus, hook::Hook, secret::HOOK_PURPOSE, status::Verdict},
    hook::{self, Moment, Receiver},
    http::SigningKey,
    rollout::{
        HookCall,
        input::{HookAnswer, HookSeen},
    },
};

/// Calls of one namespace that are under way at a time. One whose receivers hang keeps no other waiting.
pub(super) const OF_A_NAMESPACE: usize = 32;

/// The last call of each hook, by name.
#[derive(Default)]
pub(super) struct Hooks(BTreeMap<String, Calling>);

struct Calling {
    task: BackgroundTask<HookAnswer>,
    seen: HookSeen,
}

impl Hooks {
    /// Takes the answers that have come.
    pub(super) fn collect(&mut self, now: Timestamp) {
        for Calling { task, seen } in self.0.values_mut().filter(|calling| calling.seen.answer.is_none()) {
            match task.take_result() {
                Some(answer) => seen.answer = Some(answer),
                None if task.is_running() => {}
                None => {
                    let message = "the call ended without an answer".to_owned();
                    seen.answer = Some(HookAnswer { verdict: Verdict::Unknown, message, at: now });
                }
            }
        }
    }

    /// The last call of each hook.
    pub(super) fn seen(&self) -> BTreeMap<String, HookSeen> {
        self.0.iter().map(|(name, calling)| (name.clone(), calling.seen.clone())).collect()
    }

    /// Makes these calls. One of the same hook that is under way is for a moment that is over: nobody waits for it any more.
    pub(super) fn start(
        &mut self,
        hub: &Hub,
        rollout: &FleetRollout,
        (subject, status): (&Subject, &FleetRolloutStatus),
        calls: &[HookCall],
        wake: &Arc<Notify>,
    ) {
        let hooks = &rollout.spec.hooks;
        self.0.retain(|name, _| hooks.iter().any(|hook| hook.name == *name));
        let moment = Moment {
            namespace: &subject.namespace,
            rollout: &subject.name,
            uid: &subject.uid,
            spec: &rollout.spec,
            status,
        };
        for call in calls {
            let Some(hook) = hooks.iter().find(|hook| hook.name == call.name) else { continue };
            let seen = HookSeen { call: call.clone(), at: hub.clock.now(), answer: None };
            let mut task = BackgroundTask::default();
            task.start("hooks", &hub.metrics, wake, answer(hub, &moment, hook, call));
            self.0.insert(call.name.clone(), Calling { task, seen });
        }
    }
}

/// Waits for a place, reads the key, and calls.
fn answer(
    hub: &Hub,
    moment: &Moment<'_>,
    hook: &Hook,
    call: &HookCall,
) -> impl Future<Output = HookAnswer> + Send + 'static {
    let (network, clock, metrics) = (hub.network.clone(), hub.clock.clone(), hub.metrics.clone());
    let (client, places) = (hub.calls.reader(), hub.hook_limits.of(&moment.namespace.to_owned()));
    let (body, key) = (hook::payload(moment, hook, call), call.key(moment.uid));
    let (hook, namespace) = (hook.clone(), moment.namespace.to_owned());
    async move {
        let _place = places.acquire().await;
        let kind = hook.kind;
        let (verdict, message) = match signing_key(&client, &namespace, &hook).await {
            Err(why) => (Verdict::Unknown, why),
            Ok(signing_key) => hook::call(&Receiver { hook, key, body, signing_key }, &network, &clock).await,
        };
        metrics.count_hook_call(kind, verdict);
        HookAnswer { verdict, message, at: clock.now() }
    }
}

/// The key that signs.
async fn signing_key(client: &Client, namespace: &str, hook: &Hook) -> Result<Option<SigningKey>, String> {
    let Some(reference) = &hook.signing_key_secret_ref else { return Ok(None) };
    let role = "config/rbac/hub-hooks.yaml";
    UserSecrets { client, namespace, purpose: HOOK_PURPOSE, role }.signing_key(reference).await.map(Some)
}
