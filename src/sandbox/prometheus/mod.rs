//! The part of Prometheus that cutover asks for: counters over time, and instant queries over them. Pure: no I/O, no clock.
//!
//! Supported are instant and range selectors with `=`, `!=`, `=~` and `!~`; `sum` with `by` and `without`; `increase` and
//! `rate`, extrapolated as Prometheus does; `vector` of a number, and `or`. Everything else is refused by name: `offset`,
//! `@`, subqueries, arithmetic and comparisons, `on` and `ignoring`, other functions and aggregations.

mod evaluate;
mod history;
mod range;

use std::{collections::BTreeMap, str::FromStr};

use jiff::Timestamp;
use promql_parser::parser::{self, Expr};
use serde_json::{Value, json};

pub use history::Series;

use evaluate::Sample;

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
        let samples = evaluate::evaluate(self, &expression.0, at)?.into_iter();
        let series =
            samples.map(|Sample { labels, value }| json!({"metric": labels, "value": [time, value.to_string()]}));
        Ok(json!({"resultType": "vector", "result": series.collect::<Vec<_>>()}))
    }
}

/// Status code and body with which Prometheus' HTTP API gives an answer.
pub fn response(answer: &Result<Value, Unsupported>) -> (u16, Value) {
    let (status, kind) = match answer {
        Ok(data) => return (200, json!({"status": "success", "data": data})),
        Err(Unsupported::Syntax(_)) => (400, "bad_data"),
        Err(Unsupported::Beyond(_)) => (422, "execution"),
    };
    let error = answer.as_ref().err().map(ToString::to_string);
    (status, json!({"status": "error", "errorType": kind, "error": error}))
}

#[expect(clippy::cast_precision_loss, reason = "milliseconds since 1970 are exact in a float until the year 287396")]
fn seconds(at: Timestamp) -> f64 {
    at.as_millisecond() as f64 / 1000.0
}

#[cfg(test)]
mod tests;
