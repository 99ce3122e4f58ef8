//! The outer loop: the hub lives on for a moment, and then the world does.

use std::sync::Arc;

use jiff::SignedDuration;

use super::{
    data_plane::DataPlane,
    hub::Hub,
    memory::live,
    objects::Size,
    stored::Stored,
    world::{GENESIS, World},
};

/// Watches can go on from what is younger.
const KEPT: SignedDuration = SignedDuration::from_secs(90);
/// Seconds between two cleanings of the API server.
const CLEAN_EVERY: i64 = 10;

pub struct Drive {
    pub world: Arc<World>,
    pub stored: Stored,
    data_plane: DataPlane,
    hub: Option<Hub>,
    /// Instances that lived.
    pub born: u64,
    leader_election: bool,
    events_live: SignedDuration,
}

impl Drive {
    /// A world without a hub. An event lives for this time.
    pub fn begin(size: Size, seed: u64, leader_election: bool, events_live: SignedDuration) -> Self {
        let world = World::new(seed);
        size.install(&world);
        let (stored, data_plane) = (Stored::default(), DataPlane::default());
        Self { world, stored, data_plane, hub: None, born: 0, leader_election, events_live }
    }

    /// A hub begins, if there is none.
    pub fn give_birth(&mut self) {
        if self.hub.is_none() {
            self.hub = Some(Hub::begin(&self.world, self.born, self.leader_election));
            self.born += 1;
        }
    }

    /// Kills the hub, and gives the bytes that it had.
    pub fn kill(&mut self) -> usize {
        let before = live();
        self.hub = None;
        before - live()
    }

    /// One moment of so many seconds.
    pub fn moment(&mut self, seconds: i64) {
        let until = self.world.now() + SignedDuration::from_secs(seconds);
        if let Some(hub) = &self.hub {
            hub.step(until);
        }
        self.world.set_now(until);
        self.look();
        self.data_plane.step(&self.world, &self.stored);
        if until.as_second() % CLEAN_EVERY < seconds {
            self.stored.expire_events(&self.world, self.events_live);
            self.look();
            self.world.api.forget(until - KEPT);
        }
    }

    fn look(&mut self) {
        for change in self.stored.look(&self.world) {
            self.data_plane.see(&change);
        }
    }

    /// Everything is well from now on, and a hub lives.
    pub fn end_troubles(&mut self) {
        let mut members = self.world.members();
        (members.trouble, members.receiver_trouble) = (None, None);
        members.bad.clear();
        drop(members);
        self.world.calls().fail = false;
        self.give_birth();
    }

    /// The API server forgets everything: whoever is behind begins anew.
    pub fn forget(&mut self) {
        self.look();
        self.world.api.forget(self.world.now() + SignedDuration::from_secs(1));
    }

    /// Minutes since the world began.
    pub fn minutes(&self) -> i64 {
        self.world.now().duration_since(GENESIS).as_mins()
    }

    /// The data plane has taken everything.
    pub fn is_settled(&self) -> bool {
        !self.data_plane.is_behind()
    }
}
