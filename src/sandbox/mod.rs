//! A world in one process, for the demo and the simulator: the hub sees only HTTP, so it runs here unchanged.
//!
//! Nothing but `cutover demo` and tests may use it.

pub mod api;
pub mod prometheus;
