//! What a gateway counted, as Prometheus scrapes it.

use std::{collections::BTreeMap, sync::Mutex, time::Duration};

use jiff::Timestamp;

use super::locked;
use crate::sandbox::prometheus::Series;

/// Upper bounds in seconds, as strings and numbers; the last one is infinite.
const BOUNDS: [(&str, f64); 11] = [
    ("0.005", 0.005),
    ("0.01", 0.01),
    ("0.025", 0.025),
    ("0.05", 0.05),
    ("0.1", 0.1),
    ("0.25", 0.25),
    ("0.5", 0.5),
    ("1", 1.0),
    ("2.5", 2.5),
    ("5", 5.0),
    ("+Inf", f64::INFINITY),
];

/// Requests and latencies by service.
#[derive(Default)]
pub(super) struct Counters(Mutex<BTreeMap<String, Counts>>);

#[derive(Default)]
struct Counts {
    arrived: u64,
    by_code: BTreeMap<u16, u64>,
    /// Cumulative, as Prometheus wants them.
    buckets: [u64; BOUNDS.len()],
    seconds: f64,
}

impl Counters {
    /// A request arrived; Prometheus counts it once it is answered.
    pub(super) fn arrive(&self, service: &str) {
        locked(&self.0).entry(service.to_owned()).or_default().arrived += 1;
    }

    /// A request was answered.
    pub(super) fn count(&self, service: &str, code: u16, took: Duration) {
        let mut counters = locked(&self.0);
        let counts = counters.entry(service.to_owned()).or_default();
        *counts.by_code.entry(code).or_default() += 1;
        for (bucket, (_, bound)) in counts.buckets.iter_mut().zip(BOUNDS) {
            *bucket += u64::from(took.as_secs_f64() <= bound);
        }
        counts.seconds += took.as_secs_f64();
    }

    /// Requests of a service that came in so far.
    pub(super) fn observed(&self, service: &str) -> u64 {
        locked(&self.0).get(service).map_or(0, |counts| counts.arrived)
    }

    /// Records everything as of now.
    pub(super) fn scrape(&self, series: &mut Series, at: Timestamp) {
        for (service, counts) in locked(&self.0).iter() {
            let named = ("service", service.as_str());
            for (code, count) in &counts.by_code {
                series.record(at, "http_requests_total", &[named, ("code", &code.to_string())], float(*count));
            }
            for ((le, _), count) in BOUNDS.iter().zip(counts.buckets) {
                series.record(at, "http_request_duration_seconds_bucket", &[named, ("le", le)], float(count));
            }
            let total = counts.by_code.values().sum();
            series.record(at, "http_request_duration_seconds_count", &[named], float(total));
            series.record(at, "http_request_duration_seconds_sum", &[named], counts.seconds);
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "nobody sends 2^52 requests here")]
fn float(count: u64) -> f64 {
    count as f64
}
