//! What a count can be: a member that counts what cannot be is broken or lies, and its numbers are never added to others'.

use crate::{prometheus::Missing, rollout::input::Sample};

/// How far a part may exceed its whole, as a share of it: `increase` extrapolates each series by itself, and numerator and
/// denominator may come from different counters.
const NOISE: f64 = 0.01;

/// The sample, if it is one that counting can give. A part that exceeds its whole by no more than noise is the whole.
///
/// # Errors
/// For a negative count, or one that exceeds its whole, with the values.
pub(super) fn possible(sample: Sample) -> Result<Sample, Missing> {
    match sample {
        Sample::Ratio { numerator, denominator } => {
            let (part, whole) = (not_negative("numerator", numerator)?, not_negative("denominator", denominator)?);
            let part_of_whole = part.map(|part| part_of(part, whole.unwrap_or(0.0))).transpose()?;
            Ok(Sample::Ratio { numerator: part_of_whole, denominator })
        }
        Sample::Buckets(buckets) => {
            for (bound, count) in &buckets {
                not_negative(&format!("count of the bucket le={bound}"), Some(*count))?;
            }
            Ok(Sample::Buckets(buckets))
        }
        sample @ (Sample::Value(_) | Sample::Missing(_)) => Ok(sample),
    }
}

fn not_negative(what: &str, count: Option<f64>) -> Result<Option<f64>, Missing> {
    match count {
        Some(count) if count < 0.0 => {
            Err(Missing::Impossible(format!("the {what} is {count}, which is no count; correct the query")))
        }
        count => Ok(count),
    }
}

fn part_of(part: f64, whole: f64) -> Result<f64, Missing> {
    if part > whole * (1.0 + NOISE) {
        let message = format!(
            "the numerator is {part} and the denominator {whole}, so the ratio is not of 0 to 100 %; correct the query"
        );
        return Err(Missing::Impossible(message));
    }
    Ok(part.min(whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(numerator: f64, denominator: f64) -> Result<(Option<f64>, Option<f64>), String> {
        let sample = Sample::Ratio { numerator: Some(numerator), denominator: Some(denominator) };
        match possible(sample) {
            Ok(Sample::Ratio { numerator, denominator }) => Ok((numerator, denominator)),
            Ok(other) => panic!("{other:?}"),
            Err(missing) => Err(missing.to_string()),
        }
    }

    #[test]
    fn a_part_of_a_whole_is_not_negative_and_not_more() {
        assert_eq!(ratio(3.0, 700.0), Ok((Some(3.0), Some(700.0))));
        assert_eq!(ratio(0.0, 0.0), Ok((Some(0.0), Some(0.0))));
        assert_eq!(ratio(707.0, 700.0), Ok((Some(700.0), Some(700.0))), "noise");
        for (numerator, denominator, expected) in [
            (-1.0, 700.0, "the numerator is -1, which is no count; correct the query"),
            (0.0, -700.0, "the denominator is -700, which is no count; correct the query"),
            (
                707.1,
                700.0,
                "the numerator is 707.1 and the denominator 700, so the ratio is not of 0 to 100 %; correct the query",
            ),
            (
                1.0,
                0.0,
                "the numerator is 1 and the denominator 0, so the ratio is not of 0 to 100 %; correct the query",
            ),
        ] {
            assert_eq!(ratio(numerator, denominator), Err(expected.to_owned()));
        }
    }

    #[test]
    fn a_denominator_that_is_missing_is_left_to_who_judges() {
        let nothing = Sample::Ratio { numerator: None, denominator: None };
        assert_eq!(possible(nothing.clone()), Ok(nothing));
        let all_failed = Sample::Ratio { numerator: None, denominator: Some(7.0) };
        assert_eq!(possible(all_failed.clone()), Ok(all_failed));
    }

    #[test]
    fn a_bucket_counts_nothing_below_zero() {
        let buckets = Sample::Buckets(vec![(0.1, 3.0), (0.5, -2.0), (f64::INFINITY, 9.0)]);
        let expected = "the count of the bucket le=0.5 is -2, which is no count; correct the query";
        assert_eq!(possible(buckets).map_err(|missing| missing.to_string()), Err(expected.to_owned()));
    }

    #[test]
    fn other_numbers_may_be_negative() {
        assert_eq!(possible(Sample::Value(-3.0)), Ok(Sample::Value(-3.0)));
    }
}
