//! A small world around the core: routes that obey writes, members that can be told to fail, and a clock.

use std::collections::{BTreeMap, BTreeSet};

use cutover::{
    api::{
        Affinity, CANARY, DeletionPolicy, Distribution, FleetRolloutSpec, FleetRolloutStatus, Mode, PRIMARY, Reason,
        RolloutRequestSpec, ServiceCopy, Steering, Verb,
        request::{RequestState, RolloutRef},
    },
    rollout::{
        self, Action, Decision, Input, Observation, RouteKey,
        input::{
            Accepted, BackendSeen, DependencySeen, EndpointSeen, LiveRoute, Mark, Measured, MemberSeen, Problem,
            Request, RouteSeen, Sample, Sampled, SourceSeen, Wanted,
        },
    },
};
use jiff::{SignedDuration, Timestamp};

/// What the members' metrics say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Metrics {
    Good,
    CanaryFails,
    CanaryBreaksGuard,
    AllFail,
    CanarySilent,
    TooFew,
}

/// What happens to a write of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Writes {
    Confirmed,
    Refused,
    Conflict,
    /// It takes effect, but the answer is lost.
    AnswerLost,
    /// It takes effect, but the data plane says nothing about it.
    NotAccepted,
}

/// Where the hub dies in a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Crash {
    Never,
    AfterStatus,
    AfterAction(usize),
}

#[derive(Clone, Debug, PartialEq)]
pub struct RouteInWorld {
    pub weights: Distribution,
    pub uneven: bool,
    pub steering: Option<Steering>,
    pub affinity: Option<Affinity>,
    pub mark: Option<Mark>,
    pub accepted: Accepted,
    pub failed: Option<String>,
    pub editor: Option<String>,
}

#[derive(Clone, Debug)]
pub struct World {
    pub now: Timestamp,
    pub spec: FleetRolloutSpec,
    pub generation: i64,
    pub status: FleetRolloutStatus,
    pub routes: BTreeMap<RouteKey, Option<RouteInWorld>>,
    /// The hub has not listed the routes yet.
    pub unlisted: bool,
    pub down: BTreeSet<String>,
    pub endpoints: BTreeMap<String, EndpointSeen>,
    pub metrics: Metrics,
    pub writes: BTreeMap<RouteKey, Writes>,
    pub requests: Vec<Request>,
    pub answered: Vec<(String, RequestState, String)>,
    pub rehearsed: BTreeMap<RouteKey, Result<(), String>>,
    pub refuse_rehearsals: bool,
    /// The backends are not there yet.
    pub unready_backends: bool,
    /// The declaration breaks a rule.
    pub invalid: bool,
    /// How the rollouts of `dependsOn` stand.
    pub dependencies: BTreeMap<String, DependencySeen>,
    pub deleting: bool,
    pub finalizer: bool,
    pub gone: bool,
    pub instance: u32,
    pub measured_at: Option<Timestamp>,
    pub identities: BTreeMap<String, String>,
    /// Every distribution that was written to a route, in order.
    pub written: Vec<(RouteKey, Distribution)>,
    /// And which requests reached canaries beside it.
    pub tried: Vec<Option<Steering>>,
    /// And where users were kept.
    pub kept: Vec<Option<Affinity>>,
    pub released: Vec<(RouteKey, DeletionPolicy)>,
    /// Service mode: the users' own Services.
    pub sources: BTreeMap<String, ServiceCopy>,
    /// Service mode: the Services of primary and canary, by service and which of the two.
    pub copies: BTreeMap<(String, String), ServiceCopy>,
}

pub const UID: &str = "11111111-1111-1111-1111-111111111111";
pub const HUB: &str = "hub-uid";

pub fn of(weights: &[(&str, u32)]) -> Distribution {
    weights.iter().map(|(name, weight)| ((*name).to_owned(), *weight)).collect()
}

