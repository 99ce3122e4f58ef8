//! Bad answers.

/// What is wrong with an answer of the hub's API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bad {
    Conflict,
    TooMany,
    Internal,
    Unavailable,
    GatewayTimeout,
    /// The connection breaks before anything was done.
    Reset,
    /// It was done, and no answer comes.
    Lost,
}

impl Bad {
    pub const ALL: [Self; 7] = [
        Self::Conflict,
        Self::TooMany,
        Self::Internal,
        Self::Unavailable,
        Self::GatewayTimeout,
        Self::Reset,
        Self::Lost,
    ];

    pub const fn status(self) -> Option<u16> {
        match self {
            Self::Conflict => Some(409),
            Self::TooMany => Some(429),
            Self::Internal => Some(500),
            Self::Unavailable => Some(503),
            Self::GatewayTimeout => Some(504),
            Self::Reset | Self::Lost => None,
        }
    }
}
