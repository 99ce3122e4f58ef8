//! The data plane: an HTTP proxy that obeys the live `HTTPRoute` objects, and says of each that it does.

mod definition;
mod status;
mod table;

use std::{
    collections::BTreeMap,
    io,
    net::{IpAddr, SocketAddr},
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use futures::{FutureExt, StreamExt, TryStreamExt, stream};
use http::{Request, Uri, header::HOST};
use http_body_util::{BodyExt, Empty};
use hyper::body::{Bytes, Incoming};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use k8s_openapi::api::core::v1::Service;
use kube::{
    Api,
    core::{ApiResource, DynamicObject, GroupVersionKind},
    runtime::{
        WatchStreamExt,
        reflector::{reflector, store::Writer},
        watcher,
    },
};
use tokio::{sync::Semaphore, task::JoinHandle, time::timeout};

pub use definition::definition;

use super::server::{Answer, Server, text};
use table::{Destination, Table};

/// Copies that may be under way at once; more are left out.
const COPIES: usize = 128;
/// How long a copy may take.
const COPY_WITHIN: Duration = Duration::from_secs(10);

/// What names mean, where ExternalName Services lead.
pub type Names = BTreeMap<String, IpAddr>;

/// A data plane. It ends with the value.
pub struct Proxy {
    server: Server,
    plane: Arc<Plane>,
    programming: JoinHandle<()>,
}

impl Proxy {
    /// Serves at a port of its own what the routes of this cluster say.
    ///
    /// # Errors
    /// When there is no free port.
    pub async fn start(cluster: kube::Client, names: Names) -> io::Result<Self> {
        let plane = Arc::new(Plane::new());
        let serving = plane.clone();
        let server = Server::start(None, move |request| serving.clone().forward(request)).await?;
        let programming = tokio::spawn(program(plane.clone(), cluster, names));
        Ok(Self { server, plane, programming })
    }

    /// Where clients send their requests.
    pub const fn address(&self) -> SocketAddr {
        self.server.address
    }

    /// Whether requests to this host are sent anywhere by now.
    pub fn serves(&self, host: &str) -> bool {
        self.plane.table().destination(host, 0).is_some()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.programming.abort();
    }
}

struct Plane {
    http: Client<HttpConnector, Empty<Bytes>>,
    table: RwLock<Arc<Table>>,
    drawn: AtomicU64,
    copies: Arc<Semaphore>,
}

impl Plane {
    fn new() -> Self {
        let http = Client::builder(TokioExecutor::new()).build_http();
        let copies = Arc::new(Semaphore::new(COPIES));
        Self { http, table: RwLock::default(), drawn: AtomicU64::new(0), copies }
    }

    fn table(&self) -> Arc<Table> {
        self.table.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sends a request on to one of its backends, as the weights are now.
    async fn forward(self: Arc<Self>, request: Request<Incoming>) -> Answer {
        let host = request.headers().get(HOST).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let host = host.split(':').next().unwrap_or_default();
        let drawn = scatter(self.drawn.fetch_add(1, Ordering::Relaxed));
        let table = self.table();
        self.copy(table.copied(host), &request);
        match table.destination(host, drawn) {
            None => text(404, "no route for this host\n"),
            Some(Destination::Unresolved) => text(500, "the backend cannot be resolved\n"),
            Some(Destination::At(address)) => {
                let answer = self.ask(onward(address, &request)).await;
                answer.unwrap_or_else(|| text(503, "the backend does not answer\n"))
            }
        }
    }

    /// Sends copies of a request; nobody waits for their answers.
    fn copy(self: &Arc<Self>, to: &[SocketAddr], request: &Request<Incoming>) {
        for address in to {
            let Ok(permit) = self.copies.clone().try_acquire_owned() else { return };
            let (plane, copy) = (self.clone(), onward(*address, request));
            tokio::spawn(async move {
                let _ = timeout(COPY_WITHIN, plane.ask(copy)).await;
                drop(permit);
            });
        }
    }

    async fn ask(&self, request: Option<Request<Empty<Bytes>>>) -> Option<Answer> {
        let (parts, body) = self.http.request(request?).await.ok()?.into_parts();
        let body = body.collect().await.ok()?.to_bytes();
        Some(http::Response::from_parts(parts, body.into()))
    }
}

/// The same GET at a backend. Bodies of requests are not carried: no client here sends one.
fn onward(to: SocketAddr, request: &Request<Incoming>) -> Option<Request<Empty<Bytes>>> {
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    let uri: Uri = format!("http://{to}{path}").parse().ok()?;
    let mut onward = Request::builder().method(request.method()).uri(uri).body(Empty::new()).ok()?;
    onward.headers_mut().extend(request.headers().get(HOST).map(|host| (HOST, host.clone())));
    Some(onward)
}

/// Turns 0, 1, 2, … into numbers without a pattern (`SplitMix64`), so that shares come out as they do by chance.
const fn scatter(count: u64) -> u64 {
    let mixed = count.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Follows the cluster: what changed is in force before a status says so.
async fn program(plane: Arc<Plane>, cluster: kube::Client, names: Names) {
    let resource = resource();
    let (route_writer, service_writer) = (Writer::new(resource.clone()), Writer::<Service>::default());
    let (routes, services) = (route_writer.as_reader(), service_writer.as_reader());
    let config = watcher::Config::default;
    let seen = reflector(
        route_writer,
        watcher(Api::<DynamicObject>::all_with(cluster.clone(), &resource), config()).default_backoff(),
    );
    let known = reflector(service_writer, watcher(Api::<Service>::all(cluster.clone()), config()).default_backoff());
    let mut changes = stream::select(seen.map_ok(|_| ()), known.map_ok(|_| ())).boxed();
    while let Some(change) = changes.next().await {
        // Before both lists are complete, a backend that is not seen may well be there.
        let listed =
            routes.wait_until_ready().now_or_never().is_some() && services.wait_until_ready().now_or_never().is_some();
        if change.is_err() || !listed {
            continue;
        }
        let (routes, services) = (routes.state(), services.state());
        let (table, verdicts) = table::program(&routes, &services, &names);
        *plane.table.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(table);
        for (route, verdict) in routes.iter().zip(verdicts) {
            status::tell(&cluster, &resource, route, &verdict).await;
        }
    }
}

/// The kind of route that is obeyed.
pub(crate) fn resource() -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("gateway.networking.k8s.io", "v1", "HTTPRoute"))
}

#[cfg(test)]
mod tests;
