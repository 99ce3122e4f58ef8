//! The doors of the members: what the hub's network leads to, and how they answer.

use std::{fmt, net::IpAddr, sync::Arc, time::Duration};

use cutover::{
    http::{Answer, HttpError, Names, Peers},
    sandbox::prometheus,
};
use futures::future::BoxFuture;
use http::Request;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tokio::{sync::Notify, time::Instant};

use super::{
    super::{
        scenario::{MEMBERS, NEW_TOKEN, RECEIVER},
        world::World,
    },
    Door, Metrics, Wrong, alerts, cluster_of, tenant,
};

/// The query of the health check, which is no rollout's.
const HEALTH: &str = "vector(1)";

/// A query for a time that is further from the present may be called missing.
const CLOCKS_AGREE_WITHIN: SignedDuration = SignedDuration::from_secs(4);

/// What the hub's network leads to.
pub struct Doors {
    pub world: Arc<World>,
    /// The instance of the hub that asks, for its death cuts its calls.
    pub instance: usize,
    /// Notified when this instance ends.
    pub halt: Arc<Notify>,
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
        let (world, instance, halt) = (self.world.clone(), self.instance, self.halt.clone());
        Box::pin(async move {
            if world.faults().is_killed(instance) {
                return std::future::pending().await;
            }
            if call.uri().host() == Some(alerts::HOST) {
                return alerts::answer(&world, instance, &halt, &call).await;
            }
            let asker = Asker { instance, at: Instant::now() };
            answer(&world, asker, &call).await
        })
    }
}

/// Who asks: which instance, and when by the time of its runtime, which is finer than the world's.
#[derive(Clone, Copy)]
struct Asker {
    instance: usize,
    at: Instant,
}

async fn answer(world: &World, asker: Asker, call: &Request<()>) -> Result<Answer, HttpError> {
    let host = call.uri().host().unwrap_or_default().to_owned();
    let path = call.uri().path().to_owned();
    if host == RECEIVER {
        let key = call.headers().get("idempotency-key").and_then(|key| key.to_str().ok()).unwrap_or_default();
        world.receiver().take(asker.instance, key);
        return Ok(json(200, &Value::Null));
    }
    let name = MEMBERS.iter().find(|name| host.contains(*name)).copied().unwrap_or_default();
    if name.is_empty() {
        return Err(HttpError::NotResolved(host));
    }
    if path.ends_with("/api/v1/query") {
        return query(world, name, call).await;
    }
    let door = if host.starts_with("api.") { Door::ApiServer } else { Door::Endpoint };
    let wrong = {
        let mut fleet = world.fleet();
        let now = world.now();
        let member = fleet.member(name);
        if door == Door::Endpoint && member.endpoint.is_none() {
            member.probed = Some(now);
        }
        member.at(door).count(now);
        if path == "/version" {
            member.at(door).check(asker.instance, asker.at);
        }
        match door {
            Door::ApiServer => member.api,
            Door::Endpoint | Door::Prometheus => member.endpoint,
        }
    };
    if let Some(wrong) = wrong {
        return badly(world, name, door, wrong).await;
    }
    well(world, name, door);
    if door == Door::ApiServer && !takes(world, name, call) {
        return Ok(json(401, &json!({"message": "Unauthorized"})));
    }
    let cluster = world.fleet().member(name).cluster.clone();
    if path.ends_with("/kube-system") && cluster != cluster_of(name) {
        world.faults().strike();
    }
    let body = match path.as_str() {
        "/version" => json!({"gitVersion": "v1.34.1"}),
        "/api/v1/namespaces/kube-system" => json!({"kind": "Namespace", "metadata": {"uid": cluster}}),
        _ => Value::Null,
    };
    Ok(json(200, &body))
}

/// The member answers as it should.
fn well(world: &World, name: &str, door: Door) {
    let now = world.now();
    world.fleet().member(name).at(door).well = Some(now);
}

fn json(status: u16, body: &Value) -> Answer {
    Answer { status, date: None, body: body.to_string().into_bytes() }
}

fn raw(body: &str) -> Answer {
    Answer { status: 200, date: None, body: body.as_bytes().to_vec() }
}

