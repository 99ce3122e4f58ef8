//! Two services and three routes move together, or not at all.

use crate::{
    history::History,
    load::Load,
    rollout::{Rollout, declaration, members, promoted_steps},
    runner::{Place, Scene, Test},
    shares::assert_shares,
    shown::{Shown, shown},
    stage::{AROUND, external_name, host, http_route, steady_load},
    wait::{eventually, seconds},
};
use anyhow::{Result, ensure};
use cutover::api::{Phase, Reason, Verb};
use k8s_openapi::api::admissionregistration::v1::ValidatingAdmissionPolicyBinding;
use kube::{
    Api,
    api::{DeleteParams, DynamicObject, Patch, PatchParams},
};
use serde_json::{Value, json};

pub const TESTS: &[Test] = &[
    Test { name: "three_members_and_two_services", place: Place::Shared, run: |scene| Box::pin(together(scene)) },
    Test { name: "a_route_that_is_refused_takes_all_back", place: Place::Shared, run: |scene| Box::pin(skewed(scene)) },
    Test {
        name: "a_rollback_that_the_first_route_refuses",
        place: Place::Shared,
        run: |scene| Box::pin(refused_rollback(scene)),
    },
];

/// Half of each service to eu-1 and eu-2; the first service has two routes, the second has one.
struct Services {
    names: [String; 2],
    declared: Value,
}

const ROUTES: [&str; 3] = ["public", "partners", "checkout"];

impl Services {
    async fn new(scene: &Scene) -> Result<Self> {
        let names = [scene.namespace.clone(), format!("{}-b", scene.namespace)];
        let hub = &scene.hub;
        for name in &names {
            for member in ["eu-1", "eu-2"] {
                external_name(hub, &scene.namespace, &format!("{name}-{member}"), &format!("{name}.{member}.lab"))
                    .await?;
            }
        }
        let halves = |name: &str| {
            format!("{{name: {name}-eu-1, port: 80, weight: 5}}, {{name: {name}-eu-2, port: 80, weight: 5}}")
        };
        for (route, name, host) in [
            ("public", &names[0], names[0].clone()),
            ("partners", &names[0], format!("{}.partners", names[0])),
            ("checkout", &names[1], names[1].clone()),
        ] {
            http_route(hub, &scene.namespace, route, &host, &halves(name)).await?;
        }
        let route = |name: &str| json!({"gatewayAPI": {"name": name}});
        let mut declared = declaration(&names[0], &Value::Null);
        declared["spec"]["services"] = json!([
            {"name": names[0], "port": 80, "routes": [route("public"), route("partners")]},
            {"name": names[1], "port": 80, "routes": [route("checkout")]},
        ]);
        declared["spec"]["members"] = members([50, 50, 0], [50, 50, 0]);
        Ok(Self { names, declared })
    }

    /// The service of each route.
    fn service(&self, route: &str) -> &str {
        if route == "checkout" { &self.names[1] } else { &self.names[0] }
    }
}

/// The rollout at rest, of three steps that a person promotes, and the clients of both services.
async fn begin(scene: &Scene) -> Result<(Services, Rollout<'_>, [Load; 2])> {
    let mut services = Services::new(scene).await?;
    services.declared["spec"]["strategy"]["steps"] = promoted_steps(&[20, 50, 100]);
    let rollout = Rollout::declare(scene, &scene.namespace, &services.declared).await?;
    rollout.phase(Phase::Initialized).await?;
    let to = scene.contour.address;
    let loads = [steady_load(to, &services.names[0]).await?, steady_load(to, &services.names[1]).await?];
    Ok((services, rollout, loads))
}

async fn together(scene: Scene) -> Result<()> {
    let (services, rollout, loads) = begin(&scene).await?;
    let partners = host(&format!("{}.partners", services.names[0]));
    let partners = crate::load::get(scene.contour.address, &partners, "/").await?;
    ensure!(partners == 200, "the second route answers {partners}");
    for load in &loads {
        load.goes_on_for(AROUND).await?;
    }
    rollout.edit(json!({"members": members([0, 50, 50], [50, 50, 0])})).await?;
    for (step, moved) in [(1, 10), (2, 25), (3, 50)] {
        rollout.applied(step).await?;
        for (name, load) in services.names.iter().zip(&loads) {
            let before = scene.observed(name);
            load.sends(2_100).await?;
            let expected = [("eu-1", 50 - moved), ("eu-2", 50), ("eu-3", moved)];
            assert_shares(&before, &scene.observed(name), &expected)?;
        }
        expect_everywhere(&scene, &services, &[("eu-1", 50 - moved), ("eu-2", 50), ("eu-3", moved)]).await?;
        rollout.phase(Phase::WaitingPromotion).await?;
        rollout.ask(Verb::Promote).await?;
    }
    rollout.phase(Phase::Succeeded).await?;
    for load in loads {
        load.goes_on_for(AROUND).await?;
        load.stop().await.assert_all_ok()?;
    }
    Ok(())
}

async fn routes(scene: &Scene) -> Result<Api<DynamicObject>> {
    scene.hub.api("gateway.networking.k8s.io/v1", "HTTPRoute", &scene.namespace).await
}

async fn expect_everywhere(scene: &Scene, services: &Services, weights: &[(&str, u32)]) -> Result<()> {
    expect_at(scene, services, &ROUTES, weights).await
}

async fn expect_at(scene: &Scene, services: &Services, at: &[&str], weights: &[(&str, u32)]) -> Result<()> {
    let weights = weights.iter().filter(|(_, weight)| *weight > 0);
    let expected: Shown = weights.map(|(member, weight)| ((*member).to_owned(), *weight)).collect();
    for route in at {
        let shown = shown(&routes(scene).await?.get(route).await?, services.service(route));
        ensure!(shown == expected, "{route} shows {shown:?}, not {expected:?}");
    }
    Ok(())
}

