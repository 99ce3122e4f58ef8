//! All that a decision may know.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::api::{
    Duration, FleetRolloutSpec, FleetRolloutStatus, Reason, RolloutRequestSpec, ServiceCopy, Split,
    hook::HookType,
    status::Verdict,
    track::{Configs, Site},
};

/// All that [`super::decide`] may know.
#[derive(Clone, Debug)]
pub struct Input<'a> {
    /// The time of this draft, in whole milliseconds.
    pub now: Timestamp,
    /// UID of the hub cluster's namespace kube-system.
    pub hub: &'a str,
    /// The instance of the hub that decides; another one took over when it differs from the status.
    pub leader: &'a str,
    /// The rollout's uid.
    pub uid: &'a str,
    /// The rollout's generation.
    pub generation: i64,
    /// The field manager that declared what is declared now, where that is known.
    pub declared_by: Option<&'a str>,
    /// Who declared it, as the annotation `cutover.dev/declared-by` says.
    pub author: Option<&'a str>,
    /// The rollout is marked for deletion.
    pub deleting: bool,
    /// The rollout carries the finalizer.
    pub finalizer: bool,
    /// What is declared.
    pub spec: &'a FleetRolloutSpec,
    /// What is recorded.
    pub status: &'a FleetRolloutStatus,
    /// Requests to this rollout that have no answer yet, oldest first.
    pub requests: &'a [Request],
    /// What was seen.
    pub seen: &'a Observation,
    /// Number of the last transition that this process announced.
    pub announced: u64,
    /// What became of the alerts that were recorded.
    pub deliveries: &'a Deliveries,
    /// The `at` of the last measurements that this process requested.
    pub measured_at: Option<Timestamp>,
    /// They are still under way: that they have arrived is a reason to look again.
    pub measuring: bool,
}

/// What became of alerts that were recorded, as far as this process knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deliveries {
    /// Those that were delivered: the number, and the name of the alert in the spec.
    pub sent: BTreeSet<(u64, String)>,
    /// Why the last delivery of an alert failed, by its name.
    pub failed: BTreeMap<String, String>,
}

/// A request that has no answer yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// When it was made.
    pub at: Timestamp,
    /// What it asks.
    pub spec: RolloutRequestSpec,
}

/// What was seen of the world. A failure to see is a value.
#[derive(Clone, Debug, Default)]
pub struct Observation {
    /// What makes the declaration unfit to start a run: the first problem, in words.
    pub refused: Option<Problem>,
    /// Every route of every service.
    pub routes: BTreeMap<RouteKey, RouteSeen>,
    /// Every backend, by service and member.
    pub backends: BTreeMap<(String, String), BackendSeen>,
    /// Backends that this rollout made for members that it does not name any more, by service and member. Nothing that is
    /// seen of its routes names them.
    pub left: BTreeSet<(String, String)>,
    /// Every member that is named.
    pub members: BTreeMap<String, MemberSeen>,
    /// Every endpoint, by service and member.
    pub endpoints: BTreeMap<(String, String), EndpointSeen>,
    /// Service mode: the users' own Services. What has not been read yet is absent.
    pub sources: BTreeMap<String, SourceSeen>,
    /// What is tracked of the workloads behind the declared services, by service and cluster. What has not been read yet is
    /// absent.
    pub configs: BTreeMap<(String, Site), ConfigsSeen>,
    /// Service mode: the copies that are kept for the primary, by service. What has not been read yet is absent.
    pub config_copies: BTreeMap<String, ConfigCopiesSeen>,
    /// Service mode: what the Service of a service's primary is now, where one is there and a route names it.
    pub serving: BTreeMap<String, ServiceCopy>,
    /// Endpoints of which nobody knows how to reach them.
    pub unprobed: BTreeSet<(String, String)>,
    /// Measurements that were requested by [`super::due`] and have arrived.
    pub measured: Option<Measured>,
    /// Results of the dry runs of this run's first write, by route.
    pub rehearsals: BTreeMap<RouteKey, Rehearsal>,
    /// Every rollout that this one depends on, by name.
    pub dependencies: BTreeMap<String, DependencySeen>,
    /// The last call of each hook that this process made, by name.
    pub hooks: BTreeMap<String, HookSeen>,
    /// When routes were late through no fault of theirs the last time: the hub's API server had too much to do, or the hub's
    /// watch of them was behind.
    pub delayed_at: Option<Timestamp>,
}

/// A route, by the service whose weights it holds and its place among that service's routes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RouteKey {
    /// The service.
    pub service: String,
    /// Kind and name, with its rules where they are named: `HTTPRoute/public#main`.
    pub route: String,
}

