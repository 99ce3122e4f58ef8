//! The hub cluster for the command line: which one it is, reads with a deadline, and errors in words.

use std::{future::Future, time::Duration};

use futures::{Stream, TryStreamExt};
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use kube::{
    Api, Client, Error, ResourceExt,
    api::ListParams,
    core::{DeserializeGuard, PartialObjectMeta},
    runtime::watcher,
};

pub(super) use super::connection::{Connection, block_on, config};
use super::{
    CliError,
    access::{self, Need},
    hub_liveness::LeaseSeen,
    live, text,
    view::View,
};
use crate::{
    api::{FleetRollout, HUB_LEASE, HUB_LEASE_NAMESPACE, MemberCluster, RolloutRequest},
    text::sanitise_to,
    validate::nearest,
};

/// A person waits: unless said otherwise each call to the API server ends within this time.
pub(super) const DEADLINE: Duration = Duration::from_secs(5);

/// A connection to the hub cluster.
#[derive(Clone)]
pub(super) struct Cluster {
    pub(super) client: Client,
    pub(super) namespace: String,
    pub(super) server: String,
    /// Each call to the API server ends within this time.
    pub(super) deadline: Duration,
}

impl Cluster {
    /// The objects of one kind in the namespace.
    pub(super) fn api<K>(&self) -> Api<K>
    where
        K: kube::Resource<Scope = kube::core::NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// Runs one call with the deadline, and explains a failure.
    pub(super) async fn call<T>(
        &self,
        needs: &[Need],
        call: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, CliError> {
        match tokio::time::timeout(self.deadline, call).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(Box::pin(self.explain(needs, &error)).await),
            Err(_) => Err(CliError::Said(format!(
                "the API server {} did not answer within {} s\nis it the right cluster? see --context, --kubeconfig and --request-timeout",
                self.server,
                self.deadline.as_secs_f32()
            ))),
        }
    }

    /// An error that says what failed, where, and the remedy.
    pub(super) async fn explain(&self, needs: &[Need], error: &Error) -> CliError {
        let server = &self.server;
        let said = match error {
            Error::Api(status) if status.code == 404 => match &status.details {
                Some(details) if details.kind == "fleetrollouts" && !details.name.is_empty() => {
                    self.no_rollout(&details.name).await
                }
                Some(details) if !details.name.is_empty() => sanitise_to(&status.message, LONGEST),
                Some(_) | None => KINDS_MISSING.to_owned(),
            },
            Error::Api(status) if status.code == 401 => {
                format!("{server} rejected these credentials\nlog in again")
            }
            Error::Api(status) if status.code == 403 => {
                let missing = access::missing(&self.client, &self.namespace, needs);
                let missing = tokio::time::timeout(self.deadline, missing).await.ok().flatten();
                missing.unwrap_or_else(|| sanitise_to(&words(error), LONGEST))
            }
            Error::Api(status) if status.reason == NO_STATUS => not_an_answer(server, &format!("{} and", status.code)),
            Error::Api(status) if status.code >= 500 || status.code == 429 => {
                format!("the API server {server} is not able to answer now ({})\ntry again in a minute", status.code)
            }
            Error::Api(status) => sanitise_to(&status.message, LONGEST),
            Error::SerdeError(_) | Error::FromUtf8(_) | Error::LinesCodecMaxLineLengthExceeded => {
                not_an_answer(server, "with")
            }
            other => format!(
                "cannot talk to the API server {server}: {}\nis it the right cluster? see --context and --kubeconfig",
                innermost(other)
            ),
        };
        CliError::Said(said)
    }

    /// That a rollout does not exist, and which do.
    async fn no_rollout(&self, name: &str) -> String {
        let api: Api<PartialObjectMeta<FleetRollout>> = Api::namespaced(self.client.clone(), &self.namespace);
        let listed = tokio::time::timeout(self.deadline, api.list_metadata(&ListParams::default())).await;
        let known: Option<Vec<String>> =
            listed.ok().and_then(Result::ok).map(|list| list.items.iter().map(ResourceExt::name_any).collect());
        text::escape_lines(&no_rollout(name, &self.namespace, known.as_deref()))
    }

    /// The next state of a watched object; `None` when it is deleted.
    pub(super) async fn next<K>(
        &self,
        needs: &[Need],
        changes: &mut (impl Stream<Item = watcher::Result<Option<K>>> + Unpin),
    ) -> Result<Option<K>, CliError> {
        use watcher::Error::{InitialListFailed, WatchFailed, WatchStartFailed};
        match changes.try_next().await {
            Ok(next) => Ok(next.flatten()),
            Err(InitialListFailed(error) | WatchStartFailed(error) | WatchFailed(error)) => {
                Err(self.explain(needs, &error).await)
            }
            Err(other) => Err(CliError::said(other)),
        }
    }

