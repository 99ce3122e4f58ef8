//! One rollout for two weeks, with a run a day: each day costs what the third one did.

use jiff::{SignedDuration, Timestamp};

use super::{
    count::Count,
    drive::Drive,
    figures::{Checks, float, kib},
    memory::live,
    objects::{Pace, Size},
    people::{FULL, declare, press},
    rollout::Rollout,
    stored::Key,
};

const SIZE: Size = Size { rollouts: 1, members: 3 };
const DAYS: usize = 14;
const DAY: SignedDuration = SignedDuration::from_hours(24);
/// As an API server keeps events by default.
const EVENTS_LIVE: SignedDuration = SignedDuration::from_hours(1);
/// Seconds of a moment while something happens, and between runs.
const BUSY: i64 = 1;
const IDLE: i64 = 60;
/// Somebody resumes what was paused after this time.
const PAUSED: SignedDuration = SignedDuration::from_mins(2);

/// The first day that counts: what is kept for a day is there.
const FIRST: usize = 3;
/// Live bytes of a later day, beside those of the third: the history grows up to its ten records, each of which is held some
/// 18 KiB large in the caches of hub and API server and in the watch history.
const GROWTH: f64 = 0.03;
/// The same once the history is full.
const GROWTH_WHEN_FULL: f64 = 0.002;
const REQUESTS_DIFFER: f64 = 0.05;
/// Bytes of a status: of each of its ten records also how the weights moved and what people requested, half a KiB.
const STATUS: f64 = 24.0 * 1024.0;
const EVENTS: f64 = 12.0;
/// Pause and Resume of a day, which are kept for a day.
const KEPT: f64 = 4.0;

/// What one day left behind.
struct Day {
    live: usize,
    requests: f64,
    watches: f64,
    events: f64,
    kept_requests: f64,
    status: usize,
    records: usize,
    is_good: bool,
}

struct Weeks {
    drive: Drive,
    key: Key,
    /// Runs that ended before this day.
    runs: u64,
    paused_at: Option<Timestamp>,
    is_resumed: bool,
}

/// The whole of it.
pub fn weeks(seed: u64, checks: &mut Checks) {
    println!("weeks: one rollout, {} members, a run a day for {DAYS} days, seed {seed}", SIZE.members);
    let mut drive = Drive::begin(SIZE, seed, false, EVENTS_LIVE);
    drive.give_birth();
    let key = ("team-0".to_owned(), "shop-0".to_owned());
    let mut weeks = Weeks { drive, key, runs: 0, paused_at: None, is_resumed: false };
    println!("day  live KiB  requests  watches  events  kept requests  status B  records");
    let days: Vec<Day> = (1..=DAYS).map(|number| weeks.day(number)).collect();
    judge(&days, checks);
    println!("the hub had {:.0} KiB", kib(weeks.drive.kill()));
}

impl Weeks {
    fn day(&mut self, number: usize) -> Day {
        let (before, end) = (Count::of(&self.drive), self.drive.world.now() + DAY);
        if number > 1 {
            declare(&self.drive.world, SIZE, &self.key, number % 2 == 1, Pace::Ordinary);
        }
        (self.runs, self.paused_at, self.is_resumed) = (self.drive.stored.runs(), None, false);
        let mut busy = true;
        while self.drive.world.now() < end {
            self.drive.moment(if busy { BUSY } else { IDLE });
            busy = self.pause_and_resume() || !self.drive.is_settled();
        }
        self.drive.forget();
        let day = self.ended(before);
        println!(
            "{number:3} {:9.0} {:9} {:8} {:7} {:14} {:9} {:8}",
            kib(day.live),
            day.requests,
            day.watches,
            day.events,
            day.kept_requests,
            day.status,
            day.records
        );
        day
    }

    /// Somebody pauses the second step for a while. Whether a run is live, or is to begin.
    fn pause_and_resume(&mut self) -> bool {
        let Some(rollout) = self.drive.stored.rollouts.get(&self.key) else { return true };
        let (rollout, now) = (Rollout(rollout), self.drive.world.now());
        match self.paused_at {
            None if rollout.step() == Some(2) => {
                self.paused_at = Some(now);
                press(&self.drive.world, &self.key, rollout, "Pause");
            }
            Some(at) if !self.is_resumed && at + PAUSED <= now => {
                self.is_resumed = true;
                press(&self.drive.world, &self.key, rollout, "Resume");
            }
            _ => {}
        }
        rollout.has_live_run() || !rollout.is_observed()
    }

    fn ended(&self, before: Count) -> Day {
        let (count, stored) = (Count::of(&self.drive), &self.drive.stored);
        let rollout = Rollout(&stored.rollouts[&self.key]);
        Day {
            live: live(),
            requests: count.requests - before.requests,
            watches: count.watches - before.watches,
            events: count.events - before.events,
            kept_requests: count.kept_requests,
            status: rollout.status_bytes(),
            records: rollout.records(),
            is_good: rollout.phase() == "Succeeded" && stored.runs() == self.runs + 1 && self.is_resumed,
        }
    }
}

fn judge(days: &[Day], checks: &mut Checks) {
    let (third, later) = (&days[FIRST - 1], &days[FIRST..]);
    let most = |of: &dyn Fn(&Day) -> f64| later.iter().map(of).fold(0.0, f64::max);
    checks.check(
        days.iter().skip(1).all(|day| day.is_good),
        "from the second day on a run a day, which was paused and resumed, and succeeded",
    );
    let live = |day: &Day| kib(day.live);
    checks.at_most("live KiB of any later day", most(&live), live(third) * (1.0 + GROWTH));
    let full = live(&days[FULL - 1]);
    checks.at_most("live KiB of the last day", live(&days[DAYS - 1]), full * (1.0 + GROWTH_WHEN_FULL));
    let least = later.iter().map(|day| day.requests).fold(f64::MAX, f64::min);
    checks.near("requests of a day, at least", least, third.requests, REQUESTS_DIFFER);
    checks.near("requests of a day, at most", most(&|day| day.requests), third.requests, REQUESTS_DIFFER);
    checks.near("watches of the last day", days[DAYS - 1].watches, third.watches, REQUESTS_DIFFER);
    checks.at_most("events of a day", most(&|day| day.events), EVENTS);
    checks.at_most("RolloutRequests that are left", most(&|day| day.kept_requests), KEPT);
    checks.at_most("bytes of the status", most(&|day| float(day.status)), STATUS);
    checks.at_most("records of the history", most(&|day| float(day.records)), float(FULL));
}
