//! What becomes of each call.

use http::Method;
use jiff::Timestamp;

use super::{
    super::{
        plan::{
            Bad, Fault, SECOND_CRASHES,
            sorts::{AlertFault, BadCalls, Blind, Forbidden, Late, LeaseFault, Overload, Pause, Webhook},
        },
        world::seconds,
    },
    Faults,
    call::Call,
};

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
    /// It is done, and answered so much later.
    AnsweredAfter(f64),
    /// It is done, and the answer says that it took too long.
    DoneAndTimedOut,
    /// What is written is changed on the way.
    Mutate,
    /// A list as it was at this revision.
    Stale(u64),
}

impl Fate {
    /// It changes what becomes of the call, whatever the call says.
    const fn strikes(&self) -> bool {
        match self {
            Self::Pass | Self::Mutate | Self::Stale(_) => false,
            Self::CrashBefore
            | Self::CrashAfter
            | Self::StopBefore
            | Self::StopAfter
            | Self::Bad(_)
            | Self::Answer(..)
            | Self::Slow(_)
            | Self::AnsweredAfter(_)
            | Self::DoneAndTimedOut => true,
        }
    }
}

impl Faults {
    /// Counts a call, and says what becomes of it.
    pub(super) fn fate(&mut self, call: &Call, instance: usize, now: Timestamp) -> Fate {
        let fate = self.decided(call, instance, now);
        let wrong_clock = match self.plan.fault {
            Fault::Clock(_) => self.active(),
            Fault::Lease(LeaseFault::SkewOne) => self.active() && instance == 0,
            _ => false,
        };
        if fate.strikes() || wrong_clock {
            self.strike();
        }
        fate
    }

    fn decided(&mut self, call: &Call, instance: usize, now: Timestamp) -> Fate {
        self.count(call, now);
        if !call.is_lease() {
            self.calls += 1;
            if call.writes() {
                self.writes += 1;
                self.writes_of_instance += 1;
            }
        }
        let this_write = call.writes() && !call.is_lease() && self.writes == self.plan.k;
        let writes_route = call.plural == self.form.plural() && call.method != Method::GET;
        match self.plan.fault {
            Fault::CrashAfter | Fault::Alerts(AlertFault::Recorded) if this_write => Fate::CrashAfter,
            Fault::CrashBefore | Fault::Alerts(AlertFault::Unrecorded) if this_write => Fate::CrashBefore,
            Fault::CrashPair if self.crashes_again(call, this_write) => Fate::CrashAfter,
            Fault::Blind(Blind::HideWrite) if this_write => Fate::Bad(Bad::Lost),
            Fault::Failover(_) => self.stale(call, this_write),
            Fault::Pause(how) if this_write && self.begun.is_none() && instance == 0 => {
                self.begun = Some(now);
                match how {
                    Pause::InCall => Fate::StopAfter,
                    Pause::Leader | Pause::LeaderLong => Fate::StopBefore,
                }
            }
            Fault::Lease(what) => self.lease_fate(what, call, instance, now),
            Fault::BadCalls(times) => self.bad_call(times, call, now),
            Fault::Storm if self.active() => self.storm(),
            Fault::Overload(what) if self.active() && !call.watch && !call.is_lease() => self.overloaded(what),
            Fault::Late(Late::Server) if self.active() => Fate::Bad(Bad::Reset),
            Fault::Webhook(what) if writes_route && self.active() => webhook(what),
            Fault::Forbidden(what) if self.active() => forbidden(what, call, writes_route),
            Fault::None
            | Fault::CrashAfter
            | Fault::CrashBefore
            | Fault::CrashPair
            | Fault::Blind(_)
            | Fault::Pause(_)
            | Fault::Member(_)
            | Fault::Metrics(_)
            | Fault::Edit(_)
            | Fault::Reapply(_)
            | Fault::Storm
            | Fault::Watch(_)
            | Fault::Clock(_)
            | Fault::Delete(_)
            | Fault::Finalizers(_)
            | Fault::Declare(_)
            | Fault::Poison(_)
            | Fault::Members(_)
            | Fault::Webhook(_)
            | Fault::Forbidden(_)
            | Fault::Late(_)
            | Fault::DataPlane(_)
            | Fault::Tenant(_)
            | Fault::Overload(_)
            | Fault::Alerts(_) => Fate::Pass,
        }
    }

