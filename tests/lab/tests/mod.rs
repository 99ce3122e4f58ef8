//! The table of lab tests.

use crate::runner::Test;

mod data_planes;
mod harness;

pub fn all() -> Vec<Test> {
    [data_planes::TESTS, harness::TESTS].concat()
}
