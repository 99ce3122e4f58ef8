//! A world in one process: an API server, members that answer and count, a data plane that obeys the routes. The demo and
//! the simulator use it; the hub knows nothing of it.

pub mod load;
pub mod member;
pub mod prometheus;
pub mod proxy;
mod server;
