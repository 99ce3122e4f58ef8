//! The table of lab tests.

use crate::runner::Test;

mod api;
mod contour;
mod deletion;
mod edits;
mod hand_made;
mod harness;
mod promotion;
mod skipper;
mod takeover;

pub fn all() -> Vec<Test> {
    [
        skipper::TESTS,
        contour::TESTS,
        harness::TESTS,
        promotion::TESTS,
        api::TESTS,
        deletion::TESTS,
        edits::TESTS,
        takeover::TESTS,
    ]
    .concat()
}