    /// The rollout of that name.
    pub(super) async fn rollout(&self, name: &str) -> Result<FleetRollout, CliError> {
        self.call(access::READ, self.api::<FleetRollout>().get(name)).await
    }

    /// Every member that is declared and can be read: one that cannot hides no other.
    pub(super) async fn members(&self) -> Result<Vec<MemberCluster>, CliError> {
        let api: Api<DeserializeGuard<MemberCluster>> = Api::all(self.client.clone());
        let members = self.call(access::READ, api.list(&ListParams::default())).await?;
        Ok(members.items.into_iter().filter_map(|member| member.0.ok()).collect())
    }

    /// The hub's Lease; never an error.
    pub(super) async fn lease(&self) -> LeaseSeen {
        let api: Api<Lease> = Api::namespaced(self.client.clone(), HUB_LEASE_NAMESPACE);
        match self.call(&[], api.get_opt(HUB_LEASE)).await {
            Ok(lease) => LeaseSeen::Read(lease.map(Box::new)),
            Err(why) => LeaseSeen::NotReadable(why.to_string().lines().next().unwrap_or_default().to_owned()),
        }
    }

    /// The requests to a rollout that no hub has answered; none where they cannot be read.
    async fn open_requests(&self, rollout: &FleetRollout) -> Vec<RolloutRequest> {
        let api: Api<DeserializeGuard<RolloutRequest>> = Api::namespaced(self.client.clone(), &self.namespace);
        let listed = self.call(&[], api.list(&ListParams::default())).await;
        let requests = listed.into_iter().flatten().filter_map(|request| request.0.ok());
        let open = |request: &RolloutRequest| {
            let answered = request.status.as_ref().is_some_and(|status| status.state.is_some());
            !answered && Some(&request.spec.rollout.uid) == rollout.metadata.uid.as_ref()
        };
        requests.filter(open).collect()
    }

    /// A rollout together with all that a screen about it shows.
    pub(super) async fn view(&self, rollout: FleetRollout) -> Result<View, CliError> {
        let (members, lease, open) = tokio::join!(self.members(), self.lease(), Box::pin(self.open_requests(&rollout)));
        let mut view = View::new(rollout, lease, Timestamp::now());
        (view.members, view.open) = (members?, open);
        view.routes = live::shown(self, &view).await;
        Ok(view)
    }
}

/// Characters that are shown of what an API server or a webhook says.
const LONGEST: usize = 300;

/// kube's reason where the body of an error is no `Status`; its message is then that body.
const NO_STATUS: &str = "Failed to parse error data";

fn not_an_answer(server: &str, with: &str) -> String {
    format!(
        "{server} answered {with} not as an API server does\nis it the right cluster, or a proxy or login page? see --context and --kubeconfig"
    )
}

/// Names that are listed at most.
const LISTED: usize = 10;

/// That a rollout does not exist; `known` are those of its namespace, if they could be listed.
fn no_rollout(name: &str, namespace: &str, known: Option<&[String]>) -> String {
    let remedy = match known {
        None => "list all: cutover get -A".to_owned(),
        Some([]) => "the namespace has no rollouts; choose another with -n, or list all: cutover get -A".to_owned(),
        Some(known) => nearest(name, known.iter().map(String::as_str)).map_or_else(
            || {
                let more = if known.len() > LISTED { ", …" } else { "" };
                format!("there are: {}{more}", known[..known.len().min(LISTED)].join(", "))
            },
            |near| format!("did you mean {near}?"),
        ),
    };
    format!("no rollout {name:?} in namespace {namespace}\n{remedy}")
}

const KINDS_MISSING: &str = "the CRDs of cutover are not installed in this cluster\ninstall them: cutover crd | kubectl apply --server-side -f -";

/// The message of the API server, or the cause of a connection error.
pub(super) fn words(error: &Error) -> String {
    match error {
        Error::Api(status) if status.reason == NO_STATUS => {
            format!("an answer {} that no API server gives", status.code)
        }
        Error::Api(status) => text::escape(&status.message),
        Error::SerdeError(_) | Error::FromUtf8(_) => "an answer that no API server gives".to_owned(),
        other => innermost(other),
    }
}

/// The last cause in the chain ("Connection refused").
fn innermost(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(cause) => innermost(cause),
        None => text::escape(&error.to_string()),
    }
}
