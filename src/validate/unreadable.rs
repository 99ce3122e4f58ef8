//! What cannot be read as YAML: where, the parser's reason, and the usual mistake behind it.

use super::{
    file::Found,
    problem::{Problem, quoted},
};
use crate::{
    text::sanitise,
    yaml::{UNKNOWN_ANCHOR, YamlError},
};

/// Variables of cutover's queries; whatever else stands in `{{ }}` is of a chart.
const VARIABLES: [&str; 5] = ["service", "namespace", "member", "window", "variables."];

/// Describes the error, with the line of the text at which it is.
pub(super) fn unreadable(error: &YamlError, text: &str) -> Found {
    let (line, column, remedy) = match error {
        YamlError::Duplicate { line, key } => (*line, None, format!("{} may occur once", quoted(key))),
        YamlError::TooComplex { line } => (*line, None, "write it out, or split it into several files".to_owned()),
        YamlError::Unreadable { line, column, reason } => {
            let place = Place { text, line: *line, reason };
            let (line, remedy) = place.suspect();
            (line, (line == place.line).then_some(*column), remedy)
        }
        YamlError::TooLarge(_) | YamlError::Unwritable => (1, None, "split it into several files".to_owned()),
    };
    let found = match error {
        YamlError::Unreadable { reason, .. } => format!("not readable as YAML: {reason}"),
        other => other.to_string(),
    };
    Found { column, source: source(text, line), ..Found::new(line, Problem::error("file", found, remedy)) }
}

/// The line as it stands, if no Secret can be in it.
fn source(text: &str, line: u64) -> Option<String> {
    let is_secret = text.lines().any(|line| line.contains("Secret") && line.trim_start().contains("kind"));
    let source =
        lines(text).find(|(number, _)| *number == line).map(|(_, line)| sanitise(&line.trim_end().replace('\t', " ")));
    source.filter(|line| !line.is_empty() && !is_secret)
}

fn lines(text: &str) -> impl DoubleEndedIterator<Item = (u64, &str)> {
    let numbered = text.lines().enumerate().map(|(place, line)| (place as u64 + 1, line));
    numbered.collect::<Vec<_>>().into_iter()
}

/// Where reading stopped, and why.
struct Place<'a> {
    text: &'a str,
    line: u64,
    reason: &'a str,
}

impl<'a> Place<'a> {
    /// The line of the usual mistake behind this error, and its remedy. A parser often stops one line after it.
    fn suspect(&self) -> (u64, String) {
        let near: Vec<(u64, &str)> =
            self.before().filter(|(number, line)| number + 1 >= self.line && !line.trim().is_empty()).collect();
        let plain = |(is, remedy): &Mistake| {
            let (number, _) = near.iter().find(|(_, line)| is(line))?;
            Some((*number, (*remedy).to_owned()))
        };
        let glued = || near.iter().find_map(|(number, line)| Some((*number, glued(line)?)));
        self.alias()
            .or_else(|| self.tab())
            .or_else(|| CHARTS.iter().find_map(plain))
            .or_else(|| self.quote())
            .or_else(glued)
            .or_else(|| self.colon())
            .or_else(|| OTHERS.iter().find_map(plain))
            .unwrap_or_else(|| (self.line, self.by_reason()))
    }

    /// A tab in the indentation; the parser may stop at the line before it.
    fn tab(&self) -> Option<(u64, String)> {
        let mut near = lines(self.text).filter(|(number, _)| self.line <= number + 1 && *number <= self.line + 1);
        let (number, _) = near.find(|(_, line)| self.reason.contains("tab") && is_tabbed(line))?;
        Some((number, "a tab is in the indentation; use spaces".to_owned()))
    }

    fn colon(&self) -> Option<(u64, String)> {
        let (number, line) = self.before().next().filter(|_| self.reason.contains("mapping values"))?;
        has_colon_in_value(line).then(|| (number, "a value with a colon and a space must be in quotes".to_owned()))
    }

    /// The lines up to the error, the last one first.
    fn before(&self) -> impl Iterator<Item = (u64, &'a str)> {
        let line = self.line;
        lines(self.text).rev().skip_while(move |(number, _)| *number > line)
    }

    fn alias(&self) -> Option<(u64, String)> {
        let (_, line) = self.before().next().filter(|_| self.reason == UNKNOWN_ANCHOR)?;
        let name: String = line
            .split('*')
            .nth(1)?
            .chars()
            .take_while(|letter| letter.is_alphanumeric() || "-_".contains(*letter))
            .collect();
        Some((self.line, format!("no anchor &{name} stands above it; a text that begins with * must be in quotes")))
    }

