//! The status of a member, from what a check found; pure.

use jiff::Timestamp;

use super::health::{Finding, Health};
use crate::api::{
    MemberClusterStatus, Reason,
    status::{Condition, ConditionStatus},
};

/// The condition of a member whose deletion waits; the hub sets it where it decides that.
pub(crate) const IN_USE: &str = "InUse";

/// The status to write, if it differs from the one that is there. `duplicate` is another member that is the same cluster.
pub(crate) fn next(
    before: &MemberClusterStatus,
    health: &Health,
    duplicate: Option<&str>,
    generation: Option<i64>,
    now: Timestamp,
) -> Option<MemberClusterStatus> {
    let healthy = healthy(&health.findings, duplicate);
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
    let in_use = before.conditions.iter().filter(|old| old.type_ == IN_USE).cloned();
    let after = MemberClusterStatus {
        observed_generation: generation,
        conditions: conditions.chain(in_use).collect(),
        kubernetes_version: health.kubernetes_version.clone().or_else(|| before.kubernetes_version.clone()),
        cluster_id: health.cluster_id.clone().or_else(|| before.cluster_id.clone()),
    };
    (after != *before).then_some(after)
}

/// Healthy, unless a condition is False or the cluster is registered twice. What is not known is not unhealthy.
fn healthy(findings: &[Finding], duplicate: Option<&str>) -> Finding {
    let finding = |status, reason, message: String| Finding { condition: "Healthy", status, reason, message };
    if let Some(duplicate) = duplicate {
        let message = format!("member {duplicate} is the same cluster; keep one of the two");
        return finding(ConditionStatus::False, Reason::ClusterRegisteredTwice, message);
    }
    match findings.iter().find(|finding| finding.status == ConditionStatus::False) {
        Some(bad) => finding(ConditionStatus::False, bad.reason, bad.message.clone()),
        None => finding(ConditionStatus::True, Reason::MemberHealthy, "everything that is known is good".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THEN: Timestamp = Timestamp::constant(1_700_000_000, 0);
    const NOW: Timestamp = Timestamp::constant(1_700_000_060, 0);

    fn health(endpoints: ConditionStatus, reason: Reason) -> Health {
        let finding = |condition, status, reason| Finding { condition, status, reason, message: format!("{reason}") };
        Health {
            cluster_id: Some("c".to_owned()),
            kubernetes_version: Some("v1.34.1".to_owned()),
            findings: vec![
                finding("Reachable", ConditionStatus::Unknown, Reason::NoKubeconfig),
                finding("EndpointsReady", endpoints, reason),
            ],
        }
    }

    fn written(health: &Health) -> MemberClusterStatus {
        next(&MemberClusterStatus::default(), health, None, Some(1), THEN).unwrap()
    }

    fn shown(status: &MemberClusterStatus) -> Vec<(&str, ConditionStatus, Reason, Timestamp)> {
        let conditions = status.conditions.iter();
        conditions.map(|found| (found.type_.as_str(), found.status, found.reason, found.last_transition_time)).collect()
    }

    #[test]
    fn what_is_not_known_is_not_unhealthy() {
        assert_eq!(
            shown(&written(&health(ConditionStatus::True, Reason::EndpointsAnswer))),
            [
                ("Reachable", ConditionStatus::Unknown, Reason::NoKubeconfig, THEN),
                ("EndpointsReady", ConditionStatus::True, Reason::EndpointsAnswer, THEN),
                ("Healthy", ConditionStatus::True, Reason::MemberHealthy, THEN),
            ]
        );
    }

    #[test]
    fn nothing_is_written_while_nothing_changes() {
        let good = health(ConditionStatus::True, Reason::EndpointsAnswer);
        assert_eq!(next(&written(&good), &good, None, Some(1), NOW), None);
    }

    #[test]
    fn a_change_is_written_with_the_time_of_what_changed() {
        let before = written(&health(ConditionStatus::True, Reason::EndpointsAnswer));
        let bad = health(ConditionStatus::False, Reason::EndpointUnreachable);
        assert_eq!(
            shown(&next(&before, &bad, None, Some(1), NOW).unwrap()),
            [
                ("Reachable", ConditionStatus::Unknown, Reason::NoKubeconfig, THEN),
                ("EndpointsReady", ConditionStatus::False, Reason::EndpointUnreachable, NOW),
                ("Healthy", ConditionStatus::False, Reason::EndpointUnreachable, NOW),
            ]
        );
    }

    #[test]
    fn a_cluster_that_is_registered_twice_is_named() {
        let good = health(ConditionStatus::True, Reason::EndpointsAnswer);
        let status = next(&written(&good), &good, Some("eu-7"), Some(1), NOW).unwrap();
        let healthy = status.conditions.last().unwrap();
        assert_eq!((healthy.status, healthy.reason), (ConditionStatus::False, Reason::ClusterRegisteredTwice));
        assert_eq!(healthy.message, "member eu-7 is the same cluster; keep one of the two");
    }

    #[test]
    fn what_is_said_of_a_waiting_deletion_is_kept() {
        let good = health(ConditionStatus::True, Reason::EndpointsAnswer);
        let mut before = written(&good);
        before.conditions[0].type_ = IN_USE.to_owned();
        let after = next(&before, &good, None, Some(1), NOW).unwrap();
        assert_eq!(after.conditions.last(), Some(&before.conditions[0]));
    }

    #[test]
    fn a_new_generation_is_written_and_what_cannot_be_observed_is_kept() {
        let good = health(ConditionStatus::True, Reason::EndpointsAnswer);
        let silent = Health { cluster_id: None, kubernetes_version: None, ..good.clone() };
        let status = next(&written(&good), &silent, None, Some(2), NOW).unwrap();
        assert_eq!(status.observed_generation, Some(2));
        assert_eq!((status.cluster_id, status.kubernetes_version), (Some("c".to_owned()), Some("v1.34.1".to_owned())));
    }
}
