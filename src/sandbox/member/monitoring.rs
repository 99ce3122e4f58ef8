//! A member's Prometheus: scrapes the gateway and answers `/api/v1/query`.

use std::{
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use http::Uri;
use jiff::Timestamp;
use reqwest::Url;

use super::{gateway::Gateway, locked};
use crate::{
    clock::Clock,
    sandbox::{
        prometheus::{Series, response},
        server::{Answer, json, text},
    },
};

/// Five samples in the shortest window that a metric may have.
const SCRAPE_EVERY: Duration = Duration::from_millis(200);

pub(super) struct Monitoring {
    series: Mutex<Series>,
    shown: AtomicBool,
}

impl Monitoring {
    /// Scrapes as long as the value lives.
    pub(super) fn start(gateway: Arc<Gateway>) -> Arc<Self> {
        let monitoring = Arc::new(Self { series: Mutex::default(), shown: AtomicBool::new(true) });
        tokio::spawn(scrape(Arc::downgrade(&monitoring), gateway));
        monitoring
    }

    pub(super) fn show(&self, shown: bool) {
        self.shown.store(shown, Ordering::Relaxed);
    }

    /// Answers an instant query; the path may begin with anything, as behind a proxy.
    pub(super) fn answer(&self, uri: &Uri) -> Answer {
        if !self.shown.load(Ordering::Relaxed) {
            return text(503, "no endpoints available\n");
        }
        match Query::of(uri) {
            Some(query) => {
                let answer = locked(&self.series).answer(&query.text, query.at);
                let (status, body) = response(&answer);
                json(status, &body)
            }
            None => text(404, "only GET /api/v1/query?query=…&time=… is served here\n"),
        }
    }
}

async fn scrape(monitoring: Weak<Monitoring>, gateway: Arc<Gateway>) {
    let mut turns = tokio::time::interval(SCRAPE_EVERY);
    loop {
        turns.tick().await;
        let Some(monitoring) = monitoring.upgrade() else { return };
        gateway.counters.scrape(&mut locked(&monitoring.series), Clock::default().now());
    }
}

/// What an instant query asks.
struct Query {
    text: String,
    at: Timestamp,
}

impl Query {
    fn of(uri: &Uri) -> Option<Self> {
        let url = Url::parse("http://prometheus").ok()?.join(uri.path_and_query()?.as_str()).ok()?;
        if !url.path().ends_with("/api/v1/query") {
            return None;
        }
        let parameter =
            |name: &str| url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned());
        let at = match parameter("time") {
            None => Clock::default().now(),
            Some(time) => Timestamp::UNIX_EPOCH + Duration::try_from_secs_f64(time.parse().ok()?).ok()?,
        };
        Some(Self { text: parameter("query")?, at })
    }
}
