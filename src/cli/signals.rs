//! The signals by which a person or a system ends a verb that would go on.

use std::io;

use tokio::signal::unix::{SignalKind, signal};

/// Ends when this process gets a signal to end, or its terminal is closed. From this call on no signal is missed.
pub(super) fn interrupted() -> io::Result<impl Future<Output = ()>> {
    let ending = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
    let mut signals = ending.into_iter().map(signal).collect::<io::Result<Vec<_>>>()?;
    Ok(async move {
        futures::future::select_all(signals.iter_mut().map(|signal| Box::pin(signal.recv()))).await;
    })
}
