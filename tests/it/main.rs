//! The fast tests: one binary, one folder for each theme.

#![allow(missing_docs)]

mod core;
mod tidy;
