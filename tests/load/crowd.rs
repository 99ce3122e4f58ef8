//! Many rollouts for an hour, with faults: what the hub needs does not grow, and everything comes to rest.

use jiff::SignedDuration;

use super::{
    count::Count,
    drive::Drive,
    figures::{Checks, float, kib, mean},
    memory::live,
    objects::{Pace, Size},
    people::{FULL, People},
    rollout::{Rollout, weights_of},
    troubles::Troubles,
};

const MEMBERS: usize = 10;
/// An API server keeps events for an hour, unless `--event-ttl` says otherwise. This is less, so that their number does not
/// grow all the time.
const EVENTS_LIVE: SignedDuration = SignedDuration::from_mins(10);
/// Seconds of a quarter of the hour.
const QUARTER: i64 = 900;
/// In the last seconds of a quarter memory is looked at so often.
const LAST: i64 = 300;
const LOOK_EVERY: i64 = 30;
/// Seconds between two rows.
const ROW_EVERY: i64 = 300;
/// Seconds in which everything must be at rest, before the hour and after it.
const REST: i64 = 1800;
/// Seconds at rest in which the hub may still write, and those in which it may not.
const CALM: i64 = 60;
const QUIET: i64 = 600;

/// Live bytes at the end, beside those after a quarter of the hour; those of the last hub, beside those of the first.
const GROWTH: f64 = 1.05;
/// Bytes of a RolloutRequest, which is kept for a day: in the hub, and with the API server's maps of its managed fields.
const REQUEST_IN_HUB: f64 = 2.0 * 1024.0;
const REQUEST: f64 = 12.0 * 1024.0;
/// Bytes of a status: ten records of ten members, sixteen answers, sixteen transitions.
const STATUS: f64 = 32.0 * 1024.0;
const EVENTS_PER_RUN: f64 = 20.0;
/// Requests for each run in both halves of the hour.
const HALVES_DIFFER: f64 = 0.2;

struct Crowd {
    drive: Drive,
    people: People,
    largest_status: usize,
    longest_history: usize,
}

/// What one quarter of the hour left behind.
struct Quarter {
    /// Live bytes in its last minutes, on average.
    live: f64,
    count: Count,
}

/// The whole of it.
pub fn crowd(rollouts: usize, seed: u64, checks: &mut Checks) {
    println!("crowd: {rollouts} rollouts, {MEMBERS} members, an hour, seed {seed}");
    let size = Size { rollouts, members: MEMBERS };
    let (drive, people) = (Drive::begin(size, seed, true, EVENTS_LIVE), People::new(size, seed));
    let mut crowd = Crowd { drive, people, largest_status: 0, longest_history: 0 };
    checks.check(crowd.warm_up(), "every history is full before the hour");
    let mut troubles = Troubles::new(seed, MEMBERS, crowd.drive.world.now());
    crowd.hour(&mut troubles, checks);
    let kept = Count::of(&crowd.drive).kept_requests;
    crowd.drive.end_troubles();
    checks
        .check(crowd.come_to_rest(), "every rollout comes to rest on the weights of its status, and all was delivered");
    checks.check(crowd.is_quiet(), "at rest the hub writes nothing");
    let last = crowd.drive.kill();
    println!("KiB of each hub as it ended: {}", troubles.of_hubs(last));
    let most = float(troubles.first_hub()) * GROWTH + kept * REQUEST_IN_HUB;
    checks.at_most("KiB of the last hub", kib(last), most / 1024.0);
}

impl Crowd {
    fn moment(&mut self) {
        self.drive.moment(1);
        self.people.look(&self.drive.world, &self.drive.stored);
    }

