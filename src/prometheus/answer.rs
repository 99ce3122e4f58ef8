//! What a Prometheus answered, as numbers.

use jiff::Timestamp;

use super::Missing;
use crate::{api::Duration, rollout::merge::Buckets};

/// Series that are kept of an answer: one is wanted, or one for each bucket of a histogram.
pub(super) const SERIES: usize = 1000;

/// How far a sample may be from the time that was requested: an instant query is stamped with its evaluation time, so
/// more means that another time was evaluated.
const TOLERANCE: Duration = Duration::from_secs(5);

/// What an instant query gave.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Answer {
    /// Any number of series, none included.
    Vector(Vector),
    /// One number.
    Scalar(Point),
}

/// The series of an instant vector.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Vector {
    /// The first thousand.
    pub series: Vec<Series>,
    /// How many there were.
    pub count: usize,
}

/// What is kept of a series. Its other labels are nobody's business but its Prometheus': they may be another tenant's.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Series {
    /// The service that it is about, its label `service`.
    pub service: Option<Box<str>>,
    /// The upper bound of a bucket, its label `le`: not a number if that cannot be read, none without the label.
    pub le: Option<f64>,
    /// Its value.
    pub point: Point,
}

/// A number and the time it is for, in seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point {
    /// Seconds since 1970.
    pub time: f64,
    /// The number; may be infinite or not a number.
    pub value: f64,
}

impl Answer {
    /// The part about one service of an answer about several, which has a series for each.
    ///
    /// # Errors
    /// When there are no such series, or not all of them were kept.
    pub(crate) fn of(self, service: &str) -> Result<Self, Missing> {
        match self {
            Self::Scalar(_) => Err(Missing::NotByService),
            Self::Vector(vector) if vector.count > vector.series.len() => Err(Missing::TooMany(vector.count)),
            Self::Vector(vector) if vector.series.iter().any(|series| series.service.is_none()) => {
                Err(Missing::NotByService)
            }
            Self::Vector(vector) => {
                let own = |series: &Series| series.service.as_deref() == Some(service);
                let series: Vec<_> = vector.series.into_iter().filter(own).collect();
                Ok(Self::Vector(Vector { count: series.len(), series }))
            }
        }
    }

    /// The one number, evaluated at `at`; none where the query has no series.
    ///
    /// # Errors
    /// When there are several, or the number cannot be judged.
    pub(crate) fn number(&self, at: Timestamp) -> Result<Option<f64>, Missing> {
        match self {
            Self::Scalar(point) => point.at(at).map(Some),
            Self::Vector(vector) => match vector.series.as_slice() {
                [] => Ok(None),
                [only] => only.point.at(at).map(Some),
                [_, _, ..] => Err(Missing::Ambiguous(vector.count)),
            },
        }
    }

    /// Upper bound and cumulative count of each bucket, evaluated at `at`, by rising bound; the last bound is infinite.
    ///
    /// # Errors
    /// When the series are not those of one classic histogram.
    pub(crate) fn buckets(&self, at: Timestamp) -> Result<Buckets, Missing> {
        let Self::Vector(vector) = self else {
            return Err(Missing::Buckets("one number, where series by le are expected"));
        };
        if vector.series.is_empty() {
            return Err(Missing::NoSeries);
        }
        if vector.count > vector.series.len() {
            return Err(Missing::TooMany(vector.count));
        }
        let mut buckets = vector.series.iter().map(|series| bucket(series, at)).collect::<Result<Buckets, _>>()?;
        buckets.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        if buckets.windows(2).any(|pair| pair[0].0.total_cmp(&pair[1].0).is_eq()) {
            return Err(Missing::Buckets("a bound comes twice; sum by (le)"));
        }
        if buckets.last().is_none_or(|(bound, _)| *bound != f64::INFINITY) {
            return Err(Missing::Buckets("there is no le=\"+Inf\""));
        }
        Ok(buckets)
    }
}

impl Point {
    fn at(&self, queried: Timestamp) -> Result<f64, Missing> {
        #[allow(clippy::cast_precision_loss)] // milliseconds since 1970 fit a double's 53 bits
        let away = (self.time - queried.as_millisecond() as f64 / 1000.0).abs();
        if away.is_nan() || away > TOLERANCE.as_secs_f64() {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturates; it is for a message
            return Err(Missing::Stale(Duration::from_secs(away.min(1e9) as u64)));
        }
        if self.value.is_finite() { Ok(self.value) } else { Err(Missing::NotANumber(self.value)) }
    }
}

