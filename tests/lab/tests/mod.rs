//! The table of lab tests.

use crate::runner::Test;

mod contour;
mod harness;
mod hand_made;
mod skipper;

pub fn all() -> Vec<Test> {
    [skipper::TESTS, contour::TESTS, harness::TESTS].concat()
}
