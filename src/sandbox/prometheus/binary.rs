//! Arithmetic, comparison, and `or`.

use std::collections::BTreeMap;

use promql_parser::parser::{
    BinModifier, BinaryExpr, VectorMatchCardinality,
    token::{T_ADD, T_DIV, T_EQLC, T_GTE, T_GTR, T_LOR, T_LSS, T_LTE, T_MUL, T_NEQ, T_SUB, TokenType},
};

use super::{
    Labels, Unsupported,
    evaluate::{Evaluated, Sample},
};

/// What an operation does with two numbers.
#[derive(Clone, Copy)]
enum Operation {
    Arithmetic(fn(f64, f64) -> f64),
    /// Keeps what is true.
    Filter(fn(&f64, &f64) -> bool),
    /// Gives 1 for what is true, else 0.
    Bool(fn(&f64, &f64) -> bool),
}

impl Operation {
    /// The value of a pair; `kept` is what a filter keeps.
    fn value(self, left: f64, right: f64, kept: f64) -> Option<f64> {
        match self {
            Self::Arithmetic(compute) => Some(compute(left, right)),
            Self::Filter(holds) => holds(&left, &right).then_some(kept),
            Self::Bool(holds) => Some(f64::from(u8::from(holds(&left, &right)))),
        }
    }

    /// The sample with its new value. A filter changes nothing, so the name stays.
    fn sample(self, sample: Sample, value: Option<f64>) -> Option<Sample> {
        let value = value?;
        Some(match self {
            Self::Filter(_) => Sample { value, ..sample },
            Self::Arithmetic(_) | Self::Bool(_) => Sample { value, ..sample.nameless() },
        })
    }
}

pub(super) fn apply(operation: &BinaryExpr, left: Evaluated, right: Evaluated) -> Result<Evaluated, Unsupported> {
    use Evaluated::{Scalar, Vector};
    plain(operation.modifier.as_ref())?;
    if operation.op == TokenType::new(T_LOR) {
        return or(left, right);
    }
    let is_bool = operation.modifier.as_ref().is_some_and(|modifier| modifier.return_bool);
    let done = meant(operation.op, is_bool)?;
    Ok(match (left, right) {
        (Scalar(left), Scalar(right)) => Scalar(done.value(left, right, left).unwrap_or(f64::NAN)),
        (Vector(left), Scalar(right)) => Vector(each(done, left, |value| done.value(value, right, value))),
        (Scalar(left), Vector(right)) => Vector(each(done, right, |value| done.value(left, value, value))),
        (Vector(left), Vector(right)) => Vector(pairs(done, left, right)?),
    })
}

/// Series pair up by all their labels.
fn plain(modifier: Option<&BinModifier>) -> Result<(), Unsupported> {
    let Some(modifier) = modifier else { return Ok(()) };
    let grouped = matches!(modifier.card, VectorMatchCardinality::ManyToOne(_) | VectorMatchCardinality::OneToMany(_));
    let filled = modifier.fill_values.lhs.is_some() || modifier.fill_values.rhs.is_some();
    if modifier.matching.is_some() || grouped || filled {
        return Err(Unsupported::Beyond("on, ignoring, group_left, group_right and fill".to_owned()));
    }
    Ok(())
}

fn meant(operator: TokenType, is_bool: bool) -> Result<Operation, Unsupported> {
    let compare = |holds| if is_bool { Operation::Bool(holds) } else { Operation::Filter(holds) };
    Ok(match operator.id() {
        T_ADD => Operation::Arithmetic(|left, right| left + right),
        T_SUB => Operation::Arithmetic(|left, right| left - right),
        T_MUL => Operation::Arithmetic(|left, right| left * right),
        T_DIV => Operation::Arithmetic(|left, right| left / right),
        T_EQLC => compare(f64::eq),
        T_NEQ => compare(f64::ne),
        T_LSS => compare(f64::lt),
        T_LTE => compare(f64::le),
        T_GTR => compare(f64::gt),
        T_GTE => compare(f64::ge),
        _ => return Err(Unsupported::Beyond(format!("operator {operator}"))),
    })
}

fn each(done: Operation, samples: Vec<Sample>, value: impl Fn(f64) -> Option<f64>) -> Vec<Sample> {
    samples
        .into_iter()
        .filter_map(|sample| {
            let value = value(sample.value);
            done.sample(sample, value)
        })
        .collect()
}

fn pairs(done: Operation, left: Vec<Sample>, right: Vec<Sample>) -> Result<Vec<Sample>, Unsupported> {
    let mut right = grouped(right, "right")?;
    let mut found = Vec::new();
    for (labels, left) in grouped(left, "left")? {
        let Some(right) = right.remove(&labels) else { continue };
        let value = done.value(left.value, right.value, left.value);
        found.extend(done.sample(left, value));
    }
    Ok(found)
}

/// By their labels without the name.
fn grouped(samples: Vec<Sample>, side: &'static str) -> Result<BTreeMap<Labels, Sample>, Unsupported> {
    let mut groups = BTreeMap::new();
    for sample in samples {
        if groups.insert(sample.clone().nameless().labels, sample).is_some() {
            return Err(Unsupported::Duplicate(side));
        }
    }
    Ok(groups)
}

/// Everything on the left, and what only the right has.
fn or(left: Evaluated, right: Evaluated) -> Result<Evaluated, Unsupported> {
    let (Evaluated::Vector(mut left), Evaluated::Vector(right)) = (left, right) else {
        return Err(Unsupported::Beyond("or between scalars".to_owned()));
    };
    let nameless = |sample: &Sample| sample.clone().nameless().labels;
    let there: Vec<Labels> = left.iter().map(nameless).collect();
    left.extend(right.into_iter().filter(|sample| !there.contains(&nameless(sample))));
    Ok(Evaluated::Vector(left))
}
