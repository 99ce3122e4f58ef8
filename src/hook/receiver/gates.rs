//! Gates by name. All are closed until somebody opens them.

use std::{
    collections::BTreeSet,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Gates that may be open at a time, and characters of a name.
const MOST: usize = 1024;
const LONGEST: usize = 128;

/// The gates that are open.
#[derive(Default)]
pub(super) struct Gates(Mutex<BTreeSet<String>>);

impl Gates {
    pub(super) fn is_open(&self, name: &str) -> bool {
        self.open().contains(name)
    }

    /// Opens or closes a gate.
    ///
    /// # Errors
    /// If its name is too long, or too many are open; in words.
    pub(super) fn set(&self, name: &str, open: bool) -> Result<(), &'static str> {
        let mut all = self.open();
        if !open {
            all.remove(name);
            return Ok(());
        }
        if name.chars().count() > LONGEST {
            return Err("the name of a gate has at most 128 characters");
        }
        if all.len() >= MOST && !all.contains(name) {
            return Err("1024 gates are open; close one");
        }
        all.insert(name.to_owned());
        Ok(())
    }

    /// The names of those that are open, a line each.
    pub(super) fn all(&self) -> String {
        self.open().iter().flat_map(|name| [name.as_str(), "\n"]).collect()
    }

    fn open(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
