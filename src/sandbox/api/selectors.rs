//! Label and field selectors: which objects a list or a watch is about.

use std::collections::BTreeMap;

use kube::core::{Expression, Selector, SelectorExt};
use serde_json::Value;

use super::{builtin::EVENTS, json::text, kind::Kind, status::Failure};

/// `a=b,c!=d,e in (f,g),h,!i`
#[derive(Clone, Debug, Default)]
pub(super) struct LabelSelector(Selector);

/// `metadata.name=a,metadata.namespace!=b`; of events also what they are about.
#[derive(Clone, Debug, Default)]
pub(super) struct FieldSelector(Vec<Requirement>);

#[derive(Clone, Debug)]
struct Requirement {
    /// Where the field is in the stored object.
    pointer: String,
    equal: bool,
    value: String,
}

impl LabelSelector {
    pub(super) fn parse(selector: &str) -> Result<Self, Failure> {
        let mut expressions = Vec::new();
        for requirement in split(selector) {
            expressions.push(expression(requirement)?);
        }
        Ok(Self(expressions.into_iter().collect()))
    }

    pub(super) fn matches(&self, object: &Value) -> bool {
        let labels = object["metadata"]["labels"].as_object().into_iter().flatten();
        let labels: BTreeMap<String, String> =
            labels.map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned())).collect();
        self.0.matches(&labels)
    }
}

impl FieldSelector {
    pub(super) fn parse(selector: &str, kind: &Kind) -> Result<Self, Failure> {
        let parts = selector.split(',').map(str::trim).filter(|part| !part.is_empty());
        parts.map(|part| field_requirement(part, kind)).collect::<Result<_, _>>().map(Self)
    }

    pub(super) fn matches(&self, object: &Value) -> bool {
        self.0.iter().all(|one| (text(object, &one.pointer) == one.value) == one.equal)
    }
}

fn field_requirement(part: &str, kind: &Kind) -> Result<Requirement, Failure> {
    let parsed = if let Some((key, value)) = part.split_once("!=") {
        Some((key, false, value))
    } else {
        part.split_once("==").or_else(|| part.split_once('=')).map(|(key, value)| (key, true, value))
    };
    let Some((key, equal, value)) = parsed else {
        return Err(Failure::bad_request(&format!("invalid selector: '{part}'; can't understand '{part}'")));
    };
    let pointer = pointer(key, kind);
    let pointer = pointer.ok_or_else(|| Failure::bad_request(&format!("field label not supported: {key}")))?;
    Ok(Requirement { pointer, equal, value: value.to_owned() })
}

/// Where a field by which objects of this kind can be selected is in the stored object. `kubectl describe` selects the events
/// of an object; those of both groups are stored as the core group names their fields.
fn pointer(field: &str, kind: &Kind) -> Option<String> {
    let (about, reporter) = match (kind.group.as_str(), kind.plural.as_str()) {
        ("", "events") => ("involvedObject", "reportingComponent"),
        (EVENTS, "events") => ("regarding", "reportingController"),
        _ => ("", ""),
    };
    let of_event = !about.is_empty();
    match field.split_once('.') {
        Some(("metadata", name @ ("name" | "namespace"))) => Some(format!("/metadata/{name}")),
        Some((object, name)) if of_event && object == about && ABOUT.contains(&name) => {
            Some(format!("/involvedObject/{name}"))
        }
        None if of_event && ["reason", "type"].contains(&field) => Some(format!("/{field}")),
        None if of_event && field == reporter => Some("/reportingComponent".to_owned()),
        Some(_) | None => None,
    }
}

/// What is known of the object of an event.
const ABOUT: [&str; 7] = ["kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"];

/// At the commas that stand outside of parentheses.
fn split(selector: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0_usize, 0);
    for (at, letter) in selector.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&selector[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&selector[start..]);
    parts.into_iter().map(str::trim).filter(|part| !part.is_empty()).collect()
}

