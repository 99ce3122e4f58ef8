//! The one layer between the hub and its API server: it counts every call and knows which one goes wrong, and how.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    future::pending,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use axum::body::{Body, Bytes};
use cutover::clock::Clock;
use futures::{StreamExt, stream};
use http::{Method, Request, Response};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::{
    deeds,
    plan::{Bad, Dice, Plan},
    server::Caller,
    world::{World, seconds},
};

/// A call of the hub, read.
#[derive(Clone, Debug)]
pub struct Call {
    pub method: Method,
    pub plural: String,
    pub name: String,
    pub sub: String,
    pub watch: bool,
    pub dry: bool,
}

impl Call {
    fn of<B>(request: &Request<B>) -> Self {
        let mut parts = request.uri().path().split('/').filter(|part| !part.is_empty());
        let group = parts.next().unwrap_or_default();
        let skip = if group == "api" { 1 } else { 2 };
        let mut rest: VecDeque<&str> = parts.skip(skip).collect();
        if rest.len() > 2 && rest.front() == Some(&"namespaces") {
            rest.drain(..2);
        }
        let mut next = || rest.pop_front().unwrap_or_default().to_owned();
        let (plural, name, sub) = (next(), next(), next());
        let query = request.uri().query().unwrap_or_default();
        let (watch, dry) = (query.contains("watch=true"), query.contains("dryRun=All"));
        Self { method: request.method().clone(), plural, name, sub, watch, dry }
    }

    pub fn writes(&self) -> bool {
        self.method != Method::GET && !self.dry
    }

    fn is_lease(&self) -> bool {
        self.plural == "leases"
    }
}

/// What becomes of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Fate {
    Pass,
    /// The process ends when the call is about to be sent.
    CrashBefore,
    /// The process ends when the call was committed, before the answer is read.
    CrashAfter,
    /// The process is stopped when the call is about to be sent, and goes on later.
    StopBefore,
    /// The process is stopped between the commit and the answer.
    StopAfter,
    Bad(Bad),
    /// An answer that nothing was done for.
    Answer(u16, &'static str),
    /// It is sent so much later.
    Slow(f64),
    /// What is written is changed on the way.
    Mutate,
    /// A list as it was at this revision.
    Stale(u64),
}

/// Everything that goes wrong between the hub and its API server, and what was counted.
pub struct Faults {
    plan: Plan,
    pub dice: Dice,
    pub calls: usize,
    pub writes: usize,
    pub events: usize,
    /// Writes since the last instance began.
    writes_of_instance: usize,
    dead: BTreeSet<usize>,
    stopped: BTreeMap<usize, Arc<Notify>>,
    crashed: Option<usize>,
    /// When the plan's fault began and ended.
    pub struck: Option<Timestamp>,
    pub relieved: Option<Timestamp>,
    /// Calls left that go bad.
    left: usize,
    pub frozen: Option<u64>,
    pub thaw: Arc<Notify>,
    born: Timestamp,
    pub instances: usize,
    pub trace: Vec<String>,
    /// Calls by target in the present ten seconds.
    rate: BTreeMap<String, (i64, usize)>,
    pub hot: Option<String>,
    pub unguarded_delete: Option<String>,
}

impl Faults {
    pub fn new(plan: Plan) -> Self {
        Self {
            plan,
            dice: Dice(plan.seed ^ (plan.k as u64) << 20),
            calls: 0,
            writes: 0,
            events: 0,
            writes_of_instance: 0,
            dead: BTreeSet::new(),
            stopped: BTreeMap::new(),
            crashed: None,
            struck: None,
            relieved: None,
            left: 0,
            frozen: None,
            thaw: Arc::default(),
            born: super::world::GENESIS,
            instances: 0,
            trace: Vec::new(),
            rate: BTreeMap::new(),
            hot: None,
            unguarded_delete: None,
        }
    }

    pub fn is_dead(&self, instance: usize) -> bool {
        self.dead.contains(&instance)
    }

    /// A process ends: nothing that it still does reaches the world.
    pub fn kill(&mut self, instance: usize) {
        self.dead.insert(instance);
    }

