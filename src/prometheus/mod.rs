//! One Prometheus: its query API and what it answers, read with distrust. Members refer to it,
//! and metrics are queried from it.
//!
//! Not knowing is a value here: [`Missing`] is neither a pass nor a failure.

mod answer;
mod began;
mod body;
mod client;
mod missing;
mod namespace_label;
mod recent;
mod refusals;
mod turns;

pub(crate) use answer::Answer;
pub(crate) use began::Began;
pub(crate) use body::parse;
pub(crate) use client::Prometheus;
pub(crate) use missing::Missing;
