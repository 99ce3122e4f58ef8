//! The status of a member, from what a check found; pure.

use jiff::Timestamp;

use super::health::{Finding, Health};
use crate::api::{
    MemberClusterStatus, Reason,
    status::{Condition, ConditionStatus},
};

/// The status to write, if it differs from the one that is there. `twin` is another member that is the same cluster.
pub fn next(
    before: &MemberClusterStatus,
    health: &Health,
    twin: Option<&str>,
    generation: Option<i64>,
    now: Timestamp,
) -> Option<MemberClusterStatus> {
    let healthy = healthy(&health.findings, twin);
    let conditions = health.findings.iter().chain([&healthy]).map(|finding| {
        let since = before.conditions.iter().find(|old| old.type_ == finding.condition && old.status == finding.status);
        Condition {
            type_: finding.condition.to_owned(),
            status: finding.status,
            reason: finding.reason,
            message: finding.message.clone(),
            last_transition_time: since.map_or(now, |old| old.last_transition_time),
            observed_generation: generation,
        }
    });
    let after = MemberClusterStatus {
        observed_generation: generation,
        conditions: conditions.collect(),
        kubernetes_version: health.kubernetes_version.clone().or_else(|| before.kubernetes_version.clone()),
        cluster_id: health.cluster_id.clone().or_else(|| before.cluster_id.clone()),
    };
    (after != *before).then_some(after)
}

/// Healthy, unless a condition is False or the cluster is registered twice. What is not known is not unhealthy.
fn healthy(findings: &[Finding], twin: Option<&str>) -> Finding {
    let finding = |status, reason, message: String| Finding { condition: "Healthy", status, reason, message };
    if let Some(twin) = twin {
        let message = format!("member {twin} is the same cluster; keep one of the two");
        return finding(ConditionStatus::False, Reason::ClusterRegisteredTwice, message);
    }
    match findings.iter().find(|finding| finding.status == ConditionStatus::False) {
        Some(bad) => finding(ConditionStatus::False, bad.reason, bad.message.clone()),
        None => finding(ConditionStatus::True, Reason::MemberHealthy, "everything that is known is good".to_owned()),
    }
}
