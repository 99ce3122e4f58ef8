//! `cutover member kubeconfig`: the Secret with which the hub reaches a member, from a service account of that member.

use clap_complete::ArgValueCompleter;
use k8s_openapi::{
    ByteString,
    api::{
        authentication::v1::{TokenRequest, TokenRequestSpec},
        core::v1::{Secret, ServiceAccount},
    },
};
use kube::{
    Api, Client,
    api::{Patch, PatchParams, PostParams},
    config::Cluster as KubeCluster,
    core::ObjectMeta,
};
use serde_json::{Value, json};

use super::{CliError, Exit, Output, cluster, complete, connection, hub_liveness, text};
use crate::{
    api::{Duration, FIELD_MANAGER, PURPOSE_LABEL, Purpose},
    yaml,
};

/// Prepare a member cluster for the hub.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  cutover member kubeconfig eu-3 --context eu-3 --service-account cutover/cutover-member --apply\n\nExit status: 0 done, 1 an error."
)]
pub(super) struct Member {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Kubeconfig(Kube),
}

/// Create the Secret with a member's kubeconfig from a service account of the member.
///
/// The token comes from a token request: it is bound to the service account, is revoked with it, and expires within days. The
/// hub renews it where config/rbac/member-token-renewal.yaml is applied in the member. Elsewhere run the same command again with
/// --apply, from a daily job for example. The hub uses a new token without a restart.
/// The Secret carries the label cutover.dev/purpose: kubeconfig, without which the hub does not see it.
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("destination").required(true).args(["apply", "output"])))]
#[command(after_help = "Examples:
  kubectl --context eu-3 apply -f config/rbac/member.yaml -f config/rbac/member-token-renewal.yaml
  cutover member kubeconfig eu-3 --context eu-3 --service-account cutover/cutover-member --apply
  cutover member kubeconfig eu-3 --context eu-3 --service-account cutover/cutover-member -o yaml | kubeseal

Then set kubeconfigSecretRef: {name: eu-3, key: kubeconfig} in MemberCluster eu-3.

