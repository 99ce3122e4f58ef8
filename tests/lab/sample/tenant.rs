//! A real API server as one plan has it: an answer takes no time of the plan's world, and every change is known.

use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc},
    thread,
    time::Duration,
};

use axum::body::{Body, Bytes, to_bytes};
use cutover::sandbox::api::Change;
use futures::{
    FutureExt, StreamExt,
    channel::mpsc::{UnboundedSender, unbounded},
    future::BoxFuture,
};
use http::{Method, Request, Response, StatusCode, header, request::Parts};
use http_body_util::BodyExt;
use kube::{Client, client};
use serde_json::Value;
use tokio::{runtime::Handle, task::JoinSet};

use super::{
    names::{Names, requested_by},
    past::{Past, author, key, unknown_author},
    target::Target,
    watches::{Choice, News, Watches, revision},
};
use crate::{
    apiserver::{HUB_GROUP, HUB_USER},
    simulator::server::{Caller, Server, Time},
};

/// Kinds whose changes are the plan's history.
pub const HISTORY: [&str; 9] = [
    "/apis/cutover.dev/v1alpha1/fleetrollouts",
    "/apis/cutover.dev/v1alpha1/rolloutrequests",
    "/apis/cutover.dev/v1alpha1/memberclusters",
    "/apis/gateway.networking.k8s.io/v1/httproutes",
    "/apis/coordination.k8s.io/v1/leases",
    "/apis/discovery.k8s.io/v1/endpointslices",
    "/apis/events.k8s.io/v1/events",
    "/api/v1/services",
    "/api/v1/secrets",
];

/// How often a call is repeated that the storage was too slow for, a second apart.
const RETRIES: usize = 20;

#[derive(Clone)]
pub struct Tenant(Arc<Inner>);

struct Inner {
    names: Names,
    client: Client,
    /// Where sockets are.
    io: Handle,
    time: Time,
    /// An event reaches the hub so much later, in its own time.
    lag: Duration,
    watches: Watches,
    past: Mutex<Past>,
    streams: Mutex<JoinSet<()>>,
}

impl Server for Tenant {
    fn answer(&self, caller: Caller, request: Request<Body>) -> BoxFuture<'static, Response<Body>> {
        let tenant = self.clone();
        async move {
            let (head, body) = request.into_parts();
            let bytes = to_bytes(body, usize::MAX).await.unwrap_or_default();
            let target = Target::of(&head);
            let request = || tenant.request(caller, &head, &target, bytes.to_vec());
            if target.is_watch() { tenant.watch(&target, request()) } else { tenant.call(&head, &target, request) }
        }
        .boxed()
    }

    fn history(&self, seen: usize) -> Vec<Arc<Change>> {
        let unclaimed = self.0.watches.unclaimed();
        let mut past = self.past();
        for news in unclaimed {
            past.take(news, unknown_author(), (self.0.time)());
        }
        past.since(seen)
    }
}

impl Tenant {
    pub fn new(number: usize, client: Client, io: Handle, lag: Duration, time: Time) -> Self {
        let (watches, past, streams) = (Watches::default(), Mutex::default(), Mutex::default());
        let tenant = Self(Arc::new(Inner { names: Names::new(number), client, io, time, lag, watches, past, streams }));
        for path in HISTORY {
            let request = Request::get(format!("{path}?watch=true")).body(()).expect("a request");
            let (head, ()) = request.into_parts();
            let target = Target::of(&head);
            let request = tenant.request(Caller::World, &head, &target, Vec::new());
            let (status, said) = tenant.begin_watch(&target, request, None);
            assert!(status.is_success(), "{path}: {status} {}", String::from_utf8_lossy(&said));
        }
        tenant
    }

    /// Ends every watch; a plan leaves no connection behind.
    pub fn end(&self) {
        self.streams().abort_all();
    }

    fn streams(&self) -> MutexGuard<'_, JoinSet<()>> {
        self.0.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn past(&self) -> MutexGuard<'_, Past> {
        self.0.past.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The request as the server shall see it.
    fn request(&self, caller: Caller, head: &Parts, target: &Target, bytes: Vec<u8>) -> Request<client::Body> {
        let names = &self.0.names;
        let mut request = Request::builder().method(head.method.clone()).uri(names.uri(target));
        for name in [header::CONTENT_TYPE, header::ACCEPT, header::USER_AGENT] {
            if let Some(value) = head.headers.get(&name) {
                request = request.header(name, value);
            }
        }
        let (user, group) = match caller {
            Caller::Hub => (Some(HUB_USER.to_owned()), HUB_GROUP),
            // The server wants to know that it is really this person who asks.
            Caller::World => (requested_by(target, &bytes), "system:masters"),
        };
        if let Some(user) = user {
            request = request.header("Impersonate-User", user).header("Impersonate-Group", group);
        }
        request.body(names.body(target, bytes).into()).expect("a request")
    }

    fn call(&self, head: &Parts, target: &Target, request: impl Fn() -> Request<client::Body>) -> Response<Body> {
        let mut answered = self.sent(target, request());
        // The plan is about the faults that it names; a machine under load adds this one, for minutes at the most.
        for _ in 0..RETRIES {
            if !is_storage_timeout(&answered) {
                break;
            }
            thread::sleep(Duration::from_secs(1));
            answered = self.sent(target, request());
        }
        let (status, bytes) = answered;
        let bytes = self.0.names.shown(&bytes);
        if target.writes() && status.is_success() {
            self.committed(head, target, &serde_json::from_slice(&bytes).unwrap_or_default());
        }
        answer(status, Body::from(bytes))
    }

