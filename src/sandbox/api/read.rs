//! Getting one object, and listing many, page by page.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    answer::Answer,
    json::text,
    state::{Call, State},
    status::Failure,
    store::Key,
    table,
};

/// One object.
pub(super) fn get(state: &State, call: &Call<'_>) -> Result<Answer, Failure> {
    let object = call.load(state)?;
    if table::is_requested(call.request) {
        let version = text(&object, "/metadata/resourceVersion").to_owned();
        return Ok(Answer::ok(table::of(call, &[object], &json!({"resourceVersion": version}), state.now())));
    }
    Ok(Answer::ok(object))
}

/// Where a list is read: at which revision, and after which object.
struct Place {
    revision: u64,
    after: Option<(String, String)>,
}

/// All objects of a kind, or a page of them.
pub(super) fn list(state: &State, call: &Call<'_>) -> Result<Answer, Failure> {
    let options = &call.request.options;
    let (labels, fields) = (options.labels()?, options.fields(call.kind)?);
    let selective = options.get("labelSelector").or(options.get("fieldSelector")).is_some();
    let place = place(state, call)?;
    let behind = |key: &Key| match &place.after {
        Some((namespace, name)) => (&key.namespace, &key.name) > (namespace, name),
        None => true,
    };
    let all: Vec<(Key, Arc<Value>)> =
        listed(state, call, place.revision).into_iter().filter(|(key, _)| behind(key)).collect();
    let limit = options.number("limit").filter(|limit| *limit > 0).and_then(|limit| usize::try_from(limit).ok());
    let chosen = all.iter().enumerate().filter(|(_, (_, object))| labels.matches(object) && fields.matches(object));
    let page: Vec<(usize, &(Key, Arc<Value>))> = chosen.take(limit.unwrap_or(usize::MAX)).collect();
    let mut metadata = json!({"resourceVersion": place.revision.to_string()});
    let full = limit.is_some_and(|limit| page.len() == limit);
    // Like the real server, it does not look whether what follows is chosen too.
    match page.last().filter(|(index, _)| full && index + 1 < all.len()) {
        Some((index, (last, _))) => {
            metadata["continue"] = format!("{}.{}/{}", place.revision, last.namespace, last.name).into();
            if !selective {
                metadata["remainingItemCount"] = (all.len() - index - 1).into();
            }
        }
        None if call.kind.is_custom() && !table::is_requested(call.request) => metadata["continue"] = "".into(),
        None => {}
    }
    let items: Vec<Arc<Value>> = page.into_iter().map(|(_, (_, object))| call.show(object)).collect();
    if table::is_requested(call.request) {
        return Ok(Answer::ok(table::of(call, &items, &metadata, state.now())));
    }
    Ok(Answer::ok(call.list(metadata, items)))
}

fn listed(state: &State, call: &Call<'_>, revision: u64) -> Vec<(Key, Arc<Value>)> {
    if revision == state.store.revision() {
        state.store.list(&call.range())
    } else {
        state.store.list_at(&call.range(), revision)
    }
}

fn place(state: &State, call: &Call<'_>) -> Result<Place, Failure> {
    let options = &call.request.options;
    if let Some(token) = options.get("continue") {
        return continued(state, token);
    }
    let now = state.store.revision();
    let requested = options.get("resourceVersion").map(revision).transpose()?.unwrap_or_default();
    if requested > now {
        return Err(Failure::ahead(requested, now));
    }
    let exact = options.get("resourceVersionMatch") == Some("Exact");
    if exact && requested < state.store.compacted() {
        return Err(Failure::too_old(requested, state.store.compacted()));
    }
    Ok(Place { revision: if exact { requested } else { now }, after: None })
}

/// The end of a page says where the next one begins, and of which revision.
fn continued(state: &State, token: &str) -> Result<Place, Failure> {
    let place = || {
        let (revision, last) = token.split_once('.')?;
        let (namespace, name) = last.split_once('/')?;
        Some(Place { revision: revision.parse().ok()?, after: Some((namespace.to_owned(), name.to_owned())) })
    };
    let place = place().ok_or_else(|| Failure::bad_request("invalid continue token"))?;
    if place.revision < state.store.compacted() {
        let message = "The provided continue parameter is too old to display a consistent list result. \
             You can start a new list without the continue parameter.";
        return Err(Failure::expired(message));
    }
    Ok(place)
}

fn revision(text: &str) -> Result<u64, Failure> {
    let number = text.parse();
    number.map_err(|_| {
        let message = format!(
            "invalid resource version: resourceVersion: Invalid value: {text:?}: \
             strconv.ParseUint: parsing {text:?}: invalid syntax"
        );
        Failure::bad_request(&message)
    })
}
