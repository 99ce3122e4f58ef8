//! The core by its behaviour: scenarios, and a search over small worlds.

mod matches;
mod scenarios;
mod search;
mod world;