    pub fn take_crash(&mut self) -> Option<usize> {
        self.crashed.take()
    }

    pub fn is_stopped(&self, instance: usize) -> bool {
        self.stopped.contains_key(&instance)
    }

    pub fn go_on(&mut self, instance: usize) {
        if let Some(notify) = self.stopped.remove(&instance) {
            notify.notify_one();
        }
    }

    pub fn begin_life(&mut self, now: Timestamp) {
        self.instances += 1;
        self.writes_of_instance = 0;
        self.born = now;
    }

    /// Seconds since the present instance began.
    pub fn awake(&self, now: Timestamp) -> f64 {
        now.duration_since(self.born).as_secs_f64()
    }

    /// The plan's fault is under way.
    pub fn active(&self) -> bool {
        self.struck.is_some() && self.relieved.is_none()
    }

    fn count(&mut self, call: &Call, now: Timestamp) {
        let bucket = now.as_second() / 10;
        let target = format!("{} {}/{}", call.method, call.plural, call.name);
        let counted = self.rate.entry(target.clone()).or_insert((bucket, 0));
        if counted.0 != bucket {
            *counted = (bucket, 0);
        }
        counted.1 += 1;
        if counted.1 > MOST {
            self.hot = Some(format!("{target}: {} calls in ten seconds", counted.1));
        }
    }

    /// Counts a call, and says what becomes of it.
    fn fate(&mut self, call: &Call, instance: usize, now: Timestamp) -> Fate {
        self.count(call, now);
        if !call.is_lease() {
            self.calls += 1;
            if call.writes() {
                self.writes += 1;
                self.writes_of_instance += 1;
            }
        }
        let (k, what) = (self.plan.k, self.plan.variant());
        let this_write = call.writes() && !call.is_lease() && self.writes == k;
        let this_call = !call.is_lease() && self.calls == k;
        match self.plan.pattern {
            1 if this_write => Fate::CrashAfter,
            2 if this_write => Fate::CrashBefore,
            3 if this_write && self.instances == 1 => Fate::CrashAfter,
            3 if call.writes()
                && self.instances == 2
                && self.writes_of_instance == 1 + self.plan.seed as usize % 12 =>
            {
                Fate::CrashAfter
            }
            4 if what == "hide-write" && this_write => Fate::Bad(Bad::Lost),
            5 if this_write && self.instances == 1 => Fate::CrashAfter,
            5 if self.instances > 1 && !call.watch && call.method == Method::GET && call.name.is_empty() => {
                self.frozen.filter(|_| self.active()).map_or(Fate::Pass, Fate::Stale)
            }
            6 if this_write && self.struck.is_none() && instance == 0 => {
                self.struck = Some(now);
                if what == "pause-in-call" { Fate::StopAfter } else { Fate::StopBefore }
            }
            7 => self.lease_fate(call, instance, now),
            12 => self.bad_call(this_call, call, now),
            13 | 24 if self.active() => self.storm(),
            21 if call.plural == "httproutes" && call.method != Method::GET && self.active() => match what {
                "deny" => Fate::Answer(403, "admission webhook \"no.example.com\" denied the request"),
                "mutate" => Fate::Mutate,
                _ => Fate::Answer(500, "failed calling webhook \"no.example.com\": context deadline exceeded"),
            },
            22 if self.active() => {
                let denied = match what {
                    "route" => call.plural == "httproutes" && call.method != Method::GET,
                    "status" => call.plural == "fleetrollouts" && call.method != Method::GET,
                    "lease" => call.is_lease(),
                    _ => call.plural == "memberclusters",
                };
                if denied { Fate::Answer(403, "is forbidden: User \"hub\" cannot do that") } else { Fate::Pass }
            }
            _ => Fate::Pass,
        }
    }

