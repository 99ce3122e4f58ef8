//! Why there is no number.

use super::namespace_label::Unlimited;
use crate::{api::Duration, http::HttpError};

/// Why there is no number: neither a pass nor a failure. Holds nothing of an answer's body but numbers and Prometheus' own
/// words on a refused query, cut and made harmless.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub(crate) enum Missing {
    /// It does not answer.
    #[error("source down: {0}")]
    Down(#[from] HttpError),
    /// It, or the API server before it, does not know the credentials.
    #[error("Prometheus answered with status 401: it does not know the credentials; renew their Secret")]
    Unauthorized,
    /// It, or the API server before it, knows the credentials and does not allow them to ask.
    #[error("Prometheus answered with status 403: the credentials may not query; extend the role of their account")]
    Forbidden,
    /// It answered with another status than 200.
    #[error("Prometheus answered with status {0}")]
    Status(u16),
    /// It refused the query.
    #[error("Prometheus refused the query ({kind}: {text}); correct the query")]
    Refused {
        /// What Prometheus calls it, such as `bad_data`.
        kind: String,
        /// What it says about it.
        text: String,
    },
    /// It would show series of other namespaces.
    #[error("the query is not sent, for it cannot be limited to the rollout's namespace: {0}")]
    Unlimited(#[from] Unlimited),
    /// The answer is not one of Prometheus.
    #[error("UnexpectedResponse: not an answer of the Prometheus query API")]
    Unexpected,
    /// It says itself that the answer is not whole.
    #[error("partial: the answer carries {0} warning(s), so it may not be whole")]
    Partial(usize),
    /// A range, a string, or something newer.
    #[error("the query gives a {0}; one number or an instant vector is expected")]
    Type(String),
    /// More than one series where one number is wanted.
    #[error("Ambiguous: {0} series, where one number is wanted; sum them or select one")]
    Ambiguous(usize),
    /// An answer about several services that does not say which number is whose.
    #[error("the query is for all services, but its series have no label service; sum by (service)")]
    NotByService,
    /// More than are read.
    #[error("{0} series, of which at most {most} are read; sum them", most = super::answer::SERIES)]
    TooMany(usize),
    /// No series at all.
    #[error("no series")]
    NoSeries,
    /// A series without a readable value.
    #[error("a series without a readable value")]
    NoValue,
    /// A number that cannot be what it is said to be, such as a negative count.
    #[error("{0}")]
    Impossible(String),
    /// It was not sent in time, for others had their turn at this member.
    #[error("the query was not sent within {} s: others to this member were before it", .0.as_secs())]
    NotSent(std::time::Duration),
    /// 0/0 and the like.
    #[error("the value is {0}, not a number to judge")]
    NotANumber(f64),
    /// The hub's clock is so many seconds behind its clock.
    #[error(
        "the clock of the hub is {0} s behind that of this Prometheus, so the query was for the past; synchronise the clocks"
    )]
    ClockBehind(i64),
    /// The hub's clock is so many seconds ahead of its clock.
    #[error(
        "the clock of the hub is {0} s ahead of that of this Prometheus, so the query was for the future; synchronise the clocks"
    )]
    ClockAhead(i64),
    /// For another time than the one requested.
    #[error("Stale: the sample is {0} away from the time of the query")]
    Stale(Duration),
    /// A native histogram.
    #[error("native histograms are not supported; query the classic buckets by le")]
    NativeHistogram,
    /// Buckets that are none.
    #[error("the buckets cannot be read: {0}")]
    Buckets(&'static str),
}
