//! `cutover crd`: the kinds, as an API server is told of them.

use super::{CliError, Exit, Output};
use crate::{api::crd::definitions, yaml};

/// Print the custom resource definitions.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  cutover crd | kubectl apply --server-side -f -")]
pub(super) struct Crd {}

impl Crd {
    pub(super) fn run(&self, out: &mut Output) -> Result<Exit, CliError> {
        for definition in definitions().map_err(CliError::said)? {
            out.line("---")?;
            out.text(&yaml::print(&definition).map_err(CliError::said)?)?;
        }
        Ok(Exit::Done)
    }
}
