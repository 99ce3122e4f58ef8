//! Where a write ends: the store, and what follows from a definition.

use std::sync::Arc;

use serde_json::Value;

use super::{
    builtin, crd, events,
    state::{Call, State},
    status::Failure,
};

pub(super) fn is_definition(call: &Call<'_>) -> bool {
    (call.kind.group.as_str(), call.kind.plural.as_str()) == builtin::DEFINITIONS
}

/// Stores an object, unless `dry` says that this is a dry run, and shows it.
pub(super) fn commit(
    state: &mut State,
    call: &Call<'_>,
    name: &str,
    mut object: Value,
    dry: bool,
) -> Result<Arc<Value>, Failure> {
    if is_definition(call) {
        crd::establish(&mut object, state.now());
    }
    let kind = is_definition(call).then(|| crd::kind(&object)).transpose();
    let kind = kind.map_err(|words| Failure::bad_request(&words))?;
    if dry {
        return Ok(Arc::new(object));
    }
    if call.kind.group == builtin::EVENTS {
        events::to_core(&mut object);
    }
    let (at, key) = (state.now(), call.key(name));
    let stored = state.store.commit(key, Some(object), call.author(), at);
    if let Some(kind) = kind {
        state.kinds.add(kind);
    }
    Ok(call.show(&stored))
}

/// Takes an object away, and shows what it was at last.
pub(super) fn remove(state: &mut State, call: &Call<'_>, name: &str) -> Arc<Value> {
    let at = state.now();
    let gone = state.store.commit(call.key(name), None, call.author(), at);
    if is_definition(call) {
        state.forget_definition(&gone, &call.author());
    }
    call.show(&gone)
}
