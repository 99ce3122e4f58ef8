//! The simulator's own modules, for plans on a real API server: world, fault layer, judge and end check are the same.
#![allow(
    clippy::match_same_arms,
    clippy::similar_names,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    dead_code
)]

#[path = "../sim/data_plane/mod.rs"]
pub mod data_plane;
#[path = "../sim/deeds/mod.rs"]
pub mod deeds;
#[path = "../sim/drive/mod.rs"]
pub mod drive;
#[path = "../sim/faults/mod.rs"]
pub mod faults;
#[path = "../sim/fleet/mod.rs"]
pub mod fleet;
#[path = "../sim/instance.rs"]
pub mod instance;
#[path = "../sim/judge/mod.rs"]
pub mod judge;
#[path = "../sim/logs.rs"]
pub mod logs;
#[path = "../sim/plan/mod.rs"]
pub mod plan;
#[path = "../sim/routes/mod.rs"]
pub mod routes;
#[path = "../sim/scenario/mod.rs"]
pub mod scenario;
#[path = "../sim/server.rs"]
pub mod server;
#[path = "../sim/status.rs"]
pub mod status;
#[path = "../sim/world.rs"]
pub mod world;
