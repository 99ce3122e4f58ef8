//! The gate before the first run: what `cutover hooks serve` serves, and `cutover hooks open` opens.

use std::net::SocketAddr;

use serde::Serialize;
use tokio::task::JoinHandle;

use super::declared::ROLLOUT;
use crate::{
    cli::{CliError, hooks},
    clock::Clock,
    hook::receiver,
    sandbox::server::ANY,
};

/// A receiver of hooks; it ends with the value.
pub(super) struct Gate {
    address: SocketAddr,
    serving: JoinHandle<()>,
}

/// How a gate stopped a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Stopped {
    /// What the rollout said.
    pub(super) message: String,
    /// The command that opens the gate.
    pub(super) opened_by: String,
}

impl Gate {
    /// A closed gate.
    pub(super) async fn start() -> Result<Self, CliError> {
        let options = receiver::Options {
            signing_key: None,
            targets: Vec::new(),
            target_roots: None,
            network: hooks::anywhere(),
            clock: Clock::default(),
        };
        let (address, serving) = hooks::listen(ANY, options).await?;
        Ok(Self { address, serving: tokio::spawn(serving) })
    }

    /// What a hook calls.
    pub(super) fn url(&self) -> String {
        format!("http://{}/gate/{ROLLOUT}", self.address)
    }

    /// Opens it, and says with which command a person does that.
    pub(super) async fn open(&self) -> Result<String, CliError> {
        let address = format!("http://{}", self.address);
        hooks::set(&address, ROLLOUT, "open", None).await?;
        Ok(format!("cutover hooks open {ROLLOUT} --address {address}"))
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.serving.abort();
    }
}
