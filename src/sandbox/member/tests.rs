//! Members as the hub and clients see them.

use std::{collections::BTreeMap, time::Instant};

use jiff::Timestamp;
use k8s_openapi::{ByteString, api::core::v1::Secret};
use serde_json::{Value, json};

use super::*;
use crate::{
    clock::Clock,
    http::{AddressRules, Aliases, Client, Limits, Network, Peer},
    member::{Declared, Member as Seen, Secrets},
    prometheus::{Began, Prometheus},
    sandbox::server::ANY,
};

const LIMITS: Limits = Limits { deadline: Duration::from_secs(5), body: 1 << 20 };

/// Loopback is allowed, and the member's API server has its name.
fn network(member: &Member) -> Network {
    let aliases = Aliases::new(vec![(server_name(member.name()), [127, 0, 0, 1].into())]);
    Network::new(AddressRules::new(vec!["127.0.0.0/8".parse().unwrap()], Vec::new())).with_names(Arc::new(aliases))
}

/// The status of a GET for a service.
async fn get(member: &Member, host: &str) -> Result<u16, String> {
    let mut peer = Peer::at(&format!("http://{}", member.addresses().gateway)).unwrap();
    peer.host_header = Some(host.to_owned());
    let client = Client::new(&peer, &network(member)).unwrap();
    client.get("/", &[], LIMITS, Clone::clone).await.map(|answer| answer.status).map_err(|error| error.to_string())
}

/// Its Prometheus, as the hub reaches it with this declaration.
fn prometheus(member: &Member, prometheus: &Value) -> Prometheus {
    let spec = json!({
        "kubeconfigSecretRef": {"name": "s", "key": "value"},
        "endpoints": [{"host": "gateway.eu-1.test", "port": 80}],
        "prometheus": prometheus,
        "allowedNamespaces": {"from": "All"},
    });
    let spec = serde_json::from_value(spec).unwrap();
    let data = BTreeMap::from([("value".to_owned(), ByteString(member.kubeconfig().into_bytes()))]);
    let mut secret = Secret { data: Some(data), ..Secret::default() };
    secret.metadata.labels = Some([("cutover.dev/purpose".to_owned(), "kubeconfig".to_owned())].into());
    let secrets = Secrets::pick(&spec, "cutover-system", |_| Some(&secret));
    let declared = Declared { name: member.name().to_owned(), uid: None, generation: None, spec, secrets };
    Seen::new(declared, network(member), Timestamp::now()).prometheus().unwrap()
}

fn both_ways(member: &Member) -> [Prometheus; 2] {
    let address = format!("http://{}", member.addresses().prometheus);
    [
        json!({"url": {"address": address}}),
        json!({"service": {"namespace": "monitoring", "name": "prometheus", "port": 9090}}),
    ]
    .map(|declared| prometheus(member, &declared))
}

#[tokio::test]
async fn what_was_answered_is_counted_and_can_be_queried() {
    let member = Member::start("eu-1", ANY).await.unwrap();
    member.behave(Behaviour { fail_every: Some(5), ..Behaviour::default() });
    let mut answers = Vec::new();
    for _ in 0..10 {
        answers.push(get(&member, "storefront.test").await.unwrap());
    }
    assert_eq!(answers, [200, 200, 200, 200, 500, 200, 200, 200, 200, 500]);
    assert_eq!(get(&member, "checkout.test").await, Ok(200));
    assert_eq!((member.observed("storefront"), member.observed("checkout"), member.observed("search")), (10, 1, 0));
    for prometheus in both_ways(&member) {
        let count = async |code: &str| {
            let query = format!(r#"sum(http_requests_total{{service="storefront",code="{code}"}})"#);
            let now = Clock::default().now();
            prometheus.query(&query, now, Began::now(now)).await.unwrap().number(now).unwrap().unwrap_or_default()
        };
        let since = Instant::now();
        let counted = loop {
            let counted = (count("200").await, count("500").await);
            if counted.0 + counted.1 >= 10.0 || since.elapsed() > Duration::from_secs(10) {
                break counted;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        };
        assert_eq!(counted, (8.0, 2.0));
    }
}

#[tokio::test]
async fn a_probe_is_no_traffic() {
    let member = Member::start("eu-1", ANY).await.unwrap();
    let peer = Peer::at(&format!("http://{}", member.addresses().gateway)).unwrap();
    let client = Client::new(&peer, &network(&member)).unwrap();
    assert_eq!(client.get("/healthz", &[], LIMITS, Clone::clone).await.unwrap().status, 200);
    assert_eq!(member.observed("127"), 0);
}

#[tokio::test]
async fn metrics_that_are_hidden_are_missing_and_not_zero() {
    let member = Member::start("eu-1", ANY).await.unwrap();
    member.show_metrics(false);
    for prometheus in both_ways(&member) {
        let now = Clock::default().now();
        let missing = prometheus.query("vector(1)", now, Began::now(now)).await.unwrap_err();
        assert_eq!(missing.to_string(), "Prometheus answered with status 503");
    }
    member.show_metrics(true);
    for prometheus in both_ways(&member) {
        let now = Clock::default().now();
        assert_eq!(prometheus.query("vector(1)", now, Began::now(now)).await.unwrap().number(now), Ok(Some(1.0)));
    }
}

#[tokio::test]
async fn an_api_server_wants_its_token() {
    let member = Member::start("eu-1", ANY).await.unwrap();
    let kubeconfig: Value = serde_json::from_str(&member.kubeconfig()).unwrap();
    let authority: ByteString =
        serde_json::from_value(kubeconfig["clusters"][0]["cluster"]["certificate-authority-data"].clone()).unwrap();
    let mut peer = Peer::at(kubeconfig["clusters"][0]["cluster"]["server"].as_str().unwrap()).unwrap();
    peer.roots = Some(authority.0);
    let client = Client::new(&peer, &network(&member)).unwrap();
    assert_eq!(client.get("/version", &[], LIMITS, Clone::clone).await.unwrap().status, 401);
}

#[tokio::test]
async fn a_member_that_is_down_answers_nobody() {
    let member = Member::start("eu-1", ANY).await.unwrap();
    assert_eq!(get(&member, "storefront.test").await, Ok(200));
    member.die();
    let since = Instant::now();
    while get(&member, "storefront.test").await.is_ok() {
        assert!(since.elapsed() < Duration::from_secs(10), "it still answers");
    }
    let error = get(&member, "storefront.test").await.unwrap_err();
    assert!(error.contains("refused"), "{error}");
}
