//! The sandbox's API server in this process, for more rollouts than a real one holds on two cores. It has no authorization, no
//! fairness and no disk, and its processor time is that of the bench: what it says is about the hub alone.

use super::world::HUB_USER;
use crate::{apiserver::ADMIN, audit::Request, fleet::SYSTEM, parts::Parts};
use anyhow::Result;
use axum::body::{Body, Bytes, HttpBody};
use cutover::{
    api::crd,
    sandbox::{api::ApiServer, server::Server},
};
use futures::FutureExt;
use http::Response;
use jiff::Timestamp;
use kube::Client;
use serde_json::{Value, json};
use std::{
    convert::Infallible,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};
use tower::{ServiceExt, service_fn};

/// What was requested, and not yet taken.
type Journal = Arc<Mutex<Vec<Request>>>;

pub struct InMemory {
    pub client: Client,
    pub kubeconfig: PathBuf,
    journal: Journal,
    _served: Server,
}

impl InMemory {
    pub async fn start(folder: &Path, parts: &Parts) -> Result<Self> {
        let api = ApiServer::new(Arc::new(Timestamp::now), 0);
        let journal = Journal::default();
        let (ours, noted) = (api.clone(), journal.clone());
        let service =
            service_fn(move |request| answer(ours.clone(), noted.clone(), ADMIN, request).map(Ok::<_, Infallible>));
        let client = Client::new(service, "default");
        let noted = journal.clone();
        let served = Server::start(None, move |request| answer(api.clone(), noted.clone(), HUB_USER, request)).await?;
        let kubeconfig = folder.join("in-memory.kubeconfig");
        fs::write(&kubeconfig, self::kubeconfig(&served).to_string())?;
        for object in kinds(parts)? {
            super::world::create(&client, object).await?;
        }
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM}});
        super::world::create(&client, namespace).await?;
        Ok(Self { client, kubeconfig, journal, _served: served })
    }

    /// The requests since the last call.
    pub fn news(&self) -> Vec<Request> {
        std::mem::take(&mut *self.journal.lock().unwrap())
    }
}

async fn answer<B>(api: ApiServer, journal: Journal, user: &str, request: http::Request<B>) -> Response<Body>
where
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<axum::BoxError>,
{
    let (method, uri, arrived) = (request.method().clone(), request.uri().clone(), Timestamp::now());
    let Ok(answer) = api.oneshot(request).await;
    let noted = Request::noted(&method, &uri, user, answer.status().as_u16(), (arrived, Timestamp::now()));
    journal.lock().unwrap().push(noted);
    answer
}

fn kinds(parts: &Parts) -> Result<Vec<Value>> {
    let mut kinds = crd::definitions()?;
    for entry in fs::read_dir(&parts.skipper_crds)? {
        kinds.extend(serde_yaml::from_multiple::<Value>(&fs::read_to_string(entry?.path())?)?);
    }
    Ok(kinds)
}

fn kubeconfig(served: &Server) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "bench",
        "clusters": [{"name": "bench", "cluster": {"server": format!("http://{}", served.address)}}],
        "contexts": [{"name": "bench", "context": {"cluster": "bench", "user": "hub"}}],
        "users": [{"name": "hub", "user": {}}],
    })
}