    fn all(&self, what: impl Fn(Rollout<'_>) -> bool) -> bool {
        self.drive.stored.rollouts.values().all(|rollout| what(Rollout(rollout)))
    }

    /// Short runs without faults, until every history is full: a history that grows is no leak.
    fn warm_up(&mut self) -> bool {
        self.drive.give_birth();
        let is_full = (0..REST).any(|_| {
            self.moment();
            self.all(|rollout| rollout.records() >= FULL && rollout.phase() == "Succeeded")
        });
        self.people.pace = Pace::Ordinary;
        is_full
    }

    fn hour(&mut self, troubles: &mut Troubles, checks: &mut Checks) {
        println!(
            "minute  live KiB  runs  requests  watches  failed  events  kept requests  status B  records  delivered"
        );
        self.drive.world.calls().fail = true;
        let start = Count::of(&self.drive);
        let quarters = [(); 4].map(|()| self.quarter(troubles));
        self.judge(start, &quarters, checks);
    }

    fn quarter(&mut self, troubles: &mut Troubles) -> Quarter {
        let mut looks = Vec::new();
        for second in 1..=QUARTER {
            self.moment();
            troubles.look(&mut self.drive);
            if second > QUARTER - LAST && second % LOOK_EVERY == 0 {
                self.drive.forget();
                looks.push(live());
            }
            if second % ROW_EVERY == 0 {
                self.row();
            }
        }
        Quarter { live: mean(&looks), count: Count::of(&self.drive) }
    }

    fn row(&mut self) {
        let (count, stored, calls) = (Count::of(&self.drive), &self.drive.stored, self.drive.world.calls());
        let (status, records) = (stored.largest_status(), stored.longest_history());
        self.largest_status = self.largest_status.max(status);
        self.longest_history = self.longest_history.max(records);
        let delivered = self.drive.world.members().delivered;
        println!(
            "{:6} {:9.0} {:5} {:9} {:8} {:7} {:7} {:14} {status:9} {records:8} {delivered:6}",
            self.drive.minutes(),
            kib(live()),
            count.runs,
            count.requests,
            count.watches,
            calls.failed,
            stored.events(),
            count.kept_requests,
        );
    }

    fn judge(&self, start: Count, quarters: &[Quarter; 4], checks: &mut Checks) {
        let [first, half, _, last] = quarters;
        let kept = (last.count.kept_requests - first.count.kept_requests) * REQUEST;
        checks.at_most("live KiB at the end", last.live / 1024.0, (first.live * GROWTH + kept) / 1024.0);
        let before = half.count.requests_per_run(start);
        checks.near(
            "requests for each run in the second half",
            last.count.requests_per_run(half.count),
            before,
            HALVES_DIFFER,
        );
        checks.at_most("events for each run", last.count.events_per_run(start), EVENTS_PER_RUN);
        checks.at_most("bytes of the largest status", float(self.largest_status), STATUS);
        checks.at_most("records of the longest history", float(self.longest_history), float(FULL));
        let open = self.drive.stored.requests.values().filter(|is_answered| !**is_answered).count();
        checks.at_most(
            "RolloutRequests without an answer",
            float(open),
            float(self.drive.stored.rollouts.len()) / 10.0,
        );
        checks.at_most("RolloutRequests", last.count.kept_requests, float(self.people.pressed));
    }

    /// People declare nothing more, and take a failure for what it is.
    fn come_to_rest(&mut self) -> bool {
        self.people.declare = false;
        let rests = (0..REST).any(|_| {
            self.moment();
            self.drive.is_settled() && self.all(is_at_rest) && self.routes_show_what_is_desired()
        });
        let others = self.drive.stored.rollouts.values().filter(|rollout| !is_at_rest(Rollout(rollout)));
        others.for_each(|rollout| println!("    {} {}", rollout["metadata"]["name"], Rollout(rollout).why()));
        rests
    }

    fn routes_show_what_is_desired(&self) -> bool {
        let stored = &self.drive.stored;
        stored.rollouts.iter().all(|(key, rollout)| Rollout(rollout).desired() == weights_of(&stored.routes[key]))
    }

    fn is_quiet(&mut self) -> bool {
        (0..CALM).for_each(|_| self.moment());
        let rested = self.drive.world.now();
        (0..QUIET).for_each(|_| self.moment());
        let late = self.drive.stored.hub_wrote.as_ref().filter(|(at, _)| *at > rested);
        if let Some((at, what)) = late {
            println!("    at {at} the hub wrote {what}");
        }
        late.is_none()
    }
}

fn is_at_rest(rollout: Rollout<'_>) -> bool {
    rollout.is_observed() && rollout.is_delivered() && ["Succeeded", "Failed", "RolledBack"].contains(&rollout.phase())
}
