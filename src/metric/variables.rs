//! A template's variables, written into its queries by their type.

use std::collections::BTreeMap;

use crate::api::{
    Duration, MetricTemplateSpec,
    metric_template::{Variable, VariableType},
};

/// What does not fit between a template and the variables of a metric.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Misfit {
    /// A variable without a value.
    #[error("variable {0} has no default; give it in variables")]
    Missing(String),
    /// A value for a variable that the template does not declare.
    #[error("variable {0} is not declared in it; leave it out, or correct the name")]
    Undeclared(String),
    /// A value of another type.
    #[error("variable {name}: {value:?} is no {expected}")]
    Type {
        /// The variable.
        name: String,
        /// What was given.
        value: String,
        /// What is expected, with an example.
        expected: &'static str,
    },
    /// A text where nothing quotes it.
    #[error(
        "variable {0} is a text and stands outside of quotes; put it into a string, or make it a Number or Duration"
    )]
    Unquoted(String),
    /// A text between backticks.
    #[error("variable {0} stands between backticks, where nothing can be escaped; use double quotes")]
    Raw(String),
    /// A `{{` without its `}}`.
    #[error("a {{{{ is never closed; close it with }}}}")]
    Open,
}

/// A template with its variables written in; what it says of `{{ service }}` and the like stays.
///
/// # Errors
/// When a value is missing, not declared or of another type, or a text stands where nothing quotes it.
pub(crate) fn filled(
    template: &MetricTemplateSpec,
    given: &BTreeMap<String, String>,
) -> Result<MetricTemplateSpec, Misfit> {
    let declared = |name: &String| template.variables.iter().any(|variable| variable.name == *name);
    if let Some(name) = given.keys().find(|name| !declared(name)) {
        return Err(Misfit::Undeclared(name.clone()));
    }
    let values = template.variables.iter().map(|variable| value(variable, given)).collect::<Result<Vec<_>, _>>()?;
    let mut filled = template.clone();
    for text in queries(&mut filled) {
        *text = written(text, &values)?;
    }
    Ok(filled)
}

fn queries(template: &mut MetricTemplateSpec) -> impl Iterator<Item = &mut String> {
    let shares = template.ratio.iter_mut().flat_map(|ratio| [&mut ratio.numerator, &mut ratio.denominator]);
    shares.chain(template.histogram.iter_mut().map(|histogram| &mut histogram.buckets)).chain(template.query.as_mut())
}

/// A variable with a value that its type takes.
struct Value<'a> {
    variable: &'a Variable,
    text: &'a str,
}

fn value<'a>(variable: &'a Variable, given: &'a BTreeMap<String, String>) -> Result<Value<'a>, Misfit> {
    let name = &variable.name;
    let text = given.get(name).or(variable.default.as_ref()).ok_or_else(|| Misfit::Missing(name.clone()))?;
    let (fits, expected) = match variable.type_ {
        VariableType::Text => (!text.contains("{{"), "text: it may not hold {{"),
        VariableType::Number => (is_number(text), "number; write digits, such as 0.5"),
        VariableType::Duration => (text.parse::<Duration>().is_ok(), "duration; write whole h, m, s or ms, such as 5m"),
    };
    if !fits {
        let value = text.chars().take(40).collect();
        return Err(Misfit::Type { name: name.clone(), value, expected });
    }
    Ok(Value { variable, text })
}

fn is_number(text: &str) -> bool {
    let digits = |part: &str| (1..=18).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    digits(whole) && digits(fraction)
}

/// A query with its variables written in, each as the place takes it.
fn written(query: &str, values: &[Value<'_>]) -> Result<String, Misfit> {
    let (mut text, mut rest, mut place) = (String::with_capacity(query.len()), query, Place::Code);
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after.split_once("}}").ok_or(Misfit::Open)?;
        place = place.after(before);
        text.push_str(before);
        match name.trim().strip_prefix("variables.") {
            None => text.extend(["{{", name, "}}"]),
            Some(name) => {
                let known = values.iter().find(|value| value.variable.name == name);
                text.push_str(&place.take(known.ok_or_else(|| Misfit::Undeclared(name.to_owned()))?)?);
            }
        }
        rest = after;
    }
    Ok(text + rest)
}

/// Where in a query something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Code,
    Comment,
    /// In a string that this character ends.
    Quoted(char),
}

impl Place {
    /// The place behind a piece of the query that begins here.
    fn after(self, piece: &str) -> Self {
        let (mut place, mut escaped) = (self, false);
        for character in piece.chars() {
            place = match (place, character) {
                _ if escaped => {
                    escaped = false;
                    place
                }
                (Self::Quoted('"' | '\''), '\\') => {
                    escaped = true;
                    place
                }
                (Self::Quoted(quote), character) if character == quote => Self::Code,
                (Self::Code, '"' | '\'' | '`') => Self::Quoted(character),
                (Self::Code, '#') => Self::Comment,
                (Self::Comment, '\n') => Self::Code,
                (place, _) => place,
            };
        }
        place
    }

    /// A value as it is written here.
    fn take(self, value: &Value<'_>) -> Result<String, Misfit> {
        let name = || value.variable.name.clone();
        match (value.variable.type_, self) {
            (VariableType::Number | VariableType::Duration, _) => Ok(value.text.to_owned()),
            (VariableType::Text, Self::Quoted('`')) => Err(Misfit::Raw(name())),
            (VariableType::Text, Self::Quoted(quote)) => Ok(escaped(value.text, quote)),
            (VariableType::Text, Self::Code | Self::Comment) => Err(Misfit::Unquoted(name())),
        }
    }
}

