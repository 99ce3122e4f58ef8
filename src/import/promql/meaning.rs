//! What a query measures, in the kinds that cutover merges over members; what cannot be merged is judged per member.

use std::time::Duration;

use promql_parser::parser::{
    Expr,
    token::{T_DIV, T_SUB},
};

use super::{
    Query,
    counted::{By, Counted, as_increase, buckets, calls, over, plain, ranges, sum},
    linear::{linear, number},
};

/// Decimal places of a limit that was scaled: beyond them there is only the rounding of doubles.
const PLACES: f64 = 1e9;

/// A metric of one of cutover's kinds.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::import) enum Measured {
    /// In percent.
    Ratio { numerator: String, denominator: String },
    /// In the unit of the bounds; in seconds where those are milliseconds that are to be divided.
    Histogram { buckets: String, quantile: f64, milliseconds: bool },
    /// It cannot be merged, and why.
    Query { query: String, why: &'static str },
}

/// What a query measures, and how its value follows from that.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::import) struct Meaning {
    pub(in crate::import) measured: Measured,
    /// The query's value is so many times what is measured, …
    times: f64,
    /// … plus so much.
    plus: f64,
    /// The fixed time that its counters cover, where they do not follow a variable.
    pub(in crate::import) window: Option<Duration>,
}

impl Meaning {
    /// Least and largest value of the query as limits on what is measured.
    pub(in crate::import) fn limits(&self, min: Option<f64>, max: Option<f64>) -> (Option<f64>, Option<f64>) {
        let of = |limit: f64| ((limit - self.plus) / self.times * PLACES).round() / PLACES;
        let (min, max) = (min.map(of), max.map(of));
        if self.times < 0.0 { (max, min) } else { (min, max) }
    }
}

/// Takes a query apart.
pub(in crate::import) fn meaning(query: &Query) -> Meaning {
    let (expression, window) = at_window(query);
    let whole = linear(&expression);
    let of_ratio = ratio(whole.of).map(|ratio| {
        let (times, plus) = (ratio.times * whole.times, ratio.plus * whole.times + whole.plus);
        let [numerator, denominator] =
            [ratio.numerator, ratio.denominator].map(|part| query.written(&as_increase(part)));
        Meaning { measured: Measured::Ratio { numerator, denominator }, times: times / 100.0, plus, window }
    });
    let of_histogram = || {
        let (quantile, bounds) = histogram(whole.of)?;
        // Milliseconds as seconds have a form of their own.
        let milliseconds = (whole.times - 0.001).abs() < f64::EPSILON;
        let times = if milliseconds { 1.0 } else { whole.times };
        let buckets = query.written(&as_increase(bounds));
        let measured = Measured::Histogram { buckets, quantile, milliseconds };
        Some(Meaning { measured, times, plus: whole.plus, window })
    };
    let alone = || {
        let measured = Measured::Query { query: query.written(&expression), why: unmergeable(whole.of) };
        Meaning { measured, times: 1.0, plus: 0.0, window }
    };
    of_ratio.filter(has_sense).or_else(|| of_histogram().filter(has_sense)).unwrap_or_else(alone)
}

fn has_sense(meaning: &Meaning) -> bool {
    meaning.times != 0.0 && meaning.times.is_finite() && meaning.plus.is_finite()
}

/// The expression with `{{ window }}` for the one fixed time that it covers, and that time.
fn at_window(query: &Query) -> (Expr, Option<Duration>) {
    let ranges = ranges(&query.expression);
    match ranges.split_first() {
        Some((fixed, others)) if !query.is_variable(*fixed) && others.iter().all(|other| other == fixed) => {
            (over(&query.expression, Query::WINDOW), Some(*fixed))
        }
        Some(_) | None => (query.expression.clone(), None),
    }
}

struct Ratio<'e> {
    numerator: &'e Expr,
    denominator: &'e Expr,
    times: f64,
    plus: f64,
}

/// A quotient of two sums of counters over one time.
fn ratio(expression: &Expr) -> Option<Ratio<'_>> {
    let Expr::Binary(quotient) = expression else { return None };
    if quotient.op.id() != T_DIV || quotient.modifier.is_some() {
        return None;
    }
    let (above, below) = (linear(&quotient.lhs), linear(&quotient.rhs));
    if above.plus != 0.0 || below.plus != 0.0 {
        return None;
    }
    let times = above.times / below.times;
    let same = |one: &Expr, other: &Expr| alike(sum(one), sum(other));
    if same(above.of, below.of) {
        return Some(Ratio { numerator: above.of, denominator: below.of, times, plus: 0.0 });
    }
    // (all - good) / all
    let Expr::Binary(difference) = plain(above.of) else { return None };
    let is_rest =
        difference.op.id() == T_SUB && difference.modifier.is_none() && plain(&difference.lhs) == plain(below.of);
    let good = &*difference.rhs;
    (is_rest && same(good, below.of)).then_some(Ratio {
        numerator: good,
        denominator: below.of,
        times: -times,
        plus: times,
    })
}

