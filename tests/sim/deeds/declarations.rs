//! P18 and P19: what people declare in mid-run, and what no hub can read.

use serde_json::json;

use super::super::{
    plan::sorts::{Declared, Poison},
    scenario::{CRDS, MEMBER_PATH, members},
    world::{ROLLOUT, World},
};

pub fn declare(world: &World, what: Declared) {
    let start: Vec<(&str, u32)> = world.scenario.start.iter().map(|(name, weight)| (name.as_str(), *weight)).collect();
    let spec = match what {
        Declared::Revision => json!({"members": members(&[("eu-1", 40), ("eu-3", 60)])}),
        Declared::Steps => json!({"strategy": {"steps": [{"progress": "50%"}, {"progress": "100%"}]}}),
        Declared::Members => json!({"members": members(&[("eu-2", 30), ("eu-3", 70)])}),
        Declared::Analysis => json!({"analysis": {"interval": "4s"}}),
        Declared::Pause => json!({"paused": true}),
        Declared::Route => {
            let mut services = world.scenario.spec()["services"].clone();
            services[0]["routes"][0]["gatewayAPI"]["rules"] = json!(["#0"]);
            json!({"services": services})
        }
        Declared::OldTarget | Declared::Aba => json!({"members": members(&start)}),
    };
    world.patch(ROLLOUT, &json!({"spec": spec}), "user");
}

/// The rollout is deleted past its finalizer, and declared again under the same name.
pub fn recreate(world: &World) {
    world.patch(ROLLOUT, &json!({"metadata": {"finalizers": null}}), "kubectl-edit");
    world.delete(ROLLOUT);
    world.look();
    world.scenario.declare(world);
}

pub fn poison(world: &World, what: Poison) {
    let rollout = json!({"apiVersion": "cutover.dev/v1alpha1", "kind": "FleetRollout",
        "metadata": {"name": "poison", "namespace": "shop"},
        "spec": {"services": "many", "members": 7, "strategy": {"bake": "soon"}}});
    let member = json!({"apiVersion": "cutover.dev/v1alpha1", "kind": "MemberCluster",
        "metadata": {"name": "poison"}, "spec": {"endpoints": "none"}});
    let request = json!({"apiVersion": "cutover.dev/v1alpha1", "kind": "RolloutRequest",
        "metadata": {"name": "poison", "namespace": "shop"}, "spec": {"verb": "Explode"}});
    let (path, object, kind) = match what {
        Poison::RolloutBefore | Poison::RolloutLive => {
            ("/apis/cutover.dev/v1alpha1/namespaces/shop/fleetrollouts", rollout, "fleetrollouts")
        }
        Poison::MemberBefore | Poison::MemberLive => (MEMBER_PATH, member, "memberclusters"),
        Poison::RequestLive => {
            ("/apis/cutover.dev/v1alpha1/namespaces/shop/rolloutrequests", request, "rolloutrequests")
        }
        Poison::BrokenQuery => {
            let mut analysis = world.scenario.spec()["analysis"].clone();
            analysis["metrics"][0]["ratio"]["numerator"] = "sum(".into();
            world.patch(ROLLOUT, &json!({"spec": {"analysis": analysis}}), "user");
            return;
        }
    };
    // A newer version of the definition, which this hub does not understand, lets it in.
    let open = json!({"spec": {"versions": []}});
    let definition = format!("{CRDS}/{kind}.cutover.dev");
    let Some(old) = world.object(&definition) else { return };
    let mut versions = old["spec"]["versions"].clone();
    versions[0]["schema"]["openAPIV3Schema"] = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let mut patch = open;
    patch["spec"]["versions"] = versions;
    world.patch(&definition, &patch, "user");
    world.create(path, &object);
}
