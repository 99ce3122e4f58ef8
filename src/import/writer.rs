//! YAML as a person writes it: short mappings on one line, and comments above the fields that they are about.

use super::{remarks::Remarks, scalar::scalar};
use crate::yaml::{Ordered, below};

/// Columns of a line.
const WIDTH: usize = 100;
/// Longest mapping or list that stands on one line, in characters.
const ONE_LINE: usize = 72;
/// Mappings down to this depth, such as `spec.analysis`, have a line for each field.
const BLOCKS: usize = 2;

/// Writes a document with its comments.
pub(super) fn written(document: &Ordered, remarks: &Remarks) -> String {
    let mut writer = Writer { remarks, text: String::new() };
    remarks.head().iter().for_each(|note| writer.comment(note, 0));
    if let Ordered::Map(fields) = document {
        writer.fields("", fields, 0, false);
    }
    writer.text
}

struct Writer<'r> {
    remarks: &'r Remarks,
    text: String,
}

impl Writer<'_> {
    /// A comment, broken into lines; a command, which begins with `$ `, stands on one.
    fn comment(&mut self, note: &str, indent: usize) {
        if let Some(command) = note.strip_prefix("$ ") {
            self.line(&format!("{}#   {command}", " ".repeat(indent)));
            return;
        }
        let margin = if note.starts_with("- ") { "  " } else { "" };
        let begins = format!("{}#", " ".repeat(indent));
        let mut line = begins.clone();
        for word in note.split_whitespace() {
            let is_full = line.chars().count() + 1 + word.chars().count() > WIDTH;
            if is_full && line.len() > begins.len() + margin.len() {
                self.line(&line);
                line = format!("{begins}{margin}");
            }
            line.push(' ');
            line.push_str(word);
        }
        self.line(&line);
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn notes(&mut self, path: &str, indent: usize) {
        let remarks = self.remarks;
        remarks.at(path).iter().for_each(|note| self.comment(note, indent));
    }

    /// The fields of a mapping; the first one stands behind a dash that is already there, if it is an entry of a list.
    fn fields(&mut self, path: &str, fields: &[(String, Ordered)], indent: usize, entry: bool) {
        for (place, (key, value)) in fields.iter().enumerate() {
            let at = below(path, key);
            if !(entry && place == 0) {
                self.notes(&at, indent);
                self.text.push_str(&" ".repeat(indent));
            }
            self.text.push_str(&scalar(&key.as_str().into()));
            self.text.push(':');
            self.value(&at, value, indent);
        }
    }

    fn value(&mut self, path: &str, value: &Ordered, indent: usize) {
        if let Some(line) = self.on_one_line(path, value) {
            self.line(&format!(" {line}"));
            return;
        }
        self.text.push('\n');
        match value {
            Ordered::Scalar(_) => {}
            Ordered::Map(fields) => self.fields(path, fields, indent + 2, false),
            Ordered::List(entries) => {
                for (place, entry) in entries.iter().enumerate() {
                    self.entry(&format!("{path}[{place}]"), entry, indent + 2);
                }
            }
        }
    }

    fn entry(&mut self, path: &str, entry: &Ordered, indent: usize) {
        self.notes(path, indent);
        let short = self.on_one_line(path, entry).filter(|_| is_flat(entry));
        match (short, entry) {
            (None, Ordered::Map(fields)) => {
                if let Some((first, _)) = fields.first() {
                    self.notes(&below(path, first), indent);
                }
                self.text.push_str(&" ".repeat(indent));
                self.text.push_str("- ");
                self.fields(path, fields, indent + 2, true);
            }
            (Some(line), _) => self.line(&format!("{}- {line}", " ".repeat(indent))),
            (None, Ordered::Scalar(_) | Ordered::List(_)) => {
                self.line(&format!("{}- {}", " ".repeat(indent), flow(entry)));
            }
        }
    }

    /// A value in braces or brackets, where it is short enough and nothing is said of its parts.
    fn on_one_line(&self, path: &str, value: &Ordered) -> Option<String> {
        let depth = path.split('.').count();
        match value {
            Ordered::Scalar(value) => return Some(scalar(value)),
            Ordered::Map(fields) if fields.is_empty() => return Some("{}".to_owned()),
            Ordered::List(entries) if entries.is_empty() => return Some("[]".to_owned()),
            Ordered::Map(_) | Ordered::List(_) if depth <= BLOCKS && !path.ends_with(']') => return None,
            Ordered::Map(_) | Ordered::List(_) if self.remarks.any_below(path) => return None,
            Ordered::List(entries) if !entries.iter().all(is_scalar) => return None,
            Ordered::Map(_) | Ordered::List(_) => {}
        }
        Some(flow(value)).filter(|line| line.chars().count() <= ONE_LINE)
    }
}

