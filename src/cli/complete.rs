//! What a shell completes: contexts, namespaces, rollouts and members. A person has pressed a key and waits, so it is
//! bounded in time, and silent about errors.

use std::{ffi::OsStr, fmt::Debug, future::Future, sync::mpsc, thread, time::Duration};

use clap_complete::CompletionCandidate;
use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, Resource, ResourceExt, api::ListParams};
use serde::de::DeserializeOwned;

use super::{
    cluster::Cluster,
    connection::{self, Connection, block_on},
};
use crate::api::{FleetRollout, MemberCluster};

/// Longest time between the key and the answer.
const PATIENCE: Duration = Duration::from_millis(1500);

/// The contexts of the kubeconfig.
pub(super) fn contexts(typed: &OsStr) -> Vec<CompletionCandidate> {
    let kubeconfig = connection::read(on_this_line().kubeconfig.as_deref());
    let names = kubeconfig.iter().flat_map(connection::contexts).map(str::to_owned);
    beginning(typed, names.collect())
}

/// The namespaces of the hub cluster.
pub(super) fn namespaces(typed: &OsStr) -> Vec<CompletionCandidate> {
    beginning(typed, in_time(|cluster| names(Api::<Namespace>::all(cluster.client))))
}

/// The rollouts of the namespace that the line names, or of the context's.
pub(super) fn rollouts(typed: &OsStr) -> Vec<CompletionCandidate> {
    beginning(typed, in_time(|cluster| names(cluster.api::<FleetRollout>())))
}

/// The members of the hub cluster.
pub(super) fn members(typed: &OsStr) -> Vec<CompletionCandidate> {
    beginning(typed, in_time(|cluster| names(Api::<MemberCluster>::all(cluster.client))))
}

async fn names<K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug>(api: Api<K>) -> Vec<String> {
    let listed = api.list_metadata(&ListParams::default()).await;
    listed.map(|list| list.items.iter().map(ResourceExt::name_any).collect()).unwrap_or_default()
}

/// What the cluster of this line lists in time, else nothing. A login program of the kubeconfig may wait for a person, so
/// a thread of its own waits for that.
fn in_time<F: Future<Output = Vec<String>>>(list: impl FnOnce(Cluster) -> F + Send + 'static) -> Vec<String> {
    let (sender, answer) = mpsc::channel();
    thread::spawn(move || {
        let listed = block_on(async { Ok(list(on_this_line().connect().await?).await) });
        // Nobody listens any more once it is late.
        let _ = sender.send(listed.unwrap_or_default());
    });
    answer.recv_timeout(PATIENCE).unwrap_or_default()
}

fn beginning(typed: &OsStr, names: Vec<String>) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    names.into_iter().filter(|name| name.starts_with(&*typed)).map(CompletionCandidate::new).collect()
}

/// The flags that have been typed so far.
fn on_this_line() -> Connection {
    let words: Vec<String> = std::env::args().collect();
    Connection {
        kubeconfig: flag(&words, "--kubeconfig", None).map(Into::into),
        context: flag(&words, "--context", None),
        namespace: flag(&words, "--namespace", Some("-n")),
        user: flag(&words, "--as", None),
        request_timeout: None,
    }
}

/// The value of a flag: `--flag VALUE`, `--flag=VALUE` or `-f VALUE`.
fn flag(words: &[String], long: &str, short: Option<&str>) -> Option<String> {
    let joined = words.iter().find_map(|word| word.strip_prefix(long)?.strip_prefix('='));
    let place = words.iter().position(|word| word == long || Some(word.as_str()) == short);
    let value = joined.or_else(|| words.get(place? + 1).map(String::as_str));
    value.filter(|value| !value.is_empty() && !value.starts_with('-')).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::flag;

    #[test]
    fn a_flag_is_found_in_each_of_its_forms() {
        for line in ["get -n shop", "get --namespace shop", "get --namespace=shop x"] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(flag(&words, "--namespace", Some("-n")).as_deref(), Some("shop"), "{line}");
        }
        let words = ["get", "-n", "--context"].map(str::to_owned);
        assert_eq!(flag(&words, "--namespace", Some("-n")), None);
    }
}
