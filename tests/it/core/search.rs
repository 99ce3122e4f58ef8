//! A search over small worlds: every move from every state within reach, and long seeded walks beyond it.
//!
//! Checked after every pass, against what the world did and never against what the status says of itself.

use std::{
    collections::{BTreeMap, HashSet, VecDeque},
    fmt::Write as _,
    hash::{DefaultHasher, Hash, Hasher},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicBool, Ordering},
};

use cutover::{
    api::{
        Distribution, FleetRolloutStatus, Phase, Reason, Verb, request::RequestState, status::Outcome, strategy::Wait,
    },
    rollout::{Decision, same},
};
use jiff::Timestamp;

use super::world::{Crash, Metrics, World, Writes, spec};

/// One thing that can happen to the world or to the hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Move {
    Wait(i64),
    Metrics(Metrics),
    Write(usize, Writes),
    Ask(Verb),
    Down(Down),
    Edit(Edit),
    Declare(Target),
    Crash(Crash),
    Delete,
    Suspend,
    PauseSpec,
    RefuseRehearsals,
    LoseBackends,
    BreakSpec,
    ChangeIdentity,
    RestoreOldStatus,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Down {
    Canary,
    Primary,
    All,
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Edit {
    Up,
    Lower,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Target {
    New,
    Old,
    Third,
}

/// Every move; the lists within are exhaustive matches, so that a new variant cannot be forgotten.
fn moves() -> Vec<Move> {
    let verbs = [Verb::Abort, Verb::Rollback, Verb::Pause, Verb::Resume, Verb::Promote, Verb::Retry, Verb::Adopt];
    let metrics = [
        Metrics::Good,
        Metrics::CanaryFails,
        Metrics::CanaryBreaksGuard,
        Metrics::AllFail,
        Metrics::CanarySilent,
        Metrics::TooFew,
    ];
    let writes = [Writes::Confirmed, Writes::Refused, Writes::Conflict, Writes::AnswerLost, Writes::NotAccepted];
    let crashes = [Crash::AfterStatus, Crash::AfterAction(0), Crash::AfterAction(1)];
    let mut moves = vec![
        Move::Delete,
        Move::Suspend,
        Move::PauseSpec,
        Move::RefuseRehearsals,
        Move::LoseBackends,
        Move::BreakSpec,
        Move::ChangeIdentity,
        Move::RestoreOldStatus,
    ];
    moves.extend([1, 11, 61].map(Move::Wait));
    moves.extend(verbs.map(Move::Ask));
    moves.extend(metrics.map(Move::Metrics));
    moves.extend([0, 1].into_iter().flat_map(|route| writes.map(|mode| Move::Write(route, mode))));
    moves.extend([Down::Canary, Down::Primary, Down::All, Down::None].map(Move::Down));
    moves.extend([Edit::Up, Edit::Lower].map(Move::Edit));
    moves.extend([Target::New, Target::Old, Target::Third].map(Move::Declare));
    moves.extend(crashes.map(Move::Crash));
    moves
}

/// What the search itself remembers, beside the world: what the machine must not contradict.
#[derive(Clone, Debug)]
struct Witness {
    /// A pass was recorded at the present weights, since every route took them.
    proven: bool,
    /// Since when every route shows the present weights.
    shown_since: Option<Timestamp>,
    /// The run that went back; canaries never rise in it.
    went_back: Option<u64>,
    /// The run whose wait for promotion a person opened.
    promoted: Option<u64>,
    /// The revision that failed, until it is declared or asked for again.
    failed: Option<String>,
    /// The status that an old backup would restore.
    backup: FleetRolloutStatus,
}

#[derive(Clone, Debug)]
struct State {
    world: World,
    witness: Witness,
}

#[derive(Default)]
struct Reached {
    moves: BTreeMap<Move, usize>,
    reasons: BTreeMap<Reason, usize>,
    states: usize,
}

impl Reached {
    fn add(&mut self, other: Self) {
        self.states += other.states;
        other.moves.into_iter().for_each(|(what, times)| *self.moves.entry(what).or_default() += times);
        other.reasons.into_iter().for_each(|(reason, times)| *self.reasons.entry(reason).or_default() += times);
    }
}

const SPEC: &str = "
services: [{name: shop, port: 80, routes: [{gatewayAPI: {name: a}}, {gatewayAPI: {name: b}}]}]
members: [{name: eu-1, weight: 0}, {name: eu-2, weight: 0}, {name: eu-3, weight: 100}]
strategy: {bake: 25s, keepPrevious: 30s, progressDeadline: 5m, steps: [{progress: 20%, wait: Promotion}, {progress: 60%, wait: 30s}, {progress: 100%}]}
analysis: {unknown: {limit: 3, action: Rollback}}
";

impl State {
    fn new(live: &[(&str, u32)]) -> Self {
        let world = World::new(spec(SPEC), live);
        let backup = world.status.clone();
        Self {
            world,
            witness: Witness {
                proven: false,
                shown_since: None,
                went_back: None,
                promoted: None,
                failed: None,
                backup,
            },
        }
    }

    /// Applies a move, then passes until nothing changes, and checks every pass.
    fn make(&mut self, what: Move, reached: &mut Reached) {
        let crash = self.disturb(what);
        *reached.moves.entry(what).or_default() += 1;
        self.checked_pass(crash, reached, what);
        if crash != Crash::Never {
            // A new instance of the hub begins before it has listed the routes.
            self.world.unlisted = true;
            self.checked_pass(Crash::Never, reached, what);
            self.world.unlisted = false;
        }
        let settles = (0..12).any(|_| {
            let before = (self.world.status.clone(), self.world.routes.clone());
            self.checked_pass(Crash::Never, reached, what);
            before == (self.world.status.clone(), self.world.routes.clone())
        });
        assert!(settles, "passes at one instant go on for ever after {what:?}: {:?}", self.world.status);
    }

    fn disturb(&mut self, what: Move) -> Crash {
        let world = &mut self.world;
        match what {
            Move::Wait(seconds) => {
                world.after(seconds);
                for _ in 0..3 {
                    world.probe();
                }
            }
            Move::Metrics(metrics) => world.metrics = metrics,
            Move::Write(index, mode) => {
                let key = world.routes.keys().nth(index).unwrap().clone();
                for route in world.routes.values_mut().flatten().filter(|_| mode == Writes::Confirmed) {
                    route.accepted = cutover::rollout::input::Accepted::Yes;
                }
                world.writes.insert(key, mode);
            }
            Move::Ask(verb) => {
                world.ask(verb);
            }
            Move::Down(which) => {
                let names: &[&str] = match which {
                    Down::Canary => &["eu-3"],
                    Down::Primary => &["eu-1"],
                    Down::All => &["eu-1", "eu-2", "eu-3"],
                    Down::None => &[],
                };
                world.down = names.iter().map(|name| (*name).to_owned()).collect();
            }
            Move::Edit(Edit::Up) => {
                world.edit(&[("eu-1", 5), ("eu-3", 95)]);
            }
            Move::Edit(Edit::Lower) => {
                world.edit(&[("eu-1", 99), ("eu-3", 1)]);
            }
            Move::Declare(target) => {
                let weights: &[(&str, u32)] = match target {
                    Target::New => &[("eu-3", 100)],
                    Target::Old => &[("eu-1", 50), ("eu-2", 50)],
                    Target::Third => &[("eu-1", 50), ("eu-3", 50)],
                };
                world.declare(weights);
                self.witness.failed = None;
            }
            Move::Crash(crash) => return crash,
            Move::Delete => world.deleting = true,
            Move::Suspend => world.spec.suspend = !world.spec.suspend,
            Move::PauseSpec => world.spec.paused = !world.spec.paused,
            Move::RefuseRehearsals => world.refuse_rehearsals = !world.refuse_rehearsals,
            Move::LoseBackends => world.unready_backends = true,
            Move::BreakSpec => world.invalid = !world.invalid,
            Move::ChangeIdentity => {
                let changed = format!("{}-again", world.identities.get("eu-3").map_or("eu-3", String::as_str));
                world.identities.insert("eu-3".to_owned(), changed);
            }
            Move::RestoreOldStatus => {
                let weights =
                    |status: &FleetRolloutStatus| status.desired.as_ref().map(|desired| desired.weights.clone());
                self.witness.proven &= weights(&world.status) == weights(&self.witness.backup);
                world.status = self.witness.backup.clone();
                self.witness.went_back = None;
            }
        }
        Crash::Never
    }

    fn checked_pass(&mut self, crash: Crash, reached: &mut Reached, what: Move) {
        if self.world.gone {
            return;
        }
        let before = self.world.clone();
        let decision = self.world.pass_until(crash);
        let check = Checked { before: &before, after: &self.world, decision: &decision, witness: &self.witness };
        check.every_rule(what);
        self.remember(&before);
        count_reasons(&self.world, reached);
        self.world.written.clear();
        self.world.answered.clear();
        self.world.released.clear();
    }

    /// Brings the witness up to date from what happened in the world.
    fn remember(&mut self, before: &World) {
        let world = &self.world;
        let desired = |world: &World| world.status.desired.as_ref().map(|desired| desired.weights.clone());
        if desired(before) != desired(world) {
            (self.witness.proven, self.witness.shown_since) = (false, None);
        }
        let shown = world.status.desired.as_ref().is_some_and(|desired| {
            world.routes.values().all(|route| {
                route.as_ref().is_some_and(|route| {
                    same(&route.weights, &desired.weights) && route.accepted == cutover::rollout::input::Accepted::Yes
                })
            })
        });
        self.witness.shown_since = if shown { self.witness.shown_since.or(Some(world.now)) } else { None };
        if measured_good(world) && self.witness.shown_since.is_some_and(|since| since < world.now) {
            self.witness.proven = true;
        }
        for record in world.status.history.iter().filter(|record| record.ended_at == world.now) {
            let back = matches!(record.outcome, Outcome::Failed | Outcome::RolledBack);
            self.witness.failed = back.then(|| record.revision.clone());
        }
        for (verb, run) in applied(before, world) {
            match verb {
                Verb::Promote => self.witness.promoted = Some(run),
                Verb::Retry | Verb::Adopt => self.witness.failed = None,
                Verb::Abort | Verb::Rollback | Verb::Pause | Verb::Resume => {}
            }
        }
        let rolling_back = world.status.run.as_ref().filter(|run| run.rollback.is_some() && run.outcome.is_none());
        self.witness.went_back = rolling_back.map(|run| run.number);
    }

    /// What makes two states the same: everything but the absolute time and what only people read.
    fn fingerprint(&self) -> u64 {
        let mut status = self.world.status.clone();
        (status.transitions, status.answers, status.history, status.conditions) = Default::default();
        (status.message, status.since, status.observed_generation) = Default::default();
        let base = status.sequence;
        let mut text = serde_json::to_string(&status).unwrap();
        for (index, route) in self.world.routes.values().enumerate() {
            let route = route.as_ref().map(|route| {
                (&route.weights, route.mark.as_ref().map(|mark| base - mark.sequence.min(base)), &route.accepted)
            });
            let _ = write!(text, "{index}{route:?}");
        }
        let world = &self.world;
        let _ = write!(
            text,
            "{:?}{:?}{:?}{:?}{:?}{}{}{}{}{}",
            world.metrics,
            world.writes,
            world.down,
            world.endpoints,
            world.spec.members,
            world.deleting,
            world.spec.suspend,
            world.spec.paused,
            world.refuse_rehearsals,
            world.invalid
        );
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        hasher.finish()
    }
}

/// The hub measured in this pass, and what it measured was good.
fn measured_good(world: &World) -> bool {
    world.measured_at == Some(world.now) && world.metrics == Metrics::Good
}

/// The verbs that were applied in a pass, with the run they were meant for.
fn applied(before: &World, after: &World) -> Vec<(Verb, u64)> {
    let yes = |name: &str| after.answered.iter().any(|(n, state, _)| n == name && *state == RequestState::Applied);
    let desired = before.requests.iter().filter(|request| yes(&request.name));
    desired.map(|request| (request.spec.verb, request.spec.run)).collect()
}

/// One pass with what was before and after it.
struct Checked<'a> {
    before: &'a World,
    after: &'a World,
    decision: &'a Decision,
    witness: &'a Witness,
}

impl Checked<'_> {
    fn every_rule(&self, what: Move) {
        let told = |world: &World| serde_json::to_string(&world.status).unwrap();
        let context = || format!("after {what:?}\nbefore {}\nafter {}", told(self.before), told(self.after));
        assert!(self.sums_hold(), "I1: a distribution does not sum to the total {}", context());
        assert!(self.rises_on_evidence(), "I2: a canary rose without evidence {}", context());
        assert!(self.primary_is_earned(), "I3: the primary changed without a pass {}", context());
        assert!(self.never_rises_in_a_rollback(), "I4: a canary rose in a rollback {}", context());
        assert!(self.dwells(), "I7: the dwell was shortened {}", context());
        assert!(self.waits(), "a wait for promotion opened by itself {}", context());
        assert!(
            self.goes_back_for_a_reason(),
            "I9: ignorance or a shared incident was blamed on the canary {}",
            context()
        );
        assert!(self.does_not_try_again(), "I4: a failed revision was tried again by itself {}", context());
        assert!(self.takes_back(), "a step that is not confirmed for a minute stands {}", context());
        assert!(self.rests(), "I11: a rollout that is suspended or at rest wrote a route {}", context());
        assert!(self.wakes(), "a live run would never look again {}", context());
    }

    fn sums_hold(&self) -> bool {
        let total = |weights: &Distribution| weights.values().sum::<u32>() == 100;
        let desired = self.after.status.desired.iter().all(|desired| total(&desired.weights));
        desired && self.after.written.iter().all(|(_, weights)| total(weights))
    }

    /// The canaries whose asked weight rose in this pass. Primary members may rise by projection.
    fn risen(&self) -> Vec<String> {
        let Some(run) = self.after.status.run.as_ref().filter(|run| run.outcome.is_none()) else { return Vec::new() };
        let weight = |weights: &Distribution, name: &str| weights.get(name).copied().unwrap_or(0);
        let desired = |world: &World| world.status.desired.as_ref().map(|desired| desired.weights.clone());
        let old = desired(self.before).or(self.before.status.primary.clone()).unwrap_or_default();
        let new = desired(self.after).unwrap_or_else(|| old.clone());
        new.iter()
            .filter(|(name, units)| **units > weight(&old, name) && weight(&run.rollback_to, name) == 0)
            .map(|(name, _)| name.clone())
            .collect()
    }

    fn rises_on_evidence(&self) -> bool {
        let canaries = self.risen();
        let first = self.after.status.run.as_ref().is_some_and(|run| run.step == 1);
        let probed = canaries.iter().all(|name| self.before.endpoints.get(name).is_some_and(|seen| seen.successes > 0));
        // Taking a step back returns to what every route showed a minute ago, also for a canary that the step lowered.
        let held = |world: &World| world.status.run.as_ref().and_then(|run| run.hold.as_ref()).map(|hold| hold.reason);
        let taken_back = held(self.before).is_none() && held(self.after) == Some(Reason::Skewed);
        canaries.is_empty() || taken_back || first && probed || self.witness.proven || measured_good(self.after)
    }

    fn primary_is_earned(&self) -> bool {
        let (old, new) = (&self.before.status.primary, &self.after.status.primary);
        let succeeded = self
            .after
            .status
            .history
            .iter()
            .any(|record| record.outcome == Outcome::Succeeded && record.ended_at == self.after.now);
        let soaked = self.before.status.run.as_ref().is_some_and(|run| run.soaking_since.is_some());
        let adopted = self
            .decision
            .status
            .transitions
            .iter()
            .any(|told| told.at == self.after.now && told.reason == Reason::Adopted);
        let never_written = self.before.status.desired.is_none()
            && self.before.status.run.as_ref().is_none_or(|run| run.outcome.is_some());
        match (old, new) {
            (Some(old), Some(new)) => same(old, new) || succeeded || soaked || adopted || never_written,
            (None, _) => true,
            (Some(_), None) => false,
        }
    }

    fn never_rises_in_a_rollback(&self) -> bool {
        let Some(number) = self.witness.went_back else { return true };
        let same_run = self.after.status.run.as_ref().is_some_and(|run| run.number == number && run.outcome.is_none());
        !same_run || self.risen().is_empty()
    }

    fn dwells(&self) -> bool {
        let run = |world: &World| {
            world.status.run.as_ref().filter(|run| run.outcome.is_none()).map(|run| (run.number, run.step))
        };
        let (Some((number, from)), Some((same_number, to))) = (run(self.before), run(self.after)) else { return true };
        if number != same_number || to <= from || from == 0 {
            return true;
        }
        let needed = 5 + 25;
        self.witness.shown_since.is_some_and(|since| self.after.now.duration_since(since).as_secs() >= needed)
    }

    fn waits(&self) -> bool {
        let (Some(before), Some(after)) = (&self.before.status.run, &self.after.status.run) else { return true };
        let left = before.step.checked_sub(1).and_then(|index| before.plan.get(index as usize));
        let waits = left.is_some_and(|step| step.wait == Some(Wait::Promotion));
        let passed_the_wait = before.number == after.number && after.step > before.step && waits;
        let opened_now = applied(self.before, self.after).contains(&(Verb::Promote, after.number));
        !passed_the_wait || opened_now || self.witness.promoted == Some(after.number)
    }

    fn goes_back_for_a_reason(&self) -> bool {
        let rollback = |world: &World| world.status.run.as_ref().and_then(|run| run.rollback.clone());
        let Some(new) = rollback(self.after).filter(|_| rollback(self.before).is_none()) else { return true };
        let answers = |name: &str| self.before.endpoints.get(name).is_some_and(|seen| seen.successes >= 3);
        match new.reason {
            Reason::EndpointDown => answers("eu-1") || answers("eu-2"),
            Reason::ChecksFailed => self.before.metrics == Metrics::CanaryFails,
            Reason::GuardBreached => self.before.metrics == Metrics::CanaryBreaksGuard,
            _ => true,
        }
    }

    fn does_not_try_again(&self) -> bool {
        let number = |world: &World| world.status.run.as_ref().map_or(0, |run| run.number);
        let retried =
            applied(self.before, self.after).iter().any(|(verb, _)| matches!(verb, Verb::Retry | Verb::Adopt));
        let began = self.after.status.run.as_ref().filter(|_| number(self.after) > number(self.before) && !retried);
        began.is_none_or(|run| self.witness.failed.as_ref() != Some(&run.revision))
    }

    fn takes_back(&self) -> bool {
        let under_way = |world: &World| {
            let run = world.status.run.as_ref().filter(|run| run.outcome.is_none() && run.step > 0);
            // On the way from one target to another a step may lower the canary; taking that back would raise it.
            let canary = |step: usize| {
                let run = run.expect("a run");
                let weights = step.checked_sub(1).map_or(&run.start, |index| &run.plan[index].weights);
                weights.get("eu-3").copied().unwrap_or(0)
            };
            let raises = |step: u32| canary(step as usize) > canary(step as usize - 1);
            let forward = run.is_some_and(|run| run.rollback.is_none() && run.hold.is_none() && raises(run.step));
            world.status.desired.clone().filter(|desired| forward && desired.confirmed_at.is_none())
        };
        let hands_off = self.before.spec.suspend
            || self.before.deleting
            || matches!(self.after.status.reason, Reason::StatusBehindRoute | Reason::OwnedByOtherHub);
        match (under_way(self.before), under_way(self.after)) {
            (Some(before), Some(after)) if before.weights == after.weights => {
                hands_off || self.after.now.duration_since(before.at).as_secs() < 60
            }
            _ => true,
        }
    }

    fn rests(&self) -> bool {
        !self.before.spec.suspend || self.after.written.is_empty()
    }

    fn wakes(&self) -> bool {
        let judged = self
            .after
            .status
            .run
            .as_ref()
            .is_some_and(|run| run.outcome.is_none() && run.rollback.is_none() && run.step > 0);
        let confirmed = self.after.status.desired.as_ref().is_some_and(|desired| desired.confirmed_at.is_some());
        let hands_off = self.before.spec.suspend
            || matches!(self.after.status.reason, Reason::StatusBehindRoute | Reason::OwnedByOtherHub);
        !judged
            || !confirmed
            || hands_off
            || self.before.unlisted
            || self.before.deleting
            || self.decision.wake.is_some()
    }
}