    fn lease_fate(&mut self, call: &Call, instance: usize, now: Timestamp) -> Fate {
        if !call.is_lease() {
            if call.writes() && self.writes == self.plan.k && self.struck.is_none() {
                self.struck = Some(now);
                // The lease is lost while this write is under way.
                if self.plan.variant() == "lease-lost" {
                    return Fate::Slow(3.0);
                }
            }
            return Fate::Pass;
        }
        if !self.active() || instance != 0 {
            return Fate::Pass;
        }
        match self.plan.variant() {
            "lease-lost" => Fate::Bad(Bad::Reset),
            "lease-slow" => Fate::Slow(3.9),
            "lease-refused" => Fate::Answer(403, "leases are forbidden"),
            _ => Fate::Pass,
        }
    }

    fn bad_call(&mut self, this: bool, call: &Call, now: Timestamp) -> Fate {
        if this {
            self.struck = Some(now);
            self.left = match self.plan.variant() {
                "twice" => 2,
                "60s" => usize::MAX,
                _ => 1,
            };
        }
        let late = self.struck.is_some_and(|at| now.duration_since(at) > seconds(60.0));
        if self.left == 0 || late || call.is_lease() {
            return Fate::Pass;
        }
        self.left -= 1;
        Fate::Bad(self.plan.bad)
    }

    fn storm(&mut self) -> Fate {
        if self.plan.pattern == 24 {
            let down = self.plan.variant() == "down";
            return if down { Fate::Bad(Bad::Reset) } else { Fate::Pass };
        }
        let bad = Bad::ALL[self.dice.below(Bad::ALL.len())];
        if self.dice.below(10) < 3 { Fate::Bad(bad) } else { Fate::Pass }
    }
}

/// Calls to one target in ten seconds that are still no hot loop.
const MOST: usize = 45;

/// What becomes of an event on a watch.
enum Told {
    As(Vec<Bytes>),
    Later(Arc<Notify>, Bytes),
    Cut(Option<Bytes>),
    Never,
}

impl Faults {
    fn event(&mut self, call: &Call, event: Bytes, kept: &mut Option<Bytes>, now: Timestamp) -> Told {
        let user_kind = call.plural != "leases";
        if user_kind {
            self.events += 1;
        }
        let this = user_kind && self.events == self.plan.k && self.struck.is_none();
        if this && matches!(self.plan.pattern, 4 | 14) {
            self.struck = Some(now);
        }
        let error = |code: u16, reason: &str| {
            let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                                "message": reason, "reason": reason, "code": code});
            Bytes::from(format!("{}\n", json!({"type": "ERROR", "object": status})))
        };
        if self.plan.pattern == 5 && self.active() && self.instances > 1 {
            return Told::Later(self.thaw.clone(), event);
        }
        if let Some(kept) = kept.take() {
            return Told::As(vec![event, kept]);
        }
        if !this {
            return Told::As(vec![event]);
        }
        match (self.plan.pattern, self.plan.variant()) {
            (4, "hold-watch") => Told::Later(self.thaw.clone(), event),
            (4, "drop-event") => Told::Cut(Some(error(410, "Expired"))),
            (14, "gone") => Told::Cut(Some(error(410, "Expired"))),
            (14, "bookmark") => {
                let version = serde_json::from_slice::<Value>(&event).unwrap_or_default();
                let object = &version["object"];
                let bookmark = json!({"type": "BOOKMARK", "object": {"kind": object["kind"],
                    "apiVersion": object["apiVersion"], "metadata": {"resourceVersion": object["metadata"]["resourceVersion"]}}});
                Told::As(vec![event, Bytes::from(format!("{bookmark}\n"))])
            }
            (14, "duplicate") => Told::As(vec![event.clone(), event]),
            (14, "reorder") => {
                *kept = Some(event);
                Told::As(Vec::new())
            }
            (14, "cut") => Told::Cut(Some(event.slice(..event.len() / 2))),
            (14, "error") => Told::Cut(Some(error(500, "InternalError"))),
            (14, "idle") => Told::Never,
            (14, "older") => {
                let mut older = serde_json::from_slice::<Value>(&event).unwrap_or_default();
                older["object"]["metadata"]["resourceVersion"] = "1".into();
                Told::As(vec![event, Bytes::from(format!("{older}\n"))])
            }
            _ => Told::As(vec![event]),
        }
    }
}

