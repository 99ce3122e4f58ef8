//! Logs: one line for each thing that happened, with fields rather than prose.

use clap::ValueEnum;
use tracing_subscriber::EnvFilter;

/// Format of log lines.
#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line, for machines.
    Json,
}

/// Sends logs to standard error from now on. `RUST_LOG` chooses what is said; by default what happens, and warnings of libraries.
///
/// A second call changes nothing.
pub(crate) fn init(format: LogFormat) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn,cutover=info"));
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let started = match format {
        LogFormat::Text => lines.with_ansi(false).try_init(),
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
    };
    if let Err(error) = started {
        tracing::debug!(%error, "logs go where they went before");
    }
}
