//! What a data plane says of the generation that is there.

use serde_json::Value;

use crate::{rollout::input::Accepted, text::one_line};

/// What a controller says goes into a status; no more of it than this.
pub(super) const MAX_WORDS: usize = 256;

/// What one condition says of this generation. One about an older generation says nothing.
pub(super) fn condition(condition: &Value, generation: Option<i64>) -> Accepted {
    let text = |key| condition.get(key).and_then(Value::as_str).unwrap_or_default();
    if condition.get("observedGeneration").and_then(Value::as_i64) != generation {
        return Accepted::Pending;
    }
    match text("status") {
        "True" => Accepted::Yes,
        "False" => {
            let words = format!("{} {}: {}", text("type"), text("reason"), text("message"));
            Accepted::No(one_line(&words, MAX_WORDS))
        }
        _ => Accepted::Pending,
    }
}

/// What several voices say together: a refusal, else a silence, else yes.
pub(super) fn combined(one: Accepted, other: Accepted) -> Accepted {
    match (one, other) {
        (Accepted::No(why), _) | (_, Accepted::No(why)) => Accepted::No(why),
        (Accepted::Pending, _) | (_, Accepted::Pending) => Accepted::Pending,
        (Accepted::Yes, _) | (_, Accepted::Yes) => Accepted::Yes,
        (Accepted::Unsaid, Accepted::Unsaid) => Accepted::Unsaid,
    }
}
