//! What the hub logs, down to its finest level: secrets (I14), and how often it looks at a rollout (I12).

use std::{cell::RefCell, io};

use tracing_subscriber::EnvFilter;

use super::scenario::SECRET;

thread_local! {
    /// The last line of this thread that shows a secret.
    static LEAKED: RefCell<Option<String>> = const { RefCell::new(None) };

    /// Rollouts that were passed over in this thread, each as often as it was; those that were not looked at yet.
    static PASSES: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
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

/// The rollouts that the hub has passed over since the last look, each as often as it did.
pub fn passes() -> Vec<String> {
    PASSES.take()
}

struct Reader;

impl io::Write for Reader {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        if let Some((_, of)) = text.split_once(": passed rollout=") {
            let rollout = of.split_whitespace().next().unwrap_or_default().to_owned();
            PASSES.with_borrow_mut(|passes| passes.push(rollout));
        }
        if text.contains(SECRET) {
            LEAKED.set(Some(text.trim_end().to_owned()));
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
