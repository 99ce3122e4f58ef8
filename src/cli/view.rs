//! One rollout as it is shown, and what several verbs derive from it. Pure.

use std::collections::BTreeSet;

use jiff::Timestamp;
use kube::ResourceExt;

use super::{
    Exit,
    hub_liveness::{HubLiveness, LeaseSeen},
    past,
    routes::RouteShown,
};
use crate::api::{
    Distribution, Duration, FleetRollout, FleetRolloutStatus, MemberCluster, Reason, RolloutRequest,
    status::{Check, Condition, ConditionStatus, Desired, Outcome, Phase, Run, RunRecord, Verdict},
};

/// All that was read for a screen about one rollout, and the time at which it is shown.
#[derive(Clone, Debug)]
pub(super) struct View {
    pub(super) rollout: FleetRollout,
    pub(super) status: FleetRolloutStatus,
    pub(super) members: Vec<MemberCluster>,
    /// What the hub's Lease says; ages run with `now`.
    pub(super) lease: LeaseSeen,
    /// Every route, as it is now.
    pub(super) routes: Vec<RouteShown>,
    /// What people requested and no hub has answered yet.
    pub(super) open: Vec<RolloutRequest>,
    pub(super) now: Timestamp,
}

/// The role of a member in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// It is being proven.
    Canary,
    /// It gains weight in a later step.
    Gaining,
    /// It loses weight.
    Leaving,
    /// It keeps its weight.
    Stays,
}

impl Part {
    pub(super) fn of(run: &Run, member: &str) -> Self {
        if run.canaries().iter().any(|canary| canary == member) {
            return Self::Canary;
        }
        match run.target.weight(member).cmp(&run.rollback_to.weight(member)) {
            std::cmp::Ordering::Greater => Self::Gaining,
            std::cmp::Ordering::Less => Self::Leaving,
            std::cmp::Ordering::Equal => Self::Stays,
        }
    }

    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Canary => "canary",
            Self::Gaining => "gaining",
            Self::Leaving => "leaving",
            Self::Stays => "stays",
        }
    }
}

impl View {
    /// Without members, routes and requests, for what depends on none of them.
    pub(super) fn new(rollout: FleetRollout, lease: LeaseSeen, now: Timestamp) -> Self {
        let status = rollout.status.clone().unwrap_or_default();
        Self { rollout, status, members: Vec::new(), lease, routes: Vec::new(), open: Vec::new(), now }
    }

    /// The same, shown at another time.
    pub(super) fn at(&self, now: Timestamp) -> Self {
        Self { now, ..self.clone() }
    }

    /// Whether the hub runs.
    pub(super) fn hub(&self) -> HubLiveness {
        self.lease.at(self.now)
    }

    pub(super) fn name(&self) -> String {
        self.rollout.name_any()
    }

    pub(super) fn namespace(&self) -> String {
        self.rollout.namespace().unwrap_or_default()
    }

    /// The live run.
    pub(super) const fn live(&self) -> Option<&Run> {
        self.status.run.as_ref()
    }

    /// The run that ended last, while none is live.
    pub(super) fn ended(&self) -> Option<&RunRecord> {
        self.status.history.last().filter(|_| self.live().is_none())
    }

    /// The total of all weights: that of the live run, else the declared one.
    pub(super) fn total(&self) -> u32 {
        self.live().map_or(self.rollout.spec.weight_total, |run| run.pinned.weight_total)
    }

    /// The run that ended last without success, while none is live.
    pub(super) fn lost(&self) -> Option<&RunRecord> {
        self.ended().filter(|record| matches!(record.outcome, Outcome::Failed | Outcome::RolledBack))
    }

    /// The last check of the live run, if it judged the weights that are desired now.
    pub(super) fn check(&self) -> Option<&Check> {
        let check = self.live()?.check.as_ref()?;
        self.status.desired.as_ref().filter(|desired| desired.sequence == check.sequence).map(|_| check)
    }

    /// The same, if it was Unknown for another reason than `Settling`.
    pub(super) fn unknown(&self) -> Option<&Check> {
        self.check().filter(|check| check.verdict == Verdict::Unknown && check.reason != Reason::Settling)
    }

