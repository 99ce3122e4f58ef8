//! What is shown of a member: its conditions, and when this process last found each of them True.

use std::collections::BTreeMap;

use jiff::Timestamp;
use kube::ResourceExt;

use super::{
    described::{CONDITION, LAST_SUCCESS},
    rollouts::seconds,
    series::Series,
};
use crate::api::MemberCluster;

/// Times by member and condition.
pub(super) type Successes = BTreeMap<(String, &'static str), Timestamp>;

/// Every series of a member.
pub(super) fn series(member: &MemberCluster, successes: &Successes) -> Vec<Series> {
    let name = member.name_any();
    let conditions = member.status.iter().flat_map(|status| &status.conditions).map(|condition| {
        let status = format!("{:?}", condition.status);
        Series::new(&CONDITION, [name.as_str(), &condition.type_, &status], 1.0)
    });
    let own = successes.iter().filter(|((member, _), _)| *member == name);
    let times = own.map(|((_, condition), at)| Series::new(&LAST_SUCCESS, [name.as_str(), condition], seconds(*at)));
    conditions.chain(times).collect()
}
