//! The harness's own parts: what a test relies on is itself seen to work.

use crate::{
    apiserver::OPERATOR,
    gateway::Behaviour,
    history::History,
    lab::{Member, member_address},
    load::{Load, Plan, get},
    prometheus,
    runner::{Place, Scene, Test},
    shares::{Observed, assert_shares},
    wait::{eventually, seconds},
};
use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::Namespace;
use kube::{
    Api,
    api::{ListParams, Patch, PatchParams},
};
use serde_json::json;
use std::{net::SocketAddr, time::Duration};

pub const TESTS: &[Test] = &[
    Test {
        name: "prometheus_through_the_api_proxy",
        place: Place::Shared,
        run: |scene| Box::pin(prometheus_query(scene)),
    },
    Test { name: "shares_need_enough_requests", place: Place::Shared, run: |_| Box::pin(std::future::ready(shares())) },
    Test { name: "load_can_be_stopped", place: Place::Shared, run: |scene| Box::pin(load(scene)) },
    Test { name: "tls_needs_the_right_server_name", place: Place::Shared, run: |scene| Box::pin(tls(scene)) },
    Test { name: "a_name_can_be_pointed_elsewhere", place: Place::Shared, run: |scene| Box::pin(names(scene)) },
    Test { name: "history_sees_every_write", place: Place::Shared, run: |scene| Box::pin(history(scene)) },
    Test { name: "audit_log_tells_requests_by_user", place: Place::Alone, run: |scene| Box::pin(audit(scene)) },
    Test {
        name: "parts_of_a_member_stop_and_start",
        place: Place::Alone,
        run: |scene| Box::pin(stop_and_start(scene)),
    },
];

fn http(member: &Member) -> SocketAddr {
    SocketAddr::from((member.cluster.address, 80))
}

/// 200 slow requests, every 20th failing: what Prometheus says through the API server's proxy is what was sent.
async fn prometheus_query(scene: Scene) -> Result<()> {
    let service = &scene.namespace;
    let member = scene.member("eu-2");
    member.gateway.behave(service, Behaviour { fail_every: Some(20), delay: Duration::from_millis(60) });
    let totals = Load::start(Plan::new(http(member), &format!("{service}.eu-2.lab"), 200)).finish().await;
    ensure!(totals.by_status.get(&500) == Some(&10) && totals.failed == 0, "{totals:?}");
    for (series, wanted) in [
        ("http_requests_total{code=\"200\",", 190.0),
        ("http_requests_total{code=\"500\",", 10.0),
        ("http_request_duration_seconds_bucket{le=\"0.05\",", 0.0),
        ("http_request_duration_seconds_count{", 200.0),
    ] {
        expect_value(member, &format!("{series}service=\"{service}\"}}"), wanted).await?;
    }
    Ok(())
}

async fn expect_value(member: &Member, promql: &str, wanted: f64) -> Result<()> {
    eventually(promql, seconds(10), async || {
        let value = prometheus::query(&member.cluster, promql).await?;
        ensure!((value - wanted).abs() < 0.5, "{value} instead of {wanted}");
        Ok(())
    })
    .await
}

fn shares() -> Result<()> {
    let nothing = Observed::new();
    let judge = |counts: [u64; 2]| {
        let observed = Observed::from([("eu-1", counts[0]), ("eu-2", counts[1]), ("eu-3", 0)]);
        assert_shares(&nothing, &observed, &[("eu-1", 70), ("eu-2", 30)])
    };
    judge([1_490, 510])?;
    ensure!(judge([1_493, 507]).is_err(), "74.65 % is more than 4.5 standard deviations from 70 %");
    ensure!(judge([1_400, 599]).is_err(), "1,999 requests are not enough");
    ensure!(judge([0, 0]).is_err(), "no request at all is not enough");
    let small = |eu_2: u64| {
        assert_shares(
            &nothing,
            &Observed::from([("eu-1", 2_100 - eu_2), ("eu-2", eu_2)]),
            &[("eu-1", 90), ("eu-2", 10)],
        )
    };
    small(210)?;
    ensure!(small(105).is_err() && small(315).is_err(), "10 % is neither 5 nor 15");
    Ok(())
}

/// What was sent until then is what arrived, and nothing comes after.
async fn load(scene: Scene) -> Result<()> {
    let member = scene.member("eu-1");
    let load = Load::start(Plan::new(http(member), &format!("{}.example.com", scene.namespace), 1_000_000));
    eventually("the first requests", seconds(10), async || {
        ensure!(load.so_far().sent >= 50, "{:?}", load.so_far());
        Ok(())
    })
    .await?;
    let totals = load.stop().await;
    totals.assert_all_ok()?;
    let observed = member.gateway.tally().observed(&scene.namespace);
    ensure!(observed == totals.sent, "{observed} of {} requests arrived", totals.sent);
    Ok(())
}

