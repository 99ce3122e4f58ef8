//! Colour on terminals: it repeats what words of the screens say, and says nothing of its own. Pure.

use std::sync::LazyLock;

use regex::{Captures, Regex};

/// The escape code of a colour, and the words that get it: those that call for somebody, that hold a run, that are good.
const WORDS: [(&str, &[&str]); 3] = [
    (
        "31",
        &[
            "HUB SILENT",
            "NO HUB",
            "FAILED",
            "FAIL",
            "HURT",
            "ROLLING BACK",
            "DRIFTED",
            "NOT READ",
            "NOT WRITTEN",
            "BAD",
        ],
    ),
    ("33", &["HELD", "PAUSED", "UNKNOWN", "NOT KNOWN", "WAITING FOR PROMOTION"]),
    ("32", &["SUCCEEDED", "READY", "PROGRESSING", "Pass"]),
];

/// Longer ones first: an alternation takes the first that fits.
static PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let mut words: Vec<&str> = WORDS.iter().flat_map(|(_, words)| *words).copied().collect();
    words.sort_by_key(|word| std::cmp::Reverse(word.len()));
    Regex::new(&format!(r"\b(?:{})\b", words.join("|"))).ok()
});

/// The text with these words in colour.
pub(super) fn paint(text: &str) -> String {
    let coloured = |found: &Captures<'_>| {
        let word = &found[0];
        let code = WORDS.iter().find(|(_, words)| words.contains(&word)).map_or("0", |(code, _)| code);
        format!("\u{1b}[{code}m{word}\u{1b}[0m")
    };
    PATTERN.as_ref().map_or_else(|| text.to_owned(), |pattern| pattern.replace_all(text, coloured).into_owned())
}

#[cfg(test)]
mod tests {
    use super::paint;

    #[test]
    fn only_whole_words_of_a_state_get_a_colour() {
        assert_eq!(paint("shop  HELD 2h: HELDER"), "shop  \u{1b}[33mHELD\u{1b}[0m 2h: HELDER");
        assert_eq!(paint("FAILED; FAIL"), "\u{1b}[31mFAILED\u{1b}[0m; \u{1b}[31mFAIL\u{1b}[0m");
        assert_eq!(paint("nothing of it\n"), "nothing of it\n");
    }

    #[test]
    fn without_the_codes_it_is_the_text_that_was_there() {
        let text = include_str!("scenes/silent-hub.txt");
        let codes = regex::Regex::new("\u{1b}\\[[0-9]+m").unwrap();
        let painted = paint(text);
        assert!(painted.contains("\u{1b}[31mHUB SILENT\u{1b}[0m"), "{painted}");
        assert_eq!(codes.replace_all(&painted, ""), text);
    }
}
