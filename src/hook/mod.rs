//! Calls of hooks: what is sent, how it is signed, and what the answer means. docs/hooks.md is the contract.

mod call;
mod payload;
pub(crate) mod receiver;

pub(crate) use call::{Receiver, call};
pub(crate) use payload::{Moment, payload};

/// Names the call: the same in every try. <https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/>.
pub(crate) const KEY_HEADER: &str = "idempotency-key";
