//! P8 and P20: what the members answer, and which there are.

use serde_json::json;

use super::super::{
    fleet::{Metrics, Wrong},
    plan::sorts::{MemberChange, MemberFault},
    scenario::{self, MEMBER_PATH, MEMBERS, SECRETS, members},
    world::{ROLLOUT, World},
};

pub fn answer_badly(world: &World, what: MemberFault, begins: bool) {
    let wrong = begins.then_some(wrong(what));
    let now = world.now();
    for name in whose(what) {
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
        MemberFault::Redirect => Wrong::Status(302),
    }
}

const fn is_of_endpoints(what: MemberFault) -> bool {
    matches!(what, MemberFault::EndpointDown | MemberFault::PrimaryDown | MemberFault::AllDown)
}

fn whose(what: MemberFault) -> &'static [&'static str] {
    match what {
        MemberFault::PrimaryDown => &["eu-1"],
        MemberFault::AllRefused | MemberFault::AllBlackhole | MemberFault::AllDown => &MEMBERS,
        MemberFault::Refused
        | MemberFault::Blackhole
        | MemberFault::Tls
        | MemberFault::Unauthorized
        | MemberFault::Forbidden
        | MemberFault::Slow
        | MemberFault::TooMany
        | MemberFault::Huge
        | MemberFault::Garbage
        | MemberFault::Redirect
        | MemberFault::EndpointDown => &["eu-3"],
    }
}

pub fn change(world: &World, what: MemberChange) {
    match what {
        MemberChange::Added => {
            world.create(MEMBER_PATH, &scenario::member("eu-4"));
            scenario::secret(world, "eu-4");
            world.judge().declared_anew();
            world.patch(ROLLOUT, &json!({"spec": {"members": members(&[("eu-3", 60), ("eu-4", 40)])}}), "user");
        }
        MemberChange::Removed => {
            world.judge().declared_anew();
            let two = json!([{"name": "eu-1", "weight": 0}, {"name": "eu-3", "weight": 100}]);
            world.patch(ROLLOUT, &json!({"spec": {"members": two}}), "user");
        }
        MemberChange::Renamed => {
            world.delete(&format!("{MEMBER_PATH}/eu-3"));
        }
        MemberChange::Rotated => {
            let secret = scenario::secret_of("eu-3", "another-s3cret-of-a-member");
            world.patch(&format!("{SECRETS}/eu-3"), &json!({"stringData": secret["stringData"]}), "user");
        }
        MemberChange::Twice => "cluster-eu-1".clone_into(&mut world.fleet().member("eu-3").cluster),
    }
}
