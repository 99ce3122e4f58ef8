//! How a move changes the world.

use cutover::rollout::{
    RouteKey,
    input::{Accepted, Mark},
};

use super::{
    super::world::{Crash, World, Writes},
    moves::{Change, Down, Edit, Move},
    state::State,
    worlds::SmallWorld,
};

impl State {
    /// Applies a move; the answer says where the hub dies in the pass after it.
    pub fn disturb(&mut self, what: Move) -> Crash {
        let (small, world) = (self.small, &mut self.world);
        match what {
            Move::Wait(seconds) => {
                world.after(seconds);
                (0..3).for_each(|_| world.probe());
            }
            Move::SetClockBack => drop(world.set_clock_back(60)),
            Move::Metrics(metrics) => world.metrics = metrics,
            Move::Write(index, mode) => will_write(world, index, mode),
            Move::Route(change) => self.change_route(change),
            Move::Ask(verb) => drop(world.ask(verb)),
            Move::Down(down) => world.down = who(small, down).into_iter().map(str::to_owned).collect(),
            Move::Edit(Edit::Up) => drop(world.edit(&[(small.primary, 5), (small.canary, 95)])),
            Move::Edit(Edit::Lower) => drop(world.edit(&[(small.primary, 99), (small.canary, 1)])),
            Move::Declare(target) => {
                small.declare(target, world);
                self.evidence.failed = None;
            }
            Move::Crash(crash) => return crash,
            Move::Delete => world.deleting = true,
            Move::Suspend => world.spec.suspend = !world.spec.suspend,
            Move::PauseSpec => world.spec.paused = !world.spec.paused,
            Move::RefuseRehearsals => world.refuse_rehearsals = !world.refuse_rehearsals,
            Move::LoseBackends => world.unready_backends = true,
            Move::BreakSpec => world.invalid = !world.invalid,
            Move::ChangeIdentity => change_identity(world, small.canary),
            Move::RestoreOldStatus => self.restore_old_status(),
        }
        if let Move::Edit(_) | Move::Route(_) = what {
            self.evidence.resumed = false;
        }
        Crash::Never
    }

    fn change_route(&mut self, change: Change) {
        let key = first(&self.world);
        let world = &mut self.world;
        match change {
            Change::Removed | Change::RemovedByItsOwner => {
                world.creates_routes = change == Change::Removed;
                world.routes.insert(key, None);
            }
            Change::AppliedAnew => drop(world.apply_anew(&key, self.small.first_weights())),
            Change::WrittenByOtherHub => {
                let sequence = world.status.sequence + 1;
                let mark = Mark { hub: "other-hub".to_owned(), rollout: "other".to_owned(), run: 1, sequence };
                world.routes.get_mut(&key).into_iter().flatten().for_each(|route| route.mark = Some(mark.clone()));
            }
        }
    }

    /// What the status forgets nobody can hold against the hub: it restores records, and no evidence.
    fn restore_old_status(&mut self) {
        self.world.status = self.backup.clone();
        self.evidence.closed.clear();
        self.evidence.paused.clear();
        self.evidence.course = None;
        (self.evidence.failed, self.evidence.restored, self.evidence.rises) = (None, true, (0, 0));
        if let Some(primary) = &self.backup.primary {
            self.evidence.primary = primary.clone();
        }
    }
}

fn who(small: &SmallWorld, down: Down) -> Vec<&'static str> {
    match down {
        Down::Canary => vec![small.canary],
        Down::Primary => vec![small.primary],
        Down::All => vec!["eu-1", "eu-2", "eu-3", "primary", "canary"],
        Down::None => Vec::new(),
    }
}

fn first(world: &World) -> RouteKey {
    world.routes.keys().next().unwrap().clone()
}

/// What the data plane says of the present route changes with what it will say of the next write.
fn will_write(world: &mut World, index: usize, mode: Writes) {
    let key = world.routes.keys().nth(index).unwrap().clone();
    let says = match mode {
        Writes::Confirmed => Some(Accepted::Yes),
        Writes::AcceptedFalse => Some(Accepted::No("the listener is gone".to_owned())),
        Writes::IdleRefused | Writes::Refused | Writes::Conflict | Writes::AnswerLost | Writes::NotAccepted => None,
    };
    if let (Some(says), Some(route)) = (says, world.routes.get_mut(&key).and_then(Option::as_mut)) {
        route.accepted = says;
    }
    world.writes.insert(key, mode);
}

fn change_identity(world: &mut World, member: &str) {
    let changed = format!("{}-again", world.identities.get(member).map_or(member, String::as_str));
    world.identities.insert(member.to_owned(), changed);
}