fn is_scalar(value: &Ordered) -> bool {
    matches!(value, Ordered::Scalar(_))
}

/// An entry of a list all of whose fields are single values.
fn is_flat(entry: &Ordered) -> bool {
    match entry {
        Ordered::Map(fields) => fields.iter().all(|(_, value)| is_scalar(value)),
        Ordered::Scalar(_) | Ordered::List(_) => true,
    }
}

fn flow(value: &Ordered) -> String {
    match value {
        Ordered::Scalar(value) => scalar(value),
        Ordered::List(entries) => format!("[{}]", entries.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Ordered::Map(fields) => {
            let field = |(key, value): &(String, Ordered)| format!("{}: {}", scalar(&key.as_str().into()), flow(value));
            format!("{{{}}}", fields.iter().map(field).collect::<Vec<_>>().join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Map, Value, json};

    use super::*;
    use crate::yaml::{documents, ordered};

    fn write(value: &Value, remarks: &Remarks) -> String {
        written(&ordered(value).unwrap(), remarks)
    }

    #[test]
    fn short_mappings_stand_on_one_line_and_comments_above_their_fields() {
        let value = json!({"kind": "A", "spec": {
            "steps": [{"progress": "5%", "wait": "Promotion"}, {"progress": "100%"}],
            "strategy": {"ramp": {"stepWeight": 5}, "routes": [{"contour": {"name": "shop"}}]},
        }});
        let mut remarks = Remarks::default();
        remarks.note("", "At the head.");
        remarks.note("spec.steps[1]", "All of it.");
        remarks.note("spec.strategy.ramp", "Of another.");
        remarks.lose("spec.x", "it has none");
        let expected = "\
# At the head.
# Without a counterpart:
# - spec.x: it has none
kind: A
spec:
  steps:
    - {progress: 5%, wait: Promotion}
    # All of it.
    - {progress: 100%}
  strategy:
    # Of another.
    ramp: {stepWeight: 5}
    routes:
      - contour: {name: shop}
";
        assert_eq!(write(&value, &remarks), expected);
    }

    #[test]
    fn no_comment_ends_before_its_line() {
        let mut remarks = Remarks::default();
        remarks.note("", format!("a\nb: {}", "word ".repeat(60)));
        let text = write(&json!({"a": 1}), &remarks);
        let (comments, rest) = text.split_at(text.find("a: 1").unwrap());
        assert!(
            comments.lines().all(|line| line.starts_with('#') && line.len() <= WIDTH) && rest == "a: 1\n",
            "{text}"
        );
    }

    fn values() -> impl Strategy<Value = Value> {
        let scalars = prop_oneof![
            any::<bool>().prop_map(Value::from),
            (-1000..1000_i64).prop_map(Value::from),
            (-1000..1000_i32).prop_map(|number| json!(f64::from(number) / 8.0 + 0.0625)),
            ".{0,12}".prop_map(Value::from),
            "[-+0-9a-fxo_.:eE%]{0,6}".prop_map(Value::from),
            prop::sample::select(vec!["yes", "No", "~", "null", "- a", "a: b", "#x", "a #b", "'", "\"", "{{ x }}"])
                .prop_map(Value::from),
        ];
        scalars.prop_recursive(4, 40, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-z]{1,6}", inner, 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        /// Whatever is written is read again as what it was.
        #[test]
        fn what_is_written_is_what_was_meant(fields in prop::collection::btree_map("[a-z]{1,6}", values(), 1..5)) {
            let value = Value::Object(fields.into_iter().collect::<Map<_, _>>());
            let text = write(&value, &Remarks::default());
            let read = documents(&text).unwrap();
            prop_assert_eq!(&read[0].value, &value, "{}", text);
        }
    }
}