/// A spec in YAML, completed with what every rollout here has.
pub fn spec(yaml: &str) -> FleetRolloutSpec {
    let mut value: serde_json::Value = serde_yaml::from_str(yaml).unwrap();
    let defaults = serde_json::json!({
        "services": [{"name": "shop", "port": 80, "routes": [{"gatewayAPI": {"name": "public"}}]}],
        "analysis": {"interval": "10s", "settle": "5s", "lag": "0s", "failures": {"limit": 2, "within": 4},
            "metrics": [{"name": "errors", "ratio": {"numerator": "n", "denominator": "d"}, "max": 1.0,
                         "guard": {"max": 20.0}, "minSamples": 100}]}
    });
    for (key, default) in defaults.as_object().unwrap() {
        let entry = value.as_object_mut().unwrap().entry(key.clone()).or_insert(serde_json::Value::Null);
        merge(entry, default);
    }
    serde_json::from_value(value).unwrap()
}

fn merge(value: &mut serde_json::Value, default: &serde_json::Value) {
    match (value, default) {
        (serde_json::Value::Object(value), serde_json::Value::Object(default)) => {
            for (key, default) in default {
                merge(value.entry(key.clone()).or_insert(serde_json::Value::Null), default);
            }
        }
        (value @ serde_json::Value::Null, default) => *value = default.clone(),
        _ => {}
    }
}

impl World {
    /// Live routes that show `live`, one for each route of the spec.
    pub fn new(spec: FleetRolloutSpec, live: &[(&str, u32)]) -> Self {
        let routes = keys(&spec)
            .into_iter()
            .map(|key| {
                let route = RouteInWorld {
                    weights: of(live),
                    uneven: false,
                    steering: None,
                    affinity: None,
                    mark: None,
                    accepted: Accepted::Yes,
                    failed: None,
                    editor: None,
                };
                (key, Some(route))
            })
            .collect();
        Self {
            now: "2026-01-01T00:00:00Z".parse().unwrap(),
            spec,
            generation: 1,
            status: FleetRolloutStatus::default(),
            routes,
            unlisted: false,
            down: BTreeSet::new(),
            endpoints: BTreeMap::new(),
            metrics: Metrics::Good,
            writes: BTreeMap::new(),
            requests: Vec::new(),
            answered: Vec::new(),
            rehearsed: BTreeMap::new(),
            refuse_rehearsals: false,
            unready_backends: false,
            invalid: false,
            dependencies: BTreeMap::new(),
            deleting: false,
            finalizer: true,
            gone: false,
            instance: 1,
            measured_at: None,
            identities: BTreeMap::new(),
            written: Vec::new(),
            tried: Vec::new(),
            kept: Vec::new(),
            released: Vec::new(),
            sources: BTreeMap::new(),
            copies: BTreeMap::new(),
        }
    }

    pub fn after(&mut self, seconds: i64) -> &mut Self {
        self.now += SignedDuration::from_secs(seconds);
        self
    }

    pub fn declare(&mut self, weights: &[(&str, u32)]) -> &mut Self {
        for member in &mut self.spec.members {
            member.weight = 0;
        }
        for (name, weight) in weights {
            match self.spec.members.iter_mut().find(|member| member.name == *name) {
                Some(member) => member.weight = *weight,
                None => self.spec.members.push(cutover::api::MemberWeight {
                    name: (*name).to_owned(),
                    weight: *weight,
                    initial_weight: None,
                }),
            }
        }
        self.generation += 1;
        self
    }

    pub fn ask(&mut self, verb: Verb) -> &mut Self {
        let run = self.status.run.as_ref();
        let number = self.requests.len() + self.answered.len() + 1;
        self.requests.push(Request {
            name: format!("r{number}"),
            uid: format!("uid-{number}-{}", self.now),
            at: self.now,
            spec: RolloutRequestSpec {
                rollout: RolloutRef { name: "shop".to_owned(), uid: UID.to_owned() },
                verb,
                run: run.map_or(0, |run| run.number),
                step: run.map(|run| run.step).filter(|_| verb == Verb::Promote),
                reason: None,
                requested_by: "alice".to_owned(),
            },
        });
        self
    }

