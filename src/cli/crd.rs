//! `cutover crd`: the custom resource definitions.

use super::{CliError, Exit, Output};
use crate::api::crd::definitions;

/// Print the custom resource definitions.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  cutover crd | kubectl apply --server-side -f -
  cutover crd fleetrollouts > config/crd/fleetrollouts.yaml

Exit status: 0 done, 1 an error.")]
pub(super) struct Crd {
    /// Only the one with this plural name; default: all.
    #[arg(value_parser = ["fleetrollouts", "memberclusters", "metrictemplates", "rolloutrequests", "alertproviders"])]
    name: Option<String>,
}

impl Crd {
    pub(super) fn run(&self, out: &mut Output) -> Result<Exit, CliError> {
        let selected = |plural: &str| self.name.as_deref().is_none_or(|name| name == plural);
        for definition in definitions().map_err(CliError::said)? {
            if definition["spec"]["names"]["plural"].as_str().is_some_and(selected) {
                out.line("---")?;
                out.yaml(&definition)?;
            }
        }
        Ok(Exit::Done)
    }
}
