//! A world in one process, for the demo and the simulator: the hub sees only HTTP, so it runs here unchanged.
//!
//! An API server in memory, members that answer and count, a data plane that obeys the routes, and clients. Nothing but
//! `cutover demo` and tests may use it.

pub mod api;
pub mod load;
pub mod member;
pub mod prometheus;
pub mod proxy;
pub mod server;
