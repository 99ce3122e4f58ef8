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
