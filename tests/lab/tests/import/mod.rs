//! A rollout of Flagger becomes one of cutover: what is said before of it is read only, and done as it says no request fails.

mod ingress;
mod left;

pub use left::{Left, Reached};

use crate::{
    apiserver::{ADMIN, VISITOR},
    audit::Request,
    history::History,
    load::Load,
    parts::Parts,
    rollout::Rollout,
    runner::{Place, Scene, Test},
    shown::shown,
    stage::{AROUND, all_at, http_route},
    typist::Typist,
};
use anyhow::{Context, Result, ensure};
use cutover::api::Phase;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};

pub const TESTS: &[Test] = &[
    Test {
        name: "a_move_from_flagger_shifts_no_traffic",
        place: Place::Shared,
        run: |scene| Box::pin(by_http_route(scene)),
    },
    Test {
        name: "a_move_from_flagger_by_ingress",
        place: Place::Shared,
        run: |scene| Box::pin(ingress::by_ingress(scene)),
    },
];

const CANARY: (&str, &str) = ("flagger.app/v1beta1", "Canary");

async fn by_http_route(scene: Scene) -> Result<()> {
    let name = &scene.namespace;
    let backends =
        format!("{{name: {name}-primary, port: 80, weight: 100}}, {{name: {name}-canary, port: 80, weight: 0}}");
    http_route(&scene.hub, name, name, name, &backends).await?;
    let left = Left {
        to: scene.contour.address,
        provider: "gatewayapi:v1",
        canary: json!({"service": {"gatewayRefs": [{"name": "public", "namespace": "projectcontour"}]}}),
        route: ("gateway.networking.k8s.io/v1", "HTTPRoute", "httproutes"),
        route_name: name.clone(),
        reached: Reached::Name,
    };
    Move::begin(&scene, left).await?.make().await
}

/// A move under load, with those who make it.
pub struct Move<'s> {
    scene: &'s Scene,
    left: Left,
    load: Load,
    /// May look and nothing else.
    visitor: Typist,
    admin: Typist,
}

impl<'s> Move<'s> {
    pub async fn begin(scene: &'s Scene, left: Left) -> Result<Self> {
        let load = left.make(scene).await?;
        let (visitor, admin) = (typist(scene, VISITOR).await?, typist(scene, ADMIN).await?);
        Ok(Self { scene, left, load, visitor, admin })
    }

    /// Everything is typed that `--live` says, but what it leaves to a person.
    pub async fn make(self) -> Result<()> {
        let Self { scene, left, load, visitor, admin } = self;
        let name = &scene.namespace;
        let (api_version, kind, plural) = left.route;
        let history = History::start(scene.hub.api(api_version, kind, name).await?, &left.route_name).await?;
        let said = visitor.types(&live(name)).await?;
        only_read(scene, plural)?;
        for expected in
            ["primary 100 % would become the primary", "stays as it is until a run changes it", "nothing was written"]
        {
            ensure!(said.contains(expected), "{said}");
        }

        let made = admin
            .types(&format!(
                "kubectl get canaries,metrictemplates.flagger.app,services -n {name} -o yaml | cutover import flagger -"
            ))
            .await?;
        flagger_leaves(scene).await?;
        let to_type = said.lines().filter_map(|line| line.trim().strip_prefix("$ "));
        let (deletes, others): (Vec<&str>, Vec<&str>) = to_type.partition(|line| line.starts_with("kubectl delete"));
        ensure!(
            deletes == [format!("kubectl delete canary {name} -n {name} --cascade=orphan")] && others.len() == 2,
            "{said}"
        );
        for line in others {
            admin.types(&line.replace("MEMBER", "eu-1")).await?;
        }
        let rollout = declare(scene, &made).await?;
        rollout.phase(Phase::Initialized).await?;
        load.goes_on_for(AROUND).await?;

        let services = scene.hub.api("v1", "Service", name).await?;
        let to_eu_3 = json!({
            "metadata": {"annotations": {"cutover.dev/member": "eu-3"}},
            "spec": left.reached.leads_to(name, "eu-3"),
        });
        services.patch(name, &PatchParams::default(), &Patch::Merge(to_eu_3)).await?;
        rollout.phase(Phase::Succeeded).await?;
        all_at(scene, &load, "eu-3").await?;

        rollout.delete().await?;
        rollout.is_gone().await?;
        load.goes_on_for(AROUND).await?;
        all_at(scene, &load, "eu-3").await?;
        load.stop().await.assert_all_ok()?;
        let states = history.entries().into_iter().filter_map(|entry| Some(shown(&entry.object?, name)));
        let mut canary: Vec<u32> = states.map(|shown| shown.get("canary").copied().unwrap_or_default()).collect();
        canary.dedup();
        ensure!(canary == [0, 25, 50, 100, 0], "the canary had {canary:?}");
        for copy in ["primary", "canary"] {
            services
                .get(&format!("{name}-{copy}"))
                .await
                .with_context(|| format!("{copy} is what Flagger would go on with"))?;
        }
        Ok(())
    }
}

/// What would become of the Canary.
fn live(name: &str) -> String {
    format!("cutover import flagger --live {name} -n {name}")
}

async fn typist(scene: &Scene, user: &str) -> Result<Typist> {
    let folder = scene.folder.join("typists").join(format!("{}-{user}", scene.namespace));
    Typist::new(folder, scene.hub.kubeconfig_file(user)?, &Parts::ensure(false).await?, Vec::new())
}

/// The audit log has nothing but reads of this user, and all of them were allowed.
fn only_read(scene: &Scene, routes: &str) -> Result<()> {
    let requests = scene.hub.requests(VISITOR)?;
    let read: Vec<String> = requests.iter().map(|request| format!("{} {}", request.verb, request.resource())).collect();
    ensure!(requests.iter().all(|request| ["get", "list"].contains(&request.verb.as_str())), "{read:?}");
    let routes = format!("get {routes}");
    for expected in ["get canaries", "get metrictemplates", "get services", &routes, "list memberclusters"] {
        ensure!(read.iter().any(|one| one == expected), "{expected} is not in {read:?}");
    }
    ensure!(!requests.iter().any(Request::is_beyond_rights), "{requests:?}");
    Ok(())
}

/// As `kubectl delete --cascade=orphan` does together with the garbage collector, which the lab does not have.
async fn flagger_leaves(scene: &Scene) -> Result<()> {
    let canaries = scene.hub.api(CANARY.0, CANARY.1, &scene.namespace).await?;
    canaries.delete(&scene.namespace, &DeleteParams::default()).await?;
    Ok(())
}

/// What was imported, with times and counts for a test.
async fn declare<'s>(scene: &'s Scene, made: &str) -> Result<Rollout<'s>> {
    let objects: Vec<Value> = serde_yaml::from_multiple(made)?;
    let [template, rollout] = objects.as_slice() else { anyhow::bail!("{made}") };
    scene.hub.create(&scene.namespace, &template.to_string()).await?;
    let mut rollout = rollout.clone();
    let short = json!({"strategy": {"bake": "3s"}, "analysis": {"interval": "1s", "settle": "1s", "lag": "1s"}});
    json_patch::merge(&mut rollout["spec"], &short);
    // The lab may be busy.
    rollout["spec"]["analysis"]["metrics"][0]["minSamples"] = 20.into();
    Rollout::declare(scene, &scene.namespace, &rollout).await
}