async fn tls(scene: Scene) -> Result<()> {
    let ca = reqwest::Certificate::from_pem(scene.pki.ca.as_bytes())?;
    let client = reqwest::Client::builder().tls_certs_only([ca]).timeout(seconds(5)).build()?;
    let ask = async |name: &str| client.get(format!("https://{name}/healthz")).send().await;
    ensure!(ask("eu-3.lab").await?.status() == 200, "eu-3.lab is the name on the certificate");
    for wrong in ["storefront.eu-3.lab", "10.77.0.13"] {
        ensure!(ask(wrong).await.is_err(), "{wrong} is not on the certificate, and was accepted");
    }
    Ok(())
}

async fn names(scene: Scene) -> Result<()> {
    let (name, there) = (format!("{}.eu-1.lab", scene.namespace), Some(member_address("eu-2")));
    let resolve = async || Ok::<_, anyhow::Error>(tokio::net::lookup_host((name.as_str(), 80)).await?.next());
    let address = |member: &str| Some(SocketAddr::from((member_address(member), 80)));
    ensure!(resolve().await? == address("eu-1"), "a name leads to its own member");
    scene.dns.point(&name, there);
    ensure!(resolve().await? == address("eu-2"), "a name leads where it was pointed");
    scene.dns.point(&name, None);
    ensure!(resolve().await.is_err(), "a name that was taken away does not resolve");
    scene.dns.restore(&name);
    ensure!(resolve().await? == address("eu-1"), "a name leads to its own member again");
    Ok(())
}

async fn history(scene: Scene) -> Result<()> {
    let config_maps = scene.hub.api("v1", "ConfigMap", &scene.namespace).await?;
    let history = History::start(config_maps.clone(), "x").await?;
    for step in ["0", "1", "2"] {
        let text = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"step": step}});
        config_maps.patch("x", &PatchParams::apply("lab"), &Patch::Apply(text)).await?;
    }
    config_maps.delete("x", &kube::api::DeleteParams::default()).await?;
    let entries = eventually("the history", seconds(5), async || {
        let entries = history.entries();
        ensure!(entries.len() == 4, "{entries:?}");
        Ok(entries)
    })
    .await?;
    let steps: Vec<_> =
        entries.iter().map(|entry| entry.object.as_ref().map(|object| object.data["data"]["step"].clone())).collect();
    ensure!(steps == [Some(json!("0")), Some(json!("1")), Some(json!("2")), None], "{entries:?}");
    ensure!(entries.is_sorted_by_key(|entry| entry.at), "{entries:?}");
    Ok(())
}

/// A user without any role: refused, and counted.
async fn audit(scene: Scene) -> Result<()> {
    let namespaces = Api::<Namespace>::all(scene.hub.client_as(OPERATOR).await?);
    let before = scene.hub.requests(OPERATOR)?.len();
    ensure!(namespaces.list(&ListParams::default()).await.is_err(), "a user without a role may list namespaces");
    let requests = eventually("the audit log", seconds(5), async || {
        let requests = scene.hub.requests(OPERATOR)?.split_off(before);
        ensure!(!requests.is_empty(), "nothing logged");
        Ok(requests)
    })
    .await?;
    let [request] = requests.as_slice() else { anyhow::bail!("one request was sent: {requests:?}") };
    let seen = (request.verb.as_str(), request.object_ref.resource.as_str(), request.code());
    ensure!(seen == ("list", "namespaces", 403), "{request:?}");
    Ok(())
}

async fn stop_and_start(scene: Scene) -> Result<()> {
    let member = scene.member("eu-2");
    let (server, client) = (&member.cluster.server, &member.cluster.client);

    server.stop().await?;
    ensure!(client.apiserver_version().await.is_err(), "the API server answers after it was stopped");
    server.start().await?;
    client.apiserver_version().await?;

    server.pause().await?;
    let paused = tokio::time::timeout(seconds(1), client.apiserver_version()).await;
    server.resume().await?;
    ensure!(paused.is_err(), "the API server answers while it is paused: {paused:?}");
    client.apiserver_version().await?;

    member.prometheus.close().await?;
    ensure!(prometheus::query(&member.cluster, "vector(1)").await.is_err(), "Prometheus answers after it was closed");
    member.prometheus.open().await?;
    expect_value(member, "vector(1)", 1.0).await?;

    let ask = async || get(http(member), "any.eu-2.lab", "/healthz").await;
    member.gateway.close().await;
    ensure!(ask().await.is_err(), "the gateway answers after it was closed");
    member.gateway.open().await?;
    ensure!(ask().await? == 200, "the gateway does not answer after it was opened");
    Ok(())
}
