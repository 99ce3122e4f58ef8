//! A query limited to the series of one namespace.
//!
//! A rollout's queries are written by its author, and a member's Prometheus has the series of every tenant. So the query is
//! parsed, each selector in it gets a matcher on the member's label for namespaces, and the tree is printed again. A matcher
//! of the author's on that label stays beside it: for another namespace the two select nothing.

use promql_parser::{
    label::{MatchOp, Matcher},
    parser::{self, Call, Expr, VectorSelector},
};

use crate::http::sanitise;

/// Longest query that is parsed, in bytes; the parser recurses.
const LONGEST: usize = 8192;
/// How far expressions may be nested; a sum of so many terms is, too.
const DEEPEST: usize = 256;

/// Why a query cannot be limited to a namespace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unlimited {
    /// More than is parsed.
    #[error("it has {0} bytes with its variables filled in, of which at most {LONGEST} are parsed; shorten it")]
    TooLong(usize),
    /// It is no PromQL, or a dialect of it.
    #[error("it is not PromQL: {0}; correct it")]
    NotPromql(String),
    /// It is nested too far.
    #[error("it is nested more than {DEEPEST} deep; split it")]
    TooDeep,
    /// A dialect's `or` inside of a selector.
    #[error("a selector has alternatives (or); write one selector for each")]
    Alternatives,
    /// A function that reads series which no selector of the query names.
    #[error("{0}() reads series that no selector names; join them with group_left")]
    Reads(&'static str),
    /// What is printed is not what was parsed.
    #[error("its expression cannot be printed faithfully; write it more simply")]
    Unprintable,
}

/// The query with `label="namespace"` in every selector.
///
/// # Errors
/// When that cannot be done for certain.
pub(crate) fn limited(query: &str, label: &str, namespace: &str) -> Result<String, Unlimited> {
    if query.len() > LONGEST {
        return Err(Unlimited::TooLong(query.len()));
    }
    let mut expression = parser::parse(query).map_err(|why| Unlimited::NotPromql(sanitise(&why)))?;
    limit(&mut expression, &Matcher::new(MatchOp::Equal, label, namespace), DEEPEST)?;
    let text = expression.to_string();
    match parser::parse(&text) {
        Ok(again) if again == expression => Ok(text),
        Ok(_) | Err(_) => Err(Unlimited::Unprintable),
    }
}

/// Every selector below an expression. The parser's own walk leaves out the parameter of an aggregation.
fn limit(expression: &mut Expr, matcher: &Matcher, depth: usize) -> Result<(), Unlimited> {
    let depth = depth.checked_sub(1).ok_or(Unlimited::TooDeep)?;
    let each = |below: &mut Expr| limit(below, matcher, depth);
    match expression {
        Expr::NumberLiteral(_) | Expr::StringLiteral(_) => Ok(()),
        Expr::VectorSelector(selector) => select(selector, matcher),
        Expr::MatrixSelector(range) => select(&mut range.vs, matcher),
        Expr::Paren(paren) => each(&mut paren.expr),
        Expr::Unary(unary) => each(&mut unary.expr),
        Expr::Subquery(subquery) => each(&mut subquery.expr),
        Expr::Binary(binary) => each(&mut binary.lhs).and_then(|()| each(&mut binary.rhs)),
        Expr::Aggregate(aggregate) => aggregate
            .param
            .as_mut()
            .map_or(Ok(()), |parameter| each(parameter))
            .and_then(|()| each(&mut aggregate.expr)),
        Expr::Call(call) => {
            check(call).and_then(|()| call.args.args.iter_mut().try_for_each(|argument| each(argument)))
        }
        // The parser makes none.
        Expr::Extension(_) => Err(Unlimited::Unprintable),
    }
}

fn check(call: &Call) -> Result<(), Unlimited> {
    // Its second argument selects labels of target_info, which it finds by itself.
    if call.func.name == "info" { Err(Unlimited::Reads("info")) } else { Ok(()) }
}

/// Matchers are printed in order of their text; in that order the tree can be compared with what is printed.
fn select(selector: &mut VectorSelector, matcher: &Matcher) -> Result<(), Unlimited> {
    if !selector.matchers.or_matchers.is_empty() {
        return Err(Unlimited::Alternatives);
    }
    selector.matchers.matchers.push(matcher.clone());
    selector.matchers.matchers.sort_by_cached_key(ToString::to_string);
    Ok(())
}

#[cfg(test)]
mod tests;
