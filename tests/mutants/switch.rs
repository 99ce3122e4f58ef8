//! Which mutant of this copy of the sources is alive. `tests/mutants` lays this file and the mutants into the copy.

use std::{
    env,
    fs::{File, OpenOptions},
    io::Write,
    sync::{
        LazyLock,
        atomic::{AtomicBool, Ordering},
    },
};

struct Choice {
    alive: Option<u32>,
    trace: Option<Trace>,
}

/// The mutants that one test reached, in a file that all of its processes share.
struct Trace {
    file: File,
    seen: Vec<AtomicBool>,
}

static CHOICE: LazyLock<Choice> = LazyLock::new(|| Choice {
    alive: env::var("MUTANT").ok().and_then(|number| number.parse().ok()),
    trace: env::var_os("MUTANTS_REACHED").and_then(|path| {
        let file = OpenOptions::new().create(true).append(true).open(path).ok()?;
        Some(Trace { file, seen: (0..=u16::MAX).map(|_| AtomicBool::new(false)).collect() })
    }),
});

/// Whether the mutant with this number is the one to be noticed: the environment variable `MUTANT` has its number.
#[must_use]
pub fn on(number: u32) -> bool {
    if let Some(trace) = &CHOICE.trace {
        trace.reached(number);
    }
    CHOICE.alive == Some(number)
}

impl Trace {
    fn reached(&self, number: u32) {
        let first = self.seen.get(number as usize).is_some_and(|seen| !seen.swap(true, Ordering::Relaxed));
        if first {
            let _ = (&self.file).write_all(&number.to_le_bytes());
        }
    }
}
