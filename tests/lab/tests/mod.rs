//! The table of lab tests.

use crate::runner::Test;

mod contour;
mod hand_made;
mod harness;
mod skipper;

pub fn all() -> Vec<Test> {
    [skipper::TESTS, contour::TESTS, harness::TESTS].concat()
}
