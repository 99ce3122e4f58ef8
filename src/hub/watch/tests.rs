//! Watches whose lists are answered as a script says.

use std::{convert::Infallible, io, sync::Mutex};

use ::http::{Request, Response};
use axum::body::{Body, Bytes};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use serde_json::json;
use tokio::time::{Duration, Instant, sleep};

use super::*;
use crate::hub::fixtures::{
    api_server::{Answer::Code, ApiServer},
    world::until,
};

/// A watch of one `ConfigMap`, whose first lists are answered with these errors.
struct Watched {
    cache: Arc<Cache<ConfigMap>>,
    changes: Arc<Mutex<Vec<Change>>>,
}

fn watched(errors: &[u16]) -> Watched {
    let api = ApiServer::default();
    let metadata = json!({"name": "a", "namespace": "shop", "resourceVersion": "7", "labels": {"big": "label"}});
    api.store(&json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}));
    for code in errors {
        api.script("LIST configmaps", Code(*code));
    }
    let (cache, changes): (Arc<Cache<ConfigMap>>, Arc<Mutex<Vec<Change>>>) = Default::default();
    let (filled, noted) = (cache.clone(), changes.clone());
    tokio::spawn(async move {
        let note = |change: &Change| noted.lock().unwrap().push(change.clone());
        let trim = |object: &mut ConfigMap| object.metadata.labels = None;
        fill(Api::all(api.client()), watcher::Config::default(), filled, trim, note).await;
    });
    Watched { cache, changes }
}

impl Watched {
    async fn becomes(&self, availability: Availability) {
        until("the availability", || self.cache.availability() == availability).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_fills_the_cache_with_what_is_left_after_trimming() {
    let watched = watched(&[]);
    watched.becomes(Availability::Synced).await;
    let all = watched.cache.all();
    assert_eq!(all.len(), 1);
    assert_eq!(all[0].metadata.labels, None);
    assert_eq!(*watched.changes.lock().unwrap(), [Change::Nothing, Change::Nothing, Change::All]);
}

#[tokio::test(start_paused = true)]
async fn why_a_kind_cannot_be_listed_is_known_until_it_can() {
    for (code, why) in
        [(404, Availability::NotInstalled), (403, Availability::Forbidden), (401, Availability::Forbidden)]
    {
        let watched = watched(&[code]);
        watched.becomes(why).await;
        assert_eq!(watched.changes.lock().unwrap().last(), Some(&Change::All), "{code}");
        sleep(Duration::from_secs(1)).await;
        watched.becomes(Availability::Synced).await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_api_server_that_fails_says_nothing_of_a_kind() {
    for code in [429, 500, 503] {
        let watched = watched(&[code]);
        sleep(Duration::from_millis(900)).await;
        assert_eq!(watched.cache.availability(), Availability::Pending, "{code}");
        sleep(Duration::from_millis(100)).await;
        watched.becomes(Availability::Synced).await;
    }
}

#[tokio::test(start_paused = true)]
async fn lists_that_fail_in_a_row_are_ever_further_apart() {
    let (watched, began) = (watched(&[500, 404, 500]), Instant::now());
    let mut changes = watched.cache.changes();
    while watched.cache.availability() != Availability::Synced {
        changes.changed().await.unwrap();
    }
    assert_eq!(began.elapsed().as_secs(), 1 + 2 + 4);
}

/// When the watches of an empty kind began, each of which failed after `lasts`; in seconds.
async fn watches_that_last(lasts: Duration) -> Vec<u64> {
    let (began, times) = (Instant::now(), Arc::new(Mutex::new(Vec::new())));
    let noted = times.clone();
    let answer = move |request: Request<kube::client::Body>| {
        let is_watch = request.uri().query().is_some_and(|query| query.contains("watch=true"));
        let body = if is_watch {
            noted.lock().unwrap().push(began.elapsed().as_secs());
            Body::from_stream(futures::stream::once(async move {
                sleep(lasts).await;
                Err::<Bytes, _>(io::Error::from(io::ErrorKind::TimedOut))
            }))
        } else {
            let list =
                json!({"apiVersion": "v1", "kind": "ConfigMapList", "metadata": {"resourceVersion": "7"}, "items": []});
            Body::from(list.to_string())
        };
        std::future::ready(Ok::<_, Infallible>(Response::new(body)))
    };
    let api = Api::<ConfigMap>::all(Client::new(tower::service_fn(answer), "default"));
    let watching = fill(api, watcher::Config::default(), Arc::default(), |_| {}, |_| {});
    drop(tokio::time::timeout(lasts * 5, watching).await);
    times.lock().unwrap().clone()
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_lasted_begins_again_at_once_and_others_ever_later() {
    assert_eq!(watches_that_last(Duration::from_secs(75)).await, [0, 75, 150, 225, 300]);
    assert_eq!(watches_that_last(Duration::from_secs(2)).await, [0, 3, 7]);
}
