//! The world around the hub: its cluster, with the world's true time, and everything that happens there.

use std::sync::{
    Arc, Mutex, MutexGuard,
    atomic::{AtomicI64, Ordering},
};

use axum::body::Body;
use cutover::sandbox::api::ApiServer;
use futures::FutureExt;
use http::{Method, Request};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{
    data_plane::DataPlane,
    faults::Faults,
    fleet::Fleet,
    judge::{Judge, Receiver},
    plan::{Fault, Plan, Run, sorts::MetricsFault},
    scenario::Scenario,
    server::{Caller, Server, Time},
    status::Status,
};

/// When the world begins, if nobody says otherwise.
pub const GENESIS: Timestamp = Timestamp::constant(1_795_000_000, 0);

/// Everything but the hub. All of it works at once and on the spot.
pub struct World {
    pub plan: Plan,
    pub scenario: Scenario,
    pub server: Arc<dyn Server>,
    /// When this world began.
    pub genesis: Timestamp,
    millis: Arc<AtomicI64>,
    fleet: Mutex<Fleet>,
    data_plane: Mutex<DataPlane>,
    faults: Mutex<Faults>,
    judge: Mutex<Judge>,
    receiver: Mutex<Receiver>,
}

pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl World {
    /// A world on an API server in memory.
    pub fn new(plan: Plan) -> Arc<Self> {
        Self::on(plan, GENESIS, |time| Arc::new(ApiServer::new(time, plan.seed)))
    }

    /// A world that begins at `genesis`, on a server that is given the world's time.
    pub fn on(plan: Plan, genesis: Timestamp, server: impl FnOnce(Time) -> Arc<dyn Server>) -> Arc<Self> {
        let millis = Arc::new(AtomicI64::new(genesis.as_millisecond()));
        let shown = millis.clone();
        let time = move || Timestamp::from_millisecond(shown.load(Ordering::Relaxed)).unwrap_or(genesis);
        let scenario = Scenario::of_plan(&plan);
        Arc::new(Self {
            plan,
            server: server(Arc::new(time)),
            genesis,
            millis,
            fleet: Mutex::new(Fleet::new(&scenario)),
            data_plane: Mutex::new(DataPlane::new(scenario.form)),
            faults: Mutex::new(Faults::new(plan)),
            judge: Mutex::new(Judge::new(&scenario)),
            receiver: Mutex::default(),
            scenario,
        })
    }

    /// The true time.
    pub fn now(&self) -> Timestamp {
        Timestamp::from_millisecond(self.millis.load(Ordering::Relaxed)).unwrap_or(self.genesis)
    }

    pub fn set_now(&self, now: Timestamp) {
        self.millis.store(now.as_millisecond(), Ordering::Relaxed);
    }

    /// Seconds since the world began.
    pub fn age(&self) -> f64 {
        self.now().duration_since(self.genesis).as_secs_f64()
    }

    pub fn fleet(&self) -> MutexGuard<'_, Fleet> {
        lock(&self.fleet)
    }

    pub fn faults(&self) -> MutexGuard<'_, Faults> {
        lock(&self.faults)
    }

    pub fn receiver(&self) -> MutexGuard<'_, Receiver> {
        lock(&self.receiver)
    }

    pub fn judge(&self) -> MutexGuard<'_, Judge> {
        lock(&self.judge)
    }

    /// One moment: traffic flows, the data plane applies its routes, and the judge looks at what was written.
    pub fn tick(&self, now: Timestamp) {
        self.set_now(now);
        self.look();
        let fault = match self.plan.fault {
            Fault::DataPlane(what) if self.faults().active() => Some(what),
            _ => None,
        };
        let step = lock(&self.data_plane).step(now, fault);
        if step.is_wrong {
            self.faults().strike();
        }
        for (_, route) in step.taken.iter().filter(|(namespace, _)| namespace == "shop") {
            self.judge().see_taken(self, route, now);
        }
        for (path, status) in step.news {
            self.call(Method::PATCH, &path, Some(&status), "data-plane");
        }
        self.look();
        self.judge().look_at_down(self, now);
        let shares = lock(&self.data_plane).shares();
        self.fleet().flow(&self.scenario, &shares, now);
    }

    /// Shows the judge and the data plane what was committed since the last look.
    pub fn look(&self) {
        let mut judge = lock(&self.judge);
        for change in self.server.history(judge.seen()) {
            lock(&self.data_plane).see(&change);
            judge.see(self, &change);
        }
    }

    /// An object as it is stored.
    pub fn object(&self, path: &str) -> Option<Value> {
        let (status, body) = self.call(Method::GET, path, None, "world");
        (status == 200).then_some(body)
    }

    /// A call of somebody else than the hub.
    pub fn call(&self, method: Method, path: &str, body: Option<&Value>, manager: &str) -> (u16, Value) {
        let kind = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
        let uri = if method == Method::GET { path.to_owned() } else { format!("{path}?fieldManager={manager}") };
        self.send(method, &uri, body, kind)
    }

    fn send(&self, method: Method, uri: &str, body: Option<&Value>, kind: &str) -> (u16, Value) {
        let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
        let request = Request::builder().method(method).uri(uri).header("content-type", kind).body(body);
        let Ok(request) = request else { return (0, Value::Null) };
        let Some(response) = self.server.answer(Caller::World, request).now_or_never() else { return (0, Value::Null) };
        let status = response.status().as_u16();
        let body = axum::body::to_bytes(response.into_body(), usize::MAX).now_or_never();
        let body = body.and_then(Result::ok).and_then(|bytes| serde_json::from_slice(&bytes).ok());
        (status, body.unwrap_or(Value::Null))
    }

    /// Somebody creates an object; the answer must be that it was made, or that its namespace is going.
    pub fn create(&self, path: &str, object: &Value) {
        let (status, body) = self.call(Method::POST, path, Some(object), "user");
        let going = body["details"]["causes"][0]["reason"] == "NamespaceTerminating";
        assert!(status < 300 || status == 409 || going, "{path}: {status} {body}");
    }

    /// The objects of a route, in the order of their names; null where one is not there.
    pub fn route(&self, route: &str) -> Vec<Value> {
        let names = self.scenario.form.names(route).into_iter();
        names.map(|name| self.object(&self.scenario.form.path(&name)).unwrap_or_default()).collect()
    }

    pub fn patch(&self, path: &str, patch: &Value, manager: &str) -> u16 {
        self.call(Method::PATCH, path, Some(patch), manager).0
    }

    /// Server-side apply that takes every conflict. The server in memory has none: there the same fields are merged, which
    /// for routes is the same, since their lists are replaced whole.
    pub fn apply(&self, path: &str, object: &Value, manager: &str) {
        let uri = format!("{path}?fieldManager={manager}&force=true");
        let (status, _) = self.send(Method::PATCH, &uri, Some(object), "application/apply-patch+yaml");
        if status == 415 {
            self.patch(path, object, manager);
        }
    }

    pub fn delete(&self, path: &str) {
        self.call(Method::DELETE, path, None, "user");
    }

    /// The rollout that the run is about.
    pub fn rollout(&self) -> Option<Arc<Value>> {
        self.judge().rollout.clone()
    }

    /// The member that gains: another one once another target is declared.
    pub fn canary(&self) -> &'static str {
        let declared = self.rollout().and_then(|rollout| rollout["metadata"]["generation"].as_i64());
        if self.scenario.run == Run::Retarget && declared > Some(1) { "eu-4" } else { "eu-3" }
    }

    /// A person asks something of the present run.
    pub fn ask(&self, verb: &str) {
        let Some(rollout) = self.rollout() else { return };
        let run = Status::of(&rollout).run_number();
        let spec = json!({
            "rollout": {"name": "shop", "uid": rollout["metadata"]["uid"]}, "verb": verb, "run": run,
            "requestedBy": "ann",
        });
        let object = json!({
            "apiVersion": "cutover.dev/v1alpha1", "kind": "RolloutRequest",
            "metadata": {"generateName": "ask-", "namespace": "shop"}, "spec": spec,
        });
        self.judge().requested(verb);
        self.create("/apis/cutover.dev/v1alpha1/namespaces/shop/rolloutrequests", &object);
    }
}