fn count_reasons(world: &World, reached: &mut Reached) {
    let status = &world.status;
    let run = status.run.as_ref();
    let stops = run.iter().flat_map(|run| run.pause.iter().chain(&run.hold)).map(|stop| stop.reason);
    let judged = run
        .iter()
        .filter_map(|run| run.check.as_ref())
        .flat_map(|check| check.metrics.iter().map(|metric| metric.reason).chain([check.reason]));
    let told = status.transitions.iter().map(|told| told.reason);
    for reason in stops.chain(judged).chain(told).chain([status.reason]) {
        *reached.reasons.entry(reason).or_default() += 1;
    }
}

/// Reasons that the core gives in worlds like these; the others belong to the shell, to members or to other inputs.
#[expect(clippy::too_many_lines, reason = "one line a reason")]
fn is_reachable_here(reason: Reason) -> bool {
    use Reason::{
        Aborted, AddressNotAllowed, Adopted, AdoptionNeedsMapping, AnalysisChanged, ApiServerAnswers,
        ApiServerUnreachable, AtTarget, BackendNotReady, Baking, CannotCarryWeights, ChecksFailed, ChecksPass,
        ClusterIdentityChanged, ClusterRegisteredTwice, Confirming, Conflict, CredentialsExpireSoon, CredentialsGood,
        CredentialsRefused, Deleting, DependencyCycle, DependencyFailed, DependencyMissing, EndpointDown,
        EndpointUnreachable, EndpointsAnswer, FailureHeld, ForeignEditPutBack, ForeignEditsRepeat, GuardBreached,
        Initializing, InvalidSpec, KeepingPrevious, KubeconfigRefused, ManagedByOther, MemberHealthy, MemberInUse,
        MemberNotDeclared, MemberNotFound, MemberNotReady, MetricsAnswer, MetricsUnknown, MetricsUnreachable,
        NamespaceNotAllowed, NewTarget, NoFitMember, NoKubeconfig, NotConfirmed, OldTargetDeclared, Other,
        OwnedByOtherHub, PausedByForeignEdit, PausedByRequest, PausedBySpec, PrimaryDiffers, PrimaryFailsToo,
        PrimaryUnknown, ProgressDeadlineExceeded, PromotingServices, ProviderNotInstalled, Rehearsing, Releasing,
        RequestApplied, RollbackRequested, RollbackTargetUnavailable, RouteDrifted, RouteNotAccepted, RouteNotFound,
        RouteRejected, RouteUnreadable, RunSucceeded, SecretNotFound, ServiceNotFound, Settling, Skewed,
        StatusBehindRoute, Suspended, TemplateNotFound, TooFewSamples, TookOver, UnexpectedResponse, UnknownLimit,
        WaitingForDependency, WaitingForPromotion, WaitingForTime, WeightNotObserved, WindowClosed,
    };
    match reason {
        AtTarget
        | Deleting
        | Releasing
        | Rehearsing
        | Confirming
        | Settling
        | Baking
        | WaitingForPromotion
        | WaitingForTime
        | KeepingPrevious
        | RunSucceeded
        | NewTarget
        | PausedBySpec
        | PausedByRequest
        | PausedByForeignEdit
        | Suspended
        | Aborted
        | RollbackRequested
        | OldTargetDeclared
        | ChecksPass
        | ChecksFailed
        | GuardBreached
        | EndpointDown
        | PrimaryFailsToo
        | MetricsUnknown
        | TooFewSamples
        | UnknownLimit
        | Skewed
        | NotConfirmed
        | RouteRejected
        | RollbackTargetUnavailable
        | MemberNotReady
        | BackendNotReady
        | ClusterIdentityChanged
        | ForeignEditPutBack
        | ForeignEditsRepeat
        | RouteDrifted
        | InvalidSpec
        | PrimaryDiffers
        | StatusBehindRoute
        | Adopted
        | TookOver => true,
        Initializing
        | AnalysisChanged
        | TemplateNotFound
        | WindowClosed
        | WaitingForDependency
        | DependencyMissing
        | DependencyFailed
        | DependencyCycle
        | WeightNotObserved
        | ProgressDeadlineExceeded
        | FailureHeld
        | RouteNotAccepted
        | NoFitMember
        | PrimaryUnknown
        | AdoptionNeedsMapping
        | MemberNotDeclared
        | MemberNotFound
        | NamespaceNotAllowed
        | RouteNotFound
        | ProviderNotInstalled
        | RouteUnreadable
        | ManagedByOther
        | Conflict
        | OwnedByOtherHub
        | CannotCarryWeights
        | RequestApplied
        | MemberHealthy
        | ApiServerAnswers
        | ApiServerUnreachable
        | UnexpectedResponse
        | NoKubeconfig
        | SecretNotFound
        | KubeconfigRefused
        | CredentialsRefused
        | CredentialsExpireSoon
        | CredentialsGood
        | AddressNotAllowed
        | EndpointsAnswer
        | EndpointUnreachable
        | MetricsAnswer
        | MetricsUnreachable
        | ClusterRegisteredTwice
        | MemberInUse
        | PromotingServices
        | ServiceNotFound
        | Other => false,
    }
}