/// A text for a PromQL string in such quotes: only its own quote may be escaped there.
fn escaped(text: &str, quote: char) -> String {
    let mut written = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\\' => written.push_str("\\\\"),
            '\n' => written.push_str("\\n"),
            '\r' => written.push_str("\\r"),
            '\t' => written.push_str("\\t"),
            character if character == quote => written.extend(['\\', quote]),
            character if character.is_control() => written.extend(["\\u00", &format!("{:02x}", u32::from(character))]),
            character => written.push(character),
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use promql_parser::{label::MatchOp, parser};
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn template(query: &str) -> MetricTemplateSpec {
        let variables = json!([
            {"name": "code", "default": "5.."}, {"name": "factor", "type": "Number", "default": "1"},
            {"name": "range", "type": "Duration", "default": "5m"}]);
        serde_json::from_value(json!({"variables": variables, "query": query})).unwrap()
    }

    fn query(text: &str, given: &[(&str, &str)]) -> Result<String, String> {
        let given = given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        filled(&template(text), &given).map(|filled| filled.query.unwrap()).map_err(|misfit| misfit.to_string())
    }

    #[test]
    fn variables_are_written_by_their_type_and_all_others_stay() {
        let text = r#"{{ variables.factor }} * sum(rate(x{code=~"{{variables.code}}",s="{{ service }}"}[{{ variables.range }}]))"#;
        let filled = r#"1 * sum(rate(x{code=~"5..",s="{{ service }}"}[5m]))"#;
        assert_eq!(query(text, &[]), Ok(filled.to_owned()));
        let given = [("code", "5..|429"), ("factor", "-0.5"), ("range", "1h30m")];
        let filled = r#"-0.5 * sum(rate(x{code=~"5..|429",s="{{ service }}"}[1h30m]))"#;
        assert_eq!(query(text, &given), Ok(filled.to_owned()));
        let text = "x # it's \"\n + y{code=~\"{{ variables.code }}\"}";
        assert_eq!(query(text, &[]), Ok(text.replace("{{ variables.code }}", "5..")), "a comment ends with its line");
    }

    #[test]
    fn what_does_not_fit_is_refused_with_the_remedy() {
        let text = r#"x{code=~"{{ variables.code }}"}"#;
        for (text, given, said) in [
            (text, ("cod", "5.."), "variable cod is not declared in it; leave it out, or correct the name"),
            (
                text,
                ("factor", "1 or vector(1)"),
                "variable factor: \"1 or vector(1)\" is no number; write digits, such as 0.5",
            ),
            (text, ("factor", "NaN"), "variable factor: \"NaN\" is no number; write digits, such as 0.5"),
            (
                text,
                ("range", "5m]) or (x[1m"),
                "variable range: \"5m]) or (x[1m\" is no duration; write whole h, m, s or ms, such as 5m",
            ),
            (text, ("code", "{{ service }}"), "variable code: \"{{ service }}\" is no text: it may not hold {{"),
            (
                "rate(x[{{ variables.code }}])",
                ("code", "5m"),
                "variable code is a text and stands outside of quotes; put it into a string, or make it a Number or Duration",
            ),
            (
                "x{a=`{{ variables.code }}`}",
                ("code", "5"),
                "variable code stands between backticks, where nothing can be escaped; use double quotes",
            ),
            (
                "x # \"\n * {{ variables.code }}",
                ("code", "5"),
                "variable code is a text and stands outside of quotes; put it into a string, or make it a Number or Duration",
            ),
            (
                "x * {{ variables.other }}",
                ("code", "5"),
                "variable other is not declared in it; leave it out, or correct the name",
            ),
            ("x{a=\"{{ variables.code }", ("code", "5"), "a {{ is never closed; close it with }}"),
        ] {
            assert_eq!(query(text, &[given]), Err(said.to_owned()), "{text}");
        }
        let mut needed = template(text);
        needed.variables[0].default = None;
        assert_eq!(filled(&needed, &BTreeMap::new()), Err(Misfit::Missing("code".to_owned())));
    }

    #[test]
    fn a_number_has_digits_on_both_sides_of_its_point_and_not_too_many() {
        let digits = |count| "9".repeat(count);
        for (text, fits) in [
            ("0", true),
            ("-12", true),
            ("0.5", true),
            ("-0.5", true),
            (&digits(18), true),
            (&digits(19), false),
            (&format!("0.{}", digits(18)), true),
            (&format!("0.{}", digits(19)), false),
            ("", false),
            ("-", false),
            ("--1", false),
            (".5", false),
            ("5.", false),
            ("1.2.3", false),
            ("1e3", false),
            ("+1", false),
        ] {
            assert_eq!(query("{{ variables.factor }}", &[("factor", text)]).is_ok(), fits, "{text:?}");
        }
    }

    proptest! {
        /// Whatever a text holds, the query keeps its form and its one matcher has that very value.
        #[test]
        fn a_text_stays_within_its_quotes(value in "[^{]*", quote in prop::sample::select(vec!['"', '\''])) {
            let text = format!("sum(x{{a={quote}p{{{{ variables.code }}}}s{quote},b=\"c\"}})");
            let filled = query(&text, &[("code", &value)]).unwrap();
            let parsed = parser::parse(&filled).unwrap_or_else(|why| panic!("{filled:?}: {why}"));
            let parser::Expr::Aggregate(sum) = parsed else { panic!("{filled}") };
            let parser::Expr::VectorSelector(selector) = *sum.expr else { panic!("{filled}") };
            let found: Vec<_> = selector.matchers.matchers.iter().map(|one| (one.name.as_str(), one.value.clone())).collect();
            prop_assert_eq!(found, vec![("a", format!("p{value}s")), ("b", "c".to_owned())]);
            prop_assert!(selector.matchers.matchers.iter().all(|one| one.op == MatchOp::Equal));
        }
    }
}
