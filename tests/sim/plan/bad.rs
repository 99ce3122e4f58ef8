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
    /// It was done, and the connection breaks before the answer.
    Lost,
    /// It was done, and no answer comes until the caller gives up.
    Silent,
}

impl Bad {
    pub const ALL: [Self; 8] = [
        Self::Conflict,
        Self::TooMany,
        Self::Internal,
        Self::Unavailable,
        Self::GatewayTimeout,
        Self::Reset,
        Self::Lost,
        Self::Silent,
    ];

    pub const fn status(self) -> Option<u16> {
        match self {
            Self::Conflict => Some(409),
            Self::TooMany => Some(429),
            Self::Internal => Some(500),
            Self::Unavailable => Some(503),
            Self::GatewayTimeout => Some(504),
            Self::Reset | Self::Lost | Self::Silent => None,
        }
    }
}
