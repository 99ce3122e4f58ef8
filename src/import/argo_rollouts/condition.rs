//! Conditions on a result: comparisons with numbers, which become limits.

use crate::import::metric::Range;

/// The values that pass, and what differs from the condition.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Limits {
    pub(super) range: Range,
    /// A value equal to the limit is treated otherwise.
    pub(super) strict: bool,
    /// The condition passes where there is no value.
    pub(super) empty_passes: bool,
}

/// The values for which a condition holds: comparisons joined by `&&`.
pub(super) fn success(condition: &str) -> Option<Limits> {
    let mut limits = Limits::default();
    let rest = without_empty(condition, "||", &mut limits);
    for part in rest.split("&&") {
        let (operator, number) = comparison(part)?;
        limits.strict |= matches!(operator, ">" | "<");
        match operator {
            ">" | ">=" => limits.range.min = Some(limits.range.min.unwrap_or(number).max(number)),
            "<" | "<=" => limits.range.max = Some(limits.range.max.unwrap_or(number).min(number)),
            _ => return None,
        }
    }
    Some(limits)
}

/// The values for which a condition does not hold: comparisons joined by `||`.
pub(super) fn failure(condition: &str) -> Option<Limits> {
    let mut limits = Limits::default();
    for part in condition.split("||") {
        let (operator, number) = comparison(part)?;
        limits.strict |= matches!(operator, ">=" | "<=");
        match operator {
            ">" | ">=" => limits.range.max = Some(limits.range.max.unwrap_or(number).min(number)),
            "<" | "<=" => limits.range.min = Some(limits.range.min.unwrap_or(number).max(number)),
            _ => return None,
        }
    }
    Some(limits)
}

/// The condition without the part that lets missing values pass.
fn without_empty<'c>(condition: &'c str, operator: &str, limits: &mut Limits) -> &'c str {
    let Some((first, rest)) = condition.split_once(operator) else { return condition };
    let first: String = first.split_whitespace().collect();
    let is_empty = ["isNaN(result)", "isNaN(result[0])", "len(result)==0", "result==nil"].contains(&first.as_str());
    limits.empty_passes = is_empty;
    if is_empty { rest } else { condition }
}

/// A result compared with a number.
fn comparison(part: &str) -> Option<(&'static str, f64)> {
    let mut part = part.trim();
    while let Some(inner) = part.strip_prefix('(').and_then(|part| part.strip_suffix(')')) {
        part = inner.trim();
    }
    let operator = [">=", "<=", ">", "<"].into_iter().find(|operator| part.contains(operator))?;
    let (left, right) = part.split_once(operator)?;
    let left: String = left.split_whitespace().collect();
    let is_result = ["result", "result[0]", "asFloat(result)", "asFloat(result[0])"].contains(&left.as_str());
    let number = right.trim().parse::<f64>().ok().filter(|number| number.is_finite())?;
    is_result.then_some((operator, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(min: Option<f64>, max: Option<f64>, strict: bool) -> Limits {
        Limits { range: Range { min, max }, strict, empty_passes: false }
    }

    #[test]
    fn comparisons_become_limits() {
        for (condition, expected) in [
            ("result[0] >= 0.95", limits(Some(0.95), None, false)),
            ("result <= 5", limits(None, Some(5.0), false)),
            ("result[0] > 0.9", limits(Some(0.9), None, true)),
            ("asFloat(result[0]) < 500", limits(None, Some(500.0), true)),
            ("result[0] >= 1 && result[0] <= 10", limits(Some(1.0), Some(10.0), false)),
            ("(result[0]>=1)", limits(Some(1.0), None, false)),
        ] {
            assert_eq!(success(condition), Some(expected), "{condition}");
        }
        assert_eq!(failure("result[0] >= 10"), Some(limits(None, Some(10.0), true)));
        assert_eq!(failure("result[0] < 0.95"), Some(limits(Some(0.95), None, false)));
        assert_eq!(failure("result < 1 || result > 9"), Some(limits(Some(1.0), Some(9.0), false)));
    }

    #[test]
    fn what_lets_missing_values_pass_is_noticed() {
        for condition in ["len(result) == 0 || result[0] >= 0.9", "isNaN(result[0]) || result[0] >= 0.9"] {
            let found = success(condition).unwrap();
            assert!(found.empty_passes && found.range.min == Some(0.9), "{condition}");
        }
    }

    #[test]
    fn anything_else_is_not_guessed() {
        for condition in [
            "all(result, # < 1000)",
            "result == 'true'",
            "result[0] >= 0.9 || result[1] >= 0.9",
            "result[0] >= other",
            "default(result, 0) < 0.05",
            "",
            "result[0] != 3",
        ] {
            assert_eq!(success(condition), None, "{condition}");
        }
        assert_eq!(failure("result[0] > 1 && result[0] < 5"), None);
    }
}
