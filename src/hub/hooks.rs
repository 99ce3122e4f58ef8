//! The hooks of one rollout: each is called in the background, at most once at a time, so that no pass waits for a receiver.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
use kube::Client;
use tokio::sync::{AcquireError, Notify, OwnedSemaphorePermit};

use super::{
    Hub, background_task::BackgroundTask, concurrency::ConcurrencyLimits, subject::Subject, user_secrets::UserSecrets,
};
use crate::{
    api::{FleetRollout, FleetRolloutStatus, hook::Hook, secret::HOOK_PURPOSE, status::Verdict},
    hook::{self, Moment, Receiver},
    http::SigningKey,
    rollout::{
        HookCall,
        input::{HookAnswer, HookSeen},
    },
};

/// Calls that are under way at a time.
const OF_A_NAMESPACE: usize = 128;
const OF_A_RECEIVER: usize = 8;
/// What is said where none becomes free.
const BUSY: &str = "too many calls to this receiver, or of this namespace, are under way";

/// Who may call now. A receiver that hangs keeps only those waiting who call it, and a namespace no other one.
pub(super) struct Places {
    of_namespaces: ConcurrencyLimits<String>,
    of_receivers: ConcurrencyLimits<(String, String)>,
}

impl Default for Places {
    fn default() -> Self {
        let of_receivers = ConcurrencyLimits::new(OF_A_RECEIVER);
        Self { of_namespaces: ConcurrencyLimits::new(OF_A_NAMESPACE), of_receivers }
    }
}

impl Places {
    /// A place for this call, unless none becomes free within its timeout.
    fn take(&self, namespace: &str, hook: &Hook) -> impl Future<Output = Option<[OwnedSemaphorePermit; 2]>> + use<> {
        let receiver = self.of_receivers.of(&(namespace.to_owned(), hook.receiver().to_owned()));
        let own = self.of_namespaces.of(&namespace.to_owned());
        let patience = hook.timeout.to_std();
        async move {
            let places = async { Ok::<_, AcquireError>([receiver.acquire_owned().await?, own.acquire_owned().await?]) };
            tokio::time::timeout(patience, places).await.ok()?.ok()
        }
    }
}

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
    let (client, place) = (hub.calls.reader(), hub.hook_places.take(moment.namespace, hook));
    let (body, key) = (hook::payload(moment, hook, call), call.key(moment.uid));
    let (hook, namespace) = (hook.clone(), moment.namespace.to_owned());
    async move {
        let kind = hook.kind;
        let called = async {
            let _place = place.await.ok_or_else(|| BUSY.to_owned())?;
            let signing_key = signing_key(&client, &namespace, &hook).await?;
            Ok(hook::call(&Receiver { hook, key, body, signing_key }, &network, &clock).await)
        };
        let (verdict, message) = called.await.unwrap_or_else(|why: String| (Verdict::Unknown, why));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn hook(url: &str) -> Hook {
        serde_json::from_value(serde_json::json!({"name": "gate", "type": "ConfirmRollout", "url": url})).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn who_calls_a_receiver_that_hangs_waits_no_longer_than_its_timeout_and_all_others_do_not() {
        let places = Places::default();
        let hangs = hook("http://hangs.example.com:8080/a");
        let mut held = Vec::new();
        for _ in 0..OF_A_RECEIVER {
            held.push(places.take("shop", &hangs).await.unwrap());
        }
        let began = tokio::time::Instant::now();
        assert!(places.take("shop", &hook("http://other.example.com/")).await.is_some());
        assert!(places.take("other", &hangs).await.is_some(), "of another namespace");
        assert_eq!(began.elapsed().as_secs(), 0);
        assert!(places.take("shop", &hook("http://hangs.example.com:8080/b")).await.is_none());
        assert_eq!(began.elapsed().as_secs(), 10, "its timeout");
        held.pop();
        assert!(places.take("shop", &hangs).await.is_some());
    }
}
