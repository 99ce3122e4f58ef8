//! Formatting for a terminal: escaping, ages, shares, wrapping and columns. Pure.

use jiff::Timestamp;

use crate::api::{Distribution, Duration};
pub(super) use crate::text::escaped as escape;

/// Maximum width of a line, in columns without colour codes.
pub(super) const WIDTH: usize = 100;

/// Cuts a text to at most `width` characters, with `…` at the end.
pub(super) fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

/// The age of an instant in its two largest units; zero for the future.
pub(super) fn age(since: Timestamp, now: Timestamp) -> String {
    let seconds = u64::try_from(now.duration_since(since).as_secs()).unwrap_or(0);
    match seconds {
        0..=119 => format!("{seconds}s"),
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

/// A measured number with three significant digits, without trailing zeros.
pub(super) fn number(value: f64) -> String {
    let magnitude = value.abs();
    let digits = match magnitude {
        m if m >= 100.0 => 0,
        m if m >= 10.0 => 1,
        m if m >= 0.01 || m == 0.0 => 2,
        _ => 4,
    };
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Breaks a text at spaces into lines of at most `width`; every line but the first is indented. A word that is wider
/// than a line, such as an address, is not broken.
pub(super) fn wrap(text: &str, width: usize, indent: usize) -> String {
    let mut lines = String::new();
    let mut used = 0;
    for (index, word) in text.split(' ').enumerate() {
        let length = word.chars().count();
        if used > indent && used + 1 + length > width {
            lines.push('\n');
            lines.push_str(&" ".repeat(indent));
            used = indent;
        } else if index > 0 {
            lines.push(' ');
            used += 1;
        }
        lines.push_str(word);
        used += length;
    }
    lines
}

/// Rows in columns, each as wide as its widest cell; lines end without spaces.
pub(super) fn columns(rows: &[Vec<String>]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |index: usize| rows.iter().filter_map(|row| row.get(index)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..count).map(|index| width(index).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        text.push_str(cells.join("   ").trim_end());
        text.push('\n');
    }
    text
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
        assert_eq!(shown, ["0s", "4s", "2m", "2h14m", "1d1h"]);
    }

    #[test]
    fn shares_have_as_many_digits_as_the_total_can_tell() {
        let shown = [share(25, 100), share(125, 1000), share(1, 10_000), share(1, 0)];
        assert_eq!(shown, ["25", "12.5", "0.01", "100"]);
        assert_eq!(shares(&[("eu-1".to_owned(), 75), ("eu-2".to_owned(), 0)].into(), 100), "eu-1 75 %");
    }

    #[test]
    fn numbers_keep_the_digits_that_matter() {
        assert_eq!([91204.0, 12.34, 0.07, 0.0004, 0.0, 5.0].map(number), ["91204", "12.3", "0.07", "0.0004", "0", "5"]);
    }

    #[test]
    fn long_texts_break_at_spaces() {
        assert_eq!(wrap("  one two three four", 9, 4), "  one two\n    three\n    four");
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [vec!["a".to_owned(), "b".to_owned()], vec!["long".to_owned(), String::new()]];
        assert_eq!(columns(&rows), "a      b\nlong\n");
    }
}