    /// The desired weights; before the first write, the primary.
    pub(super) fn desired(&self) -> Option<&Distribution> {
        self.status.desired.as_ref().map(|desired| &desired.split.weights).or(self.status.primary.as_ref())
    }

    /// A write that no route or not every route has confirmed.
    pub(super) fn unconfirmed(&self) -> Option<&Desired> {
        self.status.desired.as_ref().filter(|desired| desired.confirmed_at.is_none())
    }

    /// The hub has not seen the newest declaration yet.
    pub(super) fn is_behind(&self) -> bool {
        self.status.observed_generation < self.rollout.metadata.generation
    }

    /// Members with weight now, before or at the end, and those that the lost run was about, by name.
    pub(super) fn shown_members(&self) -> Vec<&str> {
        let run = self.live();
        let of_run = run.into_iter().flat_map(|run| [&run.rollback_to, &run.start, &run.target]);
        let of_routes = self.status.routes.iter().map(|route| &route.applied);
        let live = self.routes.iter().filter_map(RouteShown::weights);
        let known = self.desired().into_iter().chain(of_run).chain(of_routes).chain(live);
        let carrying = known.flat_map(Distribution::carrying).map(|(name, _)| name);
        let steered = self.status.desired.iter().flat_map(|desired| desired.split.steered());
        let lost = self.lost().map(past::canaries).unwrap_or_default();
        carrying.chain(steered).chain(lost).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The role of a member in the live run.
    pub(super) fn part(&self, member: &str) -> Option<Part> {
        self.live().map(|run| Part::of(run, member))
    }

    /// The members that are proven at the present step of the live run.
    pub(super) fn canaries(&self) -> Vec<&str> {
        self.with_part(&[Part::Canary])
    }

    /// The members that gain weight in the live run, now or later.
    pub(super) fn gaining(&self) -> Vec<&str> {
        self.with_part(&[Part::Canary, Part::Gaining])
    }

    fn with_part(&self, parts: &[Part]) -> Vec<&str> {
        let has = |member: &&str| self.part(member).is_some_and(|part| parts.contains(&part));
        self.shown_members().into_iter().filter(has).collect()
    }

    /// A member, if it is declared.
    pub(super) fn member(&self, name: &str) -> Option<&MemberCluster> {
        self.members.iter().find(|known| known.name_any() == name)
    }

    /// A condition of a member.
    pub(super) fn condition(&self, member: &str, type_: &str) -> Option<&Condition> {
        self.member(member)?.status.as_ref()?.conditions.iter().find(|condition| condition.type_ == type_)
    }

    /// Whether the member is unavailable: by the status of the run, or by its condition `EndpointsReady`.
    pub(super) fn cannot_serve(&self, member: &str) -> bool {
        let unavailable = self.live().is_some_and(|run| run.is_unavailable(member));
        let silent =
            self.condition(member, "EndpointsReady").is_some_and(|found| found.status == ConditionStatus::False);
        unavailable || silent
    }

    /// The exit status of `get` and `why`: nothing is in progress while the hub is silent.
    pub(super) fn exit(&self) -> Exit {
        match self.exit_by_status() {
            Exit::Progressing if matches!(self.hub(), HubLiveness::Silent(_)) => Exit::Held,
            exit => exit,
        }
    }

    fn exit_by_status(&self) -> Exit {
        if self.is_behind() {
            return Exit::Progressing;
        }
        let first_look = self.status.since.is_none() || self.status.reason == Reason::Initializing;
        match self.status.phase {
            Phase::Initialized | Phase::Succeeded => Exit::Done,
            Phase::Failed | Phase::RolledBack => Exit::Failed,
            Phase::Held | Phase::Paused | Phase::WaitingPromotion => Exit::Held,
            Phase::Initializing => {
                if first_look {
                    Exit::Progressing
                } else {
                    Exit::Held
                }
            }
            Phase::Progressing | Phase::Soaking | Phase::Promoting | Phase::Finalizing | Phase::Terminating => {
                Exit::Progressing
            }
        }
    }
}

/// The bake that the present step still needs.
pub(super) fn bake_left(run: &Run) -> Duration {
    run.present().map_or(Duration::ZERO, |step| step.bake.saturating_sub(run.bake().time))
}