    /// P3: the second crash comes soon after the first.
    fn crashes_again(&self, call: &Call, this_write: bool) -> bool {
        let soon = 1 + self.plan.seed as usize % SECOND_CRASHES;
        this_write && self.instances == 1 || call.writes() && self.instances == 2 && self.writes_of_instance == soon
    }

    /// P5.
    fn stale(&self, call: &Call, this_write: bool) -> Fate {
        if this_write && self.instances == 1 {
            return Fate::CrashAfter;
        }
        let lists = !call.watch && call.method == Method::GET && call.name.is_empty();
        let frozen = self.frozen.filter(|_| self.instances > 1 && lists && self.active());
        frozen.map_or(Fate::Pass, Fate::Stale)
    }

    fn lease_fate(&mut self, what: LeaseFault, call: &Call, instance: usize, now: Timestamp) -> Fate {
        if !call.is_lease() {
            if call.writes() && self.writes == self.plan.k && self.begun.is_none() {
                self.begun = Some(now);
                // The lease is lost while this write is under way.
                if what == LeaseFault::Lost {
                    return Fate::Slow(3.0);
                }
            }
            return Fate::Pass;
        }
        if !self.active() || instance != 0 {
            return Fate::Pass;
        }
        match what {
            LeaseFault::Lost => Fate::Bad(Bad::Reset),
            LeaseFault::Slow => Fate::Slow(3.9),
            LeaseFault::Refused => Fate::Answer(403, "leases are forbidden"),
            LeaseFault::SkewOne | LeaseFault::Stolen => Fate::Pass,
        }
    }

    fn bad_call(&mut self, times: BadCalls, call: &Call, now: Timestamp) -> Fate {
        if !call.is_lease() && self.calls == self.plan.k {
            self.begun = Some(now);
            self.left = match times {
                BadCalls::Once => 1,
                BadCalls::Twice => 2,
                BadCalls::Minute => usize::MAX,
            };
        }
        let late = self.begun.is_some_and(|at| now.duration_since(at) > seconds(60.0));
        if self.left == 0 || late || call.is_lease() {
            return Fate::Pass;
        }
        self.left -= 1;
        Fate::Bad(self.plan.bad)
    }

    fn storm(&mut self) -> Fate {
        let bad = Bad::ALL[self.dice.below(Bad::ALL.len())];
        if self.dice.below(10) < 3 { Fate::Bad(bad) } else { Fate::Pass }
    }
}

impl Faults {
    /// P27.
    fn overloaded(&mut self, what: Overload) -> Fate {
        let dice = self.dice.below(10);
        match what {
            Overload::Late if dice < 7 => Fate::AnsweredAfter(6.0),
            Overload::TooMany if dice < 8 => Fate::Answer(429, "too many requests, please try again later"),
            Overload::Timeout if dice < 4 => Fate::Answer(504, "the request timed out"),
            Overload::Timeout if dice < 7 => Fate::DoneAndTimedOut,
            Overload::Late | Overload::TooMany | Overload::Timeout => Fate::Pass,
        }
    }
}

fn webhook(what: Webhook) -> Fate {
    match what {
        Webhook::Deny => Fate::Answer(403, "admission webhook \"no.example.com\" denied the request"),
        Webhook::Mutate => Fate::Mutate,
        Webhook::Timeout => Fate::Answer(500, "failed calling webhook \"no.example.com\": context deadline exceeded"),
    }
}

fn forbidden(what: Forbidden, call: &Call, writes_route: bool) -> Fate {
    let denied = match what {
        Forbidden::Route => writes_route,
        Forbidden::Status => call.plural == "fleetrollouts" && call.method != Method::GET,
        Forbidden::Lease => call.is_lease(),
        Forbidden::Member => call.plural == "memberclusters",
    };
    if denied { Fate::Answer(403, "is forbidden: User \"hub\" cannot do that") } else { Fate::Pass }
}
