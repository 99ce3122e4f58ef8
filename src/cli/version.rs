//! `cutover version`: of this command, and of the hub.

use serde_json::json;

use super::{
    CliError, Exit, Format, Output,
    cluster::{Cluster, Connection},
    hub_deployment::HubDeployment,
    hub_liveness,
    text::escape,
};

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
    let found = HubDeployment::list(cluster, hub_liveness::NAMESPACE).await?;
    let image = found.iter().find_map(HubDeployment::image).map(ToOwned::to_owned);
    image.ok_or_else(|| CliError::Said(format!("no Deployment of the hub in namespace {}", hub_liveness::NAMESPACE)))
}
