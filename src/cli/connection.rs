//! Which cluster is the hub, and as whom: the flags are those of kubectl.

use std::{
    future::Future,
    path::{Path, PathBuf},
};

use clap_complete::ArgValueCompleter;
use http::{HeaderName, HeaderValue};
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig, KubeconfigError},
};

use super::{
    CliError,
    cluster::{Cluster, DEADLINE},
    complete, text,
};
use crate::{api::Duration, validate::nearest};

/// Which cluster is the hub, and which namespace of it.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct Connection {
    /// Your kubeconfig; default: KUBECONFIG, else ~/.kube/config, else the Pod's service account.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(super) kubeconfig: Option<PathBuf>,
    /// Context of the hub cluster in your kubeconfig; default: the current one.
    #[arg(long, add = ArgValueCompleter::new(complete::contexts))]
    pub(super) context: Option<String>,
    /// Namespace of the rollout; default: that of the context.
    #[arg(long, short, add = ArgValueCompleter::new(complete::namespaces))]
    pub(super) namespace: Option<String>,
    /// Act as this user, if you may impersonate it.
    #[arg(long = "as", value_name = "USER")]
    pub(super) user: Option<String>,
    /// Longest time for one call to the API server, such as 10s; default: 5s.
    #[arg(long, value_name = "TIME", value_parser = timeout)]
    pub(super) request_timeout: Option<Duration>,
}

/// A time, or seconds as kubectl takes them.
fn timeout(text: &str) -> Result<Duration, String> {
    let time = if text.bytes().all(|byte| byte.is_ascii_digit()) { format!("{text}s") } else { text.to_owned() };
    match time.parse() {
        Ok(time) if time > Duration::ZERO => Ok(time),
        Ok(_) | Err(_) => Err("write a time of more than 0, such as 10s".to_owned()),
    }
}

/// The name of a rollout, also as `fr/NAME`.
pub(super) fn rollout_name(text: &str) -> Result<String, String> {
    match text.split_once('/') {
        None => Ok(text.to_owned()),
        Some((
            "fr" | "fleetrollout" | "fleetrollouts" | "fleetrollout.cutover.dev" | "fleetrollouts.cutover.dev",
            name,
        )) => Ok(name.to_owned()),
        Some((kind, _)) => {
            Err(format!("{kind:?} is no kind of rollout; write NAME or fr/NAME, and the namespace with -n"))
        }
    }
}

impl Connection {
    /// Runs a verb's work against the cluster.
    pub(super) fn run<T, W>(self, work: impl FnOnce(Cluster) -> W) -> Result<T, CliError>
    where
        W: Future<Output = Result<T, CliError>>,
    {
        block_on(async { work(self.connect().await?).await })
    }

    pub(super) async fn connect(self) -> Result<Cluster, CliError> {
        let mut config = self.config().await?;
        let deadline = self.request_timeout.map_or(DEADLINE, Duration::to_std);
        config.connect_timeout = Some(deadline);
        if let Some(user) = self.user.or(config.auth_info.impersonate.take()) {
            let user = HeaderValue::try_from(user).map_err(|_| CliError::Said("--as: no name of a user".to_owned()))?;
            config.headers.push((HeaderName::from_static("impersonate-user"), user));
        }
        let server = config.cluster_url.to_string();
        let namespace = self.namespace.unwrap_or_else(|| config.default_namespace.clone());
        let client = Client::try_from(config).map_err(|error| unusable(&error))?;
        Ok(Cluster { client, namespace, server, deadline })
    }

    /// The kubeconfig of the user, or the Pod's service account. It may use `exec` and files, unlike a member's.
    async fn config(&self) -> Result<Config, CliError> {
        let is_named = self.kubeconfig.is_some() || self.context.is_some();
        let kubeconfig = match read(self.kubeconfig.as_deref()) {
            Ok(kubeconfig) => kubeconfig,
            Err(error) => return Config::incluster().ok().filter(|_| !is_named).ok_or_else(|| unreadable(&error)),
        };
        chosen(&kubeconfig, self.context.as_deref())?;
        let options = KubeConfigOptions { context: self.context.clone(), ..KubeConfigOptions::default() };
        let mut config =
            Config::from_custom_kubeconfig(kubeconfig, &options).await.map_err(|error| unusable(&error))?;
        config.connect_timeout = Some(DEADLINE);
        config.default_retry = false;
        Ok(config)
    }
}