pub const ROLLOUT: &str = "/apis/cutover.dev/v1alpha1/namespaces/shop/fleetrollouts/shop";

pub fn seconds(seconds: f64) -> SignedDuration {
    SignedDuration::from_secs_f64(seconds)
}

impl World {
    /// The pattern takes backends away, so a route may name one that is gone.
    pub fn judge_excuses_missing_backends(&self) -> bool {
        matches!(self.plan.fault, Fault::Delete(_) | Fault::Finalizers(_))
    }

    /// The data plane has stopped, and nothing says so but what members observe: no step may end before that.
    pub fn only_shares_tell(&self) -> bool {
        matches!(self.plan.fault, Fault::DataPlane(_)) && self.scenario.form.share().is_some()
    }

    /// The hub has lived for so many seconds without a fault of its own.
    pub fn hub_was_awake(&self, seconds: f64) -> bool {
        self.faults().awake(self.now()) > seconds
    }

    /// The pattern answers queries with numbers that are not what was counted.
    pub fn spoiled_values(&self) -> bool {
        matches!(
            self.plan.fault,
            Fault::Metrics(
                MetricsFault::PlusInfinity
                    | MetricsFault::Scalar
                    | MetricsFault::Two
                    | MetricsFault::Flood
                    | MetricsFault::Nan
                    | MetricsFault::MinusInfinity
            )
        )
    }
}
