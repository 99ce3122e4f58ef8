//! The measurements of one rollout: at most one round under way, so that an abort never waits for a slow Prometheus.

use std::sync::Arc;

use jiff::Timestamp;
use tokio::sync::Notify;

use super::{Hub, background_task::BackgroundTask, subject::Subject};
use crate::{
    member::Registry,
    metric::{self, Clusters, Sources, resolve::Resolved},
    rollout::input::{Measured, MeasurementRequest, Sample, Sampled},
};

/// The measurements of one rollout.
#[derive(Default)]
pub(super) struct Measuring {
    task: BackgroundTask<Measured>,
    arrived: Option<Measured>,
    requested_at: Option<Timestamp>,
}

impl Measuring {
    /// Takes a round that has come back.
    pub(super) fn collect(&mut self) {
        if let Some(measured) = self.task.take_result() {
            self.arrived = Some(measured);
        }
    }

    /// What has arrived and was not decided on yet.
    pub(super) fn arrived(&self) -> Option<Measured> {
        self.arrived.clone()
    }

    /// What had arrived was decided on.
    pub(super) fn consumed(&mut self) {
        self.arrived = None;
    }

    /// When the last round was requested.
    pub(super) const fn requested_at(&self) -> Option<Timestamp> {
        self.requested_at
    }

    /// Another round may begin: none is under way, and none waits to be decided on.
    pub(super) fn is_free(&self) -> bool {
        !self.task.is_running() && self.arrived.is_none()
    }

    /// Begins a round.
    pub(super) fn start(
        &mut self,
        hub: &Hub,
        wanted: MeasurementRequest,
        analysis: &Resolved,
        subject: &Subject,
        wake: &Arc<Notify>,
    ) {
        self.requested_at = Some(wanted.at);
        let (registry, metrics) = (hub.registry.clone(), hub.metrics.clone());
        let (analysis, namespace) = (analysis.clone(), subject.namespace.clone());
        let places = subject.clusters();
        self.task.start("measurements", &hub.metrics, wake, async move {
            let samples = metric::measure(&wanted, &analysis, &namespace, &places, &sources(&registry, &places)).await;
            let missing = samples.iter().filter(|sampled| is_missing(sampled)).count();
            metrics.count_samples("missing", missing);
            metrics.count_samples("read", samples.len() - missing);
            Measured { at: wanted.at, sequence: wanted.sequence, samples }
        });
    }
}

fn sources(registry: &Registry, places: &Clusters) -> Sources {
    let source = |cluster: &str| match registry.member(cluster) {
        Some(found) => found.prometheus().map_err(|problem| problem.message),
        None => Err(format!("there is no MemberCluster {cluster}")),
    };
    places.values().map(|behind| (behind.cluster.clone(), source(&behind.cluster))).collect()
}

fn is_missing(sampled: &Sampled) -> bool {
    match sampled.sample {
        Sample::Missing(_) => true,
        Sample::Ratio { .. } | Sample::Buckets(_) | Sample::Value(_) => false,
    }
}
