//! What can happen to the world or to the hub.

use cutover::api::Verb;

use super::super::world::{Crash, Metrics, Writes};

/// One thing that can happen to the world or to the hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Move {
    Wait(i64),
    /// The hub's clock jumps backwards by a minute.
    SetClockBack,
    Metrics(Metrics),
    Write(usize, Writes),
    Route(Change),
    Ask(Verb),
    Down(Down),
    Edit(Edit),
    Declare(Target),
    Crash(Crash),
    Delete,
    Suspend,
    PauseSpec,
    RefuseRehearsals,
    LoseBackends,
    BreakSpec,
    ChangeIdentity,
    RestoreOldStatus,
}

/// What becomes of the first route, beside edits of its weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Change {
    /// It goes, and the hub may create it.
    Removed,
    /// It goes, and it is not the hub's to create.
    RemovedByItsOwner,
    /// Its owner applies the first manifest once more.
    AppliedAnew,
    /// Another hub writes it.
    WrittenByOtherHub,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Down {
    Canary,
    Primary,
    All,
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Edit {
    Up,
    Lower,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Target {
    New,
    Old,
    Third,
}

/// Every move in a world with so many routes.
pub fn moves(routes: usize) -> Vec<Move> {
    let verbs = [Verb::Abort, Verb::Rollback, Verb::Pause, Verb::Resume, Verb::Promote, Verb::Retry, Verb::Adopt];
    let metrics = [
        Metrics::Good,
        Metrics::CanaryFails,
        Metrics::CanaryBreaksGuard,
        Metrics::AllFail,
        Metrics::CanarySilent,
        Metrics::TooFew,
    ];
    let writes = [
        Writes::Confirmed,
        Writes::Refused,
        Writes::Conflict,
        Writes::AnswerLost,
        Writes::NotAccepted,
        Writes::AcceptedFalse,
    ];
    let changes = [Change::Removed, Change::RemovedByItsOwner, Change::AppliedAnew, Change::WrittenByOtherHub];
    let crashes = [Crash::AfterStatus, Crash::AfterAction(0), Crash::AfterAction(1)];
    let mut moves = vec![
        Move::SetClockBack,
        Move::Delete,
        Move::Suspend,
        Move::PauseSpec,
        Move::RefuseRehearsals,
        Move::LoseBackends,
        Move::BreakSpec,
        Move::ChangeIdentity,
        Move::RestoreOldStatus,
    ];
    moves.extend([1, 11, 61].map(Move::Wait));
    moves.extend(verbs.map(Move::Ask));
    moves.extend(metrics.map(Move::Metrics));
    moves.extend((0..routes).flat_map(|route| writes.map(|mode| Move::Write(route, mode))));
    moves.extend(changes.map(Move::Route));
    moves.extend([Down::Canary, Down::Primary, Down::All, Down::None].map(Move::Down));
    moves.extend([Edit::Up, Edit::Lower].map(Move::Edit));
    moves.extend([Target::New, Target::Old, Target::Third].map(Move::Declare));
    moves.extend(crashes.map(Move::Crash));
    moves
}
