//! The one place that reads and writes YAML.
//!
//! What is read may be a Secret's text or an untrusted file: size, depth and aliases are limited, and no error carries
//! any of the text.

use std::{collections::BTreeMap, fmt};

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{self, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Number, Value};
use serde_yaml::{Error, Options, Spanned};

/// Maximum size of a text, in bytes: what an API server accepts for one object, and room for comments.
pub(crate) const LARGEST_TEXT: usize = 2 * 1024 * 1024;

/// The reason why an alias cannot be read.
pub(crate) const UNKNOWN_ANCHOR: &str = "an alias without its anchor";

/// Why a text is not usable YAML. Holds nothing of the text except a repeated key, which its message leaves out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum YamlError {
    /// It is larger than 2 MiB.
    #[error("the text has {0} bytes; at most {LARGEST_TEXT} are read")]
    TooLarge(usize),
    /// It nests too deeply, has too many values, or repeats too much through aliases.
    #[error("too deeply nested, too many values, or too many aliases")]
    TooComplex {
        /// The line, from 1.
        line: u64,
    },
    /// A mapping has a key twice.
    #[error("a key is given twice")]
    Duplicate {
        /// The line of the second one, from 1.
        line: u64,
        /// The key; not for the errors about a Secret.
        key: String,
    },
    /// It is not YAML, or uses tags.
    #[error("not readable as YAML (indentation, quotes, brackets, or a tag)")]
    Unreadable {
        /// The line at which reading stopped, from 1.
        line: u64,
        /// The column, from 1.
        column: u64,
        /// The parser's reason; not for the errors about a Secret, although it has at most one letter of the text.
        reason: String,
    },
    /// A value cannot be written as YAML.
    #[error("cannot be written as YAML")]
    Unwritable,
}

/// One document of a YAML text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// The document as JSON, with null for a number that JSON does not have.
    pub value: Value,
    /// The line of each value by its path (`spec.steps[1].progress`), from 1; of a mapping's value, the line of its key.
    pub lines: BTreeMap<String, u64>,
    /// Paths of values that are null or empty.
    pub nulls: Vec<String>,
    /// Paths of numbers that are infinite or not a number.
    pub not_finite: Vec<String>,
}

impl Document {
    /// The line of a path, or of the nearest path above it.
    #[must_use]
    pub(crate) fn line(&self, path: &str) -> u64 {
        let mut path = path;
        loop {
            if let Some(line) = self.lines.get(path) {
                return *line;
            }
            match path.rfind(['.', '[']) {
                Some(end) => path = &path[..end],
                None => return self.lines.get("").copied().unwrap_or(1),
            }
        }
    }

    /// What stands at an entry of a list, such as `items[2]`, as a document of its own.
    #[must_use]
    fn entry(&self, list: &str, place: usize) -> Self {
        let above = format!("{list}[{place}]");
        let inside = |path: &str| path.strip_prefix(&above).map(|rest| rest.trim_start_matches('.').to_owned());
        let lines = self.lines.range(above.clone()..).map_while(|(path, line)| Some((inside(path)?, *line)));
        Self {
            value: self.value[list][place].clone(),
            lines: lines.collect(),
            nulls: self.nulls.iter().filter_map(|path| inside(path)).collect(),
            not_finite: self.not_finite.iter().filter_map(|path| inside(path)).collect(),
        }
    }

    /// The entries of a list, such as `items`, as documents of their own.
    #[must_use]
    pub(crate) fn entries(&self, list: &str) -> Vec<Self> {
        let count = self.value[list].as_array().map_or(0, Vec::len);
        (0..count).map(|place| self.entry(list, place)).collect()
    }
}

/// Parts of a text that are read by themselves after the whole could not be.
const MOST_PARTS: usize = 64;

