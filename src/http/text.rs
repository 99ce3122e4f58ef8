//! Makes foreign text safe for logs, events, status and terminals.

/// Maximum number of characters of foreign text.
const SHOWN: usize = 80;

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
    use super::sanitise;

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
