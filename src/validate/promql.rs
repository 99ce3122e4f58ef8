//! Queries: their variables, their syntax, and what they give.

use std::{collections::BTreeSet, convert::Infallible};

use promql_parser::{
    parser::{self, Expr, LabelModifier, value::ValueType},
    util::{ExprVisitor, walk_expr},
};

use super::{
    problem::{Problem, quoted},
    suggestion::nearest,
};
use crate::api::template::{Unfilled, fill};

/// Longest query, in bytes. The parser recurses: 64 KiB of parentheses would overflow a stack of 2 MiB.
const LONGEST_QUERY: usize = 8192;
/// What queries may name, each with a value in its place that leaves the syntax as it will be.
const VARIABLES: &[(&str, &str)] = &[
    ("service", "service"),
    ("services", "service"),
    ("namespace", "namespace"),
    ("member", "member"),
    ("backend", "backend"),
    ("window", "1m"),
    ("service.word", "service"),
    ("namespace.word", "namespace"),
    ("backend.word", "backend"),
];

/// A query that was read.
pub(super) struct Query {
    expression: Expr,
    /// Names of the series that it selects.
    pub(super) series: BTreeSet<String>,
    /// It covers a range of time.
    pub(super) ranges: bool,
}

impl Query {
    /// Its outermost aggregation, where it has one, drops this label.
    pub(super) fn drops(&self, label: &str) -> bool {
        let has = |labels: &[String]| labels.iter().any(|one| one == label);
        match outermost(&self.expression) {
            Expr::Aggregate(aggregate) => match &aggregate.modifier {
                Some(LabelModifier::Include(by)) => !has(&by.labels),
                Some(LabelModifier::Exclude(without)) => has(&without.labels),
                None => true,
            },
            _ => false,
        }
    }
}

fn outermost(expression: &Expr) -> &Expr {
    match expression {
        Expr::Paren(inner) => outermost(&inner.expr),
        _ => expression,
    }
}

/// Reads a query with its variables filled in.
pub(super) fn read(path: &str, text: &str) -> Result<Query, Problem> {
    if text.len() > LONGEST_QUERY {
        let found = format!("the query has {} bytes", text.len());
        return Err(Problem::error(path, found, format!("at most {LONGEST_QUERY} are allowed")));
    }
    let filled = filled(path, text, VARIABLES)?;
    let expression = parser::parse(&filled)
        .map_err(|why| Problem::error(path, format!("is not PromQL: {}", one_line(&why)), "correct the query"))?;
    let gives = match expression.value_type() {
        ValueType::Vector | ValueType::Scalar => None,
        ValueType::Matrix => Some("a range of samples"),
        ValueType::String => Some("a text"),
    };
    if let Some(gives) = gives {
        return Err(Problem::error(
            path,
            format!("the query returns {gives}"),
            "make it return one number per series, such as sum(increase(…))",
        ));
    }
    let mut selected = Selected::default();
    match walk_expr(&mut selected, &expression) {
        Ok(_) => Ok(Query { expression, series: selected.series, ranges: selected.ranges }),
        Err(never) => match never {},
    }
}

/// Fills the variables in; one that is not known is the problem.
pub(super) fn filled(path: &str, text: &str, known: &[(&str, &str)]) -> Result<String, Problem> {
    let value = |name: &str| known.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    fill(text, value).map_err(|unfilled| {
        let names = || known.iter().map(|(name, _)| *name);
        let all = names().map(|name| format!("{{{{ {name} }}}}")).collect::<Vec<_>>().join(", ");
        match unfilled {
            Unfilled::Open => {
                Problem::error(path, "{{ is not closed", format!("close it with }}}}; known variables: {all}"))
            }
            Unfilled::Unknown(name) => {
                let remedy = nearest(name, names()).map_or_else(
                    || format!("known variables: {all}"),
                    |near| format!("did you mean {{{{ {near} }}}}?"),
                );
                Problem::error(path, format!("variable {} is not known", quoted(name)), remedy)
            }
        }
    })
}

fn one_line(text: &str) -> String {
    let line: String = text.chars().take(160).map(|c| if c.is_control() { ' ' } else { c }).collect();
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[derive(Default)]
struct Selected {
    series: BTreeSet<String>,
    ranges: bool,
}

impl ExprVisitor for Selected {
    type Error = Infallible;

    fn pre_visit(&mut self, expression: &Expr) -> Result<bool, Infallible> {
        match expression {
            Expr::VectorSelector(selector) => self.series.extend(selector.name.clone()),
            Expr::MatrixSelector(matrix) => {
                self.ranges = true;
                self.series.extend(matrix.vs.name.clone());
            }
            Expr::Subquery(_) => self.ranges = true,
            _ => {}
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::read;

    fn problem(query: &str) -> String {
        read("q", query).err().map(|problem| problem.to_string()).unwrap_or_default()
    }

    #[test]
    fn reads_what_prometheus_would() {
        let query = read("q", r#"sum by (le) (increase(d_bucket{service="{{ service }}"}[{{ window }}]))"#).unwrap();
        assert!(query.ranges && !query.drops("le") && query.drops("service") && query.series.contains("d_bucket"));
        assert!(read("q", "sum(rate(d_bucket[{{window}}]))").unwrap().drops("le"));
    }

    #[test]
    fn says_what_is_wrong_with_a_query() {
        for (query, said) in [
            ("up{s=\"{{ servce }}\"}", r#"q: variable "servce" is not known; did you mean {{ service }}?"#),
            (
                "up{{ foo",
                "q: {{ is not closed; close it with }}; known variables: {{ service }}, {{ services }}, {{ namespace }}, {{ member }}, {{ backend }}, {{ window }}, {{ service.word }}, {{ namespace.word }}, {{ backend.word }}",
            ),
            (
                "up[5m]",
                "q: the query returns a range of samples; make it return one number per series, such as sum(increase(…))",
            ),
            ("\"up\"", "q: the query returns a text; make it return one number per series, such as sum(increase(…))"),
        ] {
            assert_eq!(problem(query), said);
        }
        assert!(problem("sum(up").starts_with("q: is not PromQL: "));
        assert!(problem("sum(up) by by").ends_with("; correct the query"));
    }

    #[test]
    fn a_long_query_is_refused_before_it_is_read() {
        let said = problem(&"(".repeat(9000));
        assert_eq!(said, "q: the query has 9000 bytes; at most 8192 are allowed");
        assert!(problem(&"(".repeat(8192)).starts_with("q: is not PromQL"));
    }
}
