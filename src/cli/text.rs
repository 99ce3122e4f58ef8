//! Formatting for a terminal: escaping, ages, shares, wrapping and columns. Pure.

use jiff::Timestamp;

use crate::api::{Distribution, Duration};
pub(super) use crate::{
    api::number::{count, number},
    text::escaped as escape,
};

/// Columns of a line where the output is no terminal, which has its own.
pub(super) const WIDTH: usize = 100;

/// What a text is laid out for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Page {
    /// Columns of a line.
    pub(super) width: usize,
    /// Tables may be wider, so that nothing of them is left out.
    pub(super) wide: bool,
}

impl Page {
    /// Columns that a table may take.
    pub(super) const fn table(self) -> usize {
        if self.wide { usize::MAX } else { self.width }
    }
}

/// A text of several lines with every line escaped.
pub(super) fn escape_lines(text: &str) -> String {
    text.lines().map(escape).collect::<Vec<_>>().join("\n")
}

/// Cuts a text to at most `width` characters, with `…` at the end.
pub(super) fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

/// Cuts a text after a word to at most `most` characters, with ` …` at the end.
pub(super) fn cut_after_word(text: &str, most: usize) -> String {
    let mut cut = String::new();
    for word in text.split(' ') {
        if cut.chars().count() + word.chars().count() + 3 > most && text.chars().count() > most {
            return format!("{cut} …");
        }
        let space = if cut.is_empty() { "" } else { " " };
        cut = format!("{cut}{space}{word}");
    }
    cut
}

/// The age of an instant; zero for the future.
pub(super) fn age(since: Timestamp, now: Timestamp) -> String {
    span(between(since, now))
}

/// A time in its two largest units.
pub(super) fn span(time: Duration) -> String {
    let seconds = time.as_millis() / 1000;
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=3599 => format!("{}m", seconds / 60),
        3600..=86_399 => format!("{}h{:02}m", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{}d{}h", seconds / 86_400, seconds % 86_400 / 3600),
    }
}

/// The time from one instant to another; zero if it is not later.
pub(super) fn between(from: Timestamp, to: Timestamp) -> Duration {
    Duration::from_millis(u64::try_from(to.duration_since(from).as_millis()).unwrap_or(0))
}

/// The time of day, in UTC.
pub(super) fn clock(at: Timestamp) -> String {
    at.strftime("%H:%M:%S").to_string()
}

/// Day and time, in UTC.
pub(super) fn day_and_clock(at: Timestamp) -> String {
    at.strftime("%a %Y-%m-%d %H:%M:%S UTC").to_string()
}

/// A weight as a share of the total, in percent, without the sign: `12.5`.
pub(super) fn share(weight: u32, total: u32) -> String {
    format!("{:.*}", share_digits(total), f64::from(weight) * 100.0 / f64::from(total.max(1)))
}

/// The digits that the total can resolve.
fn share_digits(total: u32) -> usize {
    match total {
        0..=100 => 0,
        101..=1000 => 1,
        _ => 2,
    }
}

/// A distribution as shares: `eu-1 75 %, eu-3 25 %`; members without weight are left out.
pub(super) fn shares(weights: &Distribution, total: u32) -> String {
    let parts: Vec<String> =
        weights.carrying().map(|(name, weight)| format!("{name} {} %", share(weight, total))).collect();
    if parts.is_empty() { "nobody".to_owned() } else { parts.join(", ") }
}

/// Breaks a text at spaces into lines of at most `width`; every line but the first is indented. A word that is wider
/// than a line, such as an address, is not broken, nor is a number parted from its unit.
pub(super) fn wrap(text: &str, width: usize, indent: usize) -> String {
    let mut lines = String::new();
    let mut used = 0;
    for (index, word) in with_units(text).into_iter().enumerate() {
        let length = word.chars().count();
        if used > indent && used + 1 + length > width {
            lines.push('\n');
            lines.push_str(&" ".repeat(indent));
            used = indent;
        } else if index > 0 {
            lines.push(' ');
            used += 1;
        }
        lines.push_str(&word);
        used += length;
    }
    lines
}

/// The words of a text; a unit belongs to the word before it.
fn with_units(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split(' ') {
        let is_unit = matches!(word.trim_end_matches([',', ';', ':', ')', '.']), "%" | "s");
        match words.last_mut().filter(|_| is_unit) {
            Some(last) => *last = format!("{last} {word}"),
            None => words.push(word.to_owned()),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_or_turns_the_direction_is_escaped() {
        assert_eq!(escape("a\nb\u{1b}[31m\u{202e}c\u{200b}ü"), "a\\u{a}b\\u{1b}[31m\\u{202e}c\\u{200b}ü");
    }

    #[test]
    fn ages_show_two_units_and_never_the_future() {
        let now: Timestamp = "2026-01-03T00:00:00Z".parse().unwrap();
        let ago = |seconds: i64| now - jiff::SignedDuration::from_secs(seconds);
        let shown: Vec<String> = [-5, 4, 150, 8040, 90_000].map(|seconds| age(ago(seconds), now)).into();
        assert_eq!(shown, ["0 s", "4 s", "2m", "2h14m", "1d1h"]);
    }

    #[test]
    fn shares_have_as_many_digits_as_the_total_can_tell() {
        let shown = [share(25, 100), share(125, 1000), share(1, 10_000), share(1, 0)];
        assert_eq!(shown, ["25", "12.5", "0.01", "100"]);
        assert_eq!(shares(&[("eu-1".to_owned(), 75), ("eu-2".to_owned(), 0)].into(), 100), "eu-1 75 %");
    }

    #[test]
    fn long_texts_break_at_spaces() {
        assert_eq!(wrap("  one two three four", 9, 4), "  one two\n    three\n    four");
        assert_eq!(wrap("eu-1 37.5 %, eu-2", 9, 0), "eu-1\n37.5 %,\neu-2");
    }
}
