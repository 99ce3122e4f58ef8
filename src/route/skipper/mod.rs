//! Skipper: a RouteGroup, one Ingress a member, one Ingress with weights, or one beside the user's own.

mod affinity;
mod backend_weights;
pub(super) mod canary;
mod chain;
mod conditions;
mod groups;
mod matched;
mod paths;
pub(super) mod per_member;
mod predicates;
pub(super) mod route_group;
pub(super) mod segments;
pub(super) mod weighted;

use std::time::Duration;

use super::capability::Applied;

/// Skipper reads its routes every three seconds (`-source-poll-timeout`, 3000 ms by default), and says on no object that it
/// did. The rest is what the reading takes.
const APPLIED: Applied = Applied::Polled { within: Duration::from_secs(4) };
const OBEYED: &str = "nothing says it. Skipper reads its routes every 3 s unless `-source-poll-timeout` says otherwise; the hub waits for 4 s";
