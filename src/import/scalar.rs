//! Single values as a person writes them in YAML: plain where that is safe, else in quotes.

use serde_json::Value;

/// A value that is no list and no mapping.
pub(super) fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

/// A text, in quotes where it could be taken for something else.
pub(super) fn quoted(text: &str) -> String {
    if is_plain(text) {
        text.to_owned()
    } else if text.chars().any(char::is_control) || text.contains(['\u{2028}', '\u{2029}', '\u{feff}', '\u{85}']) {
        // JSON's strings are YAML's.
        escaped(text)
    } else {
        format!("'{}'", text.replace('\'', "''"))
    }
}

fn escaped(text: &str) -> String {
    let mut escaped = String::from('"');
    for letter in text.chars() {
        match letter {
            '"' => escaped.push_str("\\\""),
            '\\' => escaped.push_str("\\\\"),
            '\n' => escaped.push_str("\\n"),
            '\t' => escaped.push_str("\\t"),
            ' '..='~' => escaped.push(letter),
            other => escaped.push_str(&unicode(other)),
        }
    }
    escaped.push('"');
    escaped
}

fn unicode(letter: char) -> String {
    let code = u32::from(letter);
    if code <= 0xffff { format!("\\u{code:04x}") } else { format!("\\U{code:08x}") }
}

/// Texts that YAML, in any of its versions, reads as something else.
const OTHERS: [&str; 11] = ["null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan", "inf"];

fn is_plain(text: &str) -> bool {
    let begins = text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '/');
    let is_safe = |c: char| c.is_ascii_alphanumeric() || "-_./%+@".contains(c);
    let numeric = |c: char| c.is_ascii_hexdigit() || "-_.+xXoO".contains(c);
    let is_number = text.starts_with(|c: char| c.is_ascii_digit()) && text.chars().all(numeric);
    begins && text.chars().all(is_safe) && !is_number && !OTHERS.contains(&text.to_lowercase().as_str())
}
