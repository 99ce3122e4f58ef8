//! The screens of the real binary, against an API server in memory: no hub runs, but for what its Lease says.

mod silent;
mod terminal;
mod watch;

use std::{
    path::PathBuf,
    process::{Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use cutover::{
    api::crd::definitions,
    clock::Clock,
    sandbox::{api::ApiServer, proxy, server::Server},
};
use futures::FutureExt;
use jiff::{SignedDuration, Timestamp};
use kube::{
    Api, Client,
    api::{Patch, PatchParams, PostParams},
    core::{ApiResource, DynamicObject, GroupVersionKind},
};
use serde_json::{Value, json};
use tower::Service;

/// A hub cluster with a rollout at its second step, and nothing that moves it.
struct World {
    client: Client,
    folder: tempfile::TempDir,
    served: Server,
}

fn kind(object: &Value) -> ApiResource {
    let version = object["apiVersion"].as_str().unwrap();
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, object["kind"].as_str().unwrap()))
}

impl World {
    async fn start() -> Self {
        let api = ApiServer::new(Arc::new(|| Clock::default().now()), 7);
        let client = api.client();
        let served = Server::start(None, move |request| api.clone().call(request).map(|Ok(answer)| answer));
        let served = served.await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let world = Self { client, folder, served };
        std::fs::write(world.kubeconfig(), kubeconfig(&world.served.address.to_string())).unwrap();
        for object in definitions().unwrap().into_iter().chain([proxy::definition()]).chain(objects()) {
            world.create(object).await;
        }
        world.renew(SignedDuration::ZERO).await;
        let uid = world.objects(&rollout()).get("shop").await.unwrap().metadata.uid.unwrap();
        world.patch_status(&rollout(), &status()).await;
        world.patch(&route(), &mark(&uid)).await;
        world
    }

    fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("kubeconfig")
    }

    fn objects(&self, of: &Value) -> Api<DynamicObject> {
        match of["metadata"]["namespace"].as_str() {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &kind(of)),
            None => Api::all_with(self.client.clone(), &kind(of)),
        }
    }

    async fn create(&self, object: Value) {
        let api = self.objects(&object);
        api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
    }

    async fn patch(&self, of: &Value, patch: &Value) {
        let name = of["metadata"]["name"].as_str().unwrap();
        self.objects(of).patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }

    async fn patch_status(&self, of: &Value, status: &Value) {
        let name = of["metadata"]["name"].as_str().unwrap();
        let patch = json!({"status": status});
        self.objects(of).patch_status(name, &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap();
    }

    /// The hub renews its Lease so long from now.
    async fn renew(&self, from_now: SignedDuration) {
        let at = (Timestamp::now() + from_now).strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string();
        self.patch(&lease(), &json!({"spec": {"renewTime": at}})).await;
    }

    /// Runs `cutover` to its end: its exit status and what it printed.
    async fn cutover(&self, arguments: &[&str]) -> (i32, String) {
        let mut command = tokio::process::Command::from(self.command(arguments));
        let output = command.stdin(Stdio::null()).output().await.unwrap();
        (output.status.code().unwrap(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cutover"));
        command.env("KUBECONFIG", self.kubeconfig()).env("NO_COLOR", "1").args(arguments);
        command
    }
}

/// Tries until it holds; what was seen last is the error.
async fn eventually<T>(mut look: impl AsyncFnMut() -> Result<T, String>) -> T {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        match look().await {
            Ok(found) => return found,
            Err(seen) => assert!(Instant::now() < end, "{seen}"),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn kubeconfig(address: &str) -> String {
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "hub",
        "clusters": [{"name": "hub", "cluster": {"server": format!("http://{address}")}}],
        "contexts": [{"name": "hub", "context": {"cluster": "hub", "user": "ann", "namespace": "shop"}}],
        "users": [{"name": "ann", "user": {}}],
    })
    .to_string()
}

fn objects() -> Vec<Value> {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}});
    let members = ["eu-1", "eu-2", "eu-3"].into_iter().map(member);
    let services = ["eu-1", "eu-2", "eu-3"].into_iter().map(backend);
    [namespace, lease()].into_iter().chain(members).chain(services).chain([route(), rollout()]).collect()
}