    /// Somebody edits every route.
    pub fn edit(&mut self, weights: &[(&str, u32)]) -> &mut Self {
        for route in self.routes.values_mut().flatten() {
            route.weights = of(weights);
            route.editor = Some("kubectl-edit".to_owned());
        }
        self
    }

    /// The hub dies and another instance of it begins.
    pub fn restart(&mut self) -> &mut Self {
        self.instance += 1;
        self.measured_at = None;
        self.rehearsed.clear();
        self.endpoints.clear();
        for route in self.routes.values_mut().flatten() {
            route.failed = None;
        }
        self
    }

    /// One round of probes.
    pub fn probe(&mut self) {
        for member in self.members() {
            let seen = self.endpoints.entry(member.clone()).or_default();
            *seen = if self.down.contains(&member) {
                EndpointSeen { failures: (seen.failures + 1).min(3), successes: 0 }
            } else {
                EndpointSeen { failures: 0, successes: (seen.successes + 1).min(3) }
            };
        }
    }

    fn members(&self) -> Vec<String> {
        let mut names: BTreeSet<String> = self.spec.members.iter().map(|member| member.name.clone()).collect();
        if self.spec.mode() == Mode::Service {
            names.extend([PRIMARY.to_owned(), CANARY.to_owned()]);
        }
        if let Some(run) = &self.status.run {
            names.extend(run.target.keys().chain(run.rollback_to.keys()).cloned());
        }
        names.into_iter().collect()
    }

    fn leader(&self) -> String {
        format!("instance-{}", self.instance)
    }

    pub fn observe(&self, measured: Option<Measured>) -> Observation {
        let services: Vec<String> =
            rollout::services(&self.spec, &self.status).iter().map(|service| service.name.clone()).collect();
        let members = self.members();
        let see = |route: &Option<RouteInWorld>| if self.unlisted { RouteSeen::Unseen } else { seen(route.as_ref()) };
        let each = || services.iter().flat_map(|service| members.iter().map(move |m| (service.clone(), m.clone())));
        Observation {
            refused: self.invalid.then(|| Problem::new(Reason::InvalidSpec, "spec.members: nonsense")),
            routes: self.routes.iter().map(|(key, route)| (key.clone(), see(route))).collect(),
            backends: each().map(|key| (key.clone(), self.backend(&key))).collect(),
            members: members
                .iter()
                .map(|name| {
                    let identity = self.identities.get(name).cloned().unwrap_or_else(|| name.clone());
                    (name.clone(), MemberSeen::Registered { identity })
                })
                .collect(),
            endpoints: each()
                .map(|(service, member)| {
                    let seen = self.endpoints.get(&member).copied().unwrap_or_default();
                    ((service, member), seen)
                })
                .collect(),
            sources: self.sources.iter().map(|(name, copy)| (name.clone(), SourceSeen::Found(copy.clone()))).collect(),
            unprobed: BTreeSet::new(),
            measured,
            rehearsals: self.rehearsed.clone(),
            dependencies: self.dependencies.clone(),
        }
    }

