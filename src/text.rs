//! Makes text that others wrote safe for logs, events, status and terminals. It is cleaned once, where it enters.

/// Maximum number of characters of foreign text.
const SHOWN: usize = 80;

/// What a person or a tool wrote, on one line of at most `most` characters: line breaks and tabs become spaces, and other
/// characters that control a terminal or the writing direction are escaped.
#[must_use]
pub(crate) fn one_line(text: &str, most: usize) -> String {
    let spaced: String =
        text.chars().take(most + 1).map(|letter| if is_break(letter) { ' ' } else { letter }).collect();
    sanitise_to(&spaced, most)
}

/// The whole text, with characters that control a terminal or the writing direction escaped.
#[must_use]
pub(crate) fn escaped(text: &str) -> String {
    text.chars().map(escape).collect()
}

/// At most 80 characters on one line; characters that control a terminal or the writing direction are escaped.
pub(crate) fn sanitise(text: &str) -> String {
    sanitise_to(text, SHOWN)
}

/// Like [`sanitise`], with at most `most` characters.
#[must_use]
pub(crate) fn sanitise_to(text: &str, most: usize) -> String {
    // One character becomes at least one, so nothing beyond this can be shown.
    let escaped: String = text.chars().take(most + 1).map(escape).collect();
    if escaped.chars().count() <= most {
        return escaped;
    }
    escaped.chars().take(most - 1).chain(['…']).collect()
}

fn escape(character: char) -> String {
    if steers(character) { character.escape_unicode().to_string() } else { character.to_string() }
}

fn is_break(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Control characters, and the invisible ones that reorder, join or hide text.
fn steers(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
        )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{escaped, one_line, sanitise, steers};

    /// Anything, and often what steers.
    fn anything() -> impl Strategy<Value = String> {
        let steering = prop::sample::select(STEERING).prop_map(|code| char::from_u32(code).unwrap());
        let letters = prop::collection::vec(prop_oneof![3 => any::<char>(), 1 => steering], 0..400);
        letters.prop_map(String::from_iter)
    }

    proptest! {
        #[test]
        fn whatever_somebody_wrote_is_one_short_harmless_line(text in anything(), most in 1_usize..300) {
            let line = one_line(&text, most);
            prop_assert!(line.chars().count() <= most, "{line:?}");
            prop_assert!(!line.chars().any(steers), "{line:?}");
            prop_assert_eq!(&one_line(&line, most), &line, "cleaned twice is cleaned once");
        }

        #[test]
        fn what_steers_is_found_wherever_it_stands(
            before in "[a-z ü集]{0,9}", code in prop::sample::select(STEERING), after in "[a-z ü集]{0,9}",
        ) {
            let letter = char::from_u32(code).unwrap();
            let shown = format!("{before}{}{after}", letter.escape_unicode());
            prop_assert_eq!(escaped(&format!("{before}{letter}{after}")), shown);
        }

        #[test]
        fn what_is_harmless_stays_as_it_was_written(text in "[a-zA-Z0-9 .,:;!?'\"()äöüß集群-]{0,200}") {
            prop_assert_eq!(one_line(&text, 200), text);
        }
    }

    /// An escape, a bell, a delete, C1's own escape; marks and overrides of direction, an isolate, joiners, a tag.
    const STEERING: &[u32] =
        &[0x1b, 0x07, 0x7f, 0x9b, 0x61c, 0x200e, 0x202a, 0x202e, 0x2066, 0x2069, 0x200b, 0x200d, 0xfeff, 0xe0041];

    #[test]
    fn lines_become_one() {
        assert_eq!(one_line("checkout fails\r\n\tsee #12\u{2028}", 80), "checkout fails   see #12 ");
        assert_eq!(one_line("red \u{1b}[31malarm\u{7}", 80), r"red \u{1b}[31malarm\u{7}");
    }

    #[test]
    fn plain_text_stays_as_it_is() {
        assert_eq!(sanitise("connection refused — ä 集群 🚀"), "connection refused — ä 集群 🚀");
    }

    #[test]
    fn what_steers_a_terminal_is_escaped() {
        assert_eq!(sanitise("a\nb\u{1b}[31m\u{202e}c\u{200b}"), r"a\u{a}b\u{1b}[31m\u{202e}c\u{200b}");
    }

    #[test]
    fn long_text_is_cut_to_eighty_characters() {
        assert_eq!(sanitise(&"x".repeat(80)), "x".repeat(80));
        assert_eq!(sanitise(&"x".repeat(65_536)), format!("{}…", "x".repeat(79)));
        assert!(sanitise(&"\u{202e}".repeat(500)).chars().count() <= 80);
        assert_eq!(sanitise(&"é".repeat(81)).chars().count(), 80);
    }
}