/// Reads as many documents of a text as can be read, and says why others cannot.
pub(crate) fn readable(text: &str) -> (Vec<Document>, Vec<YamlError>) {
    let whole = match documents(text) {
        Ok(documents) => return (documents, Vec::new()),
        Err(error) => error,
    };
    let parts = parts(text);
    if matches!(whole, YamlError::TooLarge(_)) || parts.len() > MOST_PARTS {
        return (Vec::new(), vec![whole]);
    }
    let (mut read, mut errors) = (Vec::new(), Vec::new());
    for (line, part) in parts {
        // The lines before it, empty, so that every line keeps its number.
        match documents(&format!("{}{part}", "\n".repeat(line))) {
            Ok(documents) => read.extend(documents),
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { (Vec::new(), vec![whole]) } else { (read, errors) }
}

/// The parts of a text that `---` divides, each with the number of lines before it.
fn parts(text: &str) -> Vec<(usize, String)> {
    let mut parts = vec![(0, String::new())];
    for (number, line) in text.split_inclusive('\n').enumerate() {
        if line.trim_end() == "---" || line.starts_with("--- ") {
            parts.push((number, String::new()));
        }
        if let Some((_, part)) = parts.last_mut() {
            part.push_str(line);
        }
    }
    parts
}

/// Reads all documents of a text; empty ones are left out.
pub fn documents(text: &str) -> Result<Vec<Document>, YamlError> {
    if text.len() > LARGEST_TEXT {
        return Err(YamlError::TooLarge(text.len()));
    }
    let nodes: Vec<Node> = serde_yaml::from_multiple_with_options(text, limits()).map_err(|error| refusal(&error))?;
    Ok(nodes.into_iter().filter(|node| !matches!(node.0.value, Kind::Null)).map(document).collect())
}

/// Writes a value as one document.
pub(crate) fn print(value: &impl Serialize) -> Result<String, YamlError> {
    serde_yaml::to_string(value).map_err(|_| YamlError::Unwritable)
}

/// A value whose mappings have their fields in the order in which they are declared.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Ordered {
    /// A text, number or truth; or null.
    Scalar(Value),
    /// Entries.
    List(Vec<Self>),
    /// Fields.
    Map(Vec<(String, Self)>),
}

/// A value as it is written, field by field.
pub(crate) fn ordered(value: &impl Serialize) -> Result<Ordered, YamlError> {
    let text = print(value)?;
    let node: Node = serde_yaml::from_str_with_options(&text, limits()).map_err(|error| refusal(&error))?;
    Ok(in_order(node))
}

fn in_order(Node(node): Node) -> Ordered {
    match node.value {
        Kind::Null | Kind::NotFinite => Ordered::Scalar(Value::Null),
        Kind::Scalar(scalar) => Ordered::Scalar(scalar),
        Kind::List(items) => Ordered::List(items.into_iter().map(in_order).collect()),
        Kind::Map(fields) => {
            Ordered::Map(fields.into_iter().map(|(key, value)| (key.value, in_order(value))).collect())
        }
    }
}

/// The path of a key below a path.
#[must_use]
pub(crate) fn below(path: &str, key: &str) -> String {
    let plain = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    match (path.is_empty(), plain) {
        (true, true) => key.to_owned(),
        (false, true) => format!("{path}.{key}"),
        (_, false) => format!("{path}[{key:?}]"),
    }
}

fn limits() -> Options {
    serde_yaml::options! {
        budget: serde_yaml::budget! {
            max_events: 200_000,
            max_aliases: 100,
            max_anchors: 100,
            max_depth: 32,
            max_documents: 256,
            max_nodes: 100_000,
            max_total_scalar_bytes: LARGEST_TEXT,
            max_merge_keys: 100,
        },
        alias_limits: serde_yaml::alias_limits! {
            max_total_replayed_events: 10_000,
            max_replay_stack_depth: 8,
            max_alias_expansions_per_anchor: 64,
        },
        duplicate_keys: serde_yaml::DuplicateKeyPolicy::Error,
        reject_unsupported_tags: true,
        non_finite_float_policy: serde_yaml::NonFiniteFloatPolicy::PassThrough,
        with_snippet: false,
    }
}

fn refusal(error: &Error) -> YamlError {
    let (line, column) = error.location().map_or((1, 1), |location| (location.line(), location.column()));
    match error.without_snippet() {
        Error::AliasError { error, .. } => refusal(error),
        Error::DuplicateMappingKey { key, .. } => YamlError::Duplicate { line, key: key.clone().unwrap_or_default() },
        Error::Budget { .. }
        | Error::AliasReplayCounterOverflow { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => YamlError::TooComplex { line },
        other => YamlError::Unreadable { line, column, reason: reason(other) },
    }
}

/// What the parser says, where its words are its own.
fn reason(error: &Error) -> String {
    match error {
        Error::ExternalMessage { msg, .. } => msg.clone(),
        Error::UnknownAnchor { .. } => UNKNOWN_ANCHOR.to_owned(),
        Error::UnsupportedTag { .. } => "a tag that is not known".to_owned(),
        Error::Eof { .. } => "the text ends too early".to_owned(),
        _ => "the structure is wrong".to_owned(),
    }
}

/// A value and its line.
struct Node(Spanned<Kind>);

enum Kind {
    Null,
    Scalar(Value),
    NotFinite,
    List(Vec<Node>),
    Map(Vec<(Spanned<String>, Node)>),
}

fn document(node: Node) -> Document {
    let mut document = Document::default();
    let line = node.0.referenced.line();
    document.value = document.enter(String::new(), line, node.0.value);
    document
}

impl Document {
    /// Records a value and all values below it, and returns it as JSON.
    fn enter(&mut self, path: String, line: u64, kind: Kind) -> Value {
        self.lines.insert(path.clone(), line);
        match kind {
            Kind::Null => {
                self.nulls.push(path);
                Value::Null
            }
            Kind::NotFinite => {
                self.not_finite.push(path);
                Value::Null
            }
            Kind::Scalar(scalar) => scalar,
            Kind::List(items) => {
                let items = items.into_iter().enumerate();
                items
                    .map(|(i, Node(item))| self.enter(format!("{path}[{i}]"), item.referenced.line(), item.value))
                    .collect()
            }
            Kind::Map(entries) => entries
                .into_iter()
                .map(|(key, Node(value))| {
                    let value = self.enter(below(&path, &key.value), key.referenced.line(), value.value);
                    (key.value, value)
                })
                .collect::<Map<_, _>>()
                .into(),
        }
    }
}

/// A number in JSON: whole numbers have no fraction, as in an API server's own YAML reader.
fn number(value: f64) -> Kind {
    #[allow(clippy::cast_possible_truncation)] // within 2^53 a whole double is exactly an integer
    let whole = (value.fract() == 0.0 && value.abs() < 9e15).then_some(value as i64);
    match (whole, Number::from_f64(value)) {
        (Some(whole), _) => Kind::Scalar(whole.into()),
        (None, Some(number)) => Kind::Scalar(number.into()),
        (None, None) => Kind::NotFinite,
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Spanned::deserialize(deserializer).map(Self)
    }
}

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(KindVisitor)
    }
}

