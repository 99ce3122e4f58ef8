//! The core by its behaviour: scenarios, and a search over small worlds.

mod affinity;
mod imported;
mod matches;
mod mirror;
mod scenarios;
mod schedule;
mod scrambled;
mod search;
mod service_mode;
mod states;
mod urgency;
mod world;
