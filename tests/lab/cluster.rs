//! A cluster as its users see it: an API server, kubeconfigs, clients, objects.

use crate::{
    apiserver::{ADMIN, ApiServer, PORT, token},
    audit,
    parts::Parts,
    pki::Pki,
    wait::{eventually, seconds},
};
use anyhow::{Context, Result};
use k8s_openapi::{
    api::{
        authentication::v1::{TokenRequest, TokenRequestSpec},
        core::v1::ServiceAccount,
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client, Config,
    api::{DynamicObject, Patch, PatchParams, PostParams, TypeMeta},
    config::{KubeConfigOptions, Kubeconfig},
    core::GroupVersionKind,
    runtime::{conditions, wait::await_condition},
};
use serde_json::Value;
use std::{
    io::Write,
    net::Ipv4Addr,
    path::{Path, PathBuf},
};
use tempfile::NamedTempFile;

/// The hub or a member.
pub struct Cluster {
    pub name: String,
    pub address: Ipv4Addr,
    pub server: ApiServer,
    /// An administrator's client.
    pub client: Client,
    ca: String,
    folder: PathBuf,
}

impl Cluster {
    /// Starts it and waits until it is ready.
    pub async fn start(name: &str, address: Ipv4Addr, parts: &Parts, folder: &Path, pki: &Pki) -> Result<Self> {
        let server = ApiServer::new(name, address, parts, folder, pki)?;
        server.start().await?;
        let client = client(&kubeconfig(name, address, &pki.ca, ADMIN, &token(name, ADMIN))).await?;
        Ok(Self { name: name.to_owned(), address, server, client, ca: pki.ca.clone(), folder: folder.join(name) })
    }

    /// The kubeconfig of one of `apiserver::USERS`: https, CA data, a token.
    pub fn kubeconfig(&self, user: &str) -> String {
        kubeconfig(&self.name, self.address, &self.ca, user, &token(&self.name, user))
    }

    /// The file of a kubeconfig with a fresh token of a service account, which is good for a day.
    pub async fn kubeconfig_of_account(&self, namespace: &str, account: &str) -> Result<PathBuf> {
        let token = self.token(namespace, account, Vec::new()).await?;
        let file = self.folder.join(format!("{account}.account.kubeconfig"));
        write_whole(&file, &kubeconfig(&self.name, self.address, &self.ca, account, &token))?;
        Ok(file)
    }

    /// A fresh token of a service account for somebody else than this API server.
    pub async fn token_of_account(&self, namespace: &str, account: &str, audience: &str) -> Result<String> {
        self.token(namespace, account, vec![audience.to_owned()]).await
    }

    async fn token(&self, namespace: &str, account: &str, audiences: Vec<String>) -> Result<String> {
        let accounts = Api::<ServiceAccount>::namespaced(self.client.clone(), namespace);
        let spec =
            TokenRequestSpec { audiences, expiration_seconds: Some(24 * 60 * 60), ..TokenRequestSpec::default() };
        let request = TokenRequest { spec, ..TokenRequest::default() };
        let made = accounts.create_token_request(account, &PostParams::default(), &request).await?;
        Ok(made.status.context("a token request without an answer")?.token)
    }

    pub fn kubeconfig_file(&self, user: &str) -> Result<PathBuf> {
        let file = self.folder.join(format!("{user}.kubeconfig"));
        write_whole(&file, &self.kubeconfig(user))?;
        Ok(file)
    }

    pub async fn client_as(&self, user: &str) -> Result<Client> {
        client(&self.kubeconfig(user)).await
    }

    /// The requests of a user to this cluster's API server so far.
    pub fn requests(&self, user: &str) -> Result<Vec<audit::Request>> {
        audit::requests(&self.server.audit_log(), user)
    }

    /// Applies every object of a YAML text, as the field manager `lab`; an object without namespace goes into `namespace`.
    pub async fn apply(&self, namespace: &str, yaml: &str) -> Result<()> {
        for object in serde_yaml::from_multiple::<Value>(yaml)? {
            // An allocator or an admission plugin may not be ready right after the start.
            eventually("apply", seconds(20), async || self.apply_one(namespace, &object).await).await?;
        }
        Ok(())
    }

    /// Creates every object of a YAML text as a person with `kubectl create` does: its fields belong to no applier.
    pub async fn create(&self, namespace: &str, yaml: &str) -> Result<()> {
        for object in serde_yaml::from_multiple::<DynamicObject>(yaml)? {
            let kind = object.types.as_ref().context("an object without a kind")?;
            let api = self.api(&kind.api_version, &kind.kind, namespace).await?;
            let parameters = PostParams { field_manager: Some("kubectl-create".to_owned()), ..PostParams::default() };
            api.create(&parameters, &object).await.with_context(|| kind.kind.clone())?;
        }
        Ok(())
    }

    async fn apply_one(&self, namespace: &str, object: &Value) -> Result<()> {
        let object: DynamicObject = serde_json::from_value(object.clone())?;
        let name = object.metadata.name.clone().context("an object without a name")?;
        let kind = object.types.as_ref().context("an object without a kind")?;
        let namespace = object.metadata.namespace.as_deref().unwrap_or(namespace);
        let api = self.api(&kind.api_version, &kind.kind, namespace).await?;
        let parameters = PatchParams::apply("lab").force();
        api.patch(&name, &parameters, &Patch::Apply(&object)).await.with_context(|| name.clone())?;
        if object.data.get("status").is_some() {
            api.patch_status(&name, &parameters, &Patch::Apply(&object)).await.with_context(|| name.clone())?;
        }
        Ok(())
    }

    /// Objects of any kind, as the administrator; the namespace of a cluster-scoped kind is ignored.
    pub async fn api(&self, api_version: &str, kind: &str, namespace: &str) -> Result<Api<DynamicObject>> {
        let types = TypeMeta { api_version: api_version.to_owned(), kind: kind.to_owned() };
        let kind = GroupVersionKind::try_from(types)?;
        let (resource, capabilities) = kube::discovery::pinned_kind(&self.client, &kind).await?;
        Ok(match capabilities.scope {
            kube::discovery::Scope::Cluster => Api::all_with(self.client.clone(), &resource),
            kube::discovery::Scope::Namespaced => Api::namespaced_with(self.client.clone(), namespace, &resource),
        })
    }

    pub async fn create_namespace(&self, name: &str) -> Result<()> {
        self.apply("", &format!("{{apiVersion: v1, kind: Namespace, metadata: {{name: {name}}}}}")).await
    }

    /// Creates the custom resource definitions in a folder and waits until they are served.
    pub async fn install_crds(&self, folder: &Path) -> Result<()> {
        for entry in std::fs::read_dir(folder)? {
            let text = std::fs::read_to_string(entry?.path())?;
            for document in text.split("\n---").filter(|part| part.contains("\nkind: CustomResourceDefinition")) {
                self.install_crd(document).await?;
            }
        }
        Ok(())
    }

    /// The text goes to the API server as it is: some definitions are larger than a YAML parser's limits like.
    async fn install_crd(&self, yaml: &str) -> Result<()> {
        let request = http::Request::post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions")
            .header(http::header::CONTENT_TYPE, "application/yaml")
            .body(yaml.as_bytes().to_vec())?;
        let created: CustomResourceDefinition = self.client.request(request).await?;
        let name = created.metadata.name.context("a definition without a name")?;
        let served = await_condition(Api::all(self.client.clone()), &name, conditions::is_crd_established());
        tokio::time::timeout(seconds(20), served).await.with_context(|| format!("{name} is not served"))??;
        Ok(())
    }
}

/// Writes a file that other tests may be reading: they see the old text or the new one.
fn write_whole(file: &Path, text: &str) -> Result<()> {
    let mut fresh = NamedTempFile::new_in(file.parent().context("a file in a folder")?)?;
    fresh.write_all(text.as_bytes())?;
    fresh.persist(file)?;
    Ok(())
}

fn kubeconfig(cluster: &str, address: Ipv4Addr, ca: &str, user: &str, token: &str) -> String {
    let ca = serde_json::json!(k8s_openapi::ByteString(ca.into()));
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: {cluster}\n\
         clusters:\n- name: {cluster}\n  cluster: {{server: \"https://{address}:{PORT}\", certificate-authority-data: {ca}}}\n\
         users:\n- name: {user}\n  user: {{token: {token}}}\n\
         contexts:\n- name: {cluster}\n  context: {{cluster: {cluster}, user: {user}}}\n"
    )
}

async fn client(kubeconfig: &str) -> Result<Client> {
    let kubeconfig = Kubeconfig::from_yaml(kubeconfig)?;
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    // A test that stops something wants the first answer: by default a 503 is retried for minutes.
    config.default_retry = false;
    Ok(Client::try_from(config)?)
}