Exit status: 0 done, 1 an error.")]
struct Kube {
    /// Name of the MemberCluster, and of the Secret.
    #[arg(add = ArgValueCompleter::new(complete::members))]
    name: String,
    /// Context of the member in your kubeconfig.
    #[arg(long, add = ArgValueCompleter::new(complete::contexts))]
    context: String,
    /// The service account of the member, as NAMESPACE/NAME.
    #[arg(long, value_parser = account)]
    service_account: Account,
    /// Lifetime of the token, at most 720h; the member's API server may shorten it.
    #[arg(long, default_value = "168h", value_parser = lifetime)]
    lifetime: Duration,
    /// Address of the member's API server for the hub, if it differs from yours.
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// Apply the Secret to the hub cluster.
    #[arg(long)]
    apply: bool,
    /// Context of the hub cluster in your kubeconfig; default: the current one.
    #[arg(long, requires = "apply", add = ArgValueCompleter::new(complete::contexts))]
    hub_context: Option<String>,
    /// Namespace of the hub, for the Secret.
    #[arg(long, default_value = hub_liveness::NAMESPACE)]
    hub_namespace: String,
    /// Print the Secret, token included.
    #[arg(long, short)]
    output: Option<Shape>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Shape {
    /// A manifest.
    Yaml,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Account {
    namespace: String,
    name: String,
}

fn account(text: &str) -> Result<Account, String> {
    match text.split_once('/') {
        Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() && !name.contains('/') => {
            Ok(Account { namespace: namespace.to_owned(), name: name.to_owned() })
        }
        _ => Err("write NAMESPACE/NAME".to_owned()),
    }
}

/// Whoever copies a token has it until it ends.
const LONGEST: Duration = Duration::from_secs(30 * 24 * 60 * 60);

fn lifetime(text: &str) -> Result<Duration, String> {
    let lifetime: Duration = text.parse().map_err(|error| format!("{error}"))?;
    if lifetime > LONGEST {
        return Err(format!(
            "longer than {LONGEST}; let the hub renew the token, or run the same command again instead"
        ));
    }
    Ok(lifetime)
}

impl Member {
    pub(super) fn run(self, out: &mut Output) -> Result<Exit, CliError> {
        let Command::Kubeconfig(kube) = self.command;
        cluster::block_on(kube.run(out))
    }
}

impl Kube {
    async fn run(self, out: &mut Output) -> Result<Exit, CliError> {
        let place = place(&self.context, self.server.clone())?;
        let (token, expires) = token(&self).await?;
        let kubeconfig = yaml::print(&kubeconfig(&self.name, &place, &token)).map_err(CliError::said)?;
        let secret = secret(&self.name, &self.hub_namespace, kubeconfig);
        if self.output == Some(Shape::Yaml) {
            out.yaml(&secret)?;
        }
        if self.apply {
            apply(&self, &secret).await?;
            let (name, namespace) = (&self.name, &self.hub_namespace);
            out.line(format!("Secret {namespace}/{name} applied; its token expires {}", text::day_and_clock(expires)))?;
        }
        Ok(Exit::Done)
    }
}

/// A member's API server, in the only form that the hub accepts.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    server: String,
    /// PEM, in base64.
    authority: String,
    server_name: Option<String>,
}

fn place(context: &str, server: Option<String>) -> Result<Place, CliError> {
    let config = connection::kubeconfig_with(context)?;
    let found = config.contexts.iter().find(|known| known.name == context).and_then(|known| known.context.as_ref());
    let entry = found.ok_or_else(|| CliError::said(format!("your kubeconfig has no context {context:?}")))?;
    let named = config.clusters.into_iter().find(|known| known.name == entry.cluster).and_then(|known| known.cluster);
    let cluster = named.ok_or_else(|| CliError::said(format!("context {context}: no cluster {:?}", entry.cluster)))?;
    place_of(cluster, server, |path| std::fs::read(path))
        .map_err(|why| CliError::said(format!("context {context}: {why}")))
}

fn place_of(
    cluster: KubeCluster,
    server: Option<String>,
    read: impl FnOnce(&str) -> std::io::Result<Vec<u8>>,
) -> Result<Place, String> {
    let server = server.or(cluster.server).unwrap_or_default();
    if !server.starts_with("https://") {
        return Err(format!("server {server:?} is not https, which the hub refuses"));
    }
    let authority = match (cluster.certificate_authority_data, cluster.certificate_authority) {
        (Some(data), _) => data,
        (None, Some(path)) => base64(read(&path).map_err(|error| format!("certificate-authority {path}: {error}"))?),
        (None, None) => return Err("no certificate-authority-data, which the hub needs".to_owned()),
    };
    Ok(Place { server, authority, server_name: cluster.tls_server_name })
}

fn base64(bytes: Vec<u8>) -> String {
    json!(ByteString(bytes)).as_str().unwrap_or_default().to_owned()
}

/// A token of the service account, and its expiry.
async fn token(kube: &Kube) -> Result<(String, jiff::Timestamp), CliError> {
    let member = client(Some(kube.context.clone())).await?;
    let Account { namespace, name } = &kube.service_account;
    let accounts: Api<ServiceAccount> = Api::namespaced(member, namespace);
    let seconds = i64::try_from(kube.lifetime.as_millis() / 1000).unwrap_or(i64::MAX);
    let spec = TokenRequestSpec { expiration_seconds: Some(seconds), ..TokenRequestSpec::default() };
    let request = TokenRequest { spec, ..TokenRequest::default() };
    let made = deadline(accounts.create_token_request(name, &PostParams::default(), &request)).await;
    let made = made.map_err(|why| {
        CliError::said(format!("no token for ServiceAccount {namespace}/{name} in context {}: {why}", kube.context))
    })?;
    let status = made.status.ok_or_else(|| CliError::said("the member's API server returned no token"))?;
    Ok((status.token, status.expiration_timestamp.0))
}

async fn client(context: Option<String>) -> Result<Client, CliError> {
    Client::try_from(cluster::config(context).await?).map_err(CliError::said)
}

/// The kubeconfig that the hub accepts: one cluster, one user, one context, all data inline.
fn kubeconfig(name: &str, place: &Place, token: &str) -> Value {
    let mut cluster = json!({"server": place.server, "certificate-authority-data": place.authority});
    if let Some(server_name) = &place.server_name {
        cluster["tls-server-name"] = json!(server_name);
    }
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": name, "user": {"token": token}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name
    })
}

