//! What befalls the instances of the hub: deaths, stops, clocks and leases.

use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::{
    super::{
        deeds,
        plan::{
            FAILOVERS, Fault,
            sorts::{ClockFault, Failover, LeaseFault},
        },
    },
    Drive,
};

impl Drive {
    pub(super) fn deaths(&mut self, now: Timestamp) {
        let crashed = self.world.faults().take_crash();
        if let Some(index) = crashed {
            self.instances.retain(|instance| instance.index != index);
            let pause = self.world.faults().dice.below(4);
            self.reborn_at = Some(now + SignedDuration::from_secs(i64::try_from(pause).unwrap_or(0)));
            if let Fault::Failover(what) = self.world.plan.fault {
                self.freeze(what);
            }
        }
        if self.reborn_at.is_some_and(|at| at <= now) {
            self.reborn_at = None;
            self.give_birth();
        }
    }

    /// P5: what the next instance reads first is some changes behind, or from before the rollout was made anew.
    fn freeze(&self, what: Failover) {
        let back = match what {
            Failover::Behind => 1 + self.world.plan.seed as usize % FAILOVERS,
            Failover::Recreated => 0,
        };
        let history = self.world.server.history(0);
        self.world.faults().frozen = Some(history.iter().rev().nth(back).map_or(1, |change| change.revision));
        if what == Failover::Recreated {
            deeds::recreate(&self.world);
        }
    }

    /// P6: the leader that was stopped goes on.
    pub(super) fn sleepers(&mut self, now: Timestamp) {
        let world = &self.world;
        let due = {
            let faults = world.faults();
            faults.begun.is_some_and(|at| now.duration_since(at) >= deeds::horizon(&world.plan))
        };
        for instance in self.instances.iter().filter(|_| due) {
            let stopped = world.faults().is_stopped(instance.index);
            if stopped {
                instance.wake(world, now);
            }
        }
    }

    /// P15: the clock of the machine jumps, stands or slews. P7: one that was wrong from the start is corrected.
    pub(super) fn clocks(&mut self, now: Timestamp) {
        match self.world.plan.fault {
            Fault::Lease(_) if self.world.faults().relieved == Some(now) => {
                self.instances.iter().for_each(|instance| instance.clock.set_wrong(SignedDuration::ZERO));
            }
            Fault::Clock(what) => self.set_clocks(what, now),
            _ => {}
        }
    }

    fn set_clocks(&mut self, what: ClockFault, now: Timestamp) {
        let (begun, active) = {
            let faults = self.world.faults();
            (faults.begun, faults.active())
        };
        let Some(begun) = begun else { return };
        let jumps = what == ClockFault::Across && self.wrong.is_zero() && active;
        self.wrong = if active { wrong(what, now.duration_since(begun)) } else { SignedDuration::ZERO };
        for instance in &self.instances {
            instance.clock.set_wrong(self.wrong);
        }
        if let Some(index) = self.instances.last().map(|instance| instance.index).filter(|_| jumps) {
            self.world.faults().kill(index);
            self.instances.clear();
            self.reborn_at = Some(now);
        }
    }

    /// P7: somebody else takes the lease.
    pub(super) fn leases(&self) {
        let steals = self.world.plan.fault == Fault::Lease(LeaseFault::Stolen);
        let active = self.world.faults().active();
        if steals && active && self.world.age().fract() < 0.1 {
            let path = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/cutover-hub";
            if self.world.patch(path, &json!({"spec": {"holderIdentity": "hub-of-another"}}), "another") == 200 {
                self.world.faults().strike();
            }
        }
    }
}

/// How far the clock is off when so much time has passed.
fn wrong(what: ClockFault, passed: SignedDuration) -> SignedDuration {
    let hour = SignedDuration::from_hours(1);
    match what {
        ClockFault::Ahead | ClockFault::Across => hour,
        ClockFault::Back => -hour,
        ClockFault::Behind => -SignedDuration::from_mins(2),
        ClockFault::TenYears => hour * (24 * 3650),
        ClockFault::Frozen => -passed,
        ClockFault::Slew => passed / 10,
    }
}
