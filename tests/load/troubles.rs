//! What goes wrong in the hour, by a timetable that the seed decides.

use jiff::{SignedDuration, Timestamp};

use super::{
    dice::Dice,
    drive::Drive,
    figures::kib,
    members::{ReceiverTrouble, Trouble},
};

/// A member is in trouble for so long, and the next one so much later, in seconds: both halves of the hour have as many.
const TROUBLE: u64 = 120;
const TROUBLE_EVERY: u64 = 300;

pub struct Troubles {
    dice: Dice,
    members: usize,
    /// Troubles so far: each time of one member, and of whoever takes events and alerts.
    turn: usize,
    trouble_at: Timestamp,
    well_at: Timestamp,
    kill_at: Timestamp,
    birth_at: Timestamp,
    /// Bytes of each hub that was killed.
    killed: Vec<usize>,
}

fn seconds(seconds: u64) -> SignedDuration {
    SignedDuration::from_secs(seconds.cast_signed())
}

impl Troubles {
    pub fn new(seed: u64, members: usize, now: Timestamp) -> Self {
        let mut dice = Dice::new(seed + 2);
        let kill_at = now + seconds(dice.between(600, 900));
        let trouble_at = now + seconds(TROUBLE);
        Self { dice, members, turn: 0, trouble_at, well_at: now, kill_at, birth_at: now, killed: Vec::new() }
    }

    /// Whatever is due.
    pub fn look(&mut self, drive: &mut Drive) {
        let now = drive.world.now();
        self.trouble_members(drive, now);
        if self.kill_at <= now {
            self.killed.push(drive.kill());
            self.birth_at = now + seconds(self.dice.between(0, 3));
            self.kill_at = now + seconds(self.dice.between(600, 900));
        }
        if self.birth_at <= now {
            drive.give_birth();
        }
    }

    fn trouble_members(&mut self, drive: &Drive, now: Timestamp) {
        let mut members = drive.world.members();
        if self.trouble_at <= now {
            let trouble = if self.turn.is_multiple_of(2) { Trouble::NoPrometheus } else { Trouble::Down };
            members.trouble = Some((format!("m{}", self.turn * 3 % self.members), trouble));
            let kinds =
                [ReceiverTrouble::Hangs, ReceiverTrouble::Fails, ReceiverTrouble::Redirects, ReceiverTrouble::Gone];
            members.receiver_trouble = Some(kinds[self.turn % kinds.len()]);
            (self.turn, self.trouble_at, self.well_at) =
                (self.turn + 1, now + seconds(TROUBLE_EVERY), now + seconds(TROUBLE));
        } else if self.well_at <= now {
            (members.trouble, members.receiver_trouble) = (None, None);
        }
    }

    pub fn first_hub(&self) -> usize {
        self.killed.first().copied().unwrap_or_default()
    }

    /// The bytes of each hub that was killed, and of the last one.
    pub fn of_hubs(&self, last: usize) -> String {
        let all = self.killed.iter().chain([&last]).map(|bytes| format!("{:.0}", kib(*bytes)));
        all.collect::<Vec<_>>().join(" ")
    }
}
