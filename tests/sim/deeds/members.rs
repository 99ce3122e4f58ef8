//! P8 and P20: what the members answer, and which there are.

use serde_json::{Value, json};

use super::super::{
    fleet::{Metrics, Wrong},
    plan::sorts::{MemberChange, MemberFault},
    scenario::{self, MEMBER_PATH, MEMBERS, NEW_TOKEN, RENAMED, SECRET, SECRETS, members},
    world::{ROLLOUT, World},
};

pub fn answer_badly(world: &World, what: MemberFault, begins: bool) {
    let wrong = begins.then_some(wrong(what));
    let now = world.now();
    // Another member may be the canary in the end than was in the beginning.
    let names = if begins { whose(world, what) } else { MEMBERS.to_vec() };
    for name in names {
        let mut fleet = world.fleet();
        let member = fleet.member(name);
        if is_of_endpoints(what) {
            member.endpoint = wrong;
            member.down_since = begins.then_some(now);
        } else {
            member.api = wrong;
            member.metrics = wrong.map(Metrics::Door);
        }
    }
}

fn wrong(what: MemberFault) -> Wrong {
    match what {
        MemberFault::Refused | MemberFault::AllRefused => Wrong::Refused,
        MemberFault::Blackhole
        | MemberFault::AllBlackhole
        | MemberFault::EndpointDown
        | MemberFault::PrimaryDown
        | MemberFault::AllDown => Wrong::Blackhole,
        MemberFault::Tls => Wrong::Tls,
        MemberFault::Unauthorized => Wrong::Status(401),
        MemberFault::Forbidden => Wrong::Status(403),
        MemberFault::Slow => Wrong::Slow(30_000),
        MemberFault::TooMany => Wrong::Status(429),
        MemberFault::Huge => Wrong::Huge,
        MemberFault::Garbage => Wrong::Garbage,
        MemberFault::OtherKind => Wrong::OtherKind,
        MemberFault::Truncated => Wrong::Truncated,
        MemberFault::Deep => Wrong::Deep,
        MemberFault::Redirect => Wrong::Status(302),
    }
}

const fn is_of_endpoints(what: MemberFault) -> bool {
    matches!(what, MemberFault::EndpointDown | MemberFault::PrimaryDown | MemberFault::AllDown)
}

fn whose(world: &World, what: MemberFault) -> Vec<&'static str> {
    match what {
        MemberFault::PrimaryDown => vec!["eu-1"],
        MemberFault::AllRefused | MemberFault::AllBlackhole | MemberFault::AllDown => MEMBERS.to_vec(),
        MemberFault::Refused
        | MemberFault::Blackhole
        | MemberFault::Tls
        | MemberFault::Unauthorized
        | MemberFault::Forbidden
        | MemberFault::Slow
        | MemberFault::TooMany
        | MemberFault::Huge
        | MemberFault::Garbage
        | MemberFault::OtherKind
        | MemberFault::Truncated
        | MemberFault::Deep
        | MemberFault::Redirect
        | MemberFault::EndpointDown => vec![world.canary()],
    }
}

pub fn change(world: &World, what: MemberChange) {
    match what {
        MemberChange::Added => {
            world.create(MEMBER_PATH, &scenario::member("eu-4"));
            scenario::secret(world, "eu-4");
            world.patch(ROLLOUT, &json!({"spec": {"members": members(&[("eu-3", 60), ("eu-4", 40)])}}), "user");
        }
        MemberChange::Removed => {
            let two = json!([{"name": "eu-1", "weight": 0}, {"name": "eu-3", "weight": 100}]);
            world.patch(ROLLOUT, &json!({"spec": {"members": two}}), "user");
        }
        MemberChange::Renamed => rename(world, world.canary()),
        MemberChange::Rotated => {
            let name = world.canary();
            let secret = scenario::secret_of(name, NEW_TOKEN);
            world.patch(&format!("{SECRETS}/{name}"), &json!({"stringData": secret["stringData"]}), "user");
            // The cluster takes the new one only.
            NEW_TOKEN.clone_into(&mut world.fleet().member(name).token);
        }
        MemberChange::Exec => change_secret(world, &with_program(world.canary())),
        MemberChange::Bomb => change_secret(world, &json!({"stringData": {"kubeconfig": BOMB}})),
        MemberChange::Unlabelled => {
            change_secret(world, &json!({"metadata": {"labels": {"cutover.dev/purpose": null}}}));
        }
        MemberChange::Replaced => "another-cluster".clone_into(&mut world.fleet().member(world.canary()).cluster),
        MemberChange::Withdrawn => {
            let name = world.canary();
            allow(world, name, &json!({"from": "Names", "names": ["billing"]}));
            world.fleet().member(name).closed_since = Some(world.now());
        }
        MemberChange::Twice => "cluster-eu-1".clone_into(&mut world.fleet().member(world.canary()).cluster),
    }
}

/// Ten references to ten references, and so on: a gigabyte when it is read.
const BOMB: &str = "a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\n\
d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\n\
g: &g [*f,*f,*f,*f,*f,*f,*f,*f,*f,*f]\nh: &h [*g,*g,*g,*g,*g,*g,*g,*g,*g,*g]\nclusters: [*h]\n";

/// Changes the Secret of the canary.
fn change_secret(world: &World, patch: &Value) {
    world.patch(&format!("{SECRETS}/{}", world.canary()), patch, "user");
}

/// A Secret whose kubeconfig names a program that gives the token.
fn with_program(name: &str) -> Value {
    let secret = scenario::secret_of(name, SECRET);
    let config = secret["stringData"]["kubeconfig"].as_str().unwrap_or_default();
    let mut config: Value = serde_json::from_str(config).unwrap_or_default();
    config["users"][0]["user"] =
        json!({"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "/bin/true"}});
    json!({"stringData": {"kubeconfig": config.to_string()}})
}

/// Which namespaces may use a member from now on.
pub fn allow(world: &World, name: &str, namespaces: &Value) {
    world.patch(&format!("{MEMBER_PATH}/{name}"), &json!({"spec": {"allowedNamespaces": namespaces}}), "user");
}

/// The cluster is registered and declared under another name, and no more under its own.
fn rename(world: &World, old: &str) {
    let Some(rollout) = world.rollout() else { return };
    let cluster = world.fleet().member(old).cluster.clone();
    world.fleet().member(RENAMED).cluster = cluster;
    world.create(MEMBER_PATH, &scenario::member(RENAMED));
    scenario::secret(world, RENAMED);
    world.delete(&format!("{MEMBER_PATH}/{old}"));
    let mut members = rollout["spec"]["members"].clone();
    for member in members.as_array_mut().into_iter().flatten().filter(|member| member["name"] == old) {
        member["name"] = RENAMED.into();
    }
    world.patch(ROLLOUT, &json!({"spec": {"members": members}}), "user");
}
