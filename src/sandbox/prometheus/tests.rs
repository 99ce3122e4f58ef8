use super::*;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + seconds).unwrap()
}

/// A scrape every ten seconds: storefront counts 100 requests each time, 2 of them errors, and 90 faster than 0.1 s.
fn series() -> Series {
    let mut series = Series::default();
    for scrape in 0..=12_i32 {
        let time = at(i64::from(scrape) * 10);
        let total = f64::from(scrape) * 100.0;
        for (service, code, value) in
            [("storefront", "200", total * 0.98), ("storefront", "503", total * 0.02), ("checkout", "200", total / 2.0)]
        {
            series.record(time, "http_requests_total", &[("service", service), ("code", code)], value);
        }
        for (le, value) in [("0.1", total * 0.9), ("+Inf", total)] {
            series.record(time, "latency_bucket", &[("le", le)], value);
        }
    }
    series
}

/// The labels and value of each series, or the error.
fn answered(series: &Series, query: &str, time: i64) -> String {
    match series.answer(query, at(time)) {
        Ok(data) => {
            let shown = |one: &Value| format!("{}={}", one["metric"], one["value"][1].as_str().unwrap());
            data["result"].as_array().unwrap().iter().map(shown).collect::<Vec<_>>().join(" ")
        }
        Err(error) => error.to_string(),
    }
}

#[test]
fn what_cutover_asks_is_answered() {
    let series = series();
    for (query, expected) in [
        (r#"sum(increase(http_requests_total{service="storefront",code=~"5.."}[1m]))"#, "{}=12"),
        (r#"sum(increase(http_requests_total{service="storefront"}[1m]))"#, "{}=600"),
        (r#"sum(rate(http_requests_total{service!="storefront"}[1m]))"#, "{}=5"),
        (r#"sum(increase(http_requests_total{code!~"2.."}[1m]))"#, "{}=12"),
        (r"sum by (le) (increase(latency_bucket[1m]))", r#"{"le":"+Inf"}=600 {"le":"0.1"}=540"#),
        (
            r"sum without (code) (increase(http_requests_total[1m]))",
            r#"{"service":"checkout"}=300 {"service":"storefront"}=600"#,
        ),
        (r#"sum(increase(http_requests_total{service="nobody"}[1m]))"#, ""),
        (r#"sum(increase(http_requests_total{service="nobody"}[1m])) or vector(0)"#, "{}=0"),
        ("vector(1)", "{}=1"),
    ] {
        assert_eq!(answered(&series, query, 120), expected, "{query}");
    }
}

/// By hand: samples at 70, 80, …, 120 lie in (65, 125]; they gain 500 in 50 s. 5 s at either end are within 1.1 intervals,
/// so 60 s are covered: 600. In (60, 120] the sample at 60 is outside: the window begins 10 s before the first.
#[test]
fn an_increase_reaches_to_the_borders_of_its_window() {
    let query = r#"sum(increase(latency_bucket{le="+Inf"}[1m]))"#;
    assert_eq!(answered(&series(), query, 125), "{}=600");
    assert_eq!(answered(&series(), query, 120), "{}=600");
    // The last sample is 30 s old: half an interval is added after it, and 10 s before the first, at 100: (20 + 10 + 5) / 20.
    assert_eq!(answered(&series(), query, 150), "{}=350");
    // Samples at 0, 10, 20, 30; the counter was 0 at the first, so nothing is added before it.
    assert_eq!(answered(&series(), query, 30), "{}=300");
}

#[test]
fn one_sample_is_no_increase() {
    assert_eq!(answered(&series(), "sum(increase(latency_bucket[10s]))", 120), "");
}

#[test]
fn a_counter_that_began_anew_loses_nothing() {
    let mut series = Series::default();
    for (second, value) in [(0, 100.0), (10, 130.0), (20, 5.0), (30, 25.0)] {
        series.record(at(second), "c", &[], value);
    }
    // 30 + 5 + 20 in 30 s, and 10 s before the first sample.
    assert_eq!(answered(&series, "increase(c[40s])", 30), format!("{{}}={}", 55.0 * 40.0 / 30.0));
}

#[test]
fn a_sample_is_valid_for_five_minutes() {
    assert_eq!(
        answered(&series(), r#"latency_bucket{le="+Inf"}"#, 419),
        r#"{"__name__":"latency_bucket","le":"+Inf"}=1200"#
    );
    assert_eq!(answered(&series(), r#"latency_bucket{le="+Inf"}"#, 420), "");
}

#[test]
fn what_is_not_supported_is_named() {
    for (query, error) in [
        ("histogram_quantile(0.9, latency_bucket)", "histogram_quantile() is not supported by the sandbox"),
        ("max(latency_bucket)", "aggregation max is not supported by the sandbox"),
        ("latency_bucket offset 1m", "offset is not supported by the sandbox"),
        ("latency_bucket @ 5", "the @ modifier is not supported by the sandbox"),
        ("2 ^ 3", "operator ^ is not supported by the sandbox"),
        ("latency_bucket[1m]", "a range without increase or rate is not supported by the sandbox"),
        ("latency_bucket or on (le) latency_bucket", "operator or is not supported by the sandbox"),
        ("-latency_bucket", "a sign is not supported by the sandbox"),
        ("1", "a number outside of vector() is not supported by the sandbox"),
    ] {
        assert_eq!(answered(&series(), query, 120), error, "{query}");
    }
}

#[test]
fn errors_have_the_form_of_prometheus() {
    let (status, body) = response(&series().answer("sum(", at(0)));
    assert_eq!((status, &body["status"], &body["errorType"]), (400, &json!("error"), &json!("bad_data")));
    let (status, body) = response(&series().answer("max(a)", at(0)));
    assert_eq!((status, &body["errorType"]), (422, &json!("execution")));
    let (status, body) = response(&series().answer("vector(1)", at(0)));
    let data = json!({"resultType": "vector", "result": [{"metric": {}, "value": [1_700_000_000.0, "1"]}]});
    assert_eq!((status, body), (200, json!({"status": "success", "data": data})));
}

/// The reader that the hub uses takes what is answered.
#[test]
fn the_hub_reads_the_answer() {
    let (_, body) = response(&series().answer("sum(latency_bucket)", at(120)));
    let answer = crate::prometheus::parse(body.to_string().as_bytes()).unwrap();
    assert_eq!(answer.number(at(120)), Ok(Some(2280.0)));
}

#[test]
fn only_the_last_hour_is_kept() {
    let mut series = Series::default();
    for second in 0..10_000 {
        series.record(at(second), "c", &[], 1.0);
    }
    assert_eq!(answered(&series, "increase(c[3h])", 3600), "");
    series.record(at(5), "c", &[], 7.0);
    assert_eq!(answered(&series, "c", 10_000), r#"{"__name__":"c"}=1"#);
}
