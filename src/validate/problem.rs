//! One thing that is wrong, in words: which field, what stands there, what would be right.

use std::fmt;

use serde::Serialize;

/// Longest part of a user's own text that a message repeats, in characters.
const LONGEST_QUOTE: usize = 60;

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Severity {
    /// It cannot work as it is.
    Error,
    /// It works, but probably not as meant.
    Warning,
    /// It works as meant, and something else is usually wiser.
    Hint,
}

/// One thing that is wrong or doubtful.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// How bad it is.
    pub severity: Severity,
    /// The field, such as `spec.strategy.steps[1].progress`.
    pub path: String,
    /// What stands there and why that is wrong.
    pub found: String,
    /// What would be right.
    pub allowed: String,
    /// YAML that could stand there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub example: Option<&'static str>,
}

impl Problem {
    /// Something that cannot work.
    pub fn error(path: impl Into<String>, found: impl Into<String>, allowed: impl Into<String>) -> Self {
        let (path, found, allowed) = (path.into(), found.into(), allowed.into());
        Self { severity: Severity::Error, path, found, allowed, example: None }
    }

    /// Something doubtful.
    pub fn warning(path: impl Into<String>, found: impl Into<String>, allowed: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(path, found, allowed) }
    }

    /// Something legal that is seldom wise.
    pub(super) fn hint(path: impl Into<String>, found: impl Into<String>, allowed: impl Into<String>) -> Self {
        Self { severity: Severity::Hint, ..Self::error(path, found, allowed) }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.severity {
            Severity::Error => "",
            Severity::Warning => "warning: ",
            Severity::Hint => "hint: ",
        })?;
        write!(f, "{}: {}; {}", self.path, self.found, self.allowed)
    }
}

/// What is wrong where exactly one of some choices must be made: `none` of them was, or `several` were.
pub(super) fn not_one(path: &str, made: &[&str], none: &str, several: &str, remedy: &str) -> Option<Problem> {
    match made {
        [_] => None,
        [] => Some(Problem::error(path, none, remedy)),
        [..] => Some(Problem::error(path, format!("{} {several}", made.join(" and ")), remedy)),
    }
}

/// The names of the choices that were made.
pub(super) fn made<const N: usize>(choices: [(&'static str, bool); N]) -> Vec<&'static str> {
    choices.into_iter().filter(|(_, made)| *made).map(|(name, _)| name).collect()
}

/// A user's text in quotes, shortened, with everything escaped that could hide or move other text.
pub(super) fn quoted(text: &str) -> String {
    let short: String = text.chars().take(LONGEST_QUOTE).collect();
    if short.len() == text.len() { format!("{text:?}") } else { format!("{short:?}…") }
}
