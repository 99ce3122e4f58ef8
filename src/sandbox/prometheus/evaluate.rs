//! An expression at an instant.

use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;
use promql_parser::{
    label::METRIC_NAME,
    parser::{
        AggregateExpr, Call, Expr, LabelModifier, MatrixSelector,
        token::{T_SUM, TokenType},
    },
};

use super::{Labels, Series, Unsupported, binary, range::increase};

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

/// What an expression gives.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Evaluated {
    Scalar(f64),
    Vector(Vec<Sample>),
}

pub(super) fn evaluate(series: &Series, expression: &Expr, at: Timestamp) -> Result<Evaluated, Unsupported> {
    let recur = |inner: &Expr| evaluate(series, inner, at);
    match expression {
        Expr::NumberLiteral(number) => Ok(Evaluated::Scalar(number.val)),
        Expr::Paren(inner) => recur(&inner.expr),
        Expr::Unary(inner) => Ok(negative(recur(&inner.expr)?)),
        Expr::VectorSelector(selector) => {
            let found = series.instant(selector, at)?;
            Ok(Evaluated::Vector(found.into_iter().map(|(labels, value)| Sample { labels, value }).collect()))
        }
        Expr::Aggregate(aggregate) => sum(aggregate, recur(&aggregate.expr)?),
        Expr::Binary(operation) => binary::apply(operation, recur(&operation.lhs)?, recur(&operation.rhs)?),
        Expr::Call(call) => function(series, call, at),
        Expr::MatrixSelector(_) => beyond("a range without increase or rate"),
        Expr::Subquery(_) => beyond("a subquery"),
        Expr::StringLiteral(_) => beyond("a string"),
        Expr::Extension(_) => beyond("an extension"),
    }
}

fn beyond<T>(what: impl Into<String>) -> Result<T, Unsupported> {
    Err(Unsupported::Beyond(what.into()))
}

fn negative(evaluated: Evaluated) -> Evaluated {
    match evaluated {
        Evaluated::Scalar(value) => Evaluated::Scalar(-value),
        Evaluated::Vector(samples) => Evaluated::Vector(
            samples.into_iter().map(|sample| Sample { value: -sample.value, ..sample.nameless() }).collect(),
        ),
    }
}

fn function(series: &Series, call: &Call, at: Timestamp) -> Result<Evaluated, Unsupported> {
    let argument = call.args.args.first().map(|argument| without_parens(argument));
    match (call.func.name, argument) {
        ("increase", Some(Expr::MatrixSelector(matrix))) => gained(series, matrix, at, |gained, _| gained),
        ("rate", Some(Expr::MatrixSelector(matrix))) => {
            gained(series, matrix, at, |gained, window| gained / window.as_secs_f64())
        }
        ("vector", Some(scalar)) => match evaluate(series, scalar, at)? {
            Evaluated::Scalar(value) => Ok(Evaluated::Vector(vec![Sample { labels: Labels::new(), value }])),
            Evaluated::Vector(_) => beyond("vector of a vector"),
        },
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
) -> Result<Evaluated, Unsupported> {
    let selected = series.range(&matrix.vs, matrix.range, at)?;
    let samples = selected.into_iter().filter_map(|(labels, samples)| {
        let value = value(increase(&samples, matrix.range, at)?, matrix.range);
        Some(Sample { labels, value }.nameless())
    });
    Ok(Evaluated::Vector(samples.collect()))
}

/// Sums by group; no sample at all gives no sum.
fn sum(aggregate: &AggregateExpr, of: Evaluated) -> Result<Evaluated, Unsupported> {
    if aggregate.op != TokenType::new(T_SUM) {
        return beyond(format!("aggregation {}", aggregate.op));
    }
    let Evaluated::Vector(samples) = of else { return beyond("sum of a scalar") };
    let mut sums: BTreeMap<Labels, f64> = BTreeMap::new();
    for Sample { mut labels, value } in samples {
        labels.retain(|label, _| is_kept(aggregate.modifier.as_ref(), label));
        *sums.entry(labels).or_default() += value;
    }
    Ok(Evaluated::Vector(sums.into_iter().map(|(labels, value)| Sample { labels, value }).collect()))
}

fn is_kept(modifier: Option<&LabelModifier>, label: &String) -> bool {
    match modifier {
        None => false,
        Some(LabelModifier::Include(by)) => by.labels.contains(label),
        Some(LabelModifier::Exclude(without)) => label != METRIC_NAME && !without.labels.contains(label),
    }
}
