//! The one door for writes to the API server: only while this process leads, when it is their turn, with a deadline, and
//! over the version that was read. The Lease alone is written past it (`lease`), because this door asks for the lease.

mod error;
mod own;

use std::{sync::Arc, time::Duration};

use futures::TryFutureExt;
use k8s_openapi::{
    ByteString,
    api::{core::v1::Secret, events::v1::Event},
};
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions},
    core::{ApiResource, DeserializeGuard, DynamicObject, ObjectMeta},
};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{
    Guarded,
    cache::{Cache, Key},
    lease::Leadership,
    objects::Objects,
    turns::{Load, Turn, Turns},
};
use crate::{
    api::{FIELD_MANAGER, FleetRollout, MemberCluster, MemberClusterStatus, RolloutRequest},
    object::{Target, Write, resource_of},
};
pub(super) use error::CallError;

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
    /// For the hub's own kinds.
    own: Client,
    leadership: Leadership,
    turns: Arc<Turns>,
    caches: Caches,
}

/// What is known of the objects that the hub writes.
pub(super) struct Caches {
    pub(super) objects: Arc<Objects>,
    pub(super) rollouts: Arc<Cache<Guarded<FleetRollout>>>,
    pub(super) requests: Arc<Cache<Guarded<RolloutRequest>>>,
    pub(super) members: Arc<Cache<Guarded<MemberCluster>>>,
    pub(super) secrets: Arc<Cache<Secret>>,
}

/// What a call does, in the words of Kubernetes' roles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verb {
    Get,
    Create,
    Update,
    Patch,
    Delete,
}

impl Verb {
    const fn word(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
        }
    }
}

/// Whose kind an object is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The hub's own, and events: how long a write takes is the API server's doing.
    Own,
    /// Anybody's: an admission webhook may stand before it, whose time and answers say nothing about other calls.
    Foreign,
}

impl Calls {
    /// Calls with this client, while this leadership is current.
    pub(super) fn new(client: Client, leadership: Leadership, turns: Arc<Turns>, caches: Caches) -> Self {
        let own = own::client(client.clone(), &turns);
        Self { client, own, leadership, turns, caches }
    }

    /// A client that reads what no watch shows; it obeys an API server that wants to be left alone.
    pub(super) fn reader(&self) -> Client {
        self.own.clone()
    }

    /// The rollout as it is stored now.
    pub(super) async fn read(&self, turn: &Turn, key: &Key) -> Result<FleetRollout, CallError> {
        let rollout = self.call(turn, (Verb::Get, Kind::Own), self.api::<FleetRollout>(key).get(&key.name)).await?;
        self.caches.rollouts.wrote(DeserializeGuard(Ok(rollout.clone())));
        Ok(rollout)
    }

