//! The hub cluster for the command line: which one it is, reads with a deadline, and errors in words.

use std::{future::Future, time::Duration};

use futures::{Stream, TryStreamExt};
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use kube::{
    Api, Client, Config, Error, api::ListParams, config::KubeConfigOptions, core::DeserializeGuard, runtime::watcher,
};

use super::{
    CliError,
    access::{self, Need},
    hub_liveness::LeaseSeen,
    live, text,
    view::View,
};
use crate::api::{FleetRollout, HUB_LEASE, HUB_LEASE_NAMESPACE, MemberCluster, RolloutRequest};

/// A person waits: each call to the API server ends within this time.
pub(super) const DEADLINE: Duration = Duration::from_secs(5);

/// Which cluster is the hub, and which namespace of it.
#[derive(Debug, clap::Args)]
pub(super) struct Connection {
    /// Context of the hub cluster in your kubeconfig; default: the current one.
    #[arg(long)]
    context: Option<String>,
    /// Namespace of the rollout; default: that of the context.
    #[arg(long, short)]
    namespace: Option<String>,
}

/// A connection to the hub cluster.
#[derive(Clone)]
pub(super) struct Cluster {
    pub(super) client: Client,
    pub(super) namespace: String,
    server: String,
}

impl Connection {
    /// Runs a verb's work against the cluster.
    pub(super) fn run<T, W>(self, work: impl FnOnce(Cluster) -> W) -> Result<T, CliError>
    where
        W: Future<Output = Result<T, CliError>>,
    {
        block_on(async { work(self.connect().await?).await })
    }

    async fn connect(self) -> Result<Cluster, CliError> {
        let config = config(self.context).await?;
        let server = config.cluster_url.to_string();
        let namespace = self.namespace.unwrap_or_else(|| config.default_namespace.clone());
        let client = Client::try_from(config).map_err(|error| unusable(&error))?;
        Ok(Cluster { client, namespace, server })
    }
}

/// Runs asynchronous work to its end.
pub(super) fn block_on<T>(work: impl Future<Output = Result<T, CliError>>) -> Result<T, CliError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(work)
}

/// The kubeconfig of the user, or the Pod's service account. It may use `exec` and files, unlike a member's.
pub(super) async fn config(context: Option<String>) -> Result<Config, CliError> {
    let found = match context {
        None => Config::infer().await.map_err(|error| unusable(&error)),
        Some(context) => {
            let options = KubeConfigOptions { context: Some(context), ..KubeConfigOptions::default() };
            Config::from_kubeconfig(&options).await.map_err(|error| unusable(&error))
        }
    };
    let mut config = found?;
    config.connect_timeout = Some(DEADLINE);
    config.default_retry = false;
    Ok(config)
}

fn unusable(error: &dyn std::error::Error) -> CliError {
    CliError::Said(format!("no hub cluster: {}\nset KUBECONFIG, or name a context with --context", chain(error)))
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
        match tokio::time::timeout(DEADLINE, call).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(self.explain(needs, &error).await),
            Err(_) => Err(CliError::Said(format!(
                "the API server {} did not answer within {} s\nis it the right cluster? see --context and KUBECONFIG",
                self.server,
                DEADLINE.as_secs()
            ))),
        }
    }

    /// An error that says what failed, where, and the remedy.
    pub(super) async fn explain(&self, needs: &[Need], error: &Error) -> CliError {
        let server = &self.server;
        let said = match error {
            Error::Api(status) if status.code == 404 => {
                let name = status.details.as_ref().map(|details| details.name.as_str()).unwrap_or_default();
                if name.is_empty() { KINDS_MISSING.to_owned() } else { text::escape(&status.message) }
            }
            Error::Api(status) if status.code == 401 => {
                format!("{server} rejected these credentials; log in again")
            }
            Error::Api(status) if status.code == 403 => {
                let missing = tokio::time::timeout(DEADLINE, access::missing(&self.client, &self.namespace, needs))
                    .await
                    .unwrap_or_default();
                format!("{}{missing}", text::escape(&status.message))
            }
            Error::Api(status) => text::escape(&status.message),
            other => format!(
                "cannot talk to the API server {server}: {}\nis it the right cluster? see --context and KUBECONFIG",
                innermost(other)
            ),
        };
        CliError::Said(said)
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
        let (members, lease, open) = tokio::join!(self.members(), self.lease(), self.open_requests(&rollout));
        let mut view = View::new(rollout, lease, Timestamp::now());
        (view.members, view.open) = (members?, open);
        view.routes = live::shown(self, &view).await;
        Ok(view)
    }
}

const KINDS_MISSING: &str = "the CRDs of cutover are not installed in this cluster\ninstall them: cutover crd | kubectl apply --server-side -f -";

/// The message of the API server, or the cause of a connection error.
pub(super) fn words(error: &Error) -> String {
    match error {
        Error::Api(status) => text::escape(&status.message),
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

/// An error with its causes, each once.
fn chain(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let cause_words = cause.to_string();
        if !words.contains(&cause_words) {
            words = format!("{words}: {cause_words}");
        }
        next = cause.source();
    }
    text::escape(&words)
}
