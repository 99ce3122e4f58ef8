//! The part of Prometheus that cutover asks for: counters over time, and instant queries over them. Pure: no I/O, no clock.
//!
//! Supported are instant and range selectors with `=`, `!=`, `=~` and `!~`; `sum` with `by` and `without`; `increase` and
//! `rate`, extrapolated as Prometheus does; `vector`, numbers, `+ - * /`, comparisons, and `or`. Everything else is refused
//! by name: `offset`, `@`, subqueries, `on` and `ignoring`, other functions and aggregations.

mod binary;
mod evaluate;
mod history;
mod range;

use std::{collections::BTreeMap, str::FromStr};

use jiff::Timestamp;
use promql_parser::parser::{self, Expr};
use serde_json::{Value, json};

pub use history::Series;

use evaluate::{Evaluated, Sample};

/// Labels of a series; its name is `__name__`.
type Labels = BTreeMap<String, String>;

/// Why a query has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsupported {
    /// It is not PromQL.
    #[error("invalid parameter \"query\": {0}")]
    Syntax(String),
    /// It is PromQL beyond the subset.
    #[error("{0} is not supported by the sandbox")]
    Beyond(String),
    /// Series that should pair up do not.
    #[error("found duplicate series for the match group on the {0} hand-side of the operation")]
    Duplicate(&'static str),
}

/// A query that was read: to compile the patterns in it takes far longer than to answer it.
#[derive(Clone, Debug)]
pub struct Expression(Expr);

impl FromStr for Expression {
    type Err = Unsupported;

    fn from_str(text: &str) -> Result<Self, Unsupported> {
        parser::parse(text).map(Self).map_err(Unsupported::Syntax)
    }
}

impl Series {
    /// The `data` of Prometheus' answer to an instant query at this time.
    ///
    /// # Errors
    /// When the query is not PromQL, or beyond the subset.
    pub fn answer(&self, query: &str, at: Timestamp) -> Result<Value, Unsupported> {
        self.value(&query.parse()?, at)
    }

    /// The same for a query that was read before.
    ///
    /// # Errors
    /// When the query is beyond the subset.
    pub fn value(&self, expression: &Expression, at: Timestamp) -> Result<Value, Unsupported> {
        let time = seconds(at);
        Ok(match evaluate::evaluate(self, &expression.0, at)? {
            Evaluated::Scalar(value) => json!({"resultType": "scalar", "result": [time, number(value)]}),
            Evaluated::Vector(samples) => {
                let result: Vec<Value> = samples
                    .into_iter()
                    .map(|Sample { labels, value }| json!({"metric": labels, "value": [time, number(value)]}))
                    .collect();
                json!({"resultType": "vector", "result": result})
            }
        })
    }
}

/// Status code and body with which Prometheus' HTTP API gives an answer.
pub fn response(answer: &Result<Value, Unsupported>) -> (u16, Value) {
    let (status, kind) = match answer {
        Ok(data) => return (200, json!({"status": "success", "data": data})),
        Err(Unsupported::Syntax(_)) => (400, "bad_data"),
        Err(Unsupported::Beyond(_) | Unsupported::Duplicate(_)) => (422, "execution"),
    };
    let error = answer.as_ref().err().map(ToString::to_string);
    (status, json!({"status": "error", "errorType": kind, "error": error}))
}

#[expect(clippy::cast_precision_loss, reason = "milliseconds since 1970 are exact in a float until the year 287396")]
fn seconds(at: Timestamp) -> f64 {
    at.as_millisecond() as f64 / 1000.0
}

/// A number as Prometheus writes it.
fn number(value: f64) -> String {
    if value.is_nan() {
        "NaN".to_owned()
    } else if value.is_infinite() {
        if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned()
    } else {
        value.to_string()
    }
}

#[cfg(test)]
mod tests;