    /// Reads an object as it is stored now. True if it was known as it is.
    pub(super) async fn is_current(&self, turn: &Turn, target: &Target) -> Result<bool, CallError> {
        let (resource, key) = (&target.resource, Key::new(&target.namespace, &target.name));
        let known = || self.caches.objects.known(target).and_then(|object| object.resource_version());
        let before = known();
        let api: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), &target.namespace, resource);
        match self.call(turn, (Verb::Get, Kind::Foreign), api.get(&target.name)).await {
            Ok(object) => self.caches.objects.wrote(resource, object),
            Err(CallError::Gone) => self.caches.objects.gone(resource, &key),
            Err(error) => return Err(error),
        }
        Ok(known() == before)
    }

    /// Writes a rollout's status over the version that was read.
    pub(super) async fn write_rollout_status(
        &self,
        turn: &Turn,
        rollout: &FleetRollout,
    ) -> Result<FleetRollout, CallError> {
        let key = Key::of(rollout);
        let call = self.api(&key);
        let params = post_params(WriteMode::Real);
        let put = call.replace_status(&key.name, &params, rollout);
        let written = self.call(turn, (Verb::Update, Kind::Own), put).await?;
        self.caches.rollouts.wrote(DeserializeGuard(Ok(written.clone())));
        Ok(written)
    }

    /// Writes a rollout's finalizers over the version that was read; without its last one it is gone. The spec is not
    /// sent: it may hold what this version of the hub does not know.
    pub(super) async fn set_finalizers(
        &self,
        turn: &Turn,
        rollout: &FleetRollout,
        finalizers: &[String],
    ) -> Result<FleetRollout, CallError> {
        let key = Key::of(rollout);
        let call: Api<FleetRollout> = self.api(&key);
        let patch = over_version(rollout.meta(), json!({"metadata": {"finalizers": finalizers}}));
        let written = self.call(turn, (Verb::Patch, Kind::Own), call.patch(&key.name, &patch_params(), &patch)).await?;
        take_finalizers(&self.caches.rollouts, DeserializeGuard(Ok(written.clone())));
        Ok(written)
    }

    /// Writes a request's status over the version that was read.
    pub(super) async fn write_request_status(&self, turn: &Turn, request: &RolloutRequest) -> Result<(), CallError> {
        let key = Key::of(request);
        let call = self.api(&key);
        let params = post_params(WriteMode::Real);
        let put = call.replace_status(&key.name, &params, request);
        let written = self.call(turn, (Verb::Update, Kind::Own), put).await?;
        self.caches.requests.wrote(DeserializeGuard(Ok(written)));
        Ok(())
    }

    /// Removes a request.
    pub(super) async fn delete_request(&self, turn: &Turn, request: &RolloutRequest) -> Result<(), CallError> {
        let key = Key::of(request);
        let which = Preconditions { uid: request.uid(), resource_version: request.resource_version() };
        let params = DeleteParams::default().preconditions(which);
        self.call(turn, (Verb::Delete, Kind::Own), self.api::<RolloutRequest>(&key).delete(&key.name, &params)).await?;
        self.caches.requests.gone(&key);
        Ok(())
    }

    /// Writes a member's finalizers over the version that was read; without its last one it is gone.
    pub(super) async fn set_member_finalizers(
        &self,
        turn: &Turn,
        member: &ObjectMeta,
        finalizers: &[String],
    ) -> Result<(), CallError> {
        let patch = over_version(member, json!({"metadata": {"finalizers": finalizers}}));
        let (members, name) = (self.members(), member.name.clone().unwrap_or_default());
        take_finalizers(
            &self.caches.members,
            self.call(turn, (Verb::Patch, Kind::Own), members.patch(&name, &patch_params(), &patch)).await?,
        );
        Ok(())
    }

    /// Writes a member's status over the version that was read.
    pub(super) async fn set_member_status(
        &self,
        turn: &Turn,
        member: &ObjectMeta,
        status: &MemberClusterStatus,
    ) -> Result<(), CallError> {
        let patch = over_version(member, json!({"metadata": {}, "status": status}));
        let (members, name) = (self.members(), member.name.clone().unwrap_or_default());
        self.caches.members.wrote(
            self.call(turn, (Verb::Patch, Kind::Own), members.patch_status(&name, &patch_params(), &patch)).await?,
        );
        Ok(())
    }

    /// Writes one value of a Secret over the version that was read; nothing else of it is sent. The text of an error may
    /// repeat what an admission webhook said of the Secret, so nobody may show it.
    pub(super) async fn set_secret_value(
        &self,
        turn: &Turn,
        secret: &Secret,
        key: &str,
        value: &str,
    ) -> Result<(), CallError> {
        let place = Key::of(secret);
        let data = json!({key: ByteString(value.into())});
        let patch = over_version(&secret.metadata, json!({"metadata": {}, "data": data}));
        let call: Api<Secret> = Api::namespaced(self.client.clone(), &place.namespace);
        let written =
            self.call(turn, (Verb::Patch, Kind::Foreign), call.patch(&place.name, &patch_params(), &patch)).await?;
        self.caches.secrets.wrote(written);
        Ok(())
    }

    /// Creates an event; there is no version to write over, and the name is the transition's own.
    pub(super) async fn create_event(&self, turn: &Turn, event: &Event) -> Result<(), CallError> {
        let call = self.api::<Event>(&Key::of(event));
        self.call(turn, (Verb::Create, Kind::Own), call.create(&post_params(WriteMode::Real), event)).await.map(|_| ())
    }

    /// Creates, replaces or deletes an object of a route or a backend.
    pub(super) async fn write_object(&self, turn: &Turn, write: &Write, mode: WriteMode) -> Result<(), CallError> {
        match write {
            Write::Create(object) => {
                let (resource, api) = self.dynamic(object);
                let created =
                    self.call(turn, (Verb::Create, Kind::Foreign), api.create(&post_params(mode), object)).await?;
                self.take(&resource, created, mode);
            }
            Write::Replace(object) => {
                let (resource, api) = self.dynamic(object);
                let (key, params) = (Key::of(object), post_params(mode));
                let written =
                    self.call(turn, (Verb::Update, Kind::Foreign), api.replace(&key.name, &params, object)).await;
                if written == Err(CallError::Gone) {
                    self.caches.objects.gone(&resource, &key);
                }
                self.take(&resource, written?, mode);
            }
            Write::Delete { target, uid, resource_version } => {
                let which = Preconditions { uid: Some(uid.clone()), resource_version: Some(resource_version.clone()) };
                let mut params = DeleteParams::default().preconditions(which);
                params.dry_run = mode == WriteMode::DryRun;
                let api: Api<DynamicObject> =
                    Api::namespaced_with(self.client.clone(), &target.namespace, &target.resource);
                self.call(turn, (Verb::Delete, Kind::Foreign), api.delete(&target.name, &params)).await?;
                if mode == WriteMode::Real {
                    self.caches.objects.gone(&target.resource, &Key::new(&target.namespace, &target.name));
                }
            }
        }
        Ok(())
    }

    /// Creates or replaces the copy of a ConfigMap or Secret. It goes into no cache, and an error repeats no word of the answer:
    /// it may hold what is in a Secret.
    pub(super) async fn write_config_copy(&self, turn: &Turn, write: &Write) -> Result<(), CallError> {
        let (Write::Create(object) | Write::Replace(object)) = write else { return Ok(()) };
        let (_, api) = self.dynamic(object);
        let (name, params) = (object.name_any(), post_params(WriteMode::Real));
        let written = async {
            match write {
                Write::Create(_) => api.create(&params, object).await,
                Write::Replace(_) | Write::Delete { .. } => api.replace(&name, &params, object).await,
            }
        };
        let verb = if matches!(write, Write::Create(_)) { Verb::Create } else { Verb::Update };
        let written =
            self.call(turn, (verb, Kind::Foreign), written.map_err(|error| error::without_words(error, &name)));
        written.await.map(drop)
    }

    fn take(&self, resource: &ApiResource, object: DynamicObject, mode: WriteMode) {
        match mode {
            WriteMode::Real => self.caches.objects.wrote(resource, object),
            WriteMode::DryRun => {}
        }
    }

    fn api<K>(&self, key: &Key) -> Api<K>
    where
        K: Resource<Scope = kube::core::NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.own.clone(), &key.namespace)
    }

    fn members(&self) -> Api<Guarded<MemberCluster>> {
        Api::all(self.own.clone())
    }

    fn dynamic(&self, object: &DynamicObject) -> (ApiResource, Api<DynamicObject>) {
        let resource = resource_of(object);
        let namespace = object.namespace().unwrap_or_default();
        let api = Api::namespaced_with(self.client.clone(), &namespace, &resource);
        (resource, api)
    }

    /// Makes one call, and tells the turns what it said about the API server.
    async fn call<T>(
        &self,
        _turn: &Turn,
        (verb, kind): (Verb, Kind),
        call: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, CallError> {
        let deadline = self.leadership.deadline().ok_or(CallError::NotLeading)?;
        let began = Instant::now();
        let answered = tokio::time::timeout_at(deadline, call).await;
        self.turns.count_call(verb.word(), code(&answered));
        let result = match answered {
            Ok(answer) => answer.map_err(CallError::from),
            Err(_) => Err(CallError::Late),
        };
        if let Some(load) = load(kind, &result, began.elapsed()) {
            self.turns.heard(load);
        }
        match result {
            Err(CallError::Late) if kind == Kind::Foreign && self.turns.are_scarce() => {
                Err(CallError::Overloaded(CallError::Late.to_string()))
            }
            result => result,
        }
    }
}

