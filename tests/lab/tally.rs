//! What a gateway counted, and the same as Prometheus reads it.

use std::{collections::BTreeMap, fmt::Write, sync::Mutex, time::Duration};

/// Upper bounds in seconds; the last bucket is +Inf.
const BOUNDS: [f64; 11] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

#[derive(Default)]
pub struct Tally(Mutex<Counts>);

#[derive(Default)]
struct Counts {
    requests: BTreeMap<(String, u16), u64>,
    hosts: BTreeMap<String, u64>,
    /// By service and user agent.
    agents: BTreeMap<(String, String), u64>,
    latencies: BTreeMap<String, Latency>,
}

#[derive(Default)]
struct Latency {
    /// Cumulative, as Prometheus wants them.
    buckets: [u64; BOUNDS.len()],
    count: u64,
    sum: f64,
}

/// A service is the first label of the Host header, whatever the rest of the name.
pub fn service(host: &str) -> &str {
    host.split(['.', ':']).next().unwrap_or_default()
}

impl Tally {
    pub fn count(&self, host: &str, agent: &str, code: u16, took: Duration) {
        let service = service(host).to_owned();
        let mut counts = self.0.lock().unwrap();
        *counts.requests.entry((service.clone(), code)).or_default() += 1;
        *counts.hosts.entry(host.to_owned()).or_default() += 1;
        *counts.agents.entry((service.clone(), agent.to_owned())).or_default() += 1;
        counts.latencies.entry(service).or_default().observe(took.as_secs_f64());
    }

    /// Requests of a service, whatever their answer.
    pub fn observed(&self, service: &str) -> u64 {
        let counts = self.0.lock().unwrap();
        counts.requests.iter().filter(|((name, _), _)| name == service).map(|(_, count)| count).sum()
    }

    /// Requests that came with exactly this Host header.
    pub fn observed_as(&self, host: &str) -> u64 {
        self.0.lock().unwrap().hosts.get(host).copied().unwrap_or_default()
    }

    /// Requests of a service that came with exactly this `user-agent`; the empty one is none.
    pub fn observed_from(&self, service: &str, agent: &str) -> u64 {
        self.0.lock().unwrap().agents.get(&(service.to_owned(), agent.to_owned())).copied().unwrap_or_default()
    }

    /// The text exposition format, version 0.0.4.
    pub fn exposition(&self) -> String {
        let counts = self.0.lock().unwrap();
        let mut text = String::from("# TYPE http_requests_total counter\n");
        for ((service, code), count) in &counts.requests {
            let _ = writeln!(text, "http_requests_total{{service=\"{service}\",code=\"{code}\"}} {count}");
        }
        text.push_str("# TYPE http_request_duration_seconds histogram\n");
        for (service, latency) in &counts.latencies {
            latency.expose(service, &mut text);
        }
        text
    }
}

impl Latency {
    fn observe(&mut self, seconds: f64) {
        for (bucket, bound) in self.buckets.iter_mut().zip(BOUNDS) {
            *bucket += u64::from(seconds <= bound);
        }
        self.count += 1;
        self.sum += seconds;
    }

    fn expose(&self, service: &str, text: &mut String) {
        const NAME: &str = "http_request_duration_seconds";
        for (bucket, bound) in self.buckets.iter().zip(BOUNDS) {
            let _ = writeln!(text, "{NAME}_bucket{{service=\"{service}\",le=\"{bound}\"}} {bucket}");
        }
        let Self { count, sum, .. } = self;
        let _ = writeln!(text, "{NAME}_bucket{{service=\"{service}\",le=\"+Inf\"}} {count}");
        let _ =
            writeln!(text, "{NAME}_sum{{service=\"{service}\"}} {sum}\n{NAME}_count{{service=\"{service}\"}} {count}");
    }
}
