//! Why the story is not as it should be.

use std::time::Duration;

use super::world::WorldError;

/// Longest time that anything takes, on a machine that has much else to do.
pub(super) const PATIENCE: Duration = Duration::from_mins(1);

/// Why the story is not as it should be.
#[derive(Debug, thiserror::Error)]
pub(super) enum Wrong {
    /// An observed share is not the desired one.
    #[error("{0}")]
    Share(String),
    /// Something did not happen.
    #[error("{what} did not happen within {} s; the rollout says: {said}", PATIENCE.as_secs())]
    Never { what: String, said: String },
    /// The run ended in another way.
    #[error("the run ended before {what}: {said}")]
    Ended { what: String, said: String },
    /// The hub process is not there any more.
    #[error("the hub ended by itself before {0}")]
    Hub(String),
    /// The gate before the first run.
    #[error("the gate: {0}")]
    Gate(String),
    /// The world does not turn.
    #[error("{0}")]
    World(#[from] WorldError),
}

impl From<kube::Error> for Wrong {
    fn from(error: kube::Error) -> Self {
        Self::World(error.into())
    }
}

impl Wrong {
    /// With the end of the hub's log, where it may tell more.
    pub(super) fn explain(&self, log: &str) -> String {
        match self {
            Self::Share(_) | Self::Gate(_) => self.to_string(),
            Self::Never { .. } | Self::Ended { .. } | Self::Hub(_) | Self::World(_) => {
                format!("{self}\nThe hub's log ends with:\n{log}")
            }
        }
    }
}
