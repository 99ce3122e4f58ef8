//! What is done to a world, one after the other, and measured.

pub mod crash;
pub mod create;
pub mod idle;
pub mod members;
pub mod overload;
pub mod run;