/// States along a run in which nothing goes wrong: the search begins at each of them.
fn along_a_run(reached: &mut Reached) -> Vec<State> {
    let mut state = State::new(&[("eu-1", 50), ("eu-2", 50)]);
    let mut states = vec![state.clone()];
    for _ in 0..60 {
        let next =
            if state.world.status.phase == Phase::WaitingPromotion { Move::Ask(Verb::Promote) } else { Move::Wait(11) };
        state.make(next, reached);
        if states.last().is_none_or(|last| {
            last.world.status.reason != state.world.status.reason || last.world.live() != state.world.live()
        }) {
            state.witness.backup = states.last().unwrap().world.status.clone();
            states.push(state.clone());
        }
    }
    assert_eq!(state.world.status.phase, Phase::Succeeded, "{:?}", state.world.status);
    states
}

fn explore(depth: usize, reached: &mut Reached, going_on: &dyn Fn() -> bool) {
    let mut seen = HashSet::new();
    let mut queue: VecDeque<(State, usize)> = along_a_run(reached).into_iter().map(|state| (state, 0)).collect();
    while let Some((state, far)) = queue.pop_front() {
        if !going_on() {
            return;
        }
        if !seen.insert(state.fingerprint()) {
            continue;
        }
        reached.states += 1;
        if far == depth {
            continue;
        }
        for what in moves() {
            let mut next = state.clone();
            next.make(what, reached);
            queue.push_back((next, far + 1));
        }
    }
}