/// The member's API server takes the token of the call.
fn takes(world: &World, name: &str, call: &Request<()>) -> bool {
    let sent = call.headers().get(http::header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let token = world.fleet().member(name).token.clone();
    let taken = sent.and_then(|sent| sent.strip_prefix("Bearer ")) == Some(token.as_str());
    if taken && token == NEW_TOKEN {
        world.faults().strike();
    }
    taken
}

async fn badly(world: &World, name: &str, door: Door, wrong: Wrong) -> Result<Answer, HttpError> {
    world.faults().strike();
    world.fleet().member(name).at(door).badly = Some(world.now());
    // Slow is not too slow, and a refusal is an answer.
    if matches!(wrong, Wrong::Slow(_) | Wrong::Status(_)) {
        well(world, name, door);
    }
    match wrong {
        Wrong::Refused => Err(HttpError::Failed("Connection refused".to_owned())),
        Wrong::Tls => Err(HttpError::Failed("invalid peer certificate: UnknownIssuer".to_owned())),
        Wrong::Blackhole => std::future::pending().await,
        Wrong::Status(status) => Ok(json(status, &json!({"message": "s3cret-of-a-member"}))),
        Wrong::Slow(millis) => {
            tokio::time::sleep(Duration::from_millis(millis)).await;
            Ok(json(200, &json!({"gitVersion": "v1.34.1"})))
        }
        Wrong::Huge => Ok(huge()),
        Wrong::Garbage => Ok(raw("<html>s3cret-of-a-member</html>")),
        Wrong::OtherKind => Ok(json(200, &json!({"kind": "PodList", "apiVersion": "v1", "items": null}))),
        Wrong::Truncated => Ok(raw(r#"{"status":"success","kind":"Namespace","data":{"resultType":"vec"#)),
        Wrong::Deep => Ok(raw(&"[".repeat(100_000))),
    }
}

async fn query(world: &World, name: &str, call: &Request<()>) -> Result<Answer, HttpError> {
    let url = reqwest::Url::parse(&call.uri().to_string()).map_err(|error| HttpError::Failed(error.to_string()))?;
    let parameter = |key: &str| {
        url.query_pairs().find(|(name, _)| name == key).map(|(_, value)| value.into_owned()).unwrap_or_default()
    };
    let (query, time) = (parameter("query"), parameter("time"));
    let at = time.parse::<f64>().ok().and_then(|time| {
        #[expect(clippy::cast_possible_truncation, reason = "a time in this century")]
        Timestamp::from_millisecond((time * 1000.0).round() as i64).ok()
    });
    let at = at.unwrap_or_default();
    let (wrong, through_api, is_closed) = {
        let mut fleet = world.fleet();
        let member = fleet.member(name);
        if !tenant::sent(&query) {
            member.at(Door::Prometheus).count(world.now());
        }
        let through_api = member.api.filter(|_| call.uri().path().contains("/proxy/"));
        (member.metrics, through_api, member.is_closed(world.now()))
    };
    if is_closed && query != HEALTH {
        let broken = format!("I2: {name} does not allow the namespace, and was sent {query}");
        world.judge().broken.push(broken);
    }
    // Such an answer is no good one, though the member gave it well.
    if query == HEALTH && world.now().duration_since(at).abs() > CLOCKS_AGREE_WITHIN {
        spoiled(world, name);
    }
    if let Some(answer) = tenant::answer(world, &query).await {
        return Ok(answer);
    }
    match wrong.or(through_api.map(Metrics::Door)) {
        Some(Metrics::Door(Wrong::Slow(millis))) => {
            world.faults().strike();
            spoiled(world, name);
            tokio::time::sleep(Duration::from_millis(millis)).await;
        }
        Some(Metrics::Door(wrong)) => return badly(world, name, Door::Prometheus, wrong).await,
        Some(_) => spoiled(world, name),
        None => {}
    }
    well(world, name, Door::Prometheus);
    let data = {
        let mut fleet = world.fleet();
        let now = world.now();
        let data = fleet.answer(name, &query, at);
        let member = fleet.member(name);
        if matches!(wrong, None | Some(Metrics::Door(Wrong::Slow(_)))) && member.errors < 0.01 && query != HEALTH {
            member.proven = Some((now, at));
        }
        data
    };
    let (status, mut body) = prometheus::response(&data);
    if let Some(wrong) = wrong {
        let good = body.clone();
        spoil(&mut body, wrong, &query, at);
        if body != good {
            world.faults().strike();
        }
    }
    Ok(Answer { date: Some(world.now()), ..json(status, &body) })
}

/// More than any answer may be.
pub(super) fn huge() -> Answer {
    Answer { status: 200, date: None, body: vec![b'x'; 2 << 20] }
}

/// What Prometheus answers now may not be what it should.
fn spoiled(world: &World, name: &str) {
    let now = world.now();
    world.fleet().member(name).at(Door::Prometheus).badly = Some(now);
}

fn spoil(body: &mut Value, wrong: Metrics, query: &str, at: Timestamp) {
    let time = at.as_second();
    let vector = |value: &str| json!([{"metric": {}, "value": [time, value]}]);
    match wrong {
        Metrics::Door(_) => {}
        Metrics::Value(value) => body["data"]["result"] = vector(value),
        Metrics::Failures(value) if query.contains("5..") => body["data"]["result"] = vector(value),
        Metrics::Failures(_) => {}
        Metrics::Empty => body["data"]["result"] = json!([]),
        Metrics::NoValue => body["data"]["result"] = json!([{"metric": {}}]),
        Metrics::Null => body["data"] = Value::Null,
        Metrics::Histogram => {
            let histogram = json!([time, {"count": "1", "sum": "1", "buckets": []}]);
            body["data"]["result"] = json!([{"metric": {}, "histogram": histogram}]);
        }
        Metrics::Series(count) => {
            let series = |number: u32| json!({"metric": {"a": number.to_string()}, "value": [time, "1"]});
            body["data"]["result"] = (1..=count).map(series).collect();
        }
        Metrics::Type(kind) => {
            body["data"]["resultType"] = kind.into();
            body["data"]["result"] = match kind {
                "matrix" => json!([{"metric": {}, "values": [[time, "1"]]}]),
                "string" => json!([time, "good"]),
                _ => json!([time, "1"]),
            };
        }
        Metrics::Older(by) => {
            if let Some(results) = body["data"]["result"].as_array_mut() {
                for result in results.iter_mut() {
                    result["value"][0] = (time - by).into();
                }
            }
        }
        Metrics::Warnings => body["warnings"] = json!(["a store did not answer: partial response"]),
    }
}
