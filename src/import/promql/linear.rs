//! What is only scaled and shifted: `100 - a / b * 100` is a ratio, times -100, plus 100.

use promql_parser::parser::{
    BinaryExpr, Expr,
    token::{T_ADD, T_DIV, T_MUL, T_SUB},
};

use super::{counted::plain, variables::is_variable};

/// A value: so many times the value of an expression, plus so much.
#[derive(Clone, Copy, Debug)]
pub(super) struct Linear<'e> {
    pub(super) of: &'e Expr,
    pub(super) times: f64,
    pub(super) plus: f64,
}

impl Linear<'_> {
    fn scaled(self, by: f64) -> Self {
        Self { times: self.times * by, plus: self.plus * by, ..self }
    }

    fn shifted(self, by: f64) -> Self {
        Self { plus: self.plus + by, ..self }
    }
}

/// Takes numbers off an expression, as far as they only scale and shift it.
pub(super) fn linear(expression: &Expr) -> Linear<'_> {
    let itself = Linear { of: expression, times: 1.0, plus: 0.0 };
    match expression {
        Expr::Paren(inner) => linear(&inner.expr),
        Expr::Unary(unary) => linear(&unary.expr).scaled(-1.0),
        Expr::Binary(binary) if binary.modifier.is_none() => of_binary(binary).unwrap_or(itself),
        _ => itself,
    }
}

fn of_binary(binary: &BinaryExpr) -> Option<Linear<'_>> {
    let (left, right) = (number(&binary.lhs), number(&binary.rhs));
    match (binary.op.id(), left, right) {
        (T_MUL, Some(by), None) => Some(linear(&binary.rhs).scaled(by)),
        (T_MUL, None, Some(by)) => Some(linear(&binary.lhs).scaled(by)),
        (T_DIV, None, Some(by)) if by != 0.0 => Some(linear(&binary.lhs).scaled(by.recip())),
        (T_ADD, Some(by), None) => Some(linear(&binary.rhs).shifted(by)),
        (T_ADD, None, Some(by)) => Some(linear(&binary.lhs).shifted(by)),
        (T_SUB, Some(from), None) => Some(linear(&binary.rhs).scaled(-1.0).shifted(from)),
        (T_SUB, None, Some(by)) => Some(linear(&binary.lhs).shifted(-by)),
        _ => None,
    }
}

/// A number by itself; a variable is none.
pub(super) fn number(expression: &Expr) -> Option<f64> {
    match plain(expression) {
        Expr::NumberLiteral(number) => Some(number.val).filter(|number| number.is_finite() && !is_variable(*number)),
        Expr::Unary(unary) => number(&unary.expr).map(|number| -number),
        _ => None,
    }
}
