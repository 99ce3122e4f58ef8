//! Mistakes that the program could have, each laid into a copy of the sources by its patch.

/// Whether this mistake is the one to make: the environment variable `MISTAKE` names it.
#[must_use]
pub fn on(name: &str) -> bool {
    static CHOSEN: std::sync::LazyLock<Option<String>> = std::sync::LazyLock::new(|| std::env::var("MISTAKE").ok());
    CHOSEN.as_deref() == Some(name)
}