fn bucket(series: &Series, at: Timestamp) -> Result<(f64, f64), Missing> {
    match series.le {
        None => Err(Missing::Buckets("a series has no label le; sum by (le)")),
        Some(bound) if bound.is_nan() => Err(Missing::Buckets("an le is not a number")),
        Some(bound) => Ok((bound, series.point.at(at)?)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::prometheus::parse;

    const AT: Timestamp = Timestamp::constant(1_700_000_000, 0);

    fn number(body: &str) -> Result<Option<f64>, String> {
        parse(body.as_bytes()).and_then(|answer| answer.number(AT)).map_err(|missing| missing.to_string())
    }

    fn vector(result: &str) -> String {
        format!(r#"{{"status":"success","data":{{"resultType":"vector","result":{result}}}}}"#)
    }

    fn value(text: &str) -> String {
        vector(&format!(r#"[{{"metric":{{}},"value":[1700000000.0,"{text}"]}}]"#))
    }

    #[test]
    fn one_number_is_read_from_a_vector_or_a_scalar() {
        assert_eq!(number(&value("0.25")), Ok(Some(0.25)));
        let scalar = r#"{"status":"success","data":{"resultType":"scalar","result":[1700000000,"3"]}}"#;
        assert_eq!(number(scalar), Ok(Some(3.0)));
        let with_infos = value("7").replace(r#""data""#, r#""infos":["not a counter"],"warnings":[],"data""#);
        assert_eq!(number(&with_infos), Ok(Some(7.0)));
    }

    #[test]
    fn no_series_is_no_number_and_no_error() {
        assert_eq!(number(&vector("[]")), Ok(None));
    }

    #[test]
    fn bad_answers_are_unknown_each_with_its_reason() {
        let three = r#"[{"metric":{"pod":"a"},"value":[1700000000,"1"]},{"metric":{"pod":"b"},"value":[1700000000,"2"]},
            {"metric":{"pod":"c"},"value":[1700000000,"3"]}]"#;
        let stale = r#"[{"metric":{},"value":[1699999400,"1"]}]"#;
        let future = r#"[{"metric":{},"value":[1700000600,"1"]}]"#;
        let unreadable = "a series without a readable value";
        let unexpected = "UnexpectedResponse: not an answer of the Prometheus query API";
        for (body, expected) in [
            (value("NaN"), "the value is NaN, not a number to judge"),
            (value("+Inf"), "the value is inf, not a number to judge"),
            (vector(three), "Ambiguous: 3 series, where one number is wanted; sum them or select one"),
            (vector(stale), "Stale: the sample is 10m away from the time of the query"),
            (vector(future), "Stale: the sample is 10m away from the time of the query"),
            (vector("[{}]"), unreadable),
            (vector(r#"[{"metric":{},"value":[]}]"#), unreadable),
            (vector(r#"[{"metric":{},"value":[1]}]"#), unreadable),
            (vector(r#"[{"metric":{},"value":[1,2]}]"#), unreadable),
            (vector(r#"[{"metric":{},"value":[1,"2",3]}]"#), unreadable),
            (
                vector(r#"[{"metric":{},"histogram":[1,{"count":"4"}]}]"#),
                "native histograms are not supported; query the classic buckets by le",
            ),
            (vector("null"), unexpected),
            (vector("7"), unexpected),
            (r#"{"status":"success","data":null}"#.into(), unexpected),
            (r#"{"status":"success"}"#.into(), unexpected),
            ("<html>log in</html>".into(), unexpected),
            (r#"{"status":"success","data":{"resultType":"vector","result":[{"#.into(), unexpected),
            ("[".repeat(100_000), unexpected),
            (
                r#"{"status":"success","data":{"resultType":"matrix","result":[]}}"#.into(),
                "the query gives a matrix; one number or an instant vector is expected",
            ),
            (
                r#"{"status":"success","data":{"resultType":"string","result":[1,"x"]}}"#.into(),
                "the query gives a string; one number or an instant vector is expected",
            ),
            (
                r#"{"status":"error","errorType":"bad_data","error":"1:5: parse error: unclosed left parenthesis"}"#
                    .into(),
                "Prometheus refused the query (bad_data: 1:5: parse error: unclosed left parenthesis); correct the query",
            ),
            (
                value("1").replace(r#""data""#, r#""warnings":["store down"],"data""#),
                "partial: the answer carries 1 warning(s), so it may not be whole",
            ),
        ] {
            assert_eq!(number(&body), Err(expected.to_owned()), "{}", body.chars().take(200).collect::<String>());
        }
    }

    fn buckets(pairs: &[(&str, &str)]) -> Result<Buckets, String> {
        let series: Vec<_> = pairs
            .iter()
            .map(|(le, count)| format!(r#"{{"metric":{{"le":"{le}"}},"value":[1700000000,"{count}"]}}"#))
            .collect();
        let body = vector(&format!("[{}]", series.join(",")));
        parse(body.as_bytes()).and_then(|answer| answer.buckets(AT)).map_err(|missing| missing.to_string())
    }

    #[test]
    fn buckets_come_in_any_order_and_leave_in_rising_order() {
        let read = buckets(&[("+Inf", "10"), ("0.1", "3"), ("1e+01", "9"), ("0.5", "5")]);
        assert_eq!(read, Ok(vec![(0.1, 3.0), (0.5, 5.0), (10.0, 9.0), (f64::INFINITY, 10.0)]));
    }

    #[test]
    fn series_that_are_no_buckets_are_refused() {
        for (pairs, expected) in [
            (&[][..], "no series"),
            (&[("0.1", "3")], "the buckets cannot be read: there is no le=\"+Inf\""),
            (&[("x", "3")], "the buckets cannot be read: an le is not a number"),
            (&[("NaN", "3")], "the buckets cannot be read: an le is not a number"),
            (&[("+Inf", "3"), ("+Inf", "4")], "the buckets cannot be read: a bound comes twice; sum by (le)"),
            (&[("+Inf", "NaN")], "the value is NaN, not a number to judge"),
        ] {
            assert_eq!(buckets(pairs), Err(expected.to_owned()), "{pairs:?}");
        }
        let error = parse(value("1").as_bytes()).and_then(|answer| answer.buckets(AT)).unwrap_err();
        assert_eq!(error.to_string(), "the buckets cannot be read: a series has no label le; sum by (le)");
    }

    /// As many series as a body may hold.
    fn flood() -> String {
        let series = r#"{"metric":{"pod":"p"},"value":[1700000000,"1"]}"#;
        vector(&format!("[{}]", vec![series; 20_000].join(",")))
    }

    #[test]
    fn of_a_flood_of_series_a_thousand_are_kept_and_all_are_counted() {
        let Ok(Answer::Vector(read)) = parse(flood().as_bytes()) else { panic!("a vector") };
        assert_eq!((read.series.len(), read.count), (SERIES, 20_000));
        let ambiguous = "Ambiguous: 20000 series, where one number is wanted; sum them or select one";
        assert_eq!(number(&flood()), Err(ambiguous.to_owned()));
        let buckets = parse(flood().as_bytes()).and_then(|answer| answer.buckets(AT));
        let too_many = "20000 series, of which at most 1000 are read; sum them";
        assert_eq!(buckets.map_err(|missing| missing.to_string()), Err(too_many.to_owned()));
    }

    #[test]
    fn the_type_of_a_result_may_follow_it() {
        let body = r#"{"data":{"result":[1700000000,"3"],"resultType":"scalar"},"status":"success"}"#;
        assert_eq!(number(body), Ok(Some(3.0)));
    }

    #[test]
    fn what_prometheus_says_of_a_query_is_cut_and_harmless() {
        let body = format!(r#"{{"status":"error","errorType":"bad_data","error":"\u001b[31m{}"}}"#, "x".repeat(5000));
        let said = number(&body).unwrap_err();
        assert!(said.contains(r"(bad_data: \u{1b}[31mxxx"), "{said}");
        assert!(said.chars().count() < 280, "{said}");
    }

    proptest! {
        #[test]
        fn no_answer_makes_it_panic(body in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&body).map(|answer| (answer.number(AT), answer.buckets(AT)));
        }

        #[test]
        fn no_result_makes_it_panic(time in any::<f64>(), text in ".{0,20}", le in ".{0,10}") {
            let series = serde_json::json!([{"metric": {"le": le}, "value": [time, text]}]);
            let body = vector(&series.to_string());
            let _ = parse(body.as_bytes()).map(|answer| (answer.number(AT), answer.buckets(AT)));
        }
    }
}
