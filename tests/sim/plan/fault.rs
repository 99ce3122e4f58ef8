//! The catalogue of faults: patterns P1 to P29, and the sorts of each.

use super::sorts::{
    AlertFault, BadCalls, Blind, ClockFault, DataPlaneFault, Declared, Deleted, Edit, Failover, FinalizerFault,
    Forbidden, Late, LeaseFault, MemberChange, MemberFault, MetricsFault, Overload, Pause, Poison, Reapply, Tenant,
    WatchFault, Webhook,
};

/// What goes wrong in a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// P0.
    None,
    /// P1: after a write was committed, before its answer is read.
    CrashAfter,
    /// P2: when a write is about to be sent.
    CrashBefore,
    /// P3: twice, the second time soon after the first.
    CrashPair,
    Blind(Blind),
    Failover(Failover),
    Pause(Pause),
    Lease(LeaseFault),
    Member(MemberFault),
    Metrics(MetricsFault),
    Edit(Edit),
    Reapply(Reapply),
    BadCalls(BadCalls),
    /// P13: three calls in ten go wrong.
    Storm,
    Watch(WatchFault),
    Clock(ClockFault),
    Delete(Deleted),
    Finalizers(FinalizerFault),
    Declare(Declared),
    Poison(Poison),
    Members(MemberChange),
    Webhook(Webhook),
    Forbidden(Forbidden),
    Late(Late),
    DataPlane(DataPlaneFault),
    Tenant(Tenant),
    Overload(Overload),
    Alerts(AlertFault),
}

/// What a plan's `k` counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    Writes,
    Calls,
    Events,
    /// The fault begins with the world.
    Nothing,
}

impl Fault {
    /// The faults of each pattern of the catalogue.
    pub fn patterns() -> Vec<Vec<Self>> {
        fn of<T: Copy>(sorts: &[T], fault: fn(T) -> Fault) -> Vec<Fault> {
            sorts.iter().copied().map(fault).collect()
        }
        vec![
            vec![Self::CrashAfter],
            vec![Self::CrashBefore],
            vec![Self::CrashPair],
            of(Blind::ALL, Self::Blind),
            of(Failover::ALL, Self::Failover),
            of(Pause::ALL, Self::Pause),
            of(LeaseFault::ALL, Self::Lease),
            of(MemberFault::ALL, Self::Member),
            of(MetricsFault::ALL, Self::Metrics),
            of(Edit::ALL, Self::Edit),
            of(Reapply::ALL, Self::Reapply),
            of(BadCalls::ALL, Self::BadCalls),
            vec![Self::Storm],
            of(WatchFault::ALL, Self::Watch),
            of(ClockFault::ALL, Self::Clock),
            of(Deleted::ALL, Self::Delete),
            of(FinalizerFault::ALL, Self::Finalizers),
            of(Declared::ALL, Self::Declare),
            of(Poison::ALL, Self::Poison),
            of(MemberChange::ALL, Self::Members),
            of(Webhook::ALL, Self::Webhook),
            of(Forbidden::ALL, Self::Forbidden),
            of(Late::ALL, Self::Late),
            of(DataPlaneFault::ALL, Self::DataPlane),
            of(Tenant::ALL, Self::Tenant),
            of(Overload::ALL, Self::Overload),
            of(AlertFault::ALL, Self::Alerts),
        ]
    }

    /// The number of its pattern, as a plan's line begins with it.
    pub const fn number(self) -> u8 {
        match self {
            Self::None => 0,
            Self::CrashAfter => 1,
            Self::CrashBefore => 2,
            Self::CrashPair => 3,
            Self::Blind(_) => 4,
            Self::Failover(_) => 5,
            Self::Pause(_) => 6,
            Self::Lease(_) => 7,
            Self::Member(_) => 8,
            Self::Metrics(_) => 9,
            Self::Edit(_) => 10,
            Self::Reapply(_) => 11,
            Self::BadCalls(_) => 12,
            Self::Storm => 13,
            Self::Watch(_) => 14,
            Self::Clock(_) => 15,
            Self::Delete(_) => 16,
            Self::Finalizers(_) => 17,
            Self::Declare(_) => 18,
            Self::Poison(_) => 19,
            Self::Members(_) => 20,
            Self::Webhook(_) => 21,
            Self::Forbidden(_) => 22,
            Self::Late(_) => 24,
            Self::DataPlane(_) => 25,
            Self::Tenant(_) => 26,
            Self::Overload(_) => 27,
            Self::Alerts(_) => 29,
        }
    }