    pub fn input<'a>(&'a self, seen: &'a Observation, leader: &'a str) -> Input<'a> {
        Input {
            now: self.now,
            hub: HUB,
            leader,
            uid: UID,
            generation: self.generation,
            deleting: self.deleting,
            finalizer: self.finalizer,
            spec: &self.spec,
            status: &self.status,
            requests: &self.requests,
            seen,
            announced: 0,
            measured_at: self.measured_at,
        }
    }

    fn backend(&self, key: &(String, String)) -> BackendSeen {
        let other = self.copy(key).is_some_and(|copy| self.copies.get(key) != Some(copy));
        if self.unready_backends || other { BackendSeen::Outdated(None) } else { BackendSeen::Ready }
    }

    /// Service mode: what the Service of primary or canary must be, by what is recorded.
    fn copy(&self, (service, slot): &(String, String)) -> Option<&ServiceCopy> {
        let promoted = self.status.promoted.as_ref().and_then(|promoted| promoted.services.get(service));
        let proving = self.status.run.as_ref().and_then(|run| run.services.get(service));
        if slot == CANARY { proving.or(promoted) } else { promoted }
    }

    /// Service mode: somebody points the Services elsewhere.
    pub fn point(&mut self, host: &str) -> &mut Self {
        for service in &self.spec.services {
            let spec = serde_json::json!({"type": "ExternalName", "externalName": host});
            let copy = ServiceCopy::of(&spec, &BTreeMap::new(), &BTreeMap::new());
            self.sources.insert(service.name.clone(), copy);
        }
        self
    }

    /// Service mode: where the Service of primary or canary of the first service leads.
    pub fn leads(&self, slot: &str) -> &str {
        let key = (self.spec.services[0].name.clone(), slot.to_owned());
        self.copies.get(&key).and_then(ServiceCopy::external_name).unwrap_or_default()
    }

    fn measure(&self, wanted: &Wanted) -> Measured {
        let run = self.status.run.as_ref().unwrap();
        let desired = self.status.desired.as_ref().unwrap();
        let tried = |name: &str| desired.steering.iter().flat_map(Steering::members).any(|member| member == name);
        let weight = |name: &str| desired.weights.get(name).copied().unwrap_or(0);
        let canary = |name: &str| tried(name) || weight(name) > run.rollback_to.get(name).copied().unwrap_or(0);
        let mut samples = Vec::new();
        for service in &wanted.services {
            for metric in &wanted.windows {
                for member in &wanted.members {
                    samples.push(Sampled {
                        service: service.clone(),
                        metric: metric.metric.clone(),
                        member: member.clone(),
                        whole: metric.whole,
                        sample: self.sample(canary(member)),
                    });
                }
            }
        }
        Measured { at: wanted.at, sequence: wanted.sequence, samples }
    }

    fn sample(&self, canary: bool) -> Sample {
        let ratio = |errors: f64, of: f64| Sample::Ratio { numerator: Some(errors), denominator: Some(of) };
        match self.metrics {
            Metrics::CanaryFails if canary => ratio(50.0, 1000.0),
            Metrics::CanaryBreaksGuard if canary => ratio(40.0, 40.0),
            Metrics::CanarySilent if canary => Sample::Missing("prometheus: connection refused".to_owned()),
            Metrics::TooFew => ratio(0.0, 3.0),
            Metrics::AllFail => ratio(50.0, 1000.0),
            Metrics::Good | Metrics::CanaryFails | Metrics::CanaryBreaksGuard | Metrics::CanarySilent => {
                ratio(1.0, 1000.0)
            }
        }
    }

    /// One pass of the hub: observe, measure what is due, decide, record, act.
    pub fn pass(&mut self) -> Decision {
        self.pass_until(Crash::Never)
    }

    pub fn pass_until(&mut self, crash: Crash) -> Decision {
        let leader = self.leader();
        let nothing = self.observe(None);
        let wanted = rollout::due(&self.input(&nothing, &leader));
        let measured = wanted.map(|wanted| self.measure(&wanted));
        let measured_at = measured.as_ref().map(|measured| measured.at);
        let seen = self.observe(measured);
        let decision = rollout::decide(&self.input(&seen, &leader));
        self.measured_at = measured_at.or(self.measured_at);
        self.status = decision.status.clone();
        if crash == Crash::AfterStatus {
            self.restart();
            return decision;
        }
        for (index, action) in decision.actions.iter().enumerate() {
            self.act(action);
            if crash == Crash::AfterAction(index) {
                self.restart();
                return decision;
            }
        }
        decision
    }

    /// Passes at the times that the hub would wake, with a round of probes before each, for so many seconds.
    pub fn run_for(&mut self, seconds: i64) -> &mut Self {
        let end = self.now + SignedDuration::from_secs(seconds);
        while self.now <= end && !self.gone {
            self.probe();
            self.pass();
            self.pass();
            self.after(1);
        }
        self
    }

    fn act(&mut self, action: &Action) {
        match action {
            Action::AddFinalizer => self.finalizer = true,
            Action::RemoveFinalizer => {
                self.finalizer = false;
                self.gone = true;
            }
            Action::WriteBackend { service, member } => {
                self.unready_backends = false;
                let key = (service.clone(), member.clone());
                if let Some(copy) = self.copy(&key).cloned() {
                    self.copies.insert(key, copy);
                }
            }
            Action::ReleaseBackends { .. } => {}
            Action::Rehearse { route, .. } => {
                let result = if self.refuse_rehearsals { Err("denied by a webhook".to_owned()) } else { Ok(()) };
                self.rehearsed.insert(route.clone(), result);
            }
            Action::WriteRoute { route, weights, steering, affinity, run, sequence } => {
                let mark = Mark { hub: HUB.to_owned(), rollout: UID.to_owned(), run: *run, sequence: *sequence };
                self.write(route, weights, steering.clone(), affinity.clone(), mark);
            }
            Action::ReleaseRoute { route, policy } => {
                self.released.push((route.clone(), *policy));
                if let Some(route) = self.routes.get_mut(route).and_then(Option::as_mut) {
                    route.mark = None;
                }
            }
            Action::AnswerRequest { name, answer } => {
                self.requests.retain(|request| request.name != *name);
                self.answered.push((name.clone(), answer.state, answer.reason.clone()));
            }
        }
    }

    fn write(
        &mut self,
        key: &RouteKey,
        weights: &Distribution,
        steering: Option<Steering>,
        affinity: Option<Affinity>,
        mark: Mark,
    ) {
        let mode = self.writes.get(key).copied().unwrap_or(Writes::Confirmed);
        let route = self.routes.get_mut(key).unwrap();
        let accepted = match mode {
            Writes::Refused => {
                if let Some(route) = route {
                    route.failed = Some("denied by a webhook".to_owned());
                }
                return;
            }
            Writes::Conflict => return,
            Writes::NotAccepted => Accepted::Pending,
            Writes::Confirmed | Writes::AnswerLost => Accepted::Yes,
        };
        let failed = (mode == Writes::AnswerLost).then(|| "the answer was lost".to_owned());
        *route = Some(RouteInWorld {
            weights: weights.clone(),
            uneven: false,
            steering: steering.clone(),
            affinity: affinity.clone(),
            mark: Some(mark),
            accepted,
            failed,
            editor: None,
        });
        self.written.push((key.clone(), weights.clone()));
        self.tried.push(steering);
        self.kept.push(affinity);
    }

    /// What was written, one line each, without repeats: `eu-1 100 eu-3 0, copies of all requests`.
    pub fn told(&self) -> Vec<String> {
        let writes = self.written.iter().zip(&self.tried);
        let mut told: Vec<String> = writes
            .map(|((_, weights), steering)| {
                let weights: Vec<String> = weights.iter().map(|(name, weight)| format!("{name} {weight}")).collect();
                let steering = steering.as_ref().map(|steering| format!(", {steering}"));
                format!("{}{}", weights.join(" "), steering.unwrap_or_default())
            })
            .collect();
        told.dedup();
        told
    }

    /// The weights that the first route shows.
    pub fn live(&self) -> Distribution {
        self.routes.values().flatten().next().map(|route| route.weights.clone()).unwrap_or_default()
    }
}

fn seen(route: Option<&RouteInWorld>) -> RouteSeen {
    match route {
        None => RouteSeen::ToCreate,
        Some(route) => RouteSeen::Live(Box::new(LiveRoute {
            weights: route.weights.clone(),
            uneven: route.uneven,
            steering: route.steering.clone(),
            affinity: route.affinity.clone(),
            mark: route.mark.clone(),
            accepted: route.accepted.clone(),
            editor: route.editor.clone(),
            failed: route.failed.clone(),
        })),
    }
}

pub fn keys(spec: &FleetRolloutSpec) -> Vec<RouteKey> {
    let services = spec.services.iter();
    services
        .flat_map(|service| {
            (0..service.routes.len()).map(|index| RouteKey {
                service: service.name.clone(),
                route: format!("HTTPRoute/{}-{index}", service.name),
            })
        })
        .collect()
}