struct KindVisitor;

impl<'de> Visitor<'de> for KindVisitor {
    type Value = Kind;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Kind, E> {
        Ok(Kind::Scalar(value.into()))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Kind, E> {
        Ok(Kind::Scalar(value.into()))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Kind, E> {
        Ok(Kind::Scalar(value.into()))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Kind, E> {
        Ok(number(value))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Kind, E> {
        Ok(Kind::Scalar(value.into()))
    }

    fn visit_unit<E: de::Error>(self) -> Result<Kind, E> {
        Ok(Kind::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Kind, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = sequence.next_element()? {
            items.push(item);
        }
        Ok(Kind::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Kind, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Kind::Map(entries))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{YamlError, documents, readable};

    #[test]
    fn every_value_has_its_line_and_a_mapping_that_of_its_key() {
        let text = "# a comment\nspec:\n  steps:\n    - progress: 10%\n    - {progress: 5%}\n---\na.b/c: 1\n";
        let read = documents(text).unwrap();
        assert_eq!(read.len(), 2);
        assert_eq!(read[0].value, json!({"spec": {"steps": [{"progress": "10%"}, {"progress": "5%"}]}}));
        for (path, line) in [
            ("spec", 2),
            ("spec.steps", 3),
            ("spec.steps[0]", 4),
            ("spec.steps[1].progress", 5),
            ("spec.steps[7].x", 3),
        ] {
            assert_eq!(read[0].line(path), line, "{path}");
        }
        assert_eq!(read[1].line("[\"a.b/c\"]"), 7);
    }

    #[test]
    fn nulls_and_numbers_that_json_lacks_are_named() {
        let read = documents("a:\nb: ~\nc: [null]\nd: .nan\ne: 1e400\nf: -.inf\ng: 50.0\nh: 1.5\n").unwrap();
        assert_eq!(read[0].nulls, ["a", "b", "c[0]"]);
        assert_eq!(read[0].not_finite, ["d", "e", "f"]);
        assert_eq!((read[0].value["g"].clone(), read[0].value["h"].clone()), (json!(50), json!(1.5)));
    }

    #[test]
    fn the_entries_of_a_list_keep_their_lines_and_lose_its_path() {
        let text = "kind: List\nitems:\n- kind: A\n  spec: {a: }\n- kind: B\n  n: .nan\n";
        let objects = documents(text).unwrap()[0].entries("items");
        assert_eq!(objects.iter().map(|one| one.line("")).collect::<Vec<_>>(), [3, 5]);
        assert_eq!((objects[0].line("spec.a"), objects[0].nulls.clone()), (4, vec!["spec.a".to_owned()]));
        assert_eq!(
            (objects[1].value["kind"].clone(), objects[1].not_finite.clone()),
            (json!("B"), vec!["n".to_owned()])
        );
    }

    #[test]
    fn one_document_that_cannot_be_read_hides_no_other() {
        let (read, errors) = readable("a: 1\n---\nb: [\n---\nc: 1\n--- # more\nd: '\n");
        assert_eq!(read.iter().map(|one| one.line("")).collect::<Vec<_>>(), [1, 5]);
        let lines: Vec<u64> =
            errors.iter().map(|error| if let YamlError::Unreadable { line, .. } = error { *line } else { 0 }).collect();
        assert!(lines[0] >= 3 && lines[0] < 5 && lines[1] >= 7, "{errors:?}");
    }

    #[test]
    fn documents_without_anything_are_left_out() {
        assert_eq!(documents("").unwrap(), []);
        assert_eq!(documents("---\n---\na: 1\n---\n").unwrap().len(), 1);
    }

    #[test]
    fn a_key_given_twice_is_refused_with_its_line() {
        assert_eq!(documents("a: 1\nb: 2\na: 3\n"), Err(YamlError::Duplicate { line: 3, key: "a".into() }));
    }

    #[test]
    fn no_error_repeats_any_of_the_text() {
        for text in [
            "token: s3cret\n bad: x",
            "{token: s3cret",
            "token: !!python/x s3cret",
            "s3cret: 1\ns3cret: 2",
            "token: *s3cret",
        ] {
            let error = documents(text).unwrap_err().to_string();
            assert!(!error.contains("s3cret"), "{error}");
        }
    }

    #[test]
    fn bombs_and_depth_end_soon() {
        let bomb = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n\
                    d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d,*d,*d,*d,*d,*d,*d]\n";
        let deep = "[".repeat(100_000);
        for text in [bomb, &deep] {
            assert!(documents(text).is_err());
        }
        assert!(matches!(documents(&"x".repeat(super::LARGEST_TEXT + 1)), Err(YamlError::TooLarge(_))));
    }
}
