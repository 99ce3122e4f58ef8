//! A small world around the core: routes that obey writes, members that can be made to fail, and a clock.

mod acting;
mod happenings;
mod measuring;
mod observing;
mod run;

use std::collections::{BTreeMap, BTreeSet};

use cutover::{
    api::{
        DeletionPolicy, Distribution, FleetRolloutSpec, FleetRolloutStatus, Phase, ServiceCopy, Split,
        request::RequestState,
        track::{Configs, Site},
    },
    rollout::{
        Deliveries, RouteKey,
        input::{
            Accepted, ConfigsSeen, DependencySeen, EndpointSeen, EndpointSource, HookSeen, Mark, Rehearsal, Request,
        },
    },
};
use jiff::Timestamp;

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
    /// It takes effect, and the data plane answers `Accepted: False`.
    AcceptedFalse,
    /// It takes effect, and the data plane refuses it as long as it names a backend without weight.
    IdleRefused,
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
    pub split: Split,
    pub uneven: bool,
    pub mark: Option<Mark>,
    /// Who wrote the mark, if no hub did.
    pub marked_by: Option<String>,
    /// It carries annotations of this rollout, with its mark or without.
    pub traces: bool,
    pub accepted: Accepted,
    /// It names a backend without weight.
    pub idle: bool,
    pub failed: Option<String>,
    pub editor: Option<String>,
}

#[derive(Clone, Debug)]
pub struct World {
    /// What the hub's clock shows.
    pub now: Timestamp,
    /// Seconds that really passed, whatever the clock shows.
    pub elapsed: i64,
    pub spec: FleetRolloutSpec,
    pub generation: i64,
    pub status: FleetRolloutStatus,
    pub routes: BTreeMap<RouteKey, Option<RouteInWorld>>,
    /// A missing route is the hub's to create, and not somebody else's.
    pub creates_routes: bool,
    /// The hub has not listed the routes yet.
    pub unlisted: bool,
    pub down: BTreeSet<String>,
    /// Members that let this namespace use them no more.
    pub forbidden: BTreeSet<String>,
    pub endpoints: BTreeMap<String, EndpointSeen>,
    pub metrics: Metrics,
    pub writes: BTreeMap<RouteKey, Writes>,
    pub requests: Vec<Request>,
    /// How many requests were ever made: each has a name and a uid of its own.
    pub requested: u32,
    pub answered: Vec<(String, RequestState, String)>,
    /// When the hub's API server had too much to do the last time.
    pub delayed_at: Option<Timestamp>,
    pub rehearsed: BTreeMap<RouteKey, Rehearsal>,
    pub refuse_rehearsals: bool,
    /// The backends are not there yet.
    pub unready_backends: bool,
    /// Members whose Service, which its user named, was deleted.
    pub missing: BTreeSet<String>,
    /// How endpoints are looked at.
    pub endpoint_source: EndpointSource,
    /// The declaration breaks a rule.
    pub invalid: bool,
    /// How the rollouts of `dependsOn` stand.
    pub dependencies: BTreeMap<String, DependencySeen>,
    /// What is tracked of ConfigMaps and Secrets.
    pub configs: BTreeMap<(String, Site), ConfigsSeen>,
    /// Service mode: what the copies for the primary hold, by service.
    pub config_copies: BTreeMap<String, Configs>,
    /// Nobody lets the hub write them.
    pub refuse_config_copies: bool,
    /// The rollout is no owner of its copies any more, and they outlive it.
    pub released_config_copies: bool,
    /// The status that each hook answers; none where nobody does. What is absent answers 200.
    pub receivers: BTreeMap<String, Option<u16>>,
    /// Hooks whose receivers have not answered yet.
    pub slow: BTreeSet<String>,
    /// The last call of each hook that this instance of the hub made.
    pub called: BTreeMap<String, HookSeen>,
    /// Every call of a hook, in order.
    pub calls: Vec<Called>,
    pub deleting: bool,
    pub finalizer: bool,
    pub gone: bool,
    pub instance: u32,
    pub measured_at: Option<Timestamp>,
    /// What became of the alerts that were recorded.
    pub deliveries: Deliveries,
    /// What the hub measured in its last pass, if it did.
    pub measured: Option<Metrics>,
    pub identities: BTreeMap<String, String>,
    /// Everything that was written to a route, in order.
    pub written: Vec<(RouteKey, Split)>,
    pub released: Vec<(RouteKey, DeletionPolicy)>,
    /// Service mode: the users' own Services.
    pub sources: BTreeMap<String, ServiceCopy>,
    /// Who requests what is requested.
    pub person: &'static str,
    /// Who declared the rollout, where that is known.
    pub author: Option<String>,
    /// Service mode: users' Services that somebody deleted.
    pub deleted: BTreeSet<String>,
    /// Service mode: the Services of primary and canary, by service and which of the two.
    pub copies: BTreeMap<(String, String), ServiceCopy>,
}

