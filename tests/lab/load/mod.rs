//! Clients: requests at a bounded rate for a bounded time, half of them on connections of their own.

mod exchange;

pub use exchange::{answer, ask, connect, get};

use crate::wait::eventually;
use anyhow::{Context, Result};
use exchange::send;
use http::StatusCode;
use rustls::pki_types::ServerName;
use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    task::JoinSet,
    time::{Instant, MissedTickBehavior, interval, sleep_until, timeout},
};
use tokio_rustls::rustls::ClientConfig;

/// Even workers keep their connection, odd ones open a new one for each request.
const WORKERS: u32 = 8;
const PATIENCE: Duration = Duration::from_secs(5);
const FAILURES_KEPT: usize = 5;

#[derive(Debug, Clone)]
pub struct Plan {
    pub to: SocketAddr,
    /// The Host header.
    pub host: String,
    /// What every request of the load asks for.
    pub path: String,
    /// Further headers.
    pub headers: Vec<(&'static str, String)>,
    /// Requests per second.
    pub rate: u32,
    /// At most so many requests.
    pub limit: u64,
    /// At most so long.
    pub within: Duration,
    /// Half of the workers keep theirs; else none does.
    pub keeps_connections: bool,
    /// Over TLS, and whom the other side must prove to be.
    pub tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
}

#[derive(Debug, Clone, Default)]
pub struct Totals {
    pub sent: u64,
    pub by_status: BTreeMap<u16, u64>,
    /// Requests without an answer.
    pub failed: u64,
    /// What went wrong, the first few.
    pub failures: Vec<String>,
}

/// Ends with the value, at its limit, or when stopped.
pub struct Load {
    shared: Arc<Shared>,
    workers: JoinSet<()>,
}

struct Shared {
    plan: Plan,
    deadline: Mutex<Instant>,
    totals: Mutex<Totals>,
}

impl Plan {
    /// 400 requests per second for at most two minutes.
    pub fn new(to: SocketAddr, host: &str, limit: u64) -> Self {
        Self {
            to,
            host: host.to_owned(),
            path: "/".to_owned(),
            headers: Vec::new(),
            rate: 400,
            limit,
            within: Duration::from_mins(2),
            keeps_connections: true,
            tls: None,
        }
    }
}

impl Load {
    pub fn start(plan: Plan) -> Self {
        let deadline = Mutex::new(Instant::now() + plan.within);
        let shared = Arc::new(Shared { plan, deadline, totals: Mutex::default() });
        let mut workers = JoinSet::new();
        for worker in 0..WORKERS {
            let keeps = shared.plan.keeps_connections && worker.is_multiple_of(2);
            workers.spawn(work(shared.clone(), keeps));
        }
        Self { shared, workers }
    }

    pub fn so_far(&self) -> Totals {
        self.shared.totals.lock().unwrap().clone()
    }

    /// Waits until so many more requests were sent.
    pub async fn sends(&self, count: u64) -> Result<()> {
        let goal = self.so_far().sent + count;
        eventually("the load", Duration::from_mins(1), async || {
            let sent = self.so_far().sent;
            anyhow::ensure!(sent >= goal, "{sent} of {goal} requests were sent");
            Ok(())
        })
        .await
    }

    /// Waits until the load went on for so long, at least at a tenth of its rate: the lab may be busy.
    pub async fn goes_on_for(&self, time: Duration) -> Result<()> {
        let (begin, before) = (Instant::now(), self.so_far().sent);
        sleep_until(begin + time).await;
        let wanted = u64::from(self.shared.plan.rate) * time.as_secs() / 10;
        let sent = self.so_far().sent - before;
        anyhow::ensure!(sent >= wanted, "{sent} requests were sent in {time:?}, at least {wanted} are needed");
        Ok(())
    }

    /// Waits until the plan's limit or time is reached.
    pub async fn finish(self) -> Totals {
        self.workers.join_all().await;
        self.shared.totals.lock().unwrap().clone()
    }

    /// Sends nothing more.
    pub fn end(&self) {
        *self.shared.deadline.lock().unwrap() = Instant::now();
    }

    /// Sends nothing more and waits for the answers under way.
    pub async fn stop(self) -> Totals {
        self.end();
        self.finish().await
    }
}

impl Totals {
    /// Not one request failed or was answered with anything but 200.
    pub fn assert_all_ok(&self) -> Result<()> {
        let ok = self.by_status.get(&200).copied().unwrap_or_default();
        anyhow::ensure!(ok == self.sent && self.sent > 0, "not every request was answered with 200: {self:?}");
        Ok(())
    }
}

impl Shared {
    /// Takes one of the requests that may still be sent.
    fn take(&self) -> bool {
        let mut totals = self.totals.lock().unwrap();
        let may = totals.sent < self.plan.limit && Instant::now() < *self.deadline.lock().unwrap();
        totals.sent += u64::from(may);
        may
    }

    fn record(&self, outcome: Result<StatusCode>) {
        let mut totals = self.totals.lock().unwrap();
        match outcome {
            Ok(status) => *totals.by_status.entry(status.as_u16()).or_default() += 1,
            Err(error) => {
                totals.failed += 1;
                if totals.failures.len() < FAILURES_KEPT {
                    totals.failures.push(format!("{error:#}"));
                }
            }
        }
    }
}

async fn work(shared: Arc<Shared>, keep: bool) {
    let mut pace = interval(Duration::from_secs(1) * WORKERS / shared.plan.rate);
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut kept = None;
    loop {
        pace.tick().await;
        if !shared.take() {
            return;
        }
        let connection = kept.take();
        let sent =
            timeout(PATIENCE, send(&shared.plan, &shared.plan.path, connection)).await.context("no answer in time");
        shared.record(sent.and_then(|result| result).map(|(status, connection)| {
            kept = keep.then_some(connection);
            status
        }));
    }
}
