//! Mistakes that a hub could have, to prove that the simulator finds them. A program that people use has none of them:
//! without the feature `mistakes`, which tests alone set, no mistake is ever made.

/// One mistake, at one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// Acts before the decision is recorded.
    ActBeforeRecord,
    /// Adds the step to the weights that the route shows.
    ReadPlusStep,
    /// Reads again and writes the old decision where an object has changed.
    IgnoreConflict,
    /// Writes its status over the one of a new leader, and does not ask whether it still leads.
    OverwriteStatus,
    /// Acts without asking whether it still leads, and writes over what the new leader wrote.
    StaleLeader,
    /// Takes a check that knows nothing as a pass.
    UnknownAsPass,
    /// Takes a Prometheus that does not answer as a failure of the canary.
    MissingAsFail,
    /// Counts the dwell from the start of the process.
    DwellFromStart,
    /// Does not wait until the data plane has taken a weight.
    ConfirmUnseen,
    /// Forgets the finalizer.
    ForgetFinalizer,
    /// Sends the whole object where only the finalizer changes.
    SendSpec,
    /// Gives weight to members that are dead.
    FeedTheDead,
    /// Makes the target the last known good one before it has stood.
    PrimaryAtOnce,
    /// Tries a revision that failed again.
    RetryFailed,
    /// Tries again at once, for ever.
    HotLoop,
    /// Panics where an answer has another shape.
    Panic,
    /// Writes a route before its backend is there.
    RouteBeforeBackend,
    /// Writes the status although nothing has changed.
    RestlessStatus,
    /// Takes no new mark where another life of the hub takes over.
    SilentTakeover,
}

impl Mistake {
    /// Every one.
    pub const ALL: [Self; 19] = [
        Self::ActBeforeRecord,
        Self::ReadPlusStep,
        Self::IgnoreConflict,
        Self::OverwriteStatus,
        Self::StaleLeader,
        Self::UnknownAsPass,
        Self::MissingAsFail,
        Self::DwellFromStart,
        Self::ConfirmUnseen,
        Self::ForgetFinalizer,
        Self::SendSpec,
        Self::FeedTheDead,
        Self::PrimaryAtOnce,
        Self::RetryFailed,
        Self::HotLoop,
        Self::Panic,
        Self::RouteBeforeBackend,
        Self::RestlessStatus,
        Self::SilentTakeover,
    ];
}

/// Whether this mistake is to be made: the one that the environment variable `MISTAKE` names.
#[cfg(feature = "mistakes")]
#[must_use]
pub fn made(mistake: Mistake) -> bool {
    static CHOSEN: std::sync::LazyLock<Option<String>> = std::sync::LazyLock::new(|| std::env::var("MISTAKE").ok());
    CHOSEN.as_ref().is_some_and(|chosen| *chosen == format!("{mistake:?}"))
}

/// No mistake is made.
#[cfg(not(feature = "mistakes"))]
#[must_use]
pub const fn made(_: Mistake) -> bool {
    false
}