/// A call of a hook, and what was there then.
#[derive(Clone, Debug, PartialEq)]
pub struct Called {
    pub name: String,
    pub key: String,
    pub phase: Phase,
    /// The weights that were desired.
    pub weights: Option<Distribution>,
}

pub const UID: &str = "11111111-1111-1111-1111-111111111111";

pub const HUB: &str = "hub-uid";

pub fn of(weights: &[(&str, u32)]) -> Distribution {
    weights.iter().copied().collect()
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

impl RouteInWorld {
    /// It shows these weights, the data plane took it, and no hub has written it.
    fn of(weights: &[(&str, u32)]) -> Self {
        let split = of(weights).into();
        Self {
            split,
            uneven: false,
            mark: None,
            marked_by: None,
            traces: false,
            accepted: Accepted::Yes,
            idle: false,
            failed: None,
            editor: None,
        }
    }
}

impl World {
    /// Live routes that show `live`, one for each route of the spec.
    pub fn new(spec: FleetRolloutSpec, live: &[(&str, u32)]) -> Self {
        let routes = keys(&spec).into_iter().map(|key| (key, Some(RouteInWorld::of(live)))).collect();
        Self {
            now: "2026-01-01T00:00:00Z".parse().unwrap(),
            elapsed: 0,
            spec,
            generation: 1,
            status: FleetRolloutStatus::default(),
            routes,
            creates_routes: true,
            unlisted: false,
            down: BTreeSet::new(),
            forbidden: BTreeSet::new(),
            endpoints: BTreeMap::new(),
            metrics: Metrics::Good,
            writes: BTreeMap::new(),
            requests: Vec::new(),
            requested: 0,
            answered: Vec::new(),
            delayed_at: None,
            rehearsed: BTreeMap::new(),
            refuse_rehearsals: false,
            unready_backends: false,
            missing: BTreeSet::new(),
            endpoint_source: EndpointSource::Probe,
            invalid: false,
            dependencies: BTreeMap::new(),
            configs: BTreeMap::new(),
            config_copies: BTreeMap::new(),
            refuse_config_copies: false,
            released_config_copies: false,
            receivers: BTreeMap::new(),
            slow: BTreeSet::new(),
            called: BTreeMap::new(),
            calls: Vec::new(),
            deleting: false,
            finalizer: true,
            gone: false,
            instance: 1,
            measured_at: None,
            deliveries: Deliveries::default(),
            measured: None,
            identities: BTreeMap::new(),
            written: Vec::new(),
            released: Vec::new(),
            sources: BTreeMap::new(),
            deleted: BTreeSet::new(),
            person: "alice",
            author: None,
            copies: BTreeMap::new(),
        }
    }

    /// Service mode: where the Service of primary or canary of the first service leads.
    pub fn leads(&self, slot: &str) -> &str {
        let key = (self.spec.services[0].name.clone(), slot.to_owned());
        self.copies.get(&key).and_then(ServiceCopy::external_name).unwrap_or_default()
    }

    /// What was written, one line each, without repeats: `eu-1 100 eu-3 0, copies of all requests`.
    pub fn written_lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = self
            .written
            .iter()
            .map(|(_, split)| {
                let weights: Vec<String> =
                    split.weights.iter().map(|(name, weight)| format!("{name} {weight}")).collect();
                let steering = split.steering.as_ref().map(|steering| format!(", {steering}"));
                format!("{}{}", weights.join(" "), steering.unwrap_or_default())
            })
            .collect();
        lines.dedup();
        lines
    }

    /// The weights that the first route shows.
    pub fn live(&self) -> Distribution {
        self.routes.values().flatten().next().map(|route| route.split.weights.clone()).unwrap_or_default()
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
