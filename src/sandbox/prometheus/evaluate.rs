//! An expression at an instant.

use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;
use promql_parser::{
    label::METRIC_NAME,
    parser::{
        AggregateExpr, BinModifier, Call, Expr, LabelModifier, MatrixSelector,
        token::{T_LOR, T_SUM, TokenType},
    },
};

use super::{Labels, Series, Unsupported, range::increase};

/// One series at an instant.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sample {
    pub(super) labels: Labels,
    pub(super) value: f64,
}

impl Sample {
    /// The same without its name: what is computed from a series is another one.
    pub(super) fn nameless(mut self) -> Self {
        self.labels.remove(METRIC_NAME);
        self
    }
}

pub(super) fn evaluate(series: &Series, expression: &Expr, at: Timestamp) -> Result<Vec<Sample>, Unsupported> {
    let recur = |inner: &Expr| evaluate(series, inner, at);
    match expression {
        Expr::Paren(inner) => recur(&inner.expr),
        Expr::VectorSelector(selector) => {
            let found = series.instant(selector, at)?;
            Ok(found.into_iter().map(|(labels, value)| Sample { labels, value }).collect())
        }
        Expr::Aggregate(aggregate) => sum(aggregate, recur(&aggregate.expr)?),
        Expr::Binary(operation) if operation.op == TokenType::new(T_LOR) && is_plain(operation.modifier.as_ref()) => {
            Ok(or(recur(&operation.lhs)?, recur(&operation.rhs)?))
        }
        Expr::Binary(operation) => beyond(format!("operator {}", operation.op)),
        Expr::Call(call) => function(series, call, at),
        Expr::NumberLiteral(_) => beyond("a number outside of vector()"),
        Expr::Unary(_) => beyond("a sign"),
        Expr::MatrixSelector(_) => beyond("a range without increase or rate"),
        Expr::Subquery(_) => beyond("a subquery"),
        Expr::StringLiteral(_) => beyond("a string"),
        Expr::Extension(_) => beyond("an extension"),
    }
}

fn beyond<T>(what: impl Into<String>) -> Result<T, Unsupported> {
    Err(Unsupported::Beyond(what.into()))
}

/// Series are the same by all their labels.
fn is_plain(modifier: Option<&BinModifier>) -> bool {
    modifier.is_none_or(|modifier| modifier.matching.is_none())
}

/// Everything on the left, and what only the right has.
fn or(mut left: Vec<Sample>, right: Vec<Sample>) -> Vec<Sample> {
    let nameless = |sample: &Sample| sample.clone().nameless().labels;
    let there: Vec<Labels> = left.iter().map(nameless).collect();
    left.extend(right.into_iter().filter(|sample| !there.contains(&nameless(sample))));
    left
}

fn function(series: &Series, call: &Call, at: Timestamp) -> Result<Vec<Sample>, Unsupported> {
    let argument = call.args.args.first().map(|argument| without_parens(argument));
    match (call.func.name, argument) {
        ("increase", Some(Expr::MatrixSelector(matrix))) => gained(series, matrix, at, |gained, _| gained),
        ("rate", Some(Expr::MatrixSelector(matrix))) => {
            gained(series, matrix, at, |gained, window| gained / window.as_secs_f64())
        }
        ("vector", Some(Expr::NumberLiteral(number))) => Ok(vec![Sample { labels: Labels::new(), value: number.val }]),
        (name, _) => beyond(format!("{name}()")),
    }
}

fn without_parens(expression: &Expr) -> &Expr {
    match expression {
        Expr::Paren(inner) => without_parens(&inner.expr),
        _ => expression,
    }
}

fn gained(
    series: &Series,
    matrix: &MatrixSelector,
    at: Timestamp,
    value: fn(f64, Duration) -> f64,
) -> Result<Vec<Sample>, Unsupported> {
    let selected = series.range(&matrix.vs, matrix.range, at)?;
    let samples = selected.into_iter().filter_map(|(labels, samples)| {
        let value = value(increase(&samples, matrix.range, at)?, matrix.range);
        Some(Sample { labels, value }.nameless())
    });
    Ok(samples.collect())
}

/// Sums by group; no sample at all gives no sum.
fn sum(aggregate: &AggregateExpr, samples: Vec<Sample>) -> Result<Vec<Sample>, Unsupported> {
    if aggregate.op != TokenType::new(T_SUM) {
        return beyond(format!("aggregation {}", aggregate.op));
    }
    let mut sums: BTreeMap<Labels, f64> = BTreeMap::new();
    for Sample { mut labels, value } in samples {
        labels.retain(|label, _| is_kept(aggregate.modifier.as_ref(), label));
        *sums.entry(labels).or_default() += value;
    }
    Ok(sums.into_iter().map(|(labels, value)| Sample { labels, value }).collect())
}

fn is_kept(modifier: Option<&LabelModifier>, label: &String) -> bool {
    match modifier {
        None => false,
        Some(LabelModifier::Include(by)) => by.labels.contains(label),
        Some(LabelModifier::Exclude(without)) => label != METRIC_NAME && !without.labels.contains(label),
    }
}