fn alike(one: Option<Counted>, other: Option<Counted>) -> bool {
    one.is_some() && one == other
}

/// A quantile of buckets that are added by `le` alone.
fn histogram(expression: &Expr) -> Option<(f64, &Expr)> {
    let Expr::Call(call) = expression else { return None };
    let [quantile, of] = call.args.args.as_slice() else { return None };
    let quantile = number(quantile).filter(|quantile| (0.01..=0.9999).contains(quantile))?;
    (call.func.name == "histogram_quantile" && buckets(of).is_some()).then_some((quantile, of))
}

/// Why an expression is judged per member.
fn unmergeable(expression: &Expr) -> &'static str {
    match expression {
        Expr::Call(call) if call.func.name == "histogram_quantile" => {
            "its buckets are not sum by (le) (rate(…)) or sum by (le) (increase(…))"
        }
        Expr::Binary(binary) if binary.op.id() == T_DIV => {
            let rates = [&binary.lhs, &binary.rhs].map(|side| sum(linear(side).of));
            match rates {
                [Some(Counted { by: By::Rate, .. }), Some(Counted { by: By::Increase, .. })]
                | [Some(Counted { by: By::Increase, .. }), Some(Counted { by: By::Rate, .. })] => {
                    "one side of its quotient is a rate and the other an increase"
                }
                _ if calls(expression, "irate") => "irate looks at two samples alone; with rate it would be a ratio",
                _ => "its quotient is not one of two sums of rates or increases over the same time",
            }
        }
        _ => "it is neither a quotient of two sums nor a histogram_quantile",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::promql::Variable;

    fn read(text: &str) -> Meaning {
        let known = |name: &str| match name {
            "interval" => Some(Variable::Ours("window".to_owned())),
            "name" => Some(Variable::Text("shop".to_owned())),
            ours => Some(Variable::Ours(ours.to_owned())),
        };
        meaning(&Query::read(text, &known).unwrap_or_else(|why| panic!("{text}: {why}")))
    }

    fn in_words(text: &str) -> String {
        match read(text).measured {
            Measured::Ratio { numerator, denominator } => format!("{numerator} of {denominator}"),
            Measured::Histogram { buckets, quantile, milliseconds } => format!("{quantile} {milliseconds} {buckets}"),
            Measured::Query { query, why } => format!("{query}: {why}"),
        }
    }

    const GOOD: &str = r#"sum(rate(r{c!~"5.*"}[{{ interval }}]))"#;
    const ALL: &str = "sum(rate(r[{{ interval }}]))";
    const PARTS: &str = r#"sum(increase(r{c!~"5.*"}[{{ window }}])) of sum(increase(r[{{ window }}]))"#;

    #[test]
    fn a_quotient_of_sums_is_a_ratio_however_it_is_scaled_and_its_limits_follow() {
        let both = (Some(10.0), Some(99.0));
        for (query, limits) in [
            (format!("{GOOD} / {ALL} * 100"), (Some(10.0), Some(99.0))),
            (format!("100 * {GOOD} / {ALL}"), (Some(10.0), Some(99.0))),
            (format!("100 * ({GOOD} / {ALL})"), (Some(10.0), Some(99.0))),
            (format!("({GOOD}) / (({ALL}) / 100)"), (Some(10.0), Some(99.0))),
            (format!("100 - {GOOD} / {ALL} * 100"), (Some(1.0), Some(90.0))),
            (format!("-(-100 + 100 * {GOOD} / {ALL})"), (Some(1.0), Some(90.0))),
            (format!("100 * ({ALL} - {GOOD}) / {ALL}"), (Some(1.0), Some(90.0))),
            (format!("({GOOD} or vector(0)) / {ALL} * 100"), (Some(10.0), Some(99.0))),
        ] {
            assert_eq!(read(&query).limits(both.0, both.1), limits, "{query}");
            assert_eq!(
                in_words(&query).replace(" or vector(0)", "").replace('(', ""),
                PARTS.replace('(', ""),
                "{query}"
            );
        }
        let share = format!("1 - {GOOD} / {ALL}");
        assert_eq!(read(&share).limits(None, Some(0.01)), (Some(99.0), None));
        assert_eq!(read(&format!("{GOOD} / {ALL}")).limits(Some(0.95), None), (Some(95.0), None));
    }

    #[test]
    fn quantiles_of_buckets_are_histograms_in_the_unit_of_their_limits() {
        let buckets = "sum(rate(d_ms_bucket[{{ interval }}])) by (le)";
        let expected = "0.99 false sum by (le) (increase(d_ms_bucket[{{ window }}]))";
        let query = format!("histogram_quantile(0.99, {buckets})");
        assert_eq!((in_words(&query).as_str(), read(&query).limits(None, Some(500.0)).1), (expected, Some(500.0)));
        let seconds = format!("{query} / 1000");
        assert_eq!(in_words(&seconds), expected.replace("false", "true"));
        assert_eq!(read(&seconds).limits(None, Some(0.5)), (None, Some(0.5)));
        let in_milliseconds = format!("{query} * 1000");
        assert_eq!(read(&in_milliseconds).limits(None, Some(500.0)), (None, Some(0.5)));
    }

    #[test]
    fn a_fixed_time_becomes_the_window() {
        let meaning = read("sum(rate(a[5m])) / sum(rate(b[5m]))");
        assert_eq!(meaning.window, Some(Duration::from_mins(5)));
        assert!(
            matches!(&meaning.measured, Measured::Ratio { numerator, .. } if numerator == "sum(increase(a[{{ window }}]))")
        );
        assert_eq!(read(ALL).window, None);
        assert_eq!(read("sum(rate(a[1m])) - sum(rate(b[5m]))").window, None);
    }

    #[test]
    fn what_cannot_be_merged_is_said_with_the_reason() {
        for (query, why) in [
            ("avg(rate(a[{{ interval }}])) / sum(rate(b[{{ interval }}]))", "not one of two sums"),
            ("sum(rate(a[{{ interval }}])) / sum(increase(b[{{ interval }}]))", "a rate and the other an increase"),
            ("sum(rate(a[1m])) / sum(rate(b[5m]))", "over the same time"),
            ("sum(up) / count(up)", "not one of two sums"),
            ("sum by (pod) (rate(a[1m])) / sum by (pod) (rate(b[1m]))", "not one of two sums"),
            ("sum(rate(a[1m])) / on () sum(rate(b[1m]))", "not one of two sums"),
            ("(sum(rate(a[1m])) + sum(rate(c[1m]))) / sum(rate(b[1m]))", "not one of two sums"),
            ("sum(rate(a[1m] offset 1h)) / sum(rate(b[1m] offset 1h))", "not one of two sums"),
            ("histogram_quantile(0.9, sum(rate(d[1m])))", "its buckets are not"),
            ("histogram_quantile(0.9, sum by (le, pod) (rate(d[1m])))", "its buckets are not"),
            ("0 * sum(rate(a[1m])) / sum(rate(b[1m]))", "not one of two sums"),
            ("max(queue)", "neither a quotient"),
        ] {
            let found = in_words(query);
            assert!(matches!(read(query).measured, Measured::Query { .. }) && found.contains(why), "{found}");
            assert_eq!(read(query).limits(Some(1.0), Some(2.0)), (Some(1.0), Some(2.0)), "{query}");
        }
    }

    #[test]
    fn variables_are_kept_by_their_place_and_texts_are_written_in() {
        let query = r#"{{ factor }} * sum(rate(a{x="{{ name }}",y=~"{{- service -}}-canary_.*"}[{{ span }}]))"#;
        let written = in_words(query);
        assert!(
            written.starts_with(r#"{{ factor }} * sum(rate(a{x="shop",y=~"{{ backend }}_.*"}[{{ span }}]))"#),
            "{written}"
        );
        let other = in_words(r#"sum(a{y="{{ service }}-canaryish",z="{{ service }}-primary"})"#);
        assert!(other.starts_with(r#"sum(a{y="{{ service }}-canaryish",z="{{ service }}-primary"})"#), "{other}");
    }

    #[test]
    fn a_variable_is_no_number_that_scales() {
        let query = format!("{{{{ factor }}}} * {GOOD} / {ALL}");
        assert!(matches!(read(&query).measured, Measured::Query { .. }));
    }

    #[test]
    fn what_cannot_be_read_is_said_and_nothing_of_it_is_repeated() {
        let refused = |text: &str| Query::read(text, &|_| None).unwrap_err().to_string();
        assert_eq!(refused("sum(x{a=\"{{ if .x }}\"})"), "{{ if .x }} has no counterpart");
        assert_eq!(refused("sum(x{a=\"{{ open"), "a {{ without its }}");
        assert_eq!(refused("SELECT 1"), "it is not PromQL that can be read here");
        assert_eq!(refused(&"(".repeat(9000)), "the query has more than 8192 bytes");
    }
}
