//! What a data plane says of a route, and whether it serves it.

use jiff::SignedDuration;
use serde_json::Value;

use super::super::{
    plan::sorts::DataPlaneFault,
    routes::{Form, Words},
};

/// A data plane that is late serves a route so long after it was written.
const LATE: SignedDuration = SignedDuration::from_secs(20);
/// For so long it says one thing, and then the other.
const FLAPS: i64 = 3;

#[derive(PartialEq)]
pub struct Said {
    pub is_served: bool,
    /// The status of the route, if there is something to say.
    pub status: Option<Value>,
}

/// Of a route that was written so long ago.
pub fn of(form: &dyn Form, route: &Value, age: SignedDuration, fault: Option<DataPlaneFault>) -> Said {
    let (is_served, words) = match fault {
        None | Some(DataPlaneFault::Frozen) => (true, Some(Words::Accepted)),
        Some(DataPlaneFault::Refuses) => (false, Some(Words::Refused)),
        Some(DataPlaneFault::Flaps) if age.as_secs() / FLAPS % 2 == 1 => (true, Some(Words::Accepted)),
        Some(DataPlaneFault::Flaps) => (true, Some(Words::Refused)),
        Some(DataPlaneFault::OneParent) => (true, Some(Words::AcceptedByOne)),
        Some(DataPlaneFault::Unresolved) => (true, Some(Words::Unresolved)),
        Some(DataPlaneFault::Late) if age < LATE => (false, None),
        Some(DataPlaneFault::Late) => (true, Some(Words::Accepted)),
        Some(DataPlaneFault::OldConditions) => (true, None),
        Some(DataPlaneFault::Silent) => (true, Some(Words::Nothing)),
    };
    Said { is_served, status: words.and_then(|words| form.status(route, words)) }
}
