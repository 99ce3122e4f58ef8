//! The one door for writes to the API server: only while this process leads, with a deadline, and over the version that
//! was read. The Lease alone is written past it (`lease`), because this door asks for the lease.

use std::sync::Arc;

use k8s_openapi::{
    ByteString,
    api::{core::v1::Secret, events::v1::Event},
};
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions},
    core::{ApiResource, DeserializeGuard, DynamicObject, GroupVersionKind, ObjectMeta},
};
use serde_json::{Value, json};

use super::{
    Guarded,
    cache::{Cache, Key},
    lease::{CALL_DEADLINE, Leadership},
    objects::Objects,
};
use crate::{
    api::{FIELD_MANAGER, FleetRollout, MemberCluster, MemberClusterStatus, RolloutRequest},
    object::{Target, Write},
    text::one_line,
};

/// Characters of the API server's words that are kept.
const WORDS: usize = 300;

/// Why a call changed nothing, or is not known to have changed something.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum CallError {
    /// Another process leads, or this one is stopping.
    #[error("this process does not lead")]
    NotLeading,
    /// The object is not the one that was read; the decision is made anew.
    #[error("the object changed meanwhile")]
    Conflict,
    /// The object is gone.
    #[error("the object is gone")]
    Gone,
    /// No answer in time; it may have happened all the same.
    #[error("the API server did not answer within {}s", CALL_DEADLINE.as_secs())]
    Late,
    /// The API server, or an admission webhook, said no.
    #[error("{0}")]
    Refused(String),
    /// The API server could not be reached, or failed.
    #[error("the API server could not be called: {0}")]
    Failed(String),
}

/// Whether a write is only tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriteMode {
    /// The API server does all but store it.
    DryRun,
    /// It is stored.
    Real,
}

/// Makes the calls, and puts their answers into the caches at once.
pub(super) struct Calls {
    client: Client,
    leadership: Leadership,
    objects: Arc<Objects>,
    rollouts: Arc<Cache<Guarded<FleetRollout>>>,
    requests: Arc<Cache<Guarded<RolloutRequest>>>,
    members: Arc<Cache<Guarded<MemberCluster>>>,
    secrets: Arc<Cache<Secret>>,
}

impl Calls {
    /// Calls with this client, while this leadership is current.
    pub(super) fn new(
        client: Client,
        leadership: Leadership,
        objects: Arc<Objects>,
        rollouts: Arc<Cache<Guarded<FleetRollout>>>,
        requests: Arc<Cache<Guarded<RolloutRequest>>>,
        members: Arc<Cache<Guarded<MemberCluster>>>,
        secrets: Arc<Cache<Secret>>,
    ) -> Self {
        Self { client, leadership, objects, rollouts, requests, members, secrets }
    }

    /// The rollout as it is stored now.
    pub(super) async fn read(&self, key: &Key) -> Result<FleetRollout, CallError> {
        let rollout = self.within_deadline(self.api::<FleetRollout>(key).get(&key.name)).await?;
        self.rollouts.wrote(DeserializeGuard(Ok(rollout.clone())));
        Ok(rollout)
    }

