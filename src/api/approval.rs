//! Approvals: how many people must agree before a step is left, and who agreed.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// On a `FleetRollout`: who declared its spec. An admission policy binds it to the authenticated user, where an approval has
/// `notAuthor`.
pub const DECLARED_BY_ANNOTATION: &str = "cutover.dev/declared-by";

/// How many people must request Promote for a step, each after a look at checks that passed at its weights.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Approval {
    /// So many different people.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 8))]
    pub min: u32,
    /// The one who declared the change is none of them: the annotation `cutover.dev/declared-by`. Only with `members`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub not_author: bool,
}

const fn one() -> u32 {
    1
}

/// An approval of a step. It is void once its evidence is: when the weights are written anew, or a check fails.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Approved {
    /// The step.
    pub step: u32,
    /// Who approved it.
    pub by: String,
    /// When.
    #[schemars(with = "String")]
    pub at: Timestamp,
}