/// Runs asynchronous work to its end.
pub(super) fn block_on<T>(work: impl Future<Output = Result<T, CliError>>) -> Result<T, CliError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(work)
}

/// How a cluster of the user's kubeconfig is reached.
pub(super) async fn config(context: Option<String>) -> Result<Config, CliError> {
    Connection { context, ..Connection::default() }.config().await
}

/// The kubeconfig of the user, which has this context.
pub(super) fn kubeconfig_with(context: &str) -> Result<Kubeconfig, CliError> {
    let kubeconfig = read(None).map_err(|error| unreadable(&error))?;
    chosen(&kubeconfig, Some(context)).map(|()| kubeconfig)
}

pub(super) fn read(file: Option<&Path>) -> Result<Kubeconfig, KubeconfigError> {
    file.map_or_else(Kubeconfig::read, Kubeconfig::read_from)
}

/// Names of the contexts.
pub(super) fn contexts(kubeconfig: &Kubeconfig) -> Vec<&str> {
    kubeconfig.contexts.iter().map(|context| context.name.as_str()).collect()
}

/// A context is chosen, and it is there.
fn chosen(kubeconfig: &Kubeconfig, context: Option<&str>) -> Result<(), CliError> {
    let known = contexts(kubeconfig);
    let list = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    let said = match context.or(kubeconfig.current_context.as_deref()) {
        Some(name) if known.contains(&name) => return Ok(()),
        None | Some("") => format!("your kubeconfig chooses no context\nname one with --context; there are: {list}"),
        Some(name) => {
            let near = nearest(name, known).map(|near| format!("did you mean {near}? ")).unwrap_or_default();
            format!("your kubeconfig has no context {name:?}\n{near}there are: {list}")
        }
    };
    Err(CliError::Said(text::escape_lines(&said)))
}

/// A kubeconfig holds tokens, so nothing of it is repeated.
fn unreadable(error: &KubeconfigError) -> CliError {
    let what = match error {
        KubeconfigError::ReadConfig(source, path) => {
            let why = if source.kind() == std::io::ErrorKind::NotFound {
                "does not exist".to_owned()
            } else {
                source.to_string()
            };
            format!("kubeconfig {} {why}", path.display())
        }
        KubeconfigError::FindPath => "no kubeconfig: KUBECONFIG is not set, and there is no home folder".to_owned(),
        KubeconfigError::Parse(_) => "your kubeconfig is not readable as YAML; see kubectl config view".to_owned(),
        other => format!("your kubeconfig is not usable: {other}"),
    };
    CliError::Said(format!("{}\nset KUBECONFIG, or give --kubeconfig FILE", text::escape(&what)))
}

fn unusable(error: &dyn std::error::Error) -> CliError {
    let words = chain(error);
    CliError::Said(format!(
        "no hub cluster: {}\nset KUBECONFIG, or name a context with --context",
        text::cut(&words, 300)
    ))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rollout_may_be_named_with_its_kind() {
        for text in ["shop", "fr/shop", "fleetrollout/shop", "fleetrollouts.cutover.dev/shop"] {
            assert_eq!(rollout_name(text).as_deref(), Ok("shop"));
        }
        assert_eq!(
            rollout_name("shop/shop"),
            Err("\"shop\" is no kind of rollout; write NAME or fr/NAME, and the namespace with -n".to_owned())
        );
    }

    #[test]
    fn a_timeout_is_a_time_or_seconds() {
        assert_eq!(timeout("10"), Ok(Duration::from_secs(10)));
        assert_eq!(timeout("1m"), Ok(Duration::from_secs(60)));
        assert!(["0", "0s", "", "x"].iter().all(|text| timeout(text).is_err()));
    }
}
