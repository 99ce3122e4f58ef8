//! People: they declare the other half of the members, and press what a rollout waits for.

use std::collections::BTreeMap;

use http::Method;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::{
    dice::Dice,
    objects::{Pace, ROLLOUTS, Size},
    rollout::Rollout,
    stored::{Key, Stored},
    world::World,
};

/// Somebody presses when it has waited for this time, in which whatever was wrong is repaired.
const PATIENCE: SignedDuration = SignedDuration::from_mins(2);
/// Of so many declared targets one has a canary that fails.
const BAD_ONE_IN: u64 = 6;
/// Records of a full history.
pub const FULL: usize = 10;

/// Whoever looks after one rollout.
#[derive(Default)]
struct Person {
    declared_first: bool,
    /// Declared the last target at the ordinary pace.
    is_ordinary: bool,
    declares_at: Option<Timestamp>,
    waits_since: Option<Timestamp>,
}

pub struct People {
    size: Size,
    dice: Dice,
    persons: BTreeMap<Key, Person>,
    pub pace: Pace,
    /// They declare other targets, and do not accept a failure.
    pub declare: bool,
    /// How often they pressed something.
    pub pressed: usize,
}

impl People {
    pub fn new(size: Size, seed: u64) -> Self {
        let dice = Dice::new(seed + 1);
        Self { size, dice, persons: BTreeMap::new(), pace: Pace::Quick, declare: true, pressed: 0 }
    }

    pub fn look(&mut self, world: &World, stored: &Stored) {
        for (key, rollout) in &stored.rollouts {
            let rollout = Rollout(rollout);
            if !rollout.is_observed() {
                continue;
            }
            match rollout.phase() {
                "Succeeded" if self.declare => self.succeeded(world, key, rollout),
                "Failed" | "RolledBack" if self.declare => self.press(world, key, rollout, "Retry"),
                "Held" => self.press(world, key, rollout, "Retry"),
                "Paused" => self.press(world, key, rollout, "Resume"),
                _ => self.persons.entry(key.clone()).or_default().waits_since = None,
            }
        }
    }

    fn succeeded(&mut self, world: &World, key: &Key, rollout: Rollout<'_>) {
        if self.pace == Pace::Quick && rollout.records() >= FULL {
            return;
        }
        let (now, person) = (world.now(), self.persons.entry(key.clone()).or_default());
        person.waits_since = None;
        let pause = match self.pace {
            Pace::Quick => 0,
            // At first all are at rest: the rollouts shall not go on together.
            Pace::Ordinary if !person.is_ordinary => self.dice.between(0, 400),
            Pace::Ordinary => self.dice.between(120, 300),
        };
        let at = *person.declares_at.get_or_insert(now + SignedDuration::from_secs(pause.cast_signed()));
        if at <= now {
            person.declares_at = None;
            person.is_ordinary = self.pace == Pace::Ordinary;
            person.declared_first = !person.declared_first;
            let second = !person.declared_first;
            declare(world, self.size, key, second, self.pace);
            self.spoil(world, key, second);
        }
    }

    /// Makes a canary bad now and then.
    fn spoil(&mut self, world: &World, (_, name): &Key, second: bool) {
        if self.pace == Pace::Ordinary && self.dice.below(BAD_ONE_IN) == 0 {
            let half = self.size.half(second);
            let member = half.start as u64 + self.dice.below(half.len() as u64);
            world.members().bad.insert((name.clone(), format!("m{member}")));
        }
    }

    /// Repairs what failed, and presses; not again and again.
    fn press(&mut self, world: &World, key: &Key, rollout: Rollout<'_>, verb: &str) {
        let (now, person) = (world.now(), self.persons.entry(key.clone()).or_default());
        if *person.waits_since.get_or_insert(now) + PATIENCE <= now {
            person.waits_since = Some(now);
            self.pressed += 1;
            world.members().bad.retain(|(service, _)| *service != key.1);
            press(world, key, rollout, verb);
        }
    }
}

/// One half of the members shall have all traffic.
pub fn declare(world: &World, size: Size, (namespace, name): &Key, second: bool, pace: Pace) {
    let path = format!("{ROLLOUTS}/{namespace}/fleetrollouts/{name}");
    world.call(Method::PATCH, &path, Some(&json!({"spec": size.spec(name, second, pace)})));
}

/// A request to the last run.
pub fn press(world: &World, (namespace, name): &Key, rollout: Rollout<'_>, verb: &str) {
    let named = json!({"name": name, "uid": rollout.0["metadata"]["uid"]});
    let spec = json!({"rollout": named, "verb": verb, "run": rollout.run(), "requestedBy": "ann"});
    let request = json!({"apiVersion": "cutover.dev/v1alpha1", "kind": "RolloutRequest",
                         "metadata": {"generateName": "press-"}, "spec": spec});
    world.call(Method::POST, &format!("{ROLLOUTS}/{namespace}/rolloutrequests"), Some(&request));
}
