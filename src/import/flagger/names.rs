//! Names of webhooks and alerts: Flagger's may be any text, ours are DNS labels that differ from each other.

use std::collections::BTreeSet;

/// The name as a DNS label; `otherwise` where nothing of it can stand in one.
pub(super) fn label(name: &str, otherwise: &str) -> String {
    let letter = |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' };
    let name: String = name.chars().map(letter).take(60).collect();
    let name = name.trim_matches('-');
    if name.is_empty() { otherwise.to_owned() } else { name.to_owned() }
}

/// The name, with a number where another one has it; from then on it is taken.
pub(super) fn free(name: &str, taken: &mut BTreeSet<String>) -> String {
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    let name = names.find(|name| !taken.contains(name)).unwrap_or_else(|| name.to_owned());
    taken.insert(name.clone());
    name
}