    /// Reads an object as it is stored now. True if it was known as it is.
    pub(super) async fn is_current(&self, target: &Target) -> Result<bool, CallError> {
        let (resource, key) = (&target.resource, Key::new(&target.namespace, &target.name));
        let known = || self.objects.known(target).and_then(|object| object.resource_version());
        let before = known();
        let api: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), &target.namespace, resource);
        match self.within_deadline(api.get(&target.name)).await {
            Ok(object) => self.objects.wrote(resource, object),
            Err(CallError::Gone) => self.objects.gone(resource, &key),
            Err(error) => return Err(error),
        }
        Ok(known() == before)
    }

    /// Writes a rollout's status over the version that was read.
    pub(super) async fn write_rollout_status(&self, rollout: &FleetRollout) -> Result<FleetRollout, CallError> {
        let key = Key::of(rollout);
        let call = self.api(&key);
        let written =
            self.within_deadline(call.replace_status(&key.name, &post_params(WriteMode::Real), rollout)).await?;
        self.rollouts.wrote(DeserializeGuard(Ok(written.clone())));
        Ok(written)
    }

    /// Writes a rollout's finalizers over the version that was read; without its last one it is gone. The spec is not
    /// sent: it may hold what this version of the hub does not know.
    pub(super) async fn set_finalizers(
        &self,
        rollout: &FleetRollout,
        finalizers: &[String],
    ) -> Result<FleetRollout, CallError> {
        let key = Key::of(rollout);
        let call: Api<FleetRollout> = self.api(&key);
        let patch = over_version(rollout.meta(), json!({"metadata": {"finalizers": finalizers}}));
        let written = self.within_deadline(call.patch(&key.name, &patch_params(), &patch)).await?;
        take_finalizers(&self.rollouts, DeserializeGuard(Ok(written.clone())));
        Ok(written)
    }

    /// Writes a request's status over the version that was read.
    pub(super) async fn write_request_status(&self, request: &RolloutRequest) -> Result<(), CallError> {
        let key = Key::of(request);
        let call = self.api(&key);
        let written =
            self.within_deadline(call.replace_status(&key.name, &post_params(WriteMode::Real), request)).await?;
        self.requests.wrote(DeserializeGuard(Ok(written)));
        Ok(())
    }

    /// Removes a request.
    pub(super) async fn delete_request(&self, request: &RolloutRequest) -> Result<(), CallError> {
        let key = Key::of(request);
        let which = Preconditions { uid: request.uid(), resource_version: request.resource_version() };
        let params = DeleteParams::default().preconditions(which);
        self.within_deadline(self.api::<RolloutRequest>(&key).delete(&key.name, &params)).await?;
        self.requests.gone(&key);
        Ok(())
    }

    /// Writes a member's finalizers over the version that was read; without its last one it is gone.
    pub(super) async fn set_member_finalizers(
        &self,
        member: &ObjectMeta,
        finalizers: &[String],
    ) -> Result<(), CallError> {
        let patch = over_version(member, json!({"metadata": {"finalizers": finalizers}}));
        let (members, name) = (self.members(), member.name.clone().unwrap_or_default());
        take_finalizers(&self.members, self.within_deadline(members.patch(&name, &patch_params(), &patch)).await?);
        Ok(())
    }

    /// Writes a member's status over the version that was read.
    pub(super) async fn set_member_status(
        &self,
        member: &ObjectMeta,
        status: &MemberClusterStatus,
    ) -> Result<(), CallError> {
        let patch = over_version(member, json!({"metadata": {}, "status": status}));
        let (members, name) = (self.members(), member.name.clone().unwrap_or_default());
        self.members.wrote(self.within_deadline(members.patch_status(&name, &patch_params(), &patch)).await?);
        Ok(())
    }

    /// Writes one value of a Secret over the version that was read; nothing else of it is sent. The text of an error may
    /// repeat what an admission webhook said of the Secret, so nobody may show it.
    pub(super) async fn set_secret_value(&self, secret: &Secret, key: &str, value: &str) -> Result<(), CallError> {
        let place = Key::of(secret);
        let data = json!({key: ByteString(value.into())});
        let patch = over_version(&secret.metadata, json!({"metadata": {}, "data": data}));
        let call = self.api::<Secret>(&place);
        let written = self.within_deadline(call.patch(&place.name, &patch_params(), &patch)).await?;
        self.secrets.wrote(written);
        Ok(())
    }

    /// Creates an event; there is no version to write over, and the name is the transition's own.
    pub(super) async fn create_event(&self, event: &Event) -> Result<(), CallError> {
        let call = self.api::<Event>(&Key::of(event));
        self.within_deadline(call.create(&post_params(WriteMode::Real), event)).await.map(|_| ())
    }

    /// Creates, replaces or deletes an object of a route or a backend.
    pub(super) async fn write_object(&self, write: &Write, mode: WriteMode) -> Result<(), CallError> {
        match write {
            Write::Create(object) => {
                let (resource, api) = self.dynamic(object);
                let created = self.within_deadline(api.create(&post_params(mode), object)).await?;
                self.take(&resource, created, mode);
            }
            Write::Replace(object) => {
                let (resource, api) = self.dynamic(object);
                let (key, params) = (Key::of(object), post_params(mode));
                let written = self.within_deadline(api.replace(&key.name, &params, object)).await;
                if written == Err(CallError::Gone) {
                    self.objects.gone(&resource, &key);
                }
                self.take(&resource, written?, mode);
            }
            Write::Delete { target, uid, resource_version } => {
                let which = Preconditions { uid: Some(uid.clone()), resource_version: Some(resource_version.clone()) };
                let mut params = DeleteParams::default().preconditions(which);
                params.dry_run = mode == WriteMode::DryRun;
                let api: Api<DynamicObject> =
                    Api::namespaced_with(self.client.clone(), &target.namespace, &target.resource);
                self.within_deadline(api.delete(&target.name, &params)).await?;
                if mode == WriteMode::Real {
                    self.objects.gone(&target.resource, &Key::new(&target.namespace, &target.name));
                }
            }
        }
        Ok(())
    }

    fn take(&self, resource: &ApiResource, object: DynamicObject, mode: WriteMode) {
        match mode {
            WriteMode::Real => self.objects.wrote(resource, object),
            WriteMode::DryRun => {}
        }
    }

    fn api<K>(&self, key: &Key) -> Api<K>
    where
        K: Resource<Scope = kube::core::NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.client.clone(), &key.namespace)
    }

    fn members(&self) -> Api<Guarded<MemberCluster>> {
        Api::all(self.client.clone())
    }

    fn dynamic(&self, object: &DynamicObject) -> (ApiResource, Api<DynamicObject>) {
        let kind = object.types.as_ref().and_then(|types| GroupVersionKind::try_from(types).ok());
        let resource = ApiResource::from_gvk(&kind.unwrap_or_else(|| GroupVersionKind::gvk("", "", "")));
        let namespace = object.namespace().unwrap_or_default();
        let api = Api::namespaced_with(self.client.clone(), &namespace, &resource);
        (resource, api)
    }

    async fn within_deadline<T>(&self, call: impl Future<Output = kube::Result<T>>) -> Result<T, CallError> {
        let deadline = self.leadership.deadline().ok_or(CallError::NotLeading)?;
        match tokio::time::timeout_at(deadline, call).await {
            Ok(answer) => answer.map_err(CallError::from),
            Err(_) => Err(CallError::Late),
        }
    }
}