fn expression(part: &str) -> Result<Expression, Failure> {
    if let Some(key) = part.strip_prefix('!') {
        return Ok(Expression::DoesNotExist(word(key)?));
    }
    if let Some((key, value)) = part.split_once("!=") {
        return Ok(Expression::NotEqual(word(key)?, value_word(value)?));
    }
    if let Some((key, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
        return Ok(Expression::Equal(word(key)?, value_word(value)?));
    }
    if let Some((key, values)) = part.split_once(" notin ") {
        return Ok(Expression::NotIn(word(key)?, set(values)?));
    }
    match part.split_once(" in ") {
        Some((key, values)) => Ok(Expression::In(word(key)?, set(values)?)),
        None => Ok(Expression::Exists(word(part)?)),
    }
}

fn set(values: &str) -> Result<std::collections::BTreeSet<String>, Failure> {
    let values = values.trim();
    let Some(values) = values.strip_prefix('(') else {
        return Err(refused(&format!("found '{values}', expected: '('")));
    };
    let Some(values) = values.strip_suffix(')') else {
        return Err(refused("found '', expected: ',' or ')'"));
    };
    values.split(',').map(value_word).collect()
}

fn word(text: &str) -> Result<String, Failure> {
    let text = text.trim();
    match text.find(|letter: char| !(letter.is_ascii_alphanumeric() || "-_./".contains(letter))) {
        None if !text.is_empty() => Ok(text.to_owned()),
        Some(at) => Err(refused(&format!("found '{}', expected: in, notin, =, ==, !=, gt, lt", &text[at..]))),
        None => Err(refused("found '', expected: identifier after parsing '!'")),
    }
}

fn value_word(text: &str) -> Result<String, Failure> {
    match text.trim().chars().find(|letter| "=!()".contains(*letter)) {
        None => Ok(text.trim().to_owned()),
        Some(letter) => Err(refused(&format!("found '{letter}', expected: identifier"))),
    }
}

fn refused(what: &str) -> Failure {
    Failure::bad_request(&format!("unable to parse requirement: {what}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn labels() {
        let object = json!({"metadata": {"labels": {"a": "b", "c.d/e": "f"}}});
        let cases = [
            ("", true),
            ("a=b", true),
            ("a==b,c.d/e=f", true),
            ("a!=b", false),
            ("x!=b", true),
            ("a in (b, c)", true),
            ("a notin (b)", false),
            ("a", true),
            ("!a", false),
            ("a in (x),c.d/e", false),
        ];
        for (selector, expected) in cases {
            assert_eq!(LabelSelector::parse(selector).unwrap().matches(&object), expected, "{selector}");
        }
        for wrong in ["a===b", "a in (b", "a b c"] {
            assert!(LabelSelector::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn fields() {
        let object = json!({"metadata": {"name": "a", "namespace": "n"}});
        for (selector, expected) in
            [("metadata.name=a", true), ("metadata.name!=a", false), ("metadata.name=a,metadata.namespace==m", false)]
        {
            let selected = FieldSelector::parse(selector, &Kind::default()).unwrap();
            assert_eq!(selected.matches(&object), expected, "{selector}");
        }
        assert!(FieldSelector::parse("spec.x=1", &Kind::default()).is_err());
        assert!(FieldSelector::parse("reason=a", &Kind::default()).is_err(), "only of events");
    }

    #[test]
    fn events_are_selected_by_what_they_are_about_in_the_words_of_their_group() {
        let event = json!({"involvedObject": {"kind": "FleetRollout", "name": "shop"}, "type": "Warning"});
        let kind = |group: &str| Kind { group: group.to_owned(), plural: "events".to_owned(), ..Kind::default() };
        let matches = |group: &str, selector: &str| {
            FieldSelector::parse(selector, &kind(group)).map(|selected| selected.matches(&event)).ok()
        };
        assert_eq!(matches("", "involvedObject.kind=FleetRollout,involvedObject.name=shop,type=Warning"), Some(true));
        assert_eq!(matches("", "involvedObject.kind=FleetRollout,involvedObject.name=other"), Some(false));
        assert_eq!(matches(EVENTS, "regarding.name=shop,reason!=Succeeded"), Some(true));
        assert_eq!((matches("", "regarding.name=shop"), matches(EVENTS, "involvedObject.name=shop")), (None, None));
    }
}