    /// The word of its sort; none where the pattern has only one.
    pub const fn word(self) -> Option<&'static str> {
        Some(match self {
            Self::None | Self::CrashAfter | Self::CrashBefore | Self::CrashPair | Self::Storm => return None,
            Self::Blind(sort) => sort.word(),
            Self::Failover(sort) => sort.word(),
            Self::Pause(sort) => sort.word(),
            Self::Lease(sort) => sort.word(),
            Self::Member(sort) => sort.word(),
            Self::Metrics(sort) => sort.word(),
            Self::Edit(sort) => sort.word(),
            Self::Reapply(sort) => sort.word(),
            Self::BadCalls(sort) => sort.word(),
            Self::Watch(sort) => sort.word(),
            Self::Clock(sort) => sort.word(),
            Self::Delete(sort) => sort.word(),
            Self::Finalizers(sort) => sort.word(),
            Self::Declare(sort) => sort.word(),
            Self::Poison(sort) => sort.word(),
            Self::Members(sort) => sort.word(),
            Self::Webhook(sort) => sort.word(),
            Self::Forbidden(sort) => sort.word(),
            Self::Late(sort) => sort.word(),
            Self::DataPlane(sort) => sort.word(),
            Self::Tenant(sort) => sort.word(),
            Self::Overload(sort) => sort.word(),
            Self::Alerts(sort) => sort.word(),
        })
    }

    /// The faults of the pattern with this number; the first of them needs no word.
    pub fn of_pattern(number: u8) -> Option<Vec<Self>> {
        let all = std::iter::once(vec![Self::None]).chain(Self::patterns());
        all.into_iter().find(|pattern| pattern[0].number() == number)
    }

    /// The first of its pattern, which a plan's line does not name.
    pub fn is_first(self) -> bool {
        Self::of_pattern(self.number()).is_some_and(|pattern| pattern[0] == self)
    }

    /// It is about the members that a rollout declares: service mode has none.
    pub const fn needs_members(self) -> bool {
        match self {
            Self::Edit(_)
            | Self::Reapply(_)
            | Self::Delete(_)
            | Self::Finalizers(_)
            | Self::Declare(_)
            | Self::Poison(_)
            | Self::Members(_) => true,
            Self::None
            | Self::CrashAfter
            | Self::CrashBefore
            | Self::CrashPair
            | Self::Blind(_)
            | Self::Failover(_)
            | Self::Pause(_)
            | Self::Lease(_)
            | Self::Member(_)
            | Self::Metrics(_)
            | Self::BadCalls(_)
            | Self::Storm
            | Self::Watch(_)
            | Self::Clock(_)
            | Self::Webhook(_)
            | Self::Forbidden(_)
            | Self::Late(_)
            | Self::DataPlane(_)
            | Self::Tenant(_)
            | Self::Overload(_)
            | Self::Alerts(_) => false,
        }
    }

    /// What it does depends on the kind of route.
    pub const fn is_about_routes(self) -> bool {
        match self {
            Self::CrashAfter
            | Self::CrashBefore
            | Self::CrashPair
            | Self::Blind(_)
            | Self::Failover(_)
            | Self::Pause(_)
            | Self::Member(_)
            | Self::Metrics(_)
            | Self::Edit(_)
            | Self::Reapply(_)
            | Self::BadCalls(_)
            | Self::Storm
            | Self::Delete(_)
            | Self::Finalizers(_)
            | Self::Declare(_)
            | Self::Members(_)
            | Self::Webhook(_)
            | Self::Forbidden(_)
            | Self::Late(_)
            | Self::DataPlane(_)
            | Self::Tenant(_)
            | Self::Overload(_) => true,
            Self::None | Self::Lease(_) | Self::Watch(_) | Self::Clock(_) | Self::Poison(_) | Self::Alerts(_) => false,
        }
    }

    /// It is about two instances of the hub.
    pub const fn needs_two_instances(self) -> bool {
        matches!(self, Self::Pause(_) | Self::Lease(_))
    }

    /// It is about the lease.
    pub const fn needs_leader_election(self) -> bool {
        self.needs_two_instances() || matches!(self, Self::Forbidden(Forbidden::Lease))
    }

    pub const fn counts(self) -> Counted {
        match self {
            Self::BadCalls(_) => Counted::Calls,
            Self::Blind(Blind::HoldWatch | Blind::DropEvent) | Self::Watch(_) => Counted::Events,
            Self::Late(_) => Counted::Nothing,
            Self::Poison(poison) if poison.is_before() => Counted::Nothing,
            Self::None
            | Self::CrashAfter
            | Self::CrashBefore
            | Self::CrashPair
            | Self::Blind(Blind::HideWrite)
            | Self::Failover(_)
            | Self::Pause(_)
            | Self::Lease(_)
            | Self::Member(_)
            | Self::Metrics(_)
            | Self::Edit(_)
            | Self::Reapply(_)
            | Self::Storm
            | Self::Clock(_)
            | Self::Delete(_)
            | Self::Finalizers(_)
            | Self::Declare(_)
            | Self::Poison(_)
            | Self::Members(_)
            | Self::Webhook(_)
            | Self::Forbidden(_)
            | Self::DataPlane(_)
            | Self::Tenant(_)
            | Self::Overload(_)
            | Self::Alerts(_) => Counted::Writes,
        }
    }
}