/// Takes what a write of finalizers answered: an object that is being deleted is gone with its last one.
fn take_finalizers<K: Resource>(cache: &Cache<Guarded<K>>, written: Guarded<K>) {
    if written.meta().deletion_timestamp.is_some() && written.finalizers().is_empty() {
        cache.gone(&Key::of(&written));
    } else {
        cache.wrote(written);
    }
}

fn post_params(mode: WriteMode) -> PostParams {
    PostParams { dry_run: mode == WriteMode::DryRun, field_manager: Some(FIELD_MANAGER.to_owned()) }
}

fn patch_params() -> PatchParams {
    PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() }
}

/// A patch that is refused where the object is no longer the one that was read.
fn over_version(read: &ObjectMeta, mut patch: Value) -> Patch<Value> {
    patch["metadata"]["resourceVersion"] = json!(read.resource_version);
    Patch::Merge(patch)
}

impl From<kube::Error> for CallError {
    fn from(error: kube::Error) -> Self {
        let kube::Error::Api(status) = error else { return Self::Failed(printable(&error.to_string())) };
        match status.code {
            404 => Self::Gone,
            409 => Self::Conflict,
            400..=428 | 430..=499 => Self::Refused(printable(&status.message)),
            // etcd's own limit; what is too large stays so.
            500 if status.message.contains("request is too large") => Self::Refused(printable(&status.message)),
            _ => Self::Failed(printable(&status.message)),
        }
    }
}

/// The API server repeats what admission webhooks said, and they may say anything.
fn printable(text: &str) -> String {
    one_line(text, WORDS)
}

impl CallError {
    /// For the metric `actions`.
    pub(super) const fn outcome(&self) -> &'static str {
        match self {
            Self::NotLeading => "not_leading",
            Self::Conflict | Self::Gone => "conflict",
            Self::Late | Self::Failed(_) => "failed",
            Self::Refused(_) => "refused",
        }
    }
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    #[test]
    fn what_an_api_server_answers_says_whether_it_is_tried_again() {
        let said = |code, message: &str| {
            CallError::from(kube::Error::Api(Status { code, message: message.to_owned(), ..Status::default() }.boxed()))
        };
        let refused = |message: &str| CallError::Refused(message.to_owned());
        let too_large = "Request entity too large: limit is 3145728";
        let denied = "admission webhook \"weights.example.com\" denied the request: not today";
        for (code, message, expected) in [
            (403, "services is forbidden", refused("services is forbidden")),
            (400, denied, refused(denied)),
            (413, too_large, refused(too_large)),
            (422, "spec.rules: Too many: 17", refused("spec.rules: Too many: 17")),
            (404, "gone", CallError::Gone),
            (409, "the object has been modified", CallError::Conflict),
            (429, "too many requests", CallError::Failed("too many requests".to_owned())),
            (500, "etcdserver: request is too large", refused("etcdserver: request is too large")),
            (503, "a\nb\u{1b}[31m", CallError::Failed(r"a b\u{1b}[31m".to_owned())),
        ] {
            assert_eq!(said(code, message), expected, "{code}");
        }
        assert_eq!(said(400, &"x".repeat(9_000)), refused(&format!("{}…", "x".repeat(299))));
    }
}
