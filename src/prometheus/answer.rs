//! What a Prometheus answered, read with distrust.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::Value;

use crate::{
    api::Duration,
    http::{HttpError, sanitise},
    rollout::merge::Buckets,
};

/// How far a sample may be from the time that was requested: an instant query is stamped with its evaluation time, so
/// more means that another time was evaluated.
const TOLERANCE: Duration = Duration::from_secs(5);

/// What an instant query gave.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Answer {
    /// Any number of series, none included.
    Vector(Vec<Series>),
    /// One number.
    Scalar(Point),
}

/// One series of an instant vector.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Series {
    /// Its labels.
    pub labels: BTreeMap<String, String>,
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

/// Why there is no number: neither a pass nor a failure. Holds nothing of an answer's body but label sets, error types
/// and numbers, made harmless.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub(crate) enum Missing {
    /// It does not answer.
    #[error("source down: {0}")]
    Down(#[from] HttpError),
    /// It, or the API server before it, does not know the credentials or does not allow them to ask.
    #[error("Prometheus answered with status {0}; renew the credentials or their role")]
    Credentials(u16),
    /// It answered with another status than 200.
    #[error("Prometheus answered with status {0}")]
    Status(u16),
    /// It refused the query.
    #[error("Prometheus refused the query ({0}); try the query there")]
    Refused(String),
    /// The answer is not one of Prometheus.
    #[error("UnexpectedResponse: not an answer of the Prometheus query API")]
    Unexpected,
    /// It says itself that the answer is not whole.
    #[error("partial: the answer carries {0} warning(s), so it may not be whole")]
    Partial(usize),
    /// A range, a string, or something newer.
    #[error("the query gives a {0}; one number or an instant vector is expected")]
    Type(String),
    /// More than one series where one number is wanted.
    #[error("Ambiguous: {count} series, such as {} and {}; sum them or select one", .examples.0, .examples.1)]
    Ambiguous {
        /// How many.
        count: usize,
        /// Two of their label sets.
        examples: (String, String),
    },
    /// No series at all.
    #[error("no series")]
    NoSeries,
    /// A series without a readable value.
    #[error("a series without a readable value")]
    NoValue,
    /// 0/0 and the like.
    #[error("the value is {0}, not a number to judge")]
    NotANumber(f64),
    /// For another time than the one requested.
    #[error("Stale: the sample is {0} away from the time of the query")]
    Stale(Duration),
    /// A native histogram.
    #[error("native histograms are not supported; query the classic buckets by le")]
    NativeHistogram,
    /// Buckets that are none.
    #[error("the buckets cannot be read: {0}")]
    Buckets(&'static str),
}

#[derive(Deserialize)]
struct Body {
    status: String,
    #[serde(rename = "errorType")]
    error_type: Option<String>,
    warnings: Option<Vec<IgnoredAny>>,
    data: Option<Data>,
}

#[derive(Deserialize)]
struct Data {
    #[serde(rename = "resultType")]
    result_type: String,
    result: Value,
}

#[derive(Deserialize)]
struct RawSeries {
    metric: Option<BTreeMap<String, String>>,
    value: Option<Value>,
    histogram: Option<IgnoredAny>,
}

/// Reads the body of an answer to an instant query.
///
/// # Errors
/// When it holds no whole vector or scalar.
pub(crate) fn parse(body: &[u8]) -> Result<Answer, Missing> {
    let body: Body = serde_json::from_slice(body).map_err(|_| Missing::Unexpected)?;
    if body.status != "success" {
        return Err(Missing::Refused(sanitise(body.error_type.as_deref().unwrap_or("no error type"))));
    }
    let warnings = body.warnings.map_or(0, |warnings| warnings.len());
    if warnings > 0 {
        return Err(Missing::Partial(warnings));
    }
    let data = body.data.ok_or(Missing::Unexpected)?;
    match data.result_type.as_str() {
        "vector" => vector(data.result).map(Answer::Vector),
        "scalar" => point(&data.result).map(Answer::Scalar),
        other => Err(Missing::Type(sanitise(other))),
    }
}

fn vector(result: Value) -> Result<Vec<Series>, Missing> {
    let raw: Vec<RawSeries> = serde_json::from_value(result).map_err(|_| Missing::Unexpected)?;
    raw.into_iter().map(series).collect()
}

fn series(raw: RawSeries) -> Result<Series, Missing> {
    match (raw.value, raw.histogram) {
        (_, Some(_)) => Err(Missing::NativeHistogram),
        (None, None) => Err(Missing::NoValue),
        (Some(value), None) => Ok(Series { labels: raw.metric.unwrap_or_default(), point: point(&value)? }),
    }
}

/// `[1700000000.123, "0.5"]`
fn point(value: &Value) -> Result<Point, Missing> {
    let [time, number] = value.as_array().map_or(&[][..], Vec::as_slice) else { return Err(Missing::NoValue) };
    let number = number.as_str().and_then(|text| text.parse().ok());
    match (time.as_f64(), number) {
        (Some(time), Some(value)) => Ok(Point { time, value }),
        (None, _) | (_, None) => Err(Missing::NoValue),
    }
}

impl Answer {
    /// The one number, evaluated at `at`; none where the query has no series.
    ///
    /// # Errors
    /// When there are several, or the number cannot be judged.
    pub(crate) fn number(&self, at: Timestamp) -> Result<Option<f64>, Missing> {
        let point = match self {
            Self::Scalar(point) => point,
            Self::Vector(series) => match series.as_slice() {
                [] => return Ok(None),
                [only] => &only.point,
                [first, second, ..] => {
                    let examples = (labels(&first.labels), labels(&second.labels));
                    return Err(Missing::Ambiguous { count: series.len(), examples });
                }
            },
        };
        point.at(at).map(Some)
    }

    /// Upper bound and cumulative count of each bucket, evaluated at `at`, by rising bound; the last bound is infinite.
    ///
    /// # Errors
    /// When the series are not those of one classic histogram.
    pub(crate) fn buckets(&self, at: Timestamp) -> Result<Buckets, Missing> {
        let Self::Vector(series) = self else {
            return Err(Missing::Buckets("one number, where series by le are expected"));
        };
        if series.is_empty() {
            return Err(Missing::NoSeries);
        }
        let mut buckets = series.iter().map(|series| bucket(series, at)).collect::<Result<Buckets, _>>()?;
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
    let bound = series.labels.get("le").ok_or(Missing::Buckets("a series has no label le; sum by (le)"))?;
    let bound: f64 = bound.parse().map_err(|_| Missing::Buckets("an le is not a number"))?;
    if bound.is_nan() {
        return Err(Missing::Buckets("an le is not a number"));
    }
    Ok((bound, series.point.at(at)?))
}

fn labels(labels: &BTreeMap<String, String>) -> String {
    let pairs: Vec<_> = labels.iter().take(8).map(|(name, value)| format!("{name}={value:?}")).collect();
    sanitise(&format!("{{{}}}", pairs.join(",")))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
            (vector(three), r#"Ambiguous: 3 series, such as {pod="a"} and {pod="b"}; sum them or select one"#),
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
                r#"{"status":"error","errorType":"bad_data","error":"secret"}"#.into(),
                "Prometheus refused the query (bad_data); try the query there",
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
