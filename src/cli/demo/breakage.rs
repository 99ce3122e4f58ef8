//! What goes wrong, and what must come of it.

use std::time::Duration;

use clap::ValueEnum;

use crate::sandbox::member::{Behaviour, Member};

/// What goes wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Break {
    /// The new cluster answers every third request with an error.
    #[default]
    Errors,
    /// The new cluster becomes slow.
    Latency,
    /// The new cluster is gone.
    Member,
    /// The new cluster's Prometheus does not answer for a while.
    Metrics,
    /// The hub is killed, and started again.
    Hub,
}

/// What cutover must do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// All traffic goes back, at once.
    Rollback,
    /// Nothing moves until it is over; then the run goes on.
    Hold,
}

impl Break {
    pub(super) const fn ending(self) -> Ending {
        match self {
            Self::Errors | Self::Latency | Self::Member => Ending::Rollback,
            Self::Metrics | Self::Hub => Ending::Hold,
        }
    }

    /// What happens to the canary, in words.
    pub(super) fn says(self, canary: &str) -> String {
        match self {
            Self::Errors => format!("{canary} breaks: every third answer is an error"),
            Self::Latency => format!("{canary} breaks: every answer takes 0.3 s longer"),
            Self::Member => format!("{canary} is gone: its gateway, its Prometheus and its API server"),
            Self::Metrics => format!("the Prometheus of {canary} does not answer any more"),
            Self::Hub => "the hub is killed (SIGKILL)".to_owned(),
        }
    }

    /// Does it to a member, where it is a member that breaks.
    pub(super) fn befall(self, canary: &Member) {
        match self {
            Self::Errors => canary.behave(Behaviour { fail_every: Some(3), ..Behaviour::default() }),
            Self::Latency => canary.behave(Behaviour { delay: Duration::from_millis(300), ..Behaviour::default() }),
            Self::Member => canary.die(),
            Self::Metrics => canary.show_metrics(false),
            Self::Hub => {}
        }
    }
}