/// For the metric `api_calls`: the status of an answer, or what happened without one. Other statuses than those of the API are
/// one: an admission webhook may answer with any.
fn code<T>(answered: &Result<kube::Result<T>, tokio::time::error::Elapsed>) -> String {
    const KNOWN: [u16; 10] = [400, 401, 403, 404, 409, 410, 413, 422, 429, 500];
    match answered {
        Ok(Ok(_)) => "2xx".to_owned(),
        Ok(Err(kube::Error::Api(status))) if KNOWN.contains(&status.code) => status.code.to_string(),
        Ok(Err(kube::Error::Api(status))) if (502..=504).contains(&status.code) => status.code.to_string(),
        Ok(Err(kube::Error::Api(_))) => "other".to_owned(),
        Ok(Err(_)) => "unreachable".to_owned(),
        Err(_) => "late".to_owned(),
    }
}

/// What a call said about the API server, if anything.
fn load<T>(kind: Kind, result: &Result<T, CallError>, after: Duration) -> Option<Load> {
    match (kind, result) {
        (Kind::Own, Ok(_)) => Some(Load::Answered(after)),
        (Kind::Own, Err(CallError::Overloaded(_) | CallError::Late)) => Some(Load::Overloaded),
        (Kind::Own, Err(_)) | (Kind::Foreign, _) => None,
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
