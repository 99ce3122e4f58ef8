//! The members: what they answer, and what they really counted.

mod alerts;
mod calls;
mod doors;
mod tenant;

use std::{collections::BTreeMap, time::Duration};

use cutover::sandbox::prometheus::{Expression, Series, Unsupported};
use jiff::Timestamp;
use serde_json::Value;

use super::{
    data_plane::Shares,
    scenario::{MEMBERS, SECRET, Scenario},
    world::seconds,
};
pub use calls::{Calls, Door};
pub use doors::Doors;

/// Requests per second of each route.
const RATE: f64 = 200.0;
/// Seconds between two scrapes.
const SCRAPE: f64 = 2.0;
/// Seconds after which the hub knows what was declared, however slow its watches are.
const KNOWN: f64 = 3.0;

/// What is wrong with one door of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    Refused,
    Blackhole,
    Tls,
    Status(u16),
    Slow(u64),
    Huge,
    Garbage,
    OtherKind,
    Truncated,
    Deep,
}

/// What is wrong with a member's metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metrics {
    Door(Wrong),
    Value(&'static str),
    /// The same for queries of failed requests alone.
    Failures(&'static str),
    Empty,
    NoValue,
    Null,
    Histogram,
    /// So many, where one is wanted.
    Series(u32),
    Type(&'static str),
    /// By so many seconds; later, if negative.
    Older(i64),
    Warnings,
}

pub struct Member {
    pub api: Option<Wrong>,
    pub endpoint: Option<Wrong>,
    /// Since when its endpoint does not answer.
    pub down_since: Option<Timestamp>,
    pub metrics: Option<Metrics>,
    /// Share of its requests that fail.
    pub errors: f64,
    /// When it last failed more than allowed.
    pub bad_at: Option<Timestamp>,
    /// When a good answer about it was given, and the time that it was about.
    pub proven: Option<(Timestamp, Timestamp)>,
    pub probed: Option<Timestamp>,
    /// Since when it does not allow the rollout's namespace.
    pub closed_since: Option<Timestamp>,
    pub cluster: String,
    /// The bearer token that its API server takes.
    pub token: String,
    calls: BTreeMap<Door, Calls>,
    series: Series,
    counted: BTreeMap<String, (f64, f64)>,
}

impl Member {
    /// The calls at one of its doors.
    pub fn at(&mut self, door: Door) -> &mut Calls {
        self.calls.entry(door).or_default()
    }

    /// It has not allowed the rollout's namespace for so long that the hub knows.
    pub fn is_closed(&self, now: Timestamp) -> bool {
        self.closed_since.is_some_and(|since| now.duration_since(since) > seconds(KNOWN))
    }

    fn answered_well(&self) -> bool {
        self.calls.values().all(|calls| calls.badly.is_none())
    }
}

pub struct Fleet {
    pub members: BTreeMap<String, Member>,
    /// Queries that were parsed before: the hub sends the same few again and again.
    queries: BTreeMap<String, Result<Expression, Unsupported>>,
    scraped: Option<Timestamp>,
    last: Option<Timestamp>,
}

/// The UID of the cluster behind a member.
pub fn cluster_of(name: &str) -> String {
    format!("cluster-{name}")
}

impl Fleet {
    pub fn new(_: &Scenario) -> Self {
        let member = |name: &&str| {
            let member = Member {
                api: None,
                endpoint: None,
                down_since: None,
                metrics: None,
                errors: 0.001,
                bad_at: None,
                proven: None,
                probed: None,
                closed_since: None,
                cluster: cluster_of(name),
                token: SECRET.to_owned(),
                calls: BTreeMap::new(),
                series: Series::default(),
                counted: BTreeMap::new(),
            };
            ((*name).to_owned(), member)
        };
        Self { members: MEMBERS.iter().map(member).collect(), queries: BTreeMap::new(), scraped: None, last: None }
    }

    pub fn member(&mut self, name: &str) -> &mut Member {
        self.members.get_mut(name).expect("a member of this fleet")
    }

    /// A door that was called in a hot loop, and how often.
    pub fn hot(&self) -> Option<(String, Door, usize)> {
        let doors = self.members.iter().flat_map(|(name, member)| member.calls.iter().map(move |of| (name, of)));
        doors.into_iter().find_map(|(name, (door, calls))| Some((name.clone(), *door, calls.hot?)))
    }

    /// A member without any trouble whose health was checked late, and the time between the two checks.
    pub fn late_check(&self) -> Option<(String, Duration)> {
        let well = self.members.iter().filter(|(_, member)| member.answered_well());
        well.flat_map(|(name, member)| member.calls.values().map(move |calls| (name, calls)))
            .find_map(|(name, calls)| Some((name.clone(), calls.late()?)))
    }

    /// What a member's Prometheus knows.
    fn answer(&mut self, name: &str, query: &str, at: Timestamp) -> Result<Value, Unsupported> {
        let read = self.queries.entry(query.to_owned()).or_insert_with(|| query.parse());
        let expression = read.as_ref().map_err(Clone::clone)?;
        self.members[name].series.value(expression, at)
    }

    /// Traffic since the last moment, split as the routes said. A member counts copies like any other request.
    pub fn flow(&mut self, scenario: &Scenario, shares: &BTreeMap<String, Shares>, now: Timestamp) {
        let passed = self.last.map_or(0.0, |last| now.duration_since(last).as_secs_f64());
        self.last = Some(now);
        for (route, Shares { answer, copied }) in shares {
            let Some(service) = scenario.service_of(route) else { continue };
            let total: u32 = answer.values().sum();
            let copies = copied.iter().map(|member| (member, total));
            for (member, weight) in answer.iter().map(|(member, weight)| (member, *weight)).chain(copies) {
                let Some(member) = self.members.get_mut(member) else { continue };
                let requests = RATE * passed * f64::from(weight) / f64::from(total.max(1));
                let counted = member.counted.entry(service.to_owned()).or_default();
                counted.0 += requests * (1.0 - member.errors);
                counted.1 += requests * member.errors;
            }
        }
        if self.scraped.is_none_or(|at| now.duration_since(at) >= seconds(SCRAPE)) {
            self.scraped = Some(now);
            self.scrape(now);
        }
    }

    fn scrape(&mut self, now: Timestamp) {
        for member in self.members.values_mut() {
            if member.errors > 0.01 {
                member.bad_at = Some(now);
            }
            for (service, (good, bad)) in &member.counted {
                for (code, value) in [("200", good), ("500", bad)] {
                    member.series.record(
                        now,
                        "http_requests_total",
                        &[("service", service), ("code", code)],
                        value.floor(),
                    );
                }
            }
        }
    }
}
