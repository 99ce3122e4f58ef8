//! What is added up in a query: counters over a time, which can be merged over members by adding once more.

use std::time::Duration;

use promql_parser::parser::{
    AggregateExpr, Call, Expr, LabelModifier, VectorSelector,
    token::{T_LOR, T_SUM},
};

/// How counters are turned into counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// Per second.
    Rate,
    /// In the whole time.
    Increase,
}

/// What the counters of an expression have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) by: By,
    pub(super) range: Duration,
}

/// One sum of counters, without labels. Sums of several are none: where one of them has no series, PromQL gives nothing for all.
pub(super) fn sum(expression: &Expr) -> Option<Counted> {
    match plain(expression) {
        Expr::Aggregate(aggregate) if is_sum(aggregate, &[]) => counter(&aggregate.expr),
        // Where nothing was counted, 0 is meant anyway.
        Expr::Binary(binary) if binary.op.id() == T_LOR && is_zero(&binary.rhs) => sum(&binary.lhs),
        _ => None,
    }
}

/// A sum by `le` of counters.
pub(super) fn buckets(expression: &Expr) -> Option<Counted> {
    match plain(expression) {
        Expr::Aggregate(aggregate) if is_sum(aggregate, &["le"]) => counter(&aggregate.expr),
        _ => None,
    }
}

/// An expression without the parentheses around it.
pub(super) fn plain(expression: &Expr) -> &Expr {
    match expression {
        Expr::Paren(inner) => plain(&inner.expr),
        other => other,
    }
}

fn is_sum(aggregate: &AggregateExpr, labels: &[&str]) -> bool {
    let kept: &[String] = match &aggregate.modifier {
        None => &[],
        Some(LabelModifier::Include(kept)) => &kept.labels,
        Some(LabelModifier::Exclude(_)) => return false,
    };
    aggregate.op.id() == T_SUM && aggregate.param.is_none() && kept == labels
}

fn is_zero(expression: &Expr) -> bool {
    let is_nothing = |only: &Expr| matches!(plain(only), Expr::NumberLiteral(number) if number.val == 0.0);
    matches!(plain(expression), Expr::Call(call) if call.func.name == "vector" && only(call).is_some_and(is_nothing))
}

fn only(call: &Call) -> Option<&Expr> {
    match call.args.args.as_slice() {
        [one] => Some(one),
        _ => None,
    }
}

fn counter(expression: &Expr) -> Option<Counted> {
    let Expr::Call(call) = plain(expression) else { return None };
    let by = match call.func.name {
        "rate" => By::Rate,
        "increase" => By::Increase,
        _ => return None,
    };
    let Expr::MatrixSelector(selector) = only(call)? else { return None };
    let is_now = selector.vs.offset.is_none() && selector.vs.at.is_none();
    is_now.then_some(Counted { by, range: selector.range })
}

/// The same with increases instead of rates. Both sides of a ratio, or all buckets, become as many times as large.
pub(super) fn as_increase(expression: &Expr) -> Expr {
    let mut changed = expression.clone();
    change(&mut changed, &mut |node| {
        if let Expr::Call(call) = node
            && call.func.name == "rate"
        {
            call.func.name = "increase";
        }
    });
    changed
}

/// The same over another time.
pub(super) fn over(expression: &Expr, range: Duration) -> Expr {
    let mut changed = expression.clone();
    change(&mut changed, &mut |node| {
        if let Expr::MatrixSelector(selector) = node {
            selector.range = range;
        }
    });
    changed
}

/// The same with the matchers of each selector in one order.
pub(super) fn in_order(expression: &Expr) -> Expr {
    let mut changed = expression.clone();
    let sort = |selector: &mut VectorSelector| selector.matchers.matchers.sort_by_key(ToString::to_string);
    change(&mut changed, &mut |node| match node {
        Expr::VectorSelector(selector) => sort(selector),
        Expr::MatrixSelector(selector) => sort(&mut selector.vs),
        _ => {}
    });
    changed
}

/// Whether an expression calls this function.
pub(super) fn calls(expression: &Expr, name: &str) -> bool {
    let mut found = false;
    change(&mut expression.clone(), &mut |node| found |= matches!(node, Expr::Call(call) if call.func.name == name));
    found
}

/// All ranges of an expression.
pub(super) fn ranges(expression: &Expr) -> Vec<Duration> {
    let mut found = Vec::new();
    change(&mut expression.clone(), &mut |node| {
        if let Expr::MatrixSelector(selector) = node {
            found.push(selector.range);
        }
    });
    found
}

fn change(node: &mut Expr, one: &mut impl FnMut(&mut Expr)) {
    one(node);
    match node {
        Expr::Aggregate(aggregate) => {
            change(&mut aggregate.expr, one);
            if let Some(param) = &mut aggregate.param {
                change(param, one);
            }
        }
        Expr::Unary(unary) => change(&mut unary.expr, one),
        Expr::Binary(binary) => {
            change(&mut binary.lhs, one);
            change(&mut binary.rhs, one);
        }
        Expr::Paren(inner) => change(&mut inner.expr, one),
        Expr::Subquery(inner) => change(&mut inner.expr, one),
        Expr::Call(call) => call.args.args.iter_mut().for_each(|argument| change(argument, one)),
        _ => {}
    }
}
