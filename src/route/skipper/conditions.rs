//! A step's conditions as Skipper's predicates, in its language eskip.
//!
//! All of them are regular expressions over the whole value: of two `Header` predicates on one header Skipper keeps the
//! last alone, and of two names that differ in case one. A text is quoted, so that no value is more than a value.

use crate::api::matches::{FieldMatch, Value};
use crate::api::{Matched, RequestMatch};
use crate::route::capability::{Extent, Matching, Regexes, Values};

/// Every condition is a predicate, and a route has as many of them as it needs.
pub(super) const MATCHING: Matching =
    Matching { headers: VALUES, cookies: VALUES, query: VALUES, extent: Extent::Alternatives };

/// Skipper drops a route with a regular expression that Go cannot read, and tells its log alone.
const VALUES: Values = Values { regex: Regexes::Readable, ..Values::ANY };

/// Skipper tries the route with more predicates first; this one counts for 64. It counts those on one header once, adds
/// one to a weighted backend for each that follows, and members may have predicates of their own.
const BEFORE: &str = "Weight(64)";

/// The predicates of each alternative. A route that has them as well comes before the one that has them not.
pub(super) fn alternatives(matched: &Matched) -> Vec<Vec<String>> {
    let conditions = matched.matches.iter().map(conditions).filter(|conditions| !conditions.is_empty());
    conditions.map(|conditions| conditions.into_iter().chain([BEFORE.to_owned()]).collect()).collect()
}

fn conditions(sort: &RequestMatch) -> Vec<String> {
    let named = |predicate: &'static str| {
        move |field: &FieldMatch| format!("{predicate}({}, {})", quoted(&field.name), quoted(&pattern(field)))
    };
    let headers = sort.headers.iter().map(header);
    headers.chain(sort.cookies.iter().map(named("Cookie"))).chain(sort.query.iter().map(named("QueryParam"))).collect()
}

/// Skipper takes the Host out of the headers.
fn header(field: &FieldMatch) -> String {
    let pattern = quoted(&pattern(field));
    if field.name.eq_ignore_ascii_case("host") {
        return format!("Host({pattern})");
    }
    format!("HeaderRegexp({}, {pattern})", quoted(&canonical(&field.name)))
}

/// `X-Canary`, as Skipper and most people write it.
fn canonical(name: &str) -> String {
    let word = |word: &str| {
        let (first, rest) = word.split_at(word.chars().next().map_or(0, char::len_utf8));
        first.to_ascii_uppercase() + &rest.to_ascii_lowercase()
    };
    name.split('-').map(word).collect::<Vec<_>>().join("-")
}

/// One that says nothing takes only the empty value.
fn pattern(field: &FieldMatch) -> String {
    match field.value() {
        Some(Value::Exact(text)) => format!("^{}$", regex::escape(text)),
        Some(Value::Prefix(text)) => format!("^{}", regex::escape(text)),
        Some(Value::Regex(text)) => format!("^(?:{text})$"),
        None => "^$".to_owned(),
    }
}

/// A text as eskip reads it back: nothing in it means anything but the quote and the escape.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', r"\\").replace('"', r#"\""#))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn matched(matches: serde_json::Value) -> Matched {
        Matched { matches: serde_json::from_value(matches).unwrap(), weights: [("eu-3".to_owned(), 100)].into() }
    }

    #[test]
    fn every_condition_is_a_predicate() {
        let declared = matched(json!([
            {"headers": [{"name": "user-agent", "exact": "a/1.0 (b)"}, {"name": "HOST", "prefix": "beta."}]},
            {"cookies": [{"name": "canary", "regex": "a|\"b\""}], "query": [{"name": "v", "exact": "1"}]},
            {}
        ]));
        let said = |predicates: &[&str]| predicates.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        assert_eq!(
            alternatives(&declared),
            [
                said(&[r#"HeaderRegexp("User-Agent", "^a/1\\.0 \\(b\\)$")"#, r#"Host("^beta\\.")"#, "Weight(64)"]),
                said(&[r#"Cookie("canary", "^(?:a|\"b\")$")"#, r#"QueryParam("v", "^1$")"#, "Weight(64)"]),
            ]
        );
    }

    /// Name and arguments of predicates, read as Skipper's lexer reads them: `&&` between them, texts in quotes.
    fn parsed(code: &str) -> Option<Vec<(String, Vec<String>)>> {
        let mut predicates = Vec::new();
        let mut rest = code;
        loop {
            let (name, after) = rest.split_once('(')?;
            let (arguments, after) = arguments(after)?;
            predicates.push((name.to_owned(), arguments));
            if after.is_empty() {
                return Some(predicates);
            }
            rest = after.strip_prefix(" && ")?;
        }
    }

    fn arguments(code: &str) -> Option<(Vec<String>, &str)> {
        let mut arguments = Vec::new();
        let mut rest = code;
        loop {
            let (argument, after) = if let Some(text) = rest.strip_prefix('"') {
                unquoted(text)?
            } else {
                let (number, after) = rest.split_at(rest.find([',', ')'])?);
                (number.to_owned(), after)
            };
            arguments.push(argument);
            if let Some(after) = after.strip_prefix(')') {
                return Some((arguments, after));
            }
            rest = after.strip_prefix(", ")?;
        }
    }

    /// A text up to its closing quote, and what comes after it; `scanEscaped` of eskip/lexer.go.
    fn unquoted(code: &str) -> Option<(String, &str)> {
        let mut text = String::new();
        let mut letters = code.char_indices();
        while let Some((at, letter)) = letters.next() {
            match letter {
                '"' => return Some((text, &code[at + 1..])),
                '\\' => match letters.next()?.1 {
                    escaped @ ('"' | '\\') => text.push(escaped),
                    control if "abfnrtv".contains(control) => text.push('\u{1}'),
                    other => text.extend(['\\', other]),
                },
                _ => text.push(letter),
            }
        }
        None
    }

    proptest! {
        #[test]
        fn no_value_is_more_than_a_value(
            name in "[A-Za-z0-9!#$%&'*+.^_|~\"\\\\-]{1,12}",
            value in prop_oneof![any::<String>(), "[\"\\\\/)(&>;,`|^$\n a-c]{0,24}"],
            other in any::<String>()
        ) {
            let declared = matched(json!([{
                "headers": [{"name": name, "exact": value}, {"name": name, "prefix": value}],
                "cookies": [{"name": name, "regex": value}],
                "query": [{"name": name, "exact": value}]
            }]));
            let read = parsed(&alternatives(&declared)[0].join(" && ")).unwrap();
            let names: Vec<&str> = read.iter().map(|(name, _)| name.as_str()).collect();
            let header = if name.eq_ignore_ascii_case("host") { "Host" } else { "HeaderRegexp" };
            prop_assert_eq!(names, [header, header, "Cookie", "QueryParam", "Weight"]);
            let patterns: Vec<&String> = read.iter().filter_map(|(_, arguments)| arguments.last()).collect();
            prop_assert_eq!(patterns[2], &format!("^(?:{value})$"));
            let matches = |pattern: &str, value: &str| regex::Regex::new(pattern).unwrap().is_match(value);
            for exact in [patterns[0], patterns[3]] {
                prop_assert!(matches(exact, &value));
                prop_assert_eq!(matches(exact, &other), value == other);
                let longer = format!("{value}x");
                prop_assert!(!matches(exact, &longer));
            }
            prop_assert!(matches(patterns[1], &value));
            prop_assert_eq!(matches(patterns[1], &other), other.starts_with(&value));
        }
    }
}