/// A generator of its own, so that a seed means the same walk for ever (`SplitMix64`).
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % u64::try_from(sides).unwrap()).unwrap()
    }
}

/// Time passes and repairs happen more often than mishaps, so that walks get far.
fn walk(seed: u64, length: usize, reached: &mut Reached) {
    let mut dice = Dice(seed);
    let mut state = State::new(&[("eu-1", 50), ("eu-2", 50)]);
    let all = moves();
    for _ in 0..length {
        let what = match dice.below(10) {
            0..=4 => Move::Wait([1, 11, 11, 61][dice.below(4)]),
            5 => Move::Metrics(Metrics::Good),
            6 => Move::Ask([Verb::Promote, Verb::Retry, Verb::Resume][dice.below(3)]),
            7 if dice.below(3) == 0 => Move::Edit(Edit::Up),
            _ => all[dice.below(all.len())],
        };
        if what == Move::Delete && dice.below(20) > 0 {
            continue;
        }
        state.make(what, reached);
        if dice.below(8) == 0 {
            state.witness.backup = state.world.status.clone();
        }
        reached.states += 1;
    }
    ends_well(state, seed);
}

/// When every fault ends and people answer what they are asked, the rollout comes to rest and stays there.
fn ends_well(mut state: State, seed: u64) {
    let world = &mut state.world;
    (world.metrics, world.refuse_rehearsals, world.unready_backends, world.invalid) =
        (Metrics::Good, false, false, false);
    (world.spec.paused, world.spec.suspend) = (false, false);
    world.down.clear();
    world.writes.clear();
    for route in world.routes.values_mut().flatten() {
        route.accepted = cutover::rollout::input::Accepted::Yes;
    }
    for _ in 0..8 {
        if world.status.reason == Reason::StatusBehindRoute {
            // Nothing can be adopted from routes that differ; a person brings them to one distribution first.
            let first = world.live();
            world.routes.values_mut().flatten().for_each(|route| route.weights = first.clone());
        }
        for verb in [Verb::Adopt, Verb::Resume, Verb::Retry, Verb::Promote] {
            world.ask(verb).run_for(2);
        }
        world.run_for(90);
    }
    let phase = world.status.phase;
    let rests =
        matches!(phase, Phase::Succeeded | Phase::Initialized | Phase::Failed | Phase::RolledBack) || world.gone;
    assert!(rests, "seed {seed}: {phase:?} {} {}", world.status.reason, world.status.message);
    if let Some(desired) = world.status.desired.as_ref().filter(|_| !world.gone) {
        assert!(same(&desired.weights, world.status.primary.as_ref().unwrap()), "seed {seed}");
        assert!(world.routes.values().flatten().all(|route| same(&route.weights, &desired.weights)), "seed {seed}");
    }
}