fn secret(name: &str, namespace: &str, kubeconfig: String) -> Secret {
    Secret {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            namespace: Some(namespace.to_owned()),
            labels: Some([(PURPOSE_LABEL.to_owned(), Purpose::Kubeconfig.to_string())].into()),
            ..ObjectMeta::default()
        },
        type_: Some("Opaque".to_owned()),
        data: Some([("kubeconfig".to_owned(), ByteString(kubeconfig.into_bytes()))].into()),
        ..Secret::default()
    }
}

async fn apply(kube: &Kube, secret: &Secret) -> Result<(), CliError> {
    let secrets: Api<Secret> = Api::namespaced(client(kube.hub_context.clone()).await?, &kube.hub_namespace);
    let params = PatchParams::apply(FIELD_MANAGER).force();
    let applied = deadline(secrets.patch(&kube.name, &params, &Patch::Apply(secret))).await;
    applied
        .map(|_| ())
        .map_err(|why| CliError::said(format!("cannot apply Secret {}/{}: {why}", kube.hub_namespace, kube.name)))
}

async fn deadline<T>(call: impl Future<Output = Result<T, kube::Error>>) -> Result<T, String> {
    match tokio::time::timeout(cluster::DEADLINE, call).await {
        Ok(answer) => answer.map_err(|error| cluster::words(&error)),
        Err(_) => Err(format!("no answer within {} s", cluster::DEADLINE.as_secs())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster(text: &str) -> KubeCluster {
        serde_json::from_str(text).unwrap()
    }

    fn unread(_: &str) -> std::io::Result<Vec<u8>> {
        Err(std::io::Error::other("must not be read"))
    }

    #[test]
    fn the_kubeconfig_has_what_the_restricted_reader_takes_and_nothing_else() {
        let context = cluster(
            r#"{"server": "https://eu-3:6443", "certificate-authority-data": "Q0E=", "tls-server-name": "kubernetes",
                "proxy-url": "http://proxy"}"#,
        );
        let place = place_of(context, None, unread).unwrap();
        let expected = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "eu-3",
            "clusters": [{"name": "eu-3", "cluster": {
                "server": "https://eu-3:6443", "certificate-authority-data": "Q0E=", "tls-server-name": "kubernetes"
            }}],
            "users": [{"name": "eu-3", "user": {"token": "t"}}],
            "contexts": [{"name": "eu-3", "context": {"cluster": "eu-3", "user": "eu-3"}}]
        });
        assert_eq!(kubeconfig("eu-3", &place, "t"), expected);
    }

    #[test]
    fn a_certificate_file_of_the_person_is_put_in_itself() {
        let context = cluster(r#"{"server": "https://eu-3:6443", "certificate-authority": "/pki/ca.pem"}"#);
        let place = place_of(context, Some("https://10.0.0.3:6443".to_owned()), |path| {
            assert_eq!(path, "/pki/ca.pem");
            Ok(b"CA".to_vec())
        });
        let server = "https://10.0.0.3:6443".to_owned();
        assert_eq!(place, Ok(Place { server, authority: "Q0E=".to_owned(), server_name: None }));
    }

    #[test]
    fn what_the_hub_would_refuse_is_not_made() {
        let plain = place_of(cluster(r#"{"server": "http://eu-3:8080"}"#), None, unread);
        assert_eq!(plain, Err("server \"http://eu-3:8080\" is not https, which the hub refuses".to_owned()));
        let bare = place_of(cluster(r#"{"server": "https://eu-3"}"#), None, unread);
        assert_eq!(bare, Err("no certificate-authority-data, which the hub needs".to_owned()));
    }

    #[test]
    fn the_secret_says_what_it_is_for() {
        let secret = serde_json::to_value(secret("eu-3", "cutover-system", "{}".to_owned())).unwrap();
        assert_eq!(secret["metadata"]["labels"], json!({"cutover.dev/purpose": "kubeconfig"}));
    }

    #[test]
    fn a_token_lives_for_days() {
        assert_eq!(lifetime("720h"), Ok(LONGEST));
        let said = lifetime("721h").unwrap_err();
        assert_eq!(said, "longer than 720h; let the hub renew the token, or run the same command again instead");
    }

    #[test]
    fn a_service_account_has_a_namespace_and_a_name() {
        assert!(account("cutover/hub").is_ok());
        for wrong in ["hub", "/hub", "cutover/", "a/b/c"] {
            assert!(account(wrong).is_err(), "{wrong}");
        }
    }
}
