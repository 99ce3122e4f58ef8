//! Hand-made routes on Skipper: the lab tells what obeys weights from what does not.

use super::hand_made::{endpoint_slices, external_names, judge};
use crate::runner::{Place, Scene, Test};
use anyhow::{Result, bail, ensure};

pub const TESTS: &[Test] = &[
    Test {
        name: "backend_weights_of_external_names_lie",
        place: Place::Shared,
        run: |scene| Box::pin(backend_weights_lie(scene)),
    },
    Test {
        name: "backend_weights_of_endpoint_slices",
        place: Place::Shared,
        run: |scene| Box::pin(backend_weights(scene)),
    },
    Test { name: "ingress_per_member", place: Place::Shared, run: |scene| Box::pin(ingress_per_member(scene)) },
    Test { name: "route_group_segments", place: Place::Shared, run: |scene| Box::pin(route_group(scene)) },
];

/// An Ingress to one or several backends, with one annotation for Skipper.
async fn ingress(scene: &Scene, object: &str, annotation: &str, members: &[&str]) -> Result<()> {
    let name = &scene.namespace;
    let path = |member: &&str| {
        format!("{{path: /, pathType: Prefix, backend: {{service: {{name: {name}-{member}, port: {{number: 80}}}}}}}}")
    };
    let paths = members.iter().map(path).collect::<Vec<_>>().join(", ");
    let ingress = format!(
        "\
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: {object}
  annotations: {{kubernetes.io/ingress.class: skipper, {annotation}}}
spec:
  rules: [{{host: {name}.example.com, http: {{paths: [{paths}]}}}}]
"
    );
    scene.hub.apply(name, &ingress).await
}

async fn weighted_ingress(scene: &Scene) -> Result<()> {
    let name = &scene.namespace;
    let annotation = format!("zalando.org/backend-weights: '{{\"{name}-eu-1\": 80, \"{name}-eu-2\": 20}}'");
    ingress(scene, name, &annotation, &["eu-1", "eu-2"]).await?;
    judge(scene, scene.skipper.address, &[("eu-1", 80), ("eu-2", 20)]).await
}

/// The test of the test: for an ExternalName Skipper never looks at the weights.
async fn backend_weights_lie(scene: Scene) -> Result<()> {
    external_names(&scene).await?;
    let Err(error) = weighted_ingress(&scene).await else {
        bail!("Skipper obeyed backend-weights of ExternalName Services");
    };
    let said = format!("{error:#}");
    ensure!(said.contains("observed") && said.contains("desired 80 %"), "failed for another reason: {said}");
    Ok(())
}

async fn backend_weights(scene: Scene) -> Result<()> {
    endpoint_slices(&scene).await?;
    weighted_ingress(&scene).await
}

async fn ingress_per_member(scene: Scene) -> Result<()> {
    external_names(&scene).await?;
    for (member, segment) in [("eu-1", "0.0, 0.8"), ("eu-2", "0.8, 1.0")] {
        let object = format!("{}-{member}", scene.namespace);
        ingress(&scene, &object, &format!("zalando.org/skipper-predicate: 'TrafficSegment({segment})'"), &[member])
            .await?;
    }
    judge(&scene, scene.skipper.address, &[("eu-1", 80), ("eu-2", 20)]).await
}

async fn route_group(scene: Scene) -> Result<()> {
    let name = &scene.namespace;
    let group = format!(
        "\
apiVersion: zalando.org/v1
kind: RouteGroup
metadata: {{name: {name}}}
spec:
  hosts: [{name}.example.com]
  backends:
  - {{name: eu-1, type: network, address: 'http://{name}.eu-1.lab:80'}}
  - {{name: eu-3, type: network, address: 'https://eu-3.lab:443'}}
  routes:
  - pathSubtree: /
    predicates: ['TrafficSegment(0.0, 0.6)']
    filters: ['setRequestHeader(\"Host\", \"{name}.eu-1.lab\")']
    backends: [{{backendName: eu-1}}]
  - pathSubtree: /
    predicates: ['TrafficSegment(0.6, 1.0)']
    filters: ['setRequestHeader(\"Host\", \"{name}.eu-3.lab\")']
    backends: [{{backendName: eu-3}}]
"
    );
    scene.hub.apply(name, &group).await?;
    judge(&scene, scene.skipper.address, &[("eu-1", 60), ("eu-3", 40)]).await?;
    for member in ["eu-1", "eu-3"] {
        let tally = scene.member(member).gateway.tally();
        let (own, all) = (tally.observed_as(&format!("{name}.{member}.lab")), tally.observed(name));
        ensure!(own == all, "{member}: {own} of {all} requests came with its own Host");
    }
    Ok(())
}
