//! docs/tutorial.md, typed line by line: a hub cluster of its own, to which all that `cutover install` prints is applied, and two
//! members of the lab. There are no kubelets, so the test starts the hub process that the Deployment would, with the rights of its
//! service account.

use crate::{
    apiserver::{ADMIN, READER},
    cluster::Cluster,
    fleet::{SYSTEM, bound},
    gateway::Behaviour,
    hub::Hub,
    lab::{TUTORIAL, member_address},
    parts::Parts,
    runner::{Place, Scene, Test},
    shares::assert_shares,
    tests::documents::part,
    typist::Typist,
    wait::{eventually, seconds},
};
use anyhow::{Context, Result, ensure};
use cutover::sandbox::{load::Load, proxy::Proxy};
use http::Request;
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
};

pub const TESTS: &[Test] = &[Test {
    name: "the_tutorial_can_be_typed_on_real_clusters",
    // It applies the role of a member, which the hub of all tests has too.
    place: Place::Alone,
    run: |scene| Box::pin(tutorial(scene)),
}];

const MEMBERS: [&str; 2] = ["eu-1", "eu-3"];
const SERVICE: &str = "storefront";
const PORT: u16 = 8203;
/// Requests per second.
const RATE: u32 = 300;

async fn tutorial(scene: Scene) -> Result<()> {
    let parts = Parts::ensure(false).await?;
    let hub = Cluster::start("tutorial", TUTORIAL, &parts, &scene.folder, &scene.pki).await?;
    hub.install_crds(&parts.gateway_api_crds).await?;
    let variables = vec![
        ("IMAGE", "registry.example.com/cutover:0.1.0".to_owned()),
        ("EU1", "eu-1.lab".to_owned()),
        ("EU3", "eu-3.lab".to_owned()),
        ("PORT", "80".to_owned()),
    ];
    let typist = Typist::new(scene.folder.join("tutorial-typist"), contexts(&scene, &hub)?, &parts, variables)?;
    let outcome = Reader { scene: &scene, hub: &hub, typist }.reads().await;
    for member in MEMBERS.map(|name| scene.member(name)) {
        member.gateway.behave(SERVICE, Behaviour::default());
        member.cluster.apply(SYSTEM, &bound("config/rbac/member.yaml", READER)?).await?;
    }
    outcome
}

struct Reader<'s> {
    scene: &'s Scene,
    hub: &'s Cluster,
    typist: Typist,
}

impl Reader<'_> {
    async fn reads(&self) -> Result<()> {
        let names = MEMBERS.map(|name| (format!("{name}.lab"), member_address(name).into())).into();
        let plane = Proxy::start(self.hub.client.clone(), names).await?;
        let clients = Load::start(plane.address(), vec![format!("{SERVICE}.example.com")], RATE);
        let installing = part('2')?;
        let applied = installing.iter().position(|line| line.contains("--server-side")).context("no install")? + 1;
        self.types(&installing[..applied]).await?;
        let process = self.hub_process().await?;
        self.types(&installing[applied..]).await?;
        self.types(&part('3')?).await?;
        self.types(&part('4')?).await?;
        self.everything_goes_to_eu_3(&clients).await?;
        self.scene.member("eu-1").gateway.behave(SERVICE, Behaviour { fail_every: Some(3), ..Behaviour::default() });
        let said = self.types(&part('5')?).await?;
        ensure!(said.contains("FAILED"), "{said}");
        self.everything_goes_to_eu_3(&clients).await?;
        let removing = part('6')?;
        let removed = async { tokio::try_join!(self.types(&removing), self.namespace_goes()) };
        let (said, ()) = removed.await?;
        ensure!(said.contains("storefront-eu-3"), "{said}");
        process.kill().await?;
        self.nothing_is_left().await
    }

    /// What the lines printed.
    async fn types(&self, lines: &[String]) -> Result<String> {
        let mut said = String::new();
        for line in lines {
            said += &self.typist.types(line).await?;
        }
        Ok(said)
    }

    /// The hub as the Deployment would start it.
    async fn hub_process(&self) -> Result<Hub> {
        let kubeconfig = self.hub.kubeconfig_of_account(SYSTEM, "cutover-hub").await?;
        let binary = Path::new(env!("CARGO_BIN_EXE_cutover"));
        let process = Hub::installed(binary, &kubeconfig, &self.scene.folder, "tutorial", PORT);
        process.open().await?;
        Ok(process)
    }

    async fn everything_goes_to_eu_3(&self, clients: &Load) -> Result<()> {
        let (before, sent) = (self.scene.observed(SERVICE), clients.so_far().ended());
        eventually("2,100 requests", seconds(60), async || {
            ensure!(clients.so_far().ended() >= sent + 2100);
            Ok(())
        })
        .await?;
        assert_shares(&before, &self.scene.observed(SERVICE), &[("eu-3", 100)])
    }

    /// What the controller of namespaces does, which the lab does not have: a deleted namespace that is empty goes.
    async fn namespace_goes(&self) -> Result<()> {
        let path = format!("/api/v1/namespaces/{SYSTEM}");
        eventually("the namespace to be deleted", seconds(150), async || {
            let mut namespace: Value = self.hub.client.request(Request::get(&path).body(Vec::new())?).await?;
            ensure!(namespace["metadata"]["deletionTimestamp"].is_string(), "{namespace}");
            namespace["spec"]["finalizers"] = json!([]);
            let put = Request::put(format!("{path}/finalize")).header("content-type", "application/json");
            self.hub.client.request::<Value>(put.body(namespace.to_string().into_bytes())?).await?;
            Ok(())
        })
        .await
    }

    /// Of everything that was applied, only the namespace of the rollout and its route stay.
    async fn nothing_is_left(&self) -> Result<()> {
        let kinds = "crd,clusterroles,clusterrolebindings,validatingadmissionpolicies,validatingadmissionpolicybindings,namespaces";
        let all = self
            .typist
            .types(&format!("kubectl get {kinds} -o name; kubectl get roles,rolebindings -A -o name"))
            .await?;
        let left: Vec<&str> = all.lines().filter(|line| line.contains("cutover")).collect();
        ensure!(left.is_empty(), "{left:?}");
        Ok(())
    }
}

/// One kubeconfig with a context for each cluster, and that of the hub cluster as the current one.
fn contexts(scene: &Scene, hub: &Cluster) -> Result<PathBuf> {
    let mut all = json!({"apiVersion": "v1", "kind": "Config", "current-context": "hub", "clusters": [], "users": [], "contexts": []});
    let members = MEMBERS.map(|name| (name, &scene.member(name).cluster));
    for (name, cluster) in std::iter::once(("hub", hub)).chain(members) {
        let mut own: Value = serde_yaml::from_str(&cluster.kubeconfig(ADMIN))?;
        own["contexts"][0]["context"] = json!({"cluster": name, "user": name});
        for kind in ["clusters", "users", "contexts"] {
            own[kind][0]["name"] = json!(name);
            all[kind].as_array_mut().context("a list")?.push(own[kind][0].take());
        }
    }
    let file = scene.folder.join("tutorial.kubeconfig");
    fs::write(&file, all.to_string())?;
    Ok(file)
}
