//! A query that was read.

use std::time::Duration;

use promql_parser::{
    parser::{self, Expr},
    util::display_duration,
};

use super::{
    Variable,
    counted::in_order,
    variables::{Replaced, Used, WINDOW, replaced},
};

/// Longest query, in bytes. The parser recurses: 64 KiB of parentheses would overflow a stack of 2 MiB.
const LONGEST: usize = 8192;

/// Why a query cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(in crate::import) enum Unreadable {
    /// A variable or an action of a template that is not known.
    #[error("{{{{ {0} }}}} has no counterpart")]
    Unknown(String),
    /// A `{{` without its `}}`.
    #[error("a {{{{ without its }}}}")]
    Open,
    /// It is too long.
    #[error("the query has more than {LONGEST} bytes")]
    TooLong,
    /// It is not PromQL.
    #[error("it is not PromQL that can be read here")]
    NotPromQl,
}

/// A query with variables.
#[derive(Clone, Debug)]
pub(in crate::import) struct Query {
    pub(super) expression: Expr,
    /// What stands for each variable, the longest first.
    back: Vec<(String, String)>,
    used: Used,
}

impl Query {
    /// What stands for `{{ window }}`.
    pub(super) const WINDOW: Duration = WINDOW;

    /// Reads a query whose variables `known` knows.
    pub(in crate::import) fn read(text: &str, known: &dyn Fn(&str) -> Option<Variable>) -> Result<Self, Unreadable> {
        if text.len() > LONGEST {
            return Err(Unreadable::TooLong);
        }
        let Replaced { text, mut back, used } = replaced(text, known)?;
        back.sort_by_key(|(token, _)| std::cmp::Reverse(token.len()));
        let expression = parser::parse(&text).map_err(|_| Unreadable::NotPromQl)?;
        let query = Self { expression, back, used };
        // What is written must be what was read; matchers are written in the order of their labels.
        let again = parser::parse(&query.expression.to_string()).map_err(|_| Unreadable::NotPromQl)?;
        if in_order(&again) == in_order(&query.expression) { Ok(query) } else { Err(Unreadable::NotPromQl) }
    }

    /// The variables of ours that it uses, and where.
    pub(in crate::import) fn used(&self) -> &Used {
        &self.used
    }

    /// Whether it tells the Service of the canary from that of the primary.
    pub(in crate::import) fn is_about_backend(&self) -> bool {
        self.used.iter().any(|(name, _)| name == "backend" || name == "backend.word")
    }

    /// Whether a time stands for a variable.
    pub(super) fn is_variable(&self, time: Duration) -> bool {
        self.back.iter().any(|(token, _)| *token == display_duration(&time))
    }

    /// A part of it as text, with its variables.
    pub(super) fn written(&self, part: &Expr) -> String {
        let spaced = part.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
        self.back.iter().fold(spaced, |text, (token, variable)| text.replace(token, variable))
    }
}