/// Both halves at once; the first broken rule ends them.
fn search_and_walk() -> Reached {
    let stop = AtomicBool::new(false);
    let going_on = || !stop.load(Ordering::Relaxed);
    let guarded = |search: &dyn Fn(&mut Reached)| {
        let mut reached = Reached::default();
        let result = catch_unwind(AssertUnwindSafe(|| search(&mut reached)));
        stop.fetch_or(result.is_err(), Ordering::Relaxed);
        result.map(|()| reached)
    };
    std::thread::scope(|threads| {
        let walks = threads
            .spawn(|| guarded(&|reached| (0..300).take_while(|_| going_on()).for_each(|seed| walk(seed, 60, reached))));
        let explored = guarded(&|reached| explore(2, reached, &going_on));
        let walked = walks.join().expect("the thread caught every panic");
        let mut reached = explored.expect("a rule was broken, see above");
        let walked = walked.expect("a rule was broken on a walk, see above");
        reached.add(walked);
        reached
    })
}

#[test]
fn no_move_from_any_state_within_reach_breaks_a_rule() {
    let reached = search_and_walk();
    println!("{} states; moves {:?}; reasons {:?}", reached.states, reached.moves, reached.reasons);
    for what in moves() {
        assert!(reached.moves.get(&what).is_some_and(|times| *times > 0), "{what:?} was never made");
    }
    let missed: Vec<_> = Reason::ALL
        .iter()
        .filter(|reason| is_reachable_here(**reason) && !reached.reasons.contains_key(reason))
        .collect();
    assert!(missed.is_empty(), "never reached: {missed:?}");
}