/// The layer: in front of the API server, for one instance of the hub.
#[derive(Clone)]
pub struct Layer {
    pub world: Arc<World>,
    /// The world's time, as it goes on while this instance is stepped.
    pub clock: Clock,
    pub instance: usize,
    /// Told when this instance ends.
    pub halt: Arc<Notify>,
}

type Answer = Pin<Box<dyn Future<Output = Result<Response<Body>, io::Error>> + Send>>;

impl tower::Service<Request<kube::client::Body>> for Layer {
    type Response = Response<Body>;
    type Error = io::Error;
    type Future = Answer;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), io::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<kube::client::Body>) -> Answer {
        let layer = self.clone();
        Box::pin(async move { layer.pass(request).await })
    }
}

impl Layer {
    async fn pass(self, request: Request<kube::client::Body>) -> Result<Response<Body>, io::Error> {
        self.alive().await;
        self.world.set_now(self.clock.now());
        let call = Call::of(&request);
        let (fate, index) = {
            let mut faults = self.world.faults();
            let fate = faults.fate(&call, self.instance, self.clock.now());
            (fate, faults.writes)
        };
        self.note(&call, &fate, index);
        match fate {
            Fate::CrashBefore => self.crash().await,
            Fate::StopBefore => self.stop().await,
            Fate::Answer(code, words) => return Ok(refusal(code, words)),
            Fate::Bad(Bad::Reset) => return Err(io::Error::from(io::ErrorKind::ConnectionReset)),
            Fate::Bad(bad) if bad.status().is_some() => return Ok(refusal(bad.status().unwrap_or(500), "injected")),
            Fate::Slow(seconds) => tokio::time::sleep(Duration::from_secs_f64(seconds)).await,
            Fate::Pass | Fate::CrashAfter | Fate::StopAfter | Fate::Bad(_) | Fate::Mutate | Fate::Stale(_) => {}
        }
        self.alive().await;
        let request = self.prepared(request, &call, &fate).await?;
        let response = self.world.server.answer(Caller::Hub, request).await;
        if call.writes() {
            self.world.look();
            if call.plural != "leases" {
                deeds::after_write(&self.world, index);
            }
        }
        match fate {
            Fate::CrashAfter => self.crash().await,
            Fate::StopAfter => self.stop().await,
            Fate::Bad(_) => return Err(io::Error::from(io::ErrorKind::ConnectionReset)),
            _ => {}
        }
        self.alive().await;
        Ok(if call.watch && response.status().is_success() { self.watched(response, call) } else { response })
    }

    fn note(&self, call: &Call, fate: &Fate, index: usize) {
        if call.is_lease() && *fate == Fate::Pass {
            return;
        }
        let mut faults = self.world.faults();
        let (age, calls) = (self.world.age(), faults.calls);
        let Call { method, plural, name, sub, watch, dry } = call;
        let marks = format!("{}{}", if *watch { " watch" } else { "" }, if *dry { " dry" } else { "" });
        let write = if call.writes() { format!(" w{index}") } else { String::new() };
        let fate = if *fate == Fate::Pass { String::new() } else { format!("  <-- {fate:?}") };
        faults.trace.push(format!(
            "{age:9.3}  hub-{} c{calls}{write} {method} {plural}/{name}/{sub}{marks}{fate}",
            self.instance
        ));
    }

    async fn prepared(
        &self,
        request: Request<kube::client::Body>,
        call: &Call,
        fate: &Fate,
    ) -> Result<Request<Body>, io::Error> {
        let (mut head, body) = request.into_parts();
        let bytes = body.collect_bytes().await.map_err(io::Error::other)?;
        let mut bytes = bytes.to_vec();
        if call.method == Method::DELETE && !String::from_utf8_lossy(&bytes).contains("\"uid\"") {
            self.world.faults().unguarded_delete = Some(format!("{}/{}", call.plural, call.name));
        }
        match fate {
            Fate::Mutate => mutate(&mut bytes),
            Fate::Stale(revision) => {
                let query = head.uri.query().unwrap_or_default().to_owned();
                let kept: Vec<&str> =
                    query.split('&').filter(|part| !part.starts_with("resourceVersion") && !part.is_empty()).collect();
                let uri = format!(
                    "{}?{}&resourceVersion={revision}&resourceVersionMatch=Exact",
                    head.uri.path(),
                    kept.join("&")
                );
                head.uri = uri.parse().map_err(io::Error::other)?;
            }
            _ => {}
        }
        Ok(Request::from_parts(head, Body::from(bytes)))
    }

