//! `cutover version`: of this command, and of the hub.

use kube::{
    Api,
    api::ListParams,
    core::{ApiResource, DynamicObject, GroupVersionKind},
};
use serde_json::json;

use super::{
    CliError, Exit, Format, Output,
    cluster::{Cluster, Connection},
    hub_liveness,
    text::escape,
};

/// The labels of the hub's Deployment in deploy/hub.yaml.
pub(super) const HUB: &str = "app.kubernetes.io/name=cutover,app.kubernetes.io/component=hub";

/// Where its image is.
const IMAGE: &str = "/spec/template/spec/containers/0/image";

/// Show the version of this command, and the image of the hub.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  cutover version
  cutover version --client -o json

Exit status: 0 also where the hub's image is not known, 1 an error.")]
pub(super) struct Version {
    /// Only this command; needs no cluster.
    #[arg(long)]
    client: bool,
    /// Output format.
    #[arg(short, long, value_enum, default_value_t)]
    output: Format,
    #[command(flatten)]
    connection: Connection,
}

impl Version {
    pub(super) fn run(self, out: &mut Output) -> Result<Exit, CliError> {
        let client = env!("CARGO_PKG_VERSION");
        let hub = (!self.client).then(|| match self.connection.run(async |cluster| image(&cluster).await) {
            Ok(image) => image,
            Err(error) => format!("not known: {}", error.to_string().lines().next().unwrap_or_default()),
        });
        match self.output {
            Format::Json => out.json(&json!({"client": client, "hub": hub}))?,
            Format::Text => {
                out.line(format!("client   {client}"))?;
                if let Some(hub) = hub {
                    out.line(format!("hub      {}", escape(&hub)))?;
                }
            }
        }
        Ok(Exit::Done)
    }
}

/// The image of the hub's Deployment. The object is read as it is: its type would be half a megabyte of the binary.
async fn image(cluster: &Cluster) -> Result<String, CliError> {
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("apps", "v1", "Deployment"));
    let api: Api<DynamicObject> = Api::namespaced_with(cluster.client.clone(), hub_liveness::NAMESPACE, &kind);
    let found = cluster.call(&[], api.list(&ListParams::default().labels(HUB))).await?;
    let first = |deployment: &DynamicObject| deployment.data.pointer(IMAGE)?.as_str().map(ToOwned::to_owned);
    let image = found.items.iter().find_map(first);
    image.ok_or_else(|| CliError::Said(format!("no Deployment of the hub in namespace {}", hub_liveness::NAMESPACE)))
}
