//! The members: what answers at their doors, and what they counted; and who takes events and alerts.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    net::IpAddr,
    sync::Arc,
};

use cutover::{
    clock::Clock,
    http::{Answer, HttpError, Names, Peers},
};
use futures::future::BoxFuture;
use http::Request;
use serde_json::{Value, json};

use super::world::World;

/// Requests of one route in the window of a query.
const REQUESTS: f64 = 20_000.0;
/// Share of requests that fail: of a good member, and of a bad canary.
const GOOD: f64 = 0.001;
const BAD: f64 = 0.3;

/// What is wrong with one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Its endpoint refuses connections.
    Down,
    /// Its Prometheus does.
    NoPrometheus,
}

/// What is wrong with whoever takes events and alerts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiverTrouble {
    /// Calls are accepted and never answered.
    Hangs,
    Fails,
    /// To an address of the hub's own.
    Redirects,
    Gone,
}

#[derive(Default)]
pub struct Members {
    /// The share of each member in the requests of a service, as the data plane took it.
    pub shares: BTreeMap<String, BTreeMap<String, f64>>,
    /// Service and member whose requests fail.
    pub bad: BTreeSet<(String, String)>,
    pub trouble: Option<(String, Trouble)>,
    pub receiver_trouble: Option<ReceiverTrouble>,
    /// Events and alerts that were taken.
    pub delivered: u64,
}

impl Members {
    fn suffers(&self, member: &str, from: Trouble) -> bool {
        self.trouble.as_ref().is_some_and(|(name, trouble)| name == member && *trouble == from)
    }

    /// The value of a query; none where there is no series.
    fn value(&self, member: &str, query: &str) -> Option<f64> {
        if query == "vector(1)" {
            return Some(1.0);
        }
        let service = query.split("service=\"").nth(1)?.split('"').next()?;
        let requests = REQUESTS * self.shares.get(service)?.get(member)?;
        let is_bad = self.bad.contains(&(service.to_owned(), member.to_owned()));
        let failed = if is_bad { BAD } else { GOOD };
        Some((requests * if query.contains("5..") { failed } else { 1.0 }).floor())
    }
}

/// What the hub's network leads to.
pub struct Doors {
    pub world: Arc<World>,
    pub clock: Clock,
}

impl fmt::Debug for Doors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Doors")
    }
}

impl Names for Doors {
    fn addresses(&self, _: &str) -> BoxFuture<'static, Vec<IpAddr>> {
        Box::pin(std::future::ready(vec![IpAddr::from([203, 0, 113, 7])]))
    }
}

impl Peers for Doors {
    fn answer(&self, call: Request<()>) -> BoxFuture<'static, Result<Answer, HttpError>> {
        self.world.set_now(self.clock.now());
        if is_of_receivers(&call) && self.world.members().receiver_trouble == Some(ReceiverTrouble::Hangs) {
            return Box::pin(std::future::pending());
        }
        Box::pin(std::future::ready(answer(&self.world, &call)))
    }
}

fn is_of_receivers(call: &Request<()>) -> bool {
    call.uri().host().is_some_and(|host| host.ends_with(".receivers.example.com"))
}

/// Whoever takes events and alerts, unless it hangs.
fn receive(members: &mut Members) -> Result<Answer, HttpError> {
    let answered = |status| Ok(Answer { status, date: None, body: Vec::new() });
    match members.receiver_trouble {
        Some(ReceiverTrouble::Gone) => Err(HttpError::Failed("Connection refused".to_owned())),
        Some(ReceiverTrouble::Fails) => answered(500),
        Some(ReceiverTrouble::Redirects) => answered(302),
        Some(ReceiverTrouble::Hangs) | None => {
            members.delivered += 1;
            answered(204)
        }
    }
}

/// The host of a member's endpoint is `m0.example.com`; the others are below it.
fn answer(world: &World, call: &Request<()>) -> Result<Answer, HttpError> {
    if is_of_receivers(call) {
        return receive(&mut world.members());
    }
    let host = call.uri().host().unwrap_or_default();
    let (door, member) = match host.split('.').collect::<Vec<_>>().as_slice() {
        [member, "example", "com"] => ("endpoint", *member),
        [door, member, "example", "com"] => (*door, *member),
        _ => return Err(HttpError::NotResolved(host.to_owned())),
    };
    let refused = || Err(HttpError::Failed("Connection refused".to_owned()));
    let members = world.members();
    match door {
        "endpoint" if members.suffers(member, Trouble::Down) => refused(),
        "endpoint" => Ok(json(world, &Value::Null)),
        "prometheus" if members.suffers(member, Trouble::NoPrometheus) => refused(),
        "prometheus" => query(world, &members, member, call),
        _ if call.uri().path() == "/version" => Ok(json(world, &json!({"gitVersion": "v1.34.1"}))),
        _ => {
            let metadata = json!({"name": "kube-system", "uid": format!("cluster-{member}")});
            Ok(json(world, &json!({"kind": "Namespace", "metadata": metadata})))
        }
    }
}

fn query(world: &World, members: &Members, member: &str, call: &Request<()>) -> Result<Answer, HttpError> {
    let url = reqwest::Url::parse(&call.uri().to_string()).map_err(|error| HttpError::Failed(error.to_string()))?;
    let parameter = |key: &str| {
        let found = url.query_pairs().find(|(name, _)| name == key);
        found.map(|(_, value)| value.into_owned()).unwrap_or_default()
    };
    let time: f64 = parameter("time").parse().unwrap_or_default();
    let sample = |value: f64| json!([{"metric": {}, "value": [time, value.to_string()]}]);
    let result = members.value(member, &parameter("query")).map_or_else(|| json!([]), sample);
    Ok(json(world, &json!({"status": "success", "data": {"resultType": "vector", "result": result}})))
}

fn json(world: &World, body: &Value) -> Answer {
    Answer { status: 200, date: Some(world.now()), body: body.to_string().into_bytes() }
}
