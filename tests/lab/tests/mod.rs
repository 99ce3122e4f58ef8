//! The table of lab tests.

use crate::runner::Test;

mod adoption;
mod contour;
mod edits;
mod hand_made;
mod harness;
mod lockstep;
mod promotion;
mod skipper;
mod verdicts;

pub fn all() -> Vec<Test> {
    [
        skipper::TESTS,
        contour::TESTS,
        harness::TESTS,
        promotion::TESTS,
        lockstep::TESTS,
        adoption::TESTS,
        edits::TESTS,
        verdicts::TESTS,
    ]
    .concat()
}
