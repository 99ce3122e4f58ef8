//! I14: what the hub logs, down to its finest level.

use std::{cell::RefCell, io};

use tracing_subscriber::EnvFilter;

use super::scenario::SECRET;

thread_local! {
    /// The last line of this thread that shows a secret.
    static LEAKED: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Reads every line from now on.
pub fn read() {
    let filter = EnvFilter::new("warn,cutover=trace,kube=debug");
    tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false).without_time().with_writer(|| Reader).init();
}

/// A line that shows a secret, once.
pub fn leaked() -> Option<String> {
    LEAKED.take()
}

struct Reader;

impl io::Write for Reader {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        if text.contains(SECRET) {
            LEAKED.set(Some(text.trim_end().to_owned()));
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
