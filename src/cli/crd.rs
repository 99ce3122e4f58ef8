//! `cutover crd`: the kinds, as an API server is told of them.

use kube::CustomResourceExt;

use super::{CliError, Exit, Output};
use crate::{
    api::{FleetRollout, MemberCluster, RolloutRequest},
    yaml,
};

/// Print the custom resource definitions.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  cutover crd | kubectl apply --server-side -f -")]
pub(super) struct Crd {}

impl Crd {
    pub(super) fn run(self, out: &mut Output) -> Result<Exit, CliError> {
        for crd in [FleetRollout::crd(), MemberCluster::crd(), RolloutRequest::crd()] {
            out.line("---")?;
            out.text(&yaml::print(&crd).map_err(|error| CliError::Said(error.to_string()))?)?;
        }
        Ok(Exit::Done)
    }
}
