//! Skipper: a RouteGroup, one Ingress a member, or one Ingress with weights.

mod affinity;
mod chain;
mod conditions;
mod groups;
mod matched;
pub(super) mod per_member;
pub(super) mod route_group;
pub(super) mod segments;
pub(super) mod weighted;

use std::time::Duration;

use super::capability::Applied;

/// Skipper reads its routes every three seconds (`-source-poll-timeout`, 3000 ms by default), and says on no object that it
/// did. The rest is what the reading takes.
const APPLIED: Applied = Applied::Polled { within: Duration::from_secs(4) };