/// Something that is wrong, with words for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Its reason.
    pub reason: Reason,
    /// Field, value and remedy.
    pub message: String,
}

/// What was seen of a route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RouteSeen {
    /// It has not been looked at yet, or could not be.
    Unseen,
    /// It does not exist, and the hub is to create it.
    ToCreate,
    /// It cannot be used; the reason says why (missing, kind not installed, unreadable, owned by another …).
    Unusable(Problem),
    /// It is there.
    Live(Box<LiveRoute>),
}

impl RouteSeen {
    /// The route, if it is there and can be read.
    #[must_use]
    pub fn live(&self) -> Option<&LiveRoute> {
        match self {
            Self::Live(live) => Some(live),
            Self::Unseen | Self::ToCreate | Self::Unusable(_) => None,
        }
    }
}

/// A route that can be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveRoute {
    /// What it shows: weights brought to the rollout's total, members that it does not name being absent; steering and
    /// affinity where the objects hold all of it.
    pub split: Split,
    /// It shows them only nearly: somebody wrote weights that are no whole units of the total.
    pub uneven: bool,
    /// The mark of the last write to this rollout's rules.
    pub mark: Option<Mark>,
    /// Field manager that wrote the mark, if that was no hub.
    pub marked_by: Option<String>,
    /// It carries what only this rollout leaves: the mark, or other annotations or labels of its own.
    pub to_release: bool,
    /// What the data plane says of the present object.
    pub accepted: Accepted,
    /// It names a backend without weight that the next write leaves out if the data plane refuses the object: it may be
    /// refused for a Service that gets nothing anyway.
    pub idle: bool,
    /// Field manager of the last change that was not the hub's.
    pub editor: Option<String>,
    /// Why the last write of this process to it failed, if it did.
    pub failed: Option<String>,
}

/// Who wrote a route's weights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// UID of the hub cluster's namespace kube-system.
    pub hub: String,
    /// The rollout.
    pub rollout: String,
    /// Its run.
    pub run: u64,
    /// The decision.
    pub sequence: u64,
}

/// What the data plane says of the present object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Accepted {
    /// This kind says nothing; what was read back counts.
    Unsaid,
    /// It has not spoken about this generation yet.
    Pending,
    /// It took it.
    Yes,
    /// It refused it, with its own words.
    No(String),
}

/// What a dry run of a route's first write said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rehearsal {
    /// It would be stored.
    Passed,
    /// It was refused, in the words of whoever refused it.
    Refused(String),
    /// Nobody answered in time; in words, what happened.
    Unanswered(String),
}

/// What was seen of a backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BackendSeen {
    /// It is there and leads where it should.
    Ready,
    /// The hub must make or change it; in words, why the last try did not.
    Outdated(Option<String>),
    /// It cannot be used yet; the reason says why.
    NotReady(Problem),
    /// The Service that its user named does not exist: nobody serves what a route sends there.
    Missing(Problem),
}

/// What was seen of a user's Service, which declares the target.
#[derive(Clone, Debug, PartialEq)]
pub enum SourceSeen {
    /// It cannot be used; the reason says why (missing, of a kind that cannot be copied …).
    Unusable(Problem),
    /// What is carried of it.
    Found(ServiceCopy),
}

/// What was seen of the ConfigMaps and Secrets that the workloads behind a service use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigsSeen {
    /// They could not be read; the reason says why.
    Unusable(Problem),
    /// Their fingerprints.
    Found(Configs),
}

/// What was seen of the copies that are kept of them for the primary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigCopiesSeen {
    /// They could not be read, or an object of that name is no copy; the reason says why.
    Unusable(Problem),
    /// What is there.
    Found {
        /// Fingerprints, by the names of the originals.
        copies: Configs,
        /// In words, why the last try to write them failed, if it did.
        failed: Option<String>,
    },
}

/// What was seen of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemberSeen {
    /// It cannot be used; the reason says why (not found, namespace not allowed …).
    Unusable(Problem),
    /// It is registered; the text says which cluster and which endpoints it is.
    Registered {
        /// Cluster id and endpoints, so that a change of either is seen. Empty while the cluster id is not known.
        identity: String,
    },
}

/// The state of a rollout, for those that depend on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DependencySeen {
    /// What it declares now carries its traffic, confirmed.
    AtRest,
    /// Not yet; in words, its present state.
    NotYet(String),
    /// It was rolled back and is not tried again by itself; in words, why.
    Failed(String),
    /// There is none of that name.
    Missing,
    /// It waits, directly or not, for the rollout that depends on it: the names in the cycle.
    Cycle(Vec<String>),
}

