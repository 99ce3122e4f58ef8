//! Requests: what a verb needs and does not take.

use super::problem::Problem;
use crate::api::{RolloutRequestSpec, Verb};

/// Everything that is wrong with a request and needs no cluster to be seen.
pub fn request(spec: &RolloutRequestSpec) -> Vec<Problem> {
    match (spec.verb, spec.step) {
        (Verb::Promote, None) => {
            vec![Problem::error("spec.step", "missing", "give the number of the step that Promote approves")]
        }
        (Verb::Abort | Verb::Rollback | Verb::Pause | Verb::Resume | Verb::Retry | Verb::Adopt, Some(_)) => {
            vec![Problem::error("spec.step", format!("{} does not refer to a step", spec.verb), "leave step out")]
        }
        _ => Vec::new(),
    }
}