    /// The process is gone: it neither sends nor reads any more.
    async fn crash(&self) {
        {
            let mut faults = self.world.faults();
            let now = self.world.now();
            faults.struck.get_or_insert(now);
            faults.kill(self.instance);
            faults.crashed = Some(self.instance);
        }
        self.halt.notify_one();
        pending::<()>().await;
    }

    async fn stop(&self) {
        let notify: Arc<Notify> = Arc::default();
        self.world.faults().stopped.insert(self.instance, notify.clone());
        self.halt.notify_one();
        notify.notified().await;
    }

    /// Waits for ever where the process is dead.
    async fn alive(&self) {
        let (dead, stopped) = {
            let faults = self.world.faults();
            (faults.is_dead(self.instance), faults.stopped.contains_key(&self.instance))
        };
        if dead {
            pending::<()>().await;
        }
        if stopped {
            // What a stopped process would send now, it sends when it goes on.
            while self.world.faults().is_stopped(self.instance) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    }

    fn watched(&self, response: Response<Body>, call: Call) -> Response<Body> {
        let (head, body) = response.into_parts();
        let state = (self.clone(), body.into_data_stream(), call, VecDeque::new(), None::<Bytes>, false);
        let events = stream::unfold(state, |(layer, mut events, call, mut ready, mut kept, over)| async move {
            loop {
                layer.alive().await;
                if let Some(event) = ready.pop_front() {
                    return Some((Ok::<_, io::Error>(event), (layer, events, call, ready, kept, over)));
                }
                if over {
                    return None;
                }
                let event = events.next().await?.ok()?;
                let told = layer.world.faults().event(&call, event, &mut kept, layer.clock.now());
                match told {
                    Told::As(events) => ready.extend(events),
                    Told::Never => pending::<()>().await,
                    Told::Later(thaw, event) => {
                        thaw.notified().await;
                        thaw.notify_one();
                        ready.push_back(event);
                    }
                    Told::Cut(last) => {
                        ready.extend(last);
                        return ready.pop_front().map(|event| (Ok(event), (layer, events, call, ready, kept, true)));
                    }
                }
            }
        });
        Response::from_parts(head, Body::from_stream(events))
    }
}

fn refusal(code: u16, words: &str) -> Response<Body> {
    let reason = match code {
        403 => "Forbidden",
        409 => "Conflict",
        429 => "TooManyRequests",
        503 => "ServiceUnavailable",
        504 => "Timeout",
        _ => "InternalError",
    };
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                        "message": words, "reason": reason, "code": code});
    let mut response = Response::new(Body::from(status.to_string()));
    *response.status_mut() = http::StatusCode::from_u16(code).unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert("content-type", http::HeaderValue::from_static("application/json"));
    response
}

/// A webhook with opinions: the canary gets half of what was written, the others the rest.
fn mutate(bytes: &mut Vec<u8>) {
    let Ok(mut object) = serde_json::from_slice::<Value>(bytes) else { return };
    let Some(backends) = object.pointer_mut("/spec/rules/0/backendRefs").and_then(Value::as_array_mut) else { return };
    let mut taken = 0;
    for backend in backends.iter_mut().filter(|backend| backend["name"].as_str().is_some_and(|n| n.ends_with("eu-3"))) {
        let weight = backend["weight"].as_u64().unwrap_or_default();
        taken += weight - weight / 2;
        backend["weight"] = (weight / 2).into();
    }
    if let Some(first) = backends.first_mut() {
        first["weight"] = (first["weight"].as_u64().unwrap_or_default() + taken).into();
    }
    *bytes = object.to_string().into_bytes();
}