/// A call of a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookCall {
    /// The hook.
    pub name: String,
    /// Its type.
    pub kind: HookType,
    /// For what it is called.
    pub occasion: Occasion,
}

/// For what a hook is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occasion {
    /// A step of the live run; 0 before the first.
    Step {
        /// The run.
        run: u64,
        /// The step.
        step: u32,
        /// Which interval since the run began, from 1.
        attempt: u64,
        /// Sequence number of the weights that are desired.
        sequence: u64,
    },
    /// A run that ended.
    Ended {
        /// The run.
        run: u64,
    },
    /// Something that happened.
    Transition {
        /// Its number.
        number: u64,
    },
}

impl HookCall {
    /// Names the call, the same in every try and in every life of the hub. `uid` is the rollout's.
    #[must_use]
    pub fn key(&self, uid: &str) -> String {
        let name = &self.name;
        match self.occasion {
            Occasion::Step { run, step, attempt, .. } => format!("{uid}/run-{run}/step-{step}/{attempt}/{name}"),
            Occasion::Ended { run } => format!("{uid}/run-{run}/ended/{name}"),
            Occasion::Transition { number } => format!("{uid}/event-{number}/{name}"),
        }
    }
}

/// The last call of a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookSeen {
    /// The call.
    pub call: HookCall,
    /// When it was made.
    pub at: Timestamp,
    /// What was answered; nothing while it is under way.
    pub answer: Option<HookAnswer>,
}

/// What came of a call of a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookAnswer {
    /// Pass for yes, Fail for no, Unknown where nobody answered.
    pub verdict: Verdict,
    /// In words, without anything of the answer's body.
    pub message: String,
    /// When it came.
    pub at: Timestamp,
}

/// How it was looked whether anybody serves at an endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EndpointSource {
    /// Its host was probed.
    #[default]
    Probe,
    /// The hub cluster's `EndpointSlice`s of the Service were read for a ready address.
    EndpointSlices,
}

/// How one endpoint was the last times. All endpoints of a rollout are looked at in one round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndpointSeen {
    /// How it was looked.
    pub source: EndpointSource,
    /// Rounds in a row that it did not answer.
    pub failures: u32,
    /// Rounds in a row that it answered.
    pub successes: u32,
}

/// One round of measurements.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// When it was requested: the `now` of the pass whose [`super::due`] wanted it.
    pub at: Timestamp,
    /// The sequence of the weights that were desired then.
    pub sequence: u64,
    /// Every sample.
    pub samples: Vec<Sampled>,
}

/// One metric of one service at one member.
#[derive(Clone, Debug, PartialEq)]
pub struct Sampled {
    /// The service.
    pub service: String,
    /// The metric.
    pub metric: String,
    /// The member.
    pub member: String,
    /// The time that the sample covers, if it was cut short so that it begins after the last change.
    pub whole: bool,
    /// What was read.
    pub sample: Sample,
}

/// What was read from one member.
#[derive(Clone, Debug, PartialEq)]
pub enum Sample {
    /// Of a ratio. An absent numerator is 0 where the denominator has samples: a perfect cluster has no error series.
    Ratio {
        /// What is counted.
        numerator: Option<f64>,
        /// All requests.
        denominator: Option<f64>,
    },
    /// Of a histogram: upper bound and cumulative count, by rising bound; the last bound is infinite.
    Buckets(Vec<(f64, f64)>),
    /// Of a query.
    Value(f64),
    /// Nothing usable; in words, without anything of the answer's body.
    Missing(String),
}

/// A round of measurements that [`super::due`] wants.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasurementRequest {
    /// The `now` of the draft.
    pub at: Timestamp,
    /// The sequence of the weights that are desired now.
    pub sequence: u64,
    /// The instant for which every member is evaluated: now minus lag.
    pub evaluate_at: Timestamp,
    /// Each metric with the window it covers.
    pub windows: Vec<MetricWindow>,
    /// The services.
    pub services: Vec<String>,
    /// The members: canaries and primaries with traffic.
    pub members: Vec<String>,
}

/// One metric and the window it covers this time.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricWindow {
    /// Name of the metric.
    pub metric: String,
    /// The time that it covers.
    pub window: Duration,
    /// False where it was cut short so that it begins after the last change.
    pub whole: bool,
}

impl std::fmt::Display for RouteKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.route, self.service)
    }
}

impl Problem {
    /// A reason with words.
    #[must_use]
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into() }
    }
}
