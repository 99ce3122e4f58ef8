//! Members as far as the hub sees them: an endpoint that answers every probe, and a Prometheus that answers every query at
//! once and notes when.

use crate::lab::{MEMBERS, member_address};
use anyhow::{Context, Result};
use axum::{Router, extract::State, http::Uri, routing::get};
use jiff::Timestamp;
use reqwest::Url;
use std::sync::{Arc, Mutex};
use tokio::{net::TcpListener, task::JoinSet};

const PROMETHEUS_PORT: u16 = 9090;

/// Which answers are bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Badness {
    Nothing,
    /// What a member says of the services whose number is below this.
    At {
        member: &'static str,
        below: usize,
    },
}

/// A round of queries, by the one for the failed requests of a service: each round has one for each member.
#[derive(Clone, Debug)]
pub struct Round {
    pub at: Timestamp,
    /// When its answer was on its way.
    pub answered: Timestamp,
    pub member: &'static str,
    pub service: usize,
    pub bad: bool,
}

/// All members; they end with the value.
pub struct Stub {
    shared: Arc<Shared>,
    _servers: JoinSet<()>,
}

struct Shared {
    badness: Mutex<Badness>,
    rounds: Mutex<Vec<Round>>,
}

#[derive(Clone)]
struct Member {
    name: &'static str,
    shared: Arc<Shared>,
}

impl Stub {
    pub async fn start() -> Result<Self> {
        let shared = Arc::new(Shared { badness: Mutex::new(Badness::Nothing), rounds: Mutex::default() });
        let mut servers = JoinSet::new();
        for name in MEMBERS {
            let address = member_address(name);
            let endpoint = TcpListener::bind((address, 80)).await.context("cannot serve probes")?;
            let prometheus = TcpListener::bind((address, PROMETHEUS_PORT)).await.context("cannot serve queries")?;
            let member = Member { name, shared: shared.clone() };
            servers.spawn(serve(endpoint, Router::new().fallback(|| async { "ok\n" })));
            servers.spawn(serve(prometheus, Router::new().route("/api/v1/query", get(answer)).with_state(member)));
        }
        Ok(Self { shared, _servers: servers })
    }

    /// Where a member's Prometheus is.
    pub fn prometheus(member: &str) -> String {
        format!("http://{}:{PROMETHEUS_PORT}", member_address(member))
    }

    pub fn behave(&self, badness: Badness) {
        *self.shared.badness.lock().unwrap() = badness;
    }

    /// What came between two instants, in order.
    pub fn rounds(&self, from: Timestamp, to: Timestamp) -> Vec<Round> {
        let all = self.shared.rounds.lock().unwrap();
        all.iter().filter(|round| (from..=to).contains(&round.at)).cloned().collect()
    }

    /// Forgets what came so far.
    pub fn clear(&self) {
        self.shared.rounds.lock().unwrap().clear();
    }
}

async fn serve(listener: TcpListener, pages: Router) {
    let _ = axum::serve(listener, pages).await;
}

/// A thousand requests, of which none failed, or half of them.
async fn answer(State(member): State<Member>, uri: Uri) -> ([(&'static str, &'static str); 1], String) {
    let at = Timestamp::now();
    let url = Url::parse(&format!("http://prometheus{uri}")).ok();
    let field = |name: &str| url.iter().flat_map(Url::query_pairs).find(|(key, _)| key == name).map(|(_, value)| value);
    let (query, time) = (field("query").unwrap_or_default(), field("time").unwrap_or_default());
    let value = member.value(&query, at).unwrap_or(1000);
    let body = format!(
        r#"{{"status":"success","data":{{"resultType":"vector","result":[{{"metric":{{}},"value":[{time},"{value}"]}}]}}}}"#
    );
    ([("content-type", "application/json")], body)
}

impl Member {
    /// The failed requests, where the query is for those.
    fn value(&self, query: &str, at: Timestamp) -> Option<u32> {
        let service = failed_of(query)?;
        let bad = match *self.shared.badness.lock().unwrap() {
            Badness::Nothing => false,
            Badness::At { member, below } => member == self.name && service < below,
        };
        let round = Round { at, answered: Timestamp::now(), member: self.name, service, bad };
        self.shared.rounds.lock().unwrap().push(round);
        Some(if bad { 500 } else { 0 })
    }
}

/// The number of the service whose failed requests are queried.
fn failed_of(query: &str) -> Option<usize> {
    if !query.contains("code=~") {
        return None;
    }
    query.split_once("service=\"svc-")?.1.split_once('"')?.0.parse().ok()
}
