//! `cutover version`: of this command, and of the hub.

use k8s_openapi::api::apps::v1::Deployment;
use kube::{Api, api::ListParams};
use serde_json::json;

use super::{
    CliError, Exit, Format, Output,
    cluster::{Cluster, Connection},
    hub_liveness,
    text::escape,
};

/// The labels of the hub's Deployment in deploy/hub.yaml.
const HUB: &str = "app.kubernetes.io/name=cutover,app.kubernetes.io/component=hub";

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

/// The image of the hub's Deployment.
async fn image(cluster: &Cluster) -> Result<String, CliError> {
    let api: Api<Deployment> = Api::namespaced(cluster.client.clone(), hub_liveness::NAMESPACE);
    let found = cluster.call(&[], api.list(&ListParams::default().labels(HUB))).await?;
    let pods = found.items.into_iter().filter_map(|deployment| deployment.spec?.template.spec);
    let image = pods.flat_map(|pod| pod.containers).find_map(|container| container.image);
    image.ok_or_else(|| CliError::Said(format!("no Deployment of the hub in namespace {}", hub_liveness::NAMESPACE)))
}
