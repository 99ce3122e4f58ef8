//! Watches: the changes of a kind, one JSON document a line, as they are committed.

use std::{collections::VecDeque, convert::Infallible, sync::Arc, time::Duration};

use axum::body::Bytes;
use futures::{Stream, stream};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{
    ApiServer,
    kind::Kind,
    request::{Request, Target},
    selectors::{FieldSelector, LabelSelector},
    state::{Call, State},
    status::Failure,
    store::Change,
    table,
};

/// How often an idle watch that allows bookmarks gets one; the real server does so about once a minute.
const BOOKMARK_EVERY: Duration = Duration::from_mins(1);
/// How long a watch lasts that does not say so; the real server takes half an hour to an hour.
const LASTS: u64 = 1800;

/// A watch that runs.
pub(super) struct Watch {
    server: ApiServer,
    subject: Subject,
    /// Changes above this are still to be sent.
    revision: u64,
    ready: VecDeque<Bytes>,
    bookmarks: bool,
    next_bookmark: Instant,
    end: Instant,
    over: bool,
}

/// What is watched, kept for as long as the watch lasts.
struct Subject {
    request: Request,
    target: Target,
    kind: Arc<Kind>,
    labels: LabelSelector,
    fields: FieldSelector,
}

impl Subject {
    fn call(&self) -> Option<Call<'_>> {
        let version = self.kind.version(&self.target.version)?;
        Some(Call { request: &self.request, target: &self.target, kind: &self.kind, version })
    }

    fn matches(&self, object: Option<&Arc<Value>>) -> bool {
        object.is_some_and(|object| self.labels.matches(object) && self.fields.matches(object))
    }
}

/// Begins a watch: with what is there, or with what changed since a revision.
pub(super) fn begin(
    server: &ApiServer,
    state: &State,
    request: Request,
    target: Target,
    kind: Arc<Kind>,
) -> Result<Watch, Failure> {
    let options = &request.options;
    let (labels, fields) = (options.labels()?, options.fields(&kind)?);
    let initial = options.get("sendInitialEvents") == Some("true");

    let since = options.get("resourceVersion").unwrap_or("0");
    let since: u64 = since.parse().map_err(|_| unparsable(since))?;
    let bookmarks = options.is("allowWatchBookmarks");
    let lasts = Duration::from_secs(options.number("timeoutSeconds").unwrap_or(LASTS));
    let now = Instant::now();
    let mut watch = Watch {
        server: server.clone(),
        subject: Subject { request, target, kind, labels, fields },
        revision: since,
        ready: VecDeque::new(),
        bookmarks,
        next_bookmark: now + BOOKMARK_EVERY,
        end: now + lasts,
        over: false,
    };
    if initial || since == 0 {
        watch.tell_what_is_there(state, initial && bookmarks);
    } else if since < state.store.compacted() {
        watch.end_as_too_old(state);
    }
    Ok(watch)
}

fn unparsable(text: &str) -> Failure {
    let message =
        format!("resourceVersion: Invalid value: {text:?}: strconv.ParseUint: parsing {text:?}: invalid syntax");
    Failure::internal(&message)
}

impl Watch {
    fn tell_what_is_there(&mut self, state: &State, mark_the_end: bool) {
        self.revision = state.store.revision();
        let Some(call) = self.subject.call() else { return };
        let there = state.store.list(&call.range());
        let added = there.iter().filter(|(_, object)| self.subject.matches(Some(object)));
        let added: Vec<Bytes> = added.map(|(_, object)| event("ADDED", &shown(&call, object, state))).collect();
        self.ready.extend(added);
        if mark_the_end {
            let mut end = self.bookmark();
            end["metadata"]["annotations"] = json!({"k8s.io/initial-events-end": "true"});
            self.ready.push_back(event("BOOKMARK", &end));
        }
    }

    /// The events, until the watch is over; nothing runs while nobody asks for the next one.
    pub(super) fn into_stream(self) -> impl Stream<Item = Result<Bytes, Infallible>> + Send {
        stream::unfold(self, |mut watch| async move {
            let event = watch.next().await?;
            Some((Ok(event), watch))
        })
    }

    async fn next(&mut self) -> Option<Bytes> {
        let server = self.server.clone();
        loop {
            // Listening begins before looking, so that no change falls between.
            let changed = server.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            if self.over {
                return None;
            }
            self.catch_up();
            if !self.ready.is_empty() {
                continue;
            }
            tokio::select! {
                biased;
                () = changed => {}
                () = tokio::time::sleep_until(self.end) => return None,
                () = tokio::time::sleep_until(self.next_bookmark), if self.bookmarks => {
                    self.next_bookmark += BOOKMARK_EVERY;
                    return Some(event("BOOKMARK", &self.bookmark()));
                }
            }
        }
    }

    fn end_as_too_old(&mut self, state: &State) {
        let gone = Failure::too_old(self.revision, state.store.compacted());
        self.ready.push_back(event("ERROR", &gone.body.unwrap_or_default()));
        self.over = true;
    }

    /// Reads the changes that were committed meanwhile. With its kind a watch ends.
    fn catch_up(&mut self) {
        let server = self.server.clone();
        let state = server.lock();
        if state.store.misses_changes_since(self.revision) {
            return self.end_as_too_old(&state);
        }
        let Some(call) = self.subject.call() else { return };
        let range = call.range();
        let changes = state.store.since(self.revision).iter().filter(|change| range.holds(&change.key()));
        let events: Vec<Bytes> = changes.filter_map(|change| self.event(&call, change, &state)).collect();
        self.over = state.kinds.get(&self.subject.kind.group, &self.subject.kind.plural).is_none();
        self.revision = state.store.revision();
        self.ready.extend(events);
    }

    fn event(&self, call: &Call<'_>, change: &Change, state: &State) -> Option<Bytes> {
        let (before, after) =
            (self.subject.matches(change.before.as_ref()), self.subject.matches(change.after.as_ref()));
        match (before, after) {
            (false, false) => None,
            (false, true) => Some(event("ADDED", &shown(call, change.after.as_ref()?, state))),
            (true, true) => Some(event("MODIFIED", &shown(call, change.after.as_ref()?, state))),
            (true, false) => {
                let mut last = change.before.as_deref()?.clone();
                last["metadata"]["resourceVersion"] = change.revision.to_string().into();
                Some(event("DELETED", &shown(call, &Arc::new(last), state)))
            }
        }
    }

    fn bookmark(&self) -> Value {
        let api_version = self.subject.call().map(|call| call.api_version());
        let metadata = json!({"resourceVersion": self.revision.to_string()});
        json!({"apiVersion": api_version, "kind": self.subject.kind.kind, "metadata": metadata})
    }
}

/// A line of the stream. It is put together as text: as a value it would need the object itself.
fn event(kind: &str, object: &Value) -> Bytes {
    Bytes::from(format!("{{\"object\":{object},\"type\":\"{kind}\"}}\n"))
}

fn shown(call: &Call<'_>, object: &Arc<Value>, state: &State) -> Arc<Value> {
    let object = call.show(object);
    if !table::is_requested(call.request) {
        return object;
    }
    let metadata = json!({"resourceVersion": object["metadata"]["resourceVersion"]});
    table::of(call, &[object], &metadata, state.now()).into()
}
