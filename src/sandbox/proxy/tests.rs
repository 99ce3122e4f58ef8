//! The data plane between an API server, members and clients, all of them real but for their size.

use std::time::{Duration, Instant};

use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use super::*;
use crate::{
    clock::Clock,
    sandbox::{api::ApiServer, load::Load, member::Member, server::ANY},
};

const PATIENCE: Duration = Duration::from_secs(20);

async fn eventually(what: &str, condition: impl AsyncFn() -> bool) {
    let since = Instant::now();
    while !condition().await {
        assert!(since.elapsed() < PATIENCE, "{what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

struct Stage {
    routes: Api<DynamicObject>,
    proxy: Proxy,
    members: Vec<Member>,
}

impl Stage {
    /// A route `public` for shop.test, half of it to each of eu-1 and eu-2.
    async fn begin() -> Self {
        let cluster = ApiServer::new(Arc::new(|| Clock::default().now()), 1).client();
        let definitions = ApiResource::erase::<
            k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
        >(&());
        let definitions: Api<DynamicObject> = Api::all_with(cluster.clone(), &definitions);
        definitions.create(&PostParams::default(), &object(definition())).await.unwrap();
        let members = vec![Member::start("eu-1", ANY).await.unwrap(), Member::start("eu-2", ANY).await.unwrap()];
        let services: Api<Service> = Api::namespaced(cluster.clone(), "default");
        for member in &members {
            let service = json!({
                "metadata": {"name": format!("shop-{}", member.name())},
                "spec": {"type": "ExternalName", "externalName": format!("{}.test", member.name()), "ports": [{"port": 80}]},
            });
            services.create(&PostParams::default(), &serde_json::from_value(service).unwrap()).await.unwrap();
        }
        let routes: Api<DynamicObject> = Api::namespaced_with(cluster.clone(), "default", &resource());
        let route = json!({
            "apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": {"name": "public"},
            "spec": {"parentRefs": [{"name": "gateway"}], "hostnames": ["shop.test"], "rules": rules(&members, [50, 50])},
        });
        routes.create(&PostParams::default(), &object(route)).await.unwrap();
        let names = members.iter().map(|member| (format!("{}.test", member.name()), [127, 0, 0, 1].into())).collect();
        let proxy = Proxy::start(cluster, names).await.unwrap();
        eventually("the route is served", async || proxy.serves("shop.test")).await;
        Self { routes, proxy, members }
    }

    async fn set(&self, rules: Value) {
        let patch = Patch::Merge(json!({"spec": {"rules": rules}}));
        self.routes.patch("public", &PatchParams::default(), &patch).await.unwrap();
    }

    /// What the route's status says of its present generation: types that are true, and the words of those that are not.
    async fn said(&self) -> Vec<String> {
        let route = self.routes.get("public").await.unwrap();
        let conditions = route.data.pointer("/status/parents/0/conditions").and_then(Value::as_array).cloned();
        let current = |one: &Value| one["observedGeneration"].as_i64() == route.metadata.generation;
        let words = |one: Value| {
            let text = |key: &str| one[key].as_str().unwrap_or_default().to_owned();
            if one["status"] == "True" { text("type") } else { format!("{} {}", text("reason"), text("message")) }
        };
        conditions.into_iter().flatten().filter(current).map(words).collect()
    }

    fn observed(&self) -> Vec<u64> {
        self.members.iter().map(|member| member.observed("shop")).collect()
    }
}

fn object(value: Value) -> DynamicObject {
    serde_json::from_value(value).unwrap()
}

fn rules(members: &[Member], weights: [u32; 2]) -> Value {
    let backend = |(member, weight): (&Member, u32)| json!({"name": format!("shop-{}", member.name()), "port": member.addresses().gateway.port(), "weight": weight});
    json!([{"backendRefs": members.iter().zip(weights).map(backend).collect::<Vec<_>>()}])
}

#[tokio::test]
async fn live_weights_are_obeyed_and_confirmed() {
    let stage = Stage::begin().await;
    eventually("the route is accepted", async || stage.said().await == ["Accepted", "ResolvedRefs"]).await;
    let load = Load::start(stage.proxy.address(), vec!["shop.test".to_owned()], 500);
    eventually("a hundred requests at each", async || stage.observed().iter().all(|count| *count >= 100)).await;

    stage.set(rules(&stage.members, [0, 100])).await;
    eventually("the new generation is accepted", async || stage.said().await == ["Accepted", "ResolvedRefs"]).await;
    let ended = load.so_far().ended();
    eventually("what was under way has ended", async || load.so_far().ended() > ended + 128).await;
    let before = stage.observed();
    eventually("a hundred more at eu-2", async || stage.observed()[1] >= before[1] + 100).await;
    assert_eq!(stage.observed()[0], before[0], "eu-1 has no weight");
    assert_eq!(load.so_far().failed(), 0, "{:?}", load.so_far());
}

#[tokio::test]
async fn copies_reach_a_member_that_answers_nobody() {
    let stage = Stage::begin().await;
    stage.members[1].behave(crate::sandbox::member::Behaviour { fail_every: Some(1), delay: Duration::ZERO });
    let mut copied = rules(&stage.members, [100, 0]);
    let mut backend = copied[0]["backendRefs"][1].clone();
    backend.as_object_mut().unwrap().remove("weight");
    copied[0]["filters"] = json!([{"type": "RequestMirror", "requestMirror": {"backendRef": backend}}]);
    stage.set(copied).await;
    eventually("the route is accepted", async || stage.said().await == ["Accepted", "ResolvedRefs"]).await;
    let load = Load::start(stage.proxy.address(), vec!["shop.test".to_owned()], 500);
    eventually("a hundred requests at each", async || stage.observed().iter().all(|count| *count >= 100)).await;
    let answered = load.so_far();
    assert_eq!((answered.failed(), answered.by_status.into_keys().collect::<Vec<_>>()), (0, vec![200]));
}

#[tokio::test]
async fn a_backend_that_is_not_there_is_reported_and_answered_with_500() {
    let stage = Stage::begin().await;
    stage.set(json!([{"backendRefs": [{"name": "shop-eu-9", "port": 80}]}])).await;
    let said = ["Accepted", "BackendNotFound not found: shop-eu-9"];
    eventually("the route's status", async || stage.said().await == said).await;
    let load = Load::start(stage.proxy.address(), vec!["shop.test".to_owned()], 100);
    eventually("ten answers", async || load.so_far().ended() >= 10).await;
    assert_eq!(load.so_far().by_status.into_keys().collect::<Vec<_>>(), [500]);
}

#[tokio::test]
async fn load_is_bounded_however_slow_the_answers_are() {
    let stage = Stage::begin().await;
    for member in &stage.members {
        member.behave(crate::sandbox::member::Behaviour { fail_every: None, delay: Duration::from_mins(1) });
    }
    let _load = Load::start(stage.proxy.address(), vec!["shop.test".to_owned()], 2000);
    eventually("all that may be under way", async || stage.observed().iter().sum::<u64>() >= 128).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(stage.observed().iter().sum::<u64>(), 128);
}