    /// A quote that is opened and not closed: the last line up to the error with an odd number of quotes.
    fn quote(&self) -> Option<(u64, String)> {
        let is_about_quotes = self.reason.contains("quote");
        let (number, _) = self.before().find(|(_, line)| is_about_quotes && is_open(line))?;
        Some((number, "close the quote; a ' inside of single quotes is written ''".to_owned()))
    }

    fn by_reason(&self) -> String {
        let remedy = if self.reason.contains("tag") {
            "leave out the word that begins with !, or put it in quotes"
        } else if self.reason.contains("bracket") || self.reason.contains("flow") {
            "close every [ and { that is opened, and put a comma between two entries"
        } else {
            "indent it like its neighbours, with spaces, at or just before this line"
        };
        remedy.to_owned()
    }
}

/// A mistake that a line shows, and its remedy.
type Mistake = (fn(&str) -> bool, &'static str);

const CHARTS: &[Mistake] = &[
    (is_chart, "{{ }} is of a chart; render it first: helm template … | cutover validate -"),
    (is_bare_query, "put the query in single quotes, for it begins with {{"),
];
const OTHERS: &[Mistake] = &[
    (begins_reserved, "a value that begins with @, ` or % must be in quotes"),
    (is_glued_dash, "put a space after the dash of a list's entry"),
];

fn is_tabbed(line: &str) -> bool {
    line.chars().take_while(|letter| letter.is_whitespace()).any(|letter| letter == '\t')
}

/// What stands in `{{ }}` on a line.
fn templates(line: &str) -> impl Iterator<Item = &str> {
    line.split("{{").skip(1).filter_map(|rest| Some(rest.split_once("}}")?.0.trim()))
}

fn is_variable(name: &str) -> bool {
    VARIABLES.iter().any(|known| name.starts_with(known))
}

fn is_chart(line: &str) -> bool {
    templates(line).any(|name| !is_variable(name))
}

fn is_bare_query(line: &str) -> bool {
    let value = line.split_once(": ").map_or(line, |(_, value)| value).trim_start_matches(['-', ' ']);
    value.starts_with("{{") && templates(value).all(is_variable)
}

/// Whether a quote is opened on the line and not closed. One within a word is an apostrophe.
fn is_open(line: &str) -> bool {
    let mut open = None;
    let mut before = ' ';
    for letter in line.chars() {
        match open {
            None if (letter == '"' || letter == '\'') && !before.is_alphanumeric() => open = Some(letter),
            None if letter == '#' && before == ' ' => break,
            Some(quote) if letter == quote && before != '\\' => open = None,
            None | Some(_) => {}
        }
        before = letter;
    }
    open.is_some()
}

/// `name:shop`: a key, a colon and a value without a space between them.
fn glued(line: &str) -> Option<String> {
    let entry = line.trim_start().trim_start_matches("- ").trim_start_matches('{');
    let (key, value) = entry.split_once(':')?;
    let is_key = key.chars().all(|letter| letter.is_ascii_alphanumeric())
        && key.starts_with(|letter: char| letter.is_ascii_lowercase());
    let is_value = value.starts_with(|letter: char| letter.is_alphanumeric() || "\"'[{".contains(letter));
    let first = value.split([' ', ',', '}']).next().unwrap_or_default();
    (is_key && is_value).then(|| format!("put a space after the colon: {key}: {}", sanitise(first)))
}

/// The value of a line's first key, or of its list entry.
fn value(line: &str) -> &str {
    let entry = line.trim_start().trim_start_matches("- ");
    entry.split_once(": ").map_or(entry, |(_, value)| value.trim_start())
}

fn is_glued_dash(line: &str) -> bool {
    let entry = line.trim_start().strip_prefix('-').unwrap_or_default();
    entry.starts_with(|letter: char| letter.is_alphabetic() || letter == '{')
}

fn begins_reserved(line: &str) -> bool {
    let inner = value(line).split_once(": ").map_or("", |(_, value)| value);
    [value(line), inner].iter().any(|value| value.starts_with(['@', '`', '%']))
}

fn has_colon_in_value(line: &str) -> bool {
    let value = value(line);
    value.contains(": ") && !value.starts_with(['"', '\'', '{', '[', '#'])
}