fn lease() -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "cutover-hub", "namespace": "kube-system"},
        "spec": {"holderIdentity": "hub-1", "leaseDurationSeconds": 2, "renewTime": "2026-01-01T00:00:00.000000Z"},
    })
}

fn member(name: &str) -> Value {
    json!({
        "apiVersion": "cutover.dev/v1alpha1", "kind": "MemberCluster", "metadata": {"name": name},
        "spec": {
            "endpoints": [{"host": format!("{name}.example.com"), "port": 80}], "allowedNamespaces": {"from": "All"},
            "prometheus": {"url": {"address": "https://prometheus.example.com"}},
        },
    })
}

fn backend(member: &str) -> Value {
    let ports = json!([{"name": "http", "port": 80, "targetPort": 80, "protocol": "TCP"}]);
    json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": format!("storefront-{member}"), "namespace": "shop"},
        "spec": {"type": "ExternalName", "externalName": format!("{member}.example.com"), "ports": ports},
    })
}

fn route() -> Value {
    json!({
        "apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute",
        "metadata": {"name": "public", "namespace": "shop"},
        "spec": {"parentRefs": [{"name": "public"}], "hostnames": ["shop.test"], "rules": [rule(&[40, 50, 10])]},
    })
}

fn rule(weights: &[u32; 3]) -> Value {
    let backend = |(name, weight)| json!({"name": format!("storefront-{name}"), "port": 80, "weight": weight});
    let backends: Vec<Value> = ["eu-1", "eu-2", "eu-3"].into_iter().zip(weights).map(backend).collect();
    json!({"backendRefs": backends})
}

/// The mark of the write that the status knows.
fn mark(uid: &str) -> Value {
    json!({"metadata": {"annotations": {"cutover.dev/write": format!("hub/{uid}/1/2/0")}}})
}

fn rollout() -> Value {
    json!({
        "apiVersion": "cutover.dev/v1alpha1", "kind": "FleetRollout", "metadata": {"name": "shop", "namespace": "shop"},
        "spec": spec(),
    })
}

fn spec() -> Value {
    json!({
        "services": [{"name": "storefront", "port": 80, "routes": [{"gatewayAPI": {"name": "public"}}]}],
        "members": [{"name": "eu-1", "weight": 0}, {"name": "eu-2", "weight": 50}, {"name": "eu-3", "weight": 50}],
        "strategy": {"steps": [{"progress": "20%"}, {"progress": "100%"}]},
        "analysis": {"metrics": [{
            "name": "errors", "ratio": {"numerator": "sum(a)", "denominator": "sum(b)"}, "max": 1,
        }]},
    })
}

/// Step 1 of 2, confirmed and baking.
fn status() -> Value {
    let now = Timestamp::now().to_string();
    let (start, step, target) =
        (json!({"eu-1": 50, "eu-2": 50}), json!({"eu-1": 40, "eu-2": 50, "eu-3": 10}), json!({"eu-2": 50, "eu-3": 50}));
    let planned = |progress: &str, weights: &Value| json!({"stage": "", "progress": progress, "split": {"weights": weights}, "bake": "10m"});
    let spec = spec();
    json!({
        "observedGeneration": 1, "phase": "Progressing", "reason": "Baking", "message": "step 1: 9m of bake 10m left",
        "since": now, "summary": {"step": "1/2", "weights": "eu-1:40 eu-2:50 eu-3:10", "verdict": "Pass"},
        "primary": start, "sequence": 2,
        "desired": {"split": {"weights": step}, "sequence": 2, "at": now, "confirmedAt": now},
        "routes": [{"service": "storefront", "route": "HTTPRoute/public", "applied": step, "sequence": 2, "at": now}],
        "run": {
            "number": 1, "revision": "3f9c", "generation": 1, "startedAt": now, "start": start, "rollbackTo": start,
            "target": target, "plan": [planned("20%", &step), planned("100%", &target)],
            "pinned": {"weightTotal": 100, "services": spec["services"], "strategy": spec["strategy"]},
            "state": {"stepping": {"step": 1}},
        },
    })
}
