//! What is said of a translation: comments beside the fields that they are about, and refusals.

use std::{collections::BTreeMap, fmt};

use crate::text::one_line;

/// Longest part of a foreign text that a comment or a refusal repeats, in characters.
const QUOTED: usize = 120;

/// Something that cannot be translated, and would be unsafe to leave out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: u64,
    /// The field, such as `spec.targetRef.kind`.
    pub path: String,
    /// What stands there and why that is refused.
    pub found: String,
    /// What to do.
    pub remedy: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}: {}; {}", self.file, self.line, self.path, self.found, self.remedy)
    }
}

/// The comments of one manifest, and what was refused of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Remarks {
    /// By the path of the manifest's field beside which they stand; at the head where it is empty.
    notes: BTreeMap<String, Vec<String>>,
    /// Foreign fields without a counterpart, by the reason or what to do.
    lost: Vec<(Vec<String>, String)>,
    pub(super) refusals: Vec<Refusal>,
}

impl Remarks {
    /// A comment beside a field of the manifest.
    pub(super) fn note(&mut self, at: &str, text: impl Into<String>) {
        self.notes.entry(at.to_owned()).or_default().push(text.into());
    }

    /// A foreign field that has no counterpart, and why, or what to do instead.
    pub(super) fn lose(&mut self, path: impl Into<String>, why: impl Into<String>) {
        let (path, why) = (path.into(), why.into());
        match self.lost.iter_mut().find(|(_, known)| *known == why) {
            Some((paths, _)) if paths.contains(&path) => {}
            Some((paths, _)) => paths.push(path),
            None => self.lost.push((vec![path], why)),
        }
    }

    /// What was said of another object that belongs to this one.
    pub(super) fn absorb(&mut self, other: Self, title: &str) {
        for (at, notes) in other.notes {
            self.notes.entry(at).or_default().extend(notes);
        }
        for (paths, why) in other.lost {
            // What an object that belongs to the other one said has its title already.
            let titled = |path: String| if path.contains(' ') { path } else { format!("{title} {path}") };
            for path in paths {
                self.lose(titled(path), why.clone());
            }
        }
        self.refusals.extend(other.refusals);
    }

    /// The lines of comment at the head.
    pub(super) fn head(&self) -> Vec<String> {
        let mut head = self.notes.get("").cloned().unwrap_or_default();
        if !self.lost.is_empty() {
            head.push("Without a counterpart:".to_owned());
            head.extend(self.lost.iter().map(|(paths, why)| format!("- {}: {why}", paths.join(", "))));
        }
        head
    }

    /// The comments beside a field.
    pub(super) fn at(&self, path: &str) -> &[String] {
        self.notes.get(path).map_or(&[], Vec::as_slice)
    }

    /// Whether a field below this one has a comment.
    pub(super) fn any_below(&self, path: &str) -> bool {
        let is_below = |noted: &String| noted.strip_prefix(path).is_some_and(|rest| rest.starts_with(['.', '[']));
        self.notes.keys().any(is_below)
    }
}

/// A foreign text on one line, harmless and not too long.
pub(super) fn shown(text: &str) -> String {
    one_line(text.trim(), QUOTED)
}
