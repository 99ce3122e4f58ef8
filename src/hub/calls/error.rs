//! How a call to the API server can fail, and what that says about it.

use crate::{hub::lease::CALL_DEADLINE, text::one_line};

/// Characters of the API server's words that are kept.
const WORDS: usize = 300;

/// Why a call changed nothing, or is not known to have changed something.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(in crate::hub) enum CallError {
    /// Another process leads, or this one is stopping.
    #[error("this process does not lead")]
    NotLeading,
    /// The object is not the one that was read; the decision is made anew.
    #[error("the object changed meanwhile")]
    Conflict,
    /// The object is gone.
    #[error("the object is gone")]
    Gone,
    /// No answer in time; it may have happened all the same.
    #[error("the API server did not answer within {}s", CALL_DEADLINE.as_secs())]
    Late,
    /// The API server has too much to do, and did nothing or says so.
    #[error("the API server is overloaded: {0}")]
    Overloaded(String),
    /// The API server, or an admission webhook, said no.
    #[error("{0}")]
    Refused(String),
    /// The API server could not be reached, or failed.
    #[error("the API server could not be called: {0}")]
    Failed(String),
}

impl From<kube::Error> for CallError {
    fn from(error: kube::Error) -> Self {
        let kube::Error::Api(status) = error else { return Self::Failed(printable(&error.to_string())) };
        match status.code {
            404 => Self::Gone,
            409 => Self::Conflict,
            // It may answer with any code.
            _ if status.message.starts_with("admission webhook") => Self::Refused(printable(&status.message)),
            429 | 503 | 504 => Self::Overloaded(printable(&status.message)),
            400..=499 => Self::Refused(printable(&status.message)),
            // etcd's own limit; what is too large stays so.
            500 if status.message.contains("request is too large") => Self::Refused(printable(&status.message)),
            _ => Self::Failed(printable(&status.message)),
        }
    }
}

/// The answer without anything that the API server said, but its code: with the remedy where the code tells it.
pub(super) fn without_words(error: kube::Error, name: &str) -> kube::Error {
    let kube::Error::Api(mut status) = error else { return error };
    let remedy = match status.code {
        401 | 403 => "give the hub that right (config/rbac/hub-tracking-copies.yaml), or leave `primaryCopies` out",
        _ => "its words are not shown, because they may repeat a Secret; its audit log has them",
    };
    status.message = format!("{name}: the API server answered {}; {remedy}", status.code);
    kube::Error::Api(status)
}

/// The API server repeats what admission webhooks said, and they may say anything.
fn printable(text: &str) -> String {
    one_line(text, WORDS)
}

impl CallError {
    /// Nobody knows whether the call did what it was to do.
    pub(in crate::hub) const fn is_lost(&self) -> bool {
        match self {
            Self::Late | Self::Overloaded(_) | Self::Failed(_) => true,
            Self::NotLeading | Self::Conflict | Self::Gone | Self::Refused(_) => false,
        }
    }

    /// For the metric `actions`.
    pub(in crate::hub) const fn outcome(&self) -> &'static str {
        match self {
            Self::NotLeading => "not_leading",
            Self::Conflict | Self::Gone => "conflict",
            Self::Late | Self::Overloaded(_) | Self::Failed(_) => "failed",
            Self::Refused(_) => "refused",
        }
    }
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    #[test]
    fn what_an_api_server_answers_says_whether_it_is_tried_again() {
        let said = |code, message: &str| {
            CallError::from(kube::Error::Api(Status { code, message: message.to_owned(), ..Status::default() }.boxed()))
        };
        let refused = |message: &str| CallError::Refused(message.to_owned());
        let too_large = "Request entity too large: limit is 3145728";
        let denied = "admission webhook \"weights.example.com\" denied the request: not today";
        for (code, message, expected) in [
            (403, "services is forbidden", refused("services is forbidden")),
            (400, denied, refused(denied)),
            (503, denied, refused(denied)),
            (413, too_large, refused(too_large)),
            (422, "spec.rules: Too many: 17", refused("spec.rules: Too many: 17")),
            (404, "gone", CallError::Gone),
            (409, "the object has been modified", CallError::Conflict),
            (429, "too many requests", CallError::Overloaded("too many requests".to_owned())),
            (504, "timeout", CallError::Overloaded("timeout".to_owned())),
            (500, "etcdserver: request is too large", refused("etcdserver: request is too large")),
            (502, "a\nb\u{1b}[31m", CallError::Failed(r"a b\u{1b}[31m".to_owned())),
        ] {
            assert_eq!(said(code, message), expected, "{code}");
        }
        assert_eq!(said(400, &"x".repeat(9_000)), refused(&format!("{}…", "x".repeat(299))));
    }
}
