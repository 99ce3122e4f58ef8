//! The hub: its Lease, its Deployment, and its version.

use jiff::Timestamp;

use super::check::{Check, Outcome, Section};
use crate::{
    cli::{
        CliError,
        cluster::Cluster,
        hub_deployment::{HUB, HubDeployment},
        hub_liveness::{HubLiveness, LeaseSeen},
        text::span,
    },
    text::sanitise_to,
};

/// Characters that are shown of the name of an image.
const LONGEST: usize = 255;

pub(super) async fn checks(cluster: &Cluster, lease: &LeaseSeen, namespace: &str, now: Timestamp) -> Vec<Check> {
    let found = HubDeployment::list(cluster, namespace).await;
    let lease = Check::new(Section::Hub, "Lease kube-system/cutover-hub", of_lease(lease, namespace, now));
    std::iter::once(lease).chain(of_deployments(found, namespace)).collect()
}

fn of_lease(lease: &LeaseSeen, namespace: &str, now: Timestamp) -> Outcome {
    let logs = format!("kubectl logs -n {namespace} deploy/cutover-hub; kubectl get pods -n {namespace}");
    match lease.at(now) {
        HubLiveness::Alive(ago) => {
            let holder = match lease {
                LeaseSeen::Read(Some(lease)) => lease.spec.as_ref().and_then(|spec| spec.holder_identity.as_deref()),
                LeaseSeen::Read(None) | LeaseSeen::NotReadable(_) => None,
            };
            let holder = sanitise_to(holder.unwrap_or_default(), LONGEST);
            Outcome::good(format!("{holder} holds it and renewed it {} ago", span(ago)))
        }
        silent @ (HubLiveness::Silent(_) | HubLiveness::Absent) => Outcome::bad(silent.to_string(), logs),
        HubLiveness::NotKnown(why) => {
            Outcome::not_known(why, "ask for the ClusterRole cutover-viewer, which may read it")
        }
    }
}

fn of_deployments(found: Result<Vec<HubDeployment>, CliError>, namespace: &str) -> Vec<Check> {
    let check = |subject: String, outcome| Check::new(Section::Hub, subject, outcome);
    let general = format!("Deployment in {namespace}");
    match found {
        Err(error) => {
            let remedy = format!("as somebody who may: kubectl get deploy -n {namespace} -l {HUB}");
            vec![check(general, Outcome::unreadable(&error, &remedy))]
        }
        Ok(found) if found.is_empty() => {
            let what = format!("no Deployment there has the labels {HUB}");
            let remedy = "cutover install prints it; if the hub is in another namespace, name it with --hub-namespace";
            vec![check(general, Outcome::bad(what, remedy))]
        }
        Ok(found) => found.iter().flat_map(|one| of_deployment(one, namespace)).collect(),
    }
}

fn of_deployment(deployment: &HubDeployment, namespace: &str) -> [Check; 2] {
    let name = format!("Deployment {namespace}/{}", deployment.name());
    let available = Check::new(Section::Hub, name, available(deployment, namespace));
    let image = sanitise_to(deployment.image().unwrap_or_default(), LONGEST);
    [available, Check::new(Section::Hub, "version", of_image(&image))]
}

fn available(deployment: &HubDeployment, namespace: &str) -> Outcome {
    let (wanted, ready) = (deployment.wanted(), deployment.available());
    let what = format!("{ready} of {wanted} replicas are available");
    if wanted > 0 && ready >= wanted {
        return Outcome::good(what);
    }
    let remedy = if wanted == 0 {
        format!("kubectl scale -n {namespace} deploy/{} --replicas 2", deployment.name())
    } else {
        format!("kubectl describe pods -n {namespace} -l {HUB}")
    };
    Outcome::bad(what, remedy)
}

/// The version, where the tag of the image is one.
fn of_image(image: &str) -> Outcome {
    let this = env!("CARGO_PKG_VERSION");
    let name = image.split('@').next().unwrap_or_default();
    let tag = name.rsplit('/').next().and_then(|last| last.split_once(':')).map(|(_, tag)| tag);
    let version = tag.map(|tag| tag.strip_prefix('v').unwrap_or(tag)).filter(|tag| is_version(tag));
    match version {
        Some(version) if version == this => Outcome::good(format!("{image}, that of this command")),
        Some(version) => Outcome::bad(
            format!("the hub is {version} ({image}), this command {this}"),
            format!(
                "use the command of the hub's version, or upgrade the hub: cutover install --image REGISTRY/cutover:{this}"
            ),
        ),
        None => Outcome::not_known(
            format!("the image {image} does not say its version"),
            format!("see that it is that of this command, {this}"),
        ),
    }
}

fn is_version(tag: &str) -> bool {
    let mut parts = tag.splitn(3, '.');
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_first_number = |part: &str| part.starts_with(|first: char| first.is_ascii_digit());
    parts.next().is_some_and(is_number)
        && parts.next().is_some_and(is_number)
        && parts.next().is_some_and(is_first_number)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cli::fixtures;

    fn deployment(available: u32) -> HubDeployment {
        HubDeployment::of(json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "cutover-hub"}, "status": {"availableReplicas": available},
            "spec": {"replicas": 2, "selector": {}, "template": {"spec": {"containers": [
                {"name": "hub", "image": concat!("registry:5000/x/cutover:", env!("CARGO_PKG_VERSION"), "@sha256:0")}]}}}
        }))
    }

    fn bad(checks: &[Check]) -> Vec<&str> {
        checks.iter().filter(|check| check.is_bad()).map(|check| check.outcome.texts().0).collect()
    }

    #[test]
    fn a_deployment_needs_its_replicas_and_this_version() {
        assert_eq!(bad(&of_deployments(Ok(vec![deployment(2)]), "a")), [""; 0]);
        assert_eq!(bad(&of_deployments(Ok(vec![deployment(1)]), "a")), ["1 of 2 replicas are available"]);
        let none = format!("no Deployment there has the labels {HUB}");
        assert_eq!(bad(&of_deployments(Ok(Vec::new()), "a")), [none]);
    }

    #[test]
    fn the_version_is_the_tag_where_that_is_one() {
        let outcome = |image: &str| of_image(image);
        assert!(matches!(outcome(concat!("cutover:v", env!("CARGO_PKG_VERSION"))), Outcome::Good(_)));
        assert!(matches!(outcome("registry:5000/cutover:9.9.9-rc.1"), Outcome::Bad { .. }));
        for image in ["cutover", "cutover:latest", "registry:5000/cutover", "cutover:main-1.2.3", "cutover@sha256:0"] {
            assert!(matches!(outcome(image), Outcome::NotKnown { .. }), "{image}");
        }
    }

    #[test]
    fn a_lease_that_nobody_renews_is_bad() {
        let now = fixtures::NOW.parse().unwrap();
        let alive = of_lease(&fixtures::lease("2026-01-03T03:00:56.000000Z"), "a", now);
        assert_eq!(alive, Outcome::good("hub-1 holds it and renewed it 4 s ago"));
        assert!(matches!(of_lease(&fixtures::silent(), "a", now), Outcome::Bad { .. }));
        assert!(matches!(of_lease(&LeaseSeen::Read(None), "a", now), Outcome::Bad { .. }));
        assert!(matches!(of_lease(&LeaseSeen::NotReadable("no".to_owned()), "a", now), Outcome::NotKnown { .. }));
    }
}