/// Admission refuses more than 10 for eu-3 on one of three routes: the second step is taken back on the others.
async fn skewed(scene: Scene) -> Result<()> {
    let (services, rollout, loads) = begin(&scene).await?;
    let history = History::start(routes(&scene).await?, "public").await?;
    rollout.edit(json!({"members": members([0, 50, 50], [50, 50, 0])})).await?;
    rollout.applied(1).await?;
    rollout.phase(Phase::WaitingPromotion).await?;
    let policy = Policy {
        route: "checkout",
        expression: "r.backendRefs.all(b, !b.name.endsWith('-eu-3') || b.weight <= 10)",
        message: "eu-3 may have 10 at most",
    };
    policy.enforce(&scene, 11).await?;
    rollout.ask(Verb::Promote).await?;
    // An increase has a minute to be confirmed everywhere.
    let held = eventually("Skewed", seconds(100), async || {
        let status = rollout.status().await?;
        ensure!(
            (status.phase, status.reason) == (Phase::Held, Reason::Skewed),
            "{:?}: {}",
            status.phase,
            status.message
        );
        Ok(status.message)
    })
    .await?;
    ensure!(held.contains("HTTPRoute/checkout") && held.contains("eu-3 may have 10"), "{held}");
    let before = [("eu-1", 40), ("eu-2", 50), ("eu-3", 10)];
    eventually("the rollback target", seconds(20), async || expect_everywhere(&scene, &services, &before).await)
        .await?;
    let states = history.entries().into_iter().filter_map(|entry| entry.object);
    let mut weights: Vec<u32> =
        states.map(|route| shown(&route, &services.names[0]).get("eu-3").copied().unwrap_or_default()).collect();
    weights.dedup();
    ensure!(weights == [0, 10, 25, 10], "{weights:?}");
    for load in loads {
        load.stop().await.assert_all_ok()?;
    }
    Ok(())
}

/// Admission keeps eu-3 at 10 on the first of three routes: the others are taken back without it, the status names it,
/// and it follows as soon as it may.
async fn refused_rollback(scene: Scene) -> Result<()> {
    let (services, rollout, loads) = begin(&scene).await?;
    rollout.edit(json!({"members": members([0, 50, 50], [50, 50, 0])})).await?;
    rollout.applied(1).await?;
    rollout.phase(Phase::WaitingPromotion).await?;
    let policy = Policy {
        route: "public",
        expression: "r.backendRefs.exists(b, b.name.endsWith('-eu-3') && b.weight >= 10)",
        message: "eu-3 may not lose",
    };
    policy.enforce(&scene, 9).await?;
    rollout.ask(Verb::Abort).await?;
    let start = [("eu-1", 50), ("eu-2", 50)];
    eventually("the other routes taken back", seconds(10), async || {
        expect_at(&scene, &services, &["partners", "checkout"], &start).await
    })
    .await?;
    expect_at(&scene, &services, &["public"], &[("eu-1", 40), ("eu-2", 50), ("eu-3", 10)]).await?;
    let said = rollout.until("the refusal", |status| status.message.contains("eu-3 may not lose")).await?;
    ensure!(said.message.contains("HTTPRoute/public"), "{}", said.message);
    policy.remove(&scene).await?;
    rollout.stands(Phase::RolledBack, Reason::Aborted).await?;
    expect_everywhere(&scene, &services, &start).await?;
    for (name, load) in services.names.iter().zip(&loads) {
        let before = scene.observed(name);
        load.sends(2_100).await?;
        assert_shares(&before, &scene.observed(name), &start)?;
    }
    for load in loads {
        load.stop().await.assert_all_ok()?;
    }
    Ok(())
}

/// What admission asks of the weight of eu-3 on one route.
struct Policy {
    route: &'static str,
    /// CEL about each of its rules, `r`.
    expression: &'static str,
    message: &'static str,
}

impl Policy {
    /// Returns when the API server refuses eu-3 this weight.
    async fn enforce(&self, scene: &Scene, refused: u32) -> Result<()> {
        let name = &scene.namespace;
        let Self { route, expression, message } = self;
        let policy = format!(
            "\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {{name: {name}}}
spec:
  matchConstraints:
    namespaceSelector: {{matchLabels: {{kubernetes.io/metadata.name: {name}}}}}
    resourceRules: [{{apiGroups: [gateway.networking.k8s.io], apiVersions: ['*'], operations: [UPDATE], resources: [httproutes]}}]
  matchConditions: [{{name: route, expression: object.metadata.name == '{route}'}}]
  validations:
  - expression: \"object.spec.rules.all(r, {expression})\"
    message: {message}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {{name: {name}}}
spec: {{policyName: {name}, validationActions: [Deny]}}
"
        );
        scene.hub.apply(name, &policy).await?;
        let routes = routes(scene).await?;
        let backend = json!({"name": "any-eu-3", "port": 80, "weight": refused});
        let patch = json!({"spec": {"rules": [{"backendRefs": [backend]}]}});
        let parameters = PatchParams { dry_run: true, ..PatchParams::default() };
        eventually("the policy", seconds(30), async || {
            let answer = routes.patch(route, &parameters, &Patch::Merge(&patch)).await;
            ensure!(answer.is_err(), "not enforced yet");
            Ok(())
        })
        .await
    }

    async fn remove(&self, scene: &Scene) -> Result<()> {
        let bindings = Api::<ValidatingAdmissionPolicyBinding>::all(scene.hub.client.clone());
        bindings.delete(&scene.namespace, &DeleteParams::default()).await?;
        Ok(())
    }
}