    /// What the server answers; this waits for it.
    fn sent(&self, target: &Target, request: Request<client::Body>) -> (StatusCode, Bytes) {
        let (sender, answers) = mpsc::channel();
        let client = self.0.client.clone();
        self.0.io.spawn(async move {
            let answered = async {
                let (head, body) = client.send(request).await?.into_parts();
                Ok::<_, kube::Error>((head.status, body.collect_bytes().await?))
            };
            let _ = sender.send(answered.await);
        });
        answers.recv().expect("an answer").unwrap_or_else(|error| panic!("{target:?}: {error}"))
    }

    /// Waits until the server's own watches reported the write, and notes who made it.
    fn committed(&self, head: &Parts, target: &Target, answered: &Value) {
        if !HISTORY.iter().any(|path| path.ends_with(&format!("/{}", target.plural))) {
            return;
        }
        let key = key(&target.plural, target.namespace.as_deref().unwrap_or_default(), &target.name);
        let before = self.past().object(&key);
        let metadata = &answered["metadata"];
        let bare = metadata["finalizers"].as_array().is_none_or(Vec::is_empty);
        let gone = bare && (target.method == Method::DELETE || metadata["deletionTimestamp"].is_string());
        if !gone && before.as_deref().is_some_and(|before| revision(before) == revision(answered)) {
            return;
        }
        let what = format!("{} {key}", target.method);
        let about = if answered["kind"] == "Status" { before.as_deref().unwrap_or(answered) } else { answered };
        let news = self.0.watches.written(&what, |news| {
            news.is_about(&target.plural, about)
                && (news.gone == gone)
                && (gone || news.revision() == revision(answered))
        });
        let mut past = self.past();
        for news in news {
            let mine = news.is_about(&target.plural, about);
            let author = if mine { author(head, target) } else { unknown_author() };
            past.take(news, author, (self.0.time)());
        }
    }

    fn watch(&self, target: &Target, request: Request<client::Body>) -> Response<Body> {
        let (sink, events) = unbounded::<Bytes>();
        let (status, said) = self.begin_watch(target, request, Some(sink));
        if !status.is_success() {
            return answer(status, Body::from(self.0.names.shown(&said)));
        }
        self.0.watches.all_delivered(&format!("a new watch of {}", target.plural));
        // The server ends it by its own clock; here that is the plan's.
        let lasts = target.option("timeoutSeconds").and_then(|text| text.parse().ok()).unwrap_or(3600);
        let end = tokio::time::sleep(Duration::from_secs(lasts));
        let lag = self.0.lag;
        let late = events.then(move |event| tokio::time::sleep(lag).map(|()| Ok::<_, io::Error>(event)));
        answer(status, Body::from_stream(late.take_until(end)))
    }

    /// Returns when the server has begun to tell, or what it refused with.
    fn begin_watch(
        &self,
        target: &Target,
        request: Request<client::Body>,
        sink: Option<UnboundedSender<Bytes>>,
    ) -> (StatusCode, Vec<u8>) {
        let since = target.option("resourceVersion").and_then(|text| text.parse().ok()).unwrap_or_default();
        let choice = Choice { plural: target.plural.clone(), namespace: target.namespace.clone(), since };
        let (sender, answers) = mpsc::channel();
        let tenant = self.clone();
        let stream = async move {
            match tenant.0.client.send(request).await {
                Ok(response) if response.status().is_success() => {
                    let id = tenant.0.watches.open(choice.clone());
                    let _ = sender.send((response.status(), Vec::new()));
                    tenant.pump(id, &choice.plural, response.into_body(), sink.as_ref()).await;
                    tenant.0.watches.close(id);
                }
                Ok(response) => {
                    let status = response.status();
                    let bytes = response.into_body().collect_bytes().await.unwrap_or_default();
                    let _ = sender.send((status, bytes.to_vec()));
                }
                Err(error) => {
                    let _ = sender.send((StatusCode::SERVICE_UNAVAILABLE, error.to_string().into_bytes()));
                }
            }
        };
        self.streams().spawn_on(stream, &self.0.io);
        answers.recv().expect("an answer")
    }

    /// Hands the events on, one by one, until either end has enough.
    async fn pump(&self, id: usize, plural: &str, body: client::Body, sink: Option<&UnboundedSender<Bytes>>) {
        let mut chunks = body.into_data_stream();
        let mut rest = Vec::new();
        while let Some(Ok(chunk)) = chunks.next().await {
            rest.extend_from_slice(&chunk);
            while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = rest.drain(..=end).collect();
                let line = self.0.names.shown(&line);
                let event: Value = serde_json::from_slice(&line).unwrap_or_default();
                let revision = revision(&event["object"]);
                if sink.is_some_and(|sink| sink.unbounded_send(line.into()).is_err()) {
                    return;
                }
                let gone = event["type"] == "DELETED";
                let object = event["object"].clone();
                let news = sink.is_none().then(|| News { plural: plural.to_owned(), gone, object });
                self.0.watches.tell(id, revision, news);
            }
        }
    }
}

/// The API server's own words for an etcd that has not written in time.
fn is_storage_timeout((status, bytes): &(StatusCode, Bytes)) -> bool {
    const SAID: &[u8] = b"etcdserver: request timed out";
    status.is_server_error() && bytes.windows(SAID.len()).any(|window| window == SAID)
}

fn answer(status: StatusCode, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
    response
}
