//! Clients: requests at a steady rate, whether or not the answers are slow.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use http::{Request, StatusCode, header::HOST};
use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    task::JoinHandle,
    time::{Instant, interval, timeout},
};

/// Requests that may be under way at once; it bounds connections and memory. What would be more is not sent.
const AT_ONCE: usize = 128;
/// How often those that are due are sent.
const TURN: Duration = Duration::from_millis(5);
/// A turn that comes late makes up for this much time; the rest of it is lost, so that no flood follows a pause.
const CATCHES_UP: Duration = Duration::from_millis(50);
const PATIENCE: Duration = Duration::from_secs(5);

/// What was sent and how it was answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Requests with an answer, by its status.
    pub by_status: BTreeMap<u16, u64>,
    /// Requests without one.
    pub unanswered: u64,
}

impl Totals {
    /// Requests that ended, one way or the other.
    pub fn ended(&self) -> u64 {
        self.by_status.values().sum::<u64>() + self.unanswered
    }

    /// Requests that no user would call answered.
    pub fn failed(&self) -> u64 {
        self.by_status.iter().filter(|(status, _)| **status >= 500).map(|(_, count)| count).sum::<u64>()
            + self.unanswered
    }
}

/// Requests that are being sent. They end with the value.
pub struct Load {
    clients: Arc<Clients>,
    sending: JoinHandle<()>,
}

struct Clients {
    http: Client<HttpConnector, Empty<Bytes>>,
    to: SocketAddr,
    totals: Mutex<Totals>,
    turns: Arc<Semaphore>,
}

impl Load {
    /// Sends `rate` requests a second to each of these hosts, all of them by way of `to`.
    pub fn start(to: SocketAddr, hosts: Vec<String>, rate: u32) -> Self {
        let http = Client::builder(TokioExecutor::new()).build_http();
        let turns = Arc::new(Semaphore::new(AT_ONCE));
        let clients = Arc::new(Clients { http, to, totals: Mutex::default(), turns });
        Self { sending: tokio::spawn(send(clients.clone(), hosts, rate)), clients }
    }

    /// What happened so far.
    pub fn so_far(&self) -> Totals {
        self.clients.totals().clone()
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.sending.abort();
    }
}

/// Sends what is due, turn by turn.
async fn send(clients: Arc<Clients>, hosts: Vec<String>, rate: u32) {
    let mut turns = interval(TURN);
    let gap = Duration::from_secs(1) / rate.max(1);
    let mut due = Instant::now();
    loop {
        turns.tick().await;
        let now = Instant::now();
        due = due.max(now.checked_sub(CATCHES_UP).unwrap_or(now));
        while due <= now {
            due += gap;
            for host in &hosts {
                if let Ok(turn) = clients.turns.clone().try_acquire_owned() {
                    tokio::spawn(one(clients.clone(), host.clone(), turn));
                }
            }
        }
    }
}

/// One request, and what became of it.
async fn one(clients: Arc<Clients>, host: String, turn: OwnedSemaphorePermit) {
    let status = timeout(PATIENCE, clients.get(&host)).await.ok().flatten();
    let mut totals = clients.totals();
    match status {
        Some(status) => *totals.by_status.entry(status.as_u16()).or_default() += 1,
        None => totals.unanswered += 1,
    }
    drop(turn);
}

impl Clients {
    fn totals(&self) -> std::sync::MutexGuard<'_, Totals> {
        self.totals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn get(&self, host: &str) -> Option<StatusCode> {
        let request = Request::get(format!("http://{}/", self.to)).header(HOST, host).body(Empty::new()).ok()?;
        let response = self.http.request(request).await.ok()?;
        let status = response.status();
        response.into_body().collect().await.ok()?;
        Some(status)
    }
}
