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
    arrived: Arrived,
    requested_at: Option<Timestamp>,
}

/// The round that has come back and was not decided on yet.
#[derive(Default)]
enum Arrived {
    #[default]
    Nothing,
    /// It must be decided on before the next one begins.
    Due(Measured),
    /// It says nothing bad and could not be recorded: the next round may take its place.
    Replaceable(Measured),
}

impl Measuring {
    /// Takes a round that has come back.
    pub(super) fn collect(&mut self) {
        if let Some(measured) = self.task.take_result() {
            self.arrived = Arrived::Due(measured);
        }
    }

    /// What has arrived and was not decided on yet.
    pub(super) fn arrived(&self) -> Option<Measured> {
        match &self.arrived {
            Arrived::Nothing => None,
            Arrived::Due(measured) | Arrived::Replaceable(measured) => Some(measured.clone()),
        }
    }

    /// What had arrived was decided on.
    pub(super) fn consumed(&mut self) {
        self.arrived = Arrived::Nothing;
    }

    /// What has arrived says nothing bad and could not be recorded.
    pub(super) fn replaceable(&mut self) {
        self.arrived = match std::mem::take(&mut self.arrived) {
            Arrived::Nothing => Arrived::Nothing,
            Arrived::Due(measured) | Arrived::Replaceable(measured) => Arrived::Replaceable(measured),
        };
    }

    /// When the last round was requested.
    pub(super) const fn requested_at(&self) -> Option<Timestamp> {
        self.requested_at
    }

    /// A round is under way.
    pub(super) fn is_under_way(&self) -> bool {
        self.task.is_running()
    }

    /// Another round may begin: none is under way, and none must be decided on first.
    pub(super) fn is_free(&self) -> bool {
        !self.is_under_way() && !matches!(self.arrived, Arrived::Due(_))
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
        let clock = hub.clock.clone();
        self.task.start("measurements", &hub.metrics, wake, async move {
            let sources = sources(&registry, &namespace, &places);
            let samples = metric::measure(&wanted, &analysis, &namespace, &places, &sources, clock.now()).await;
            let missing = samples.iter().filter(|sampled| is_missing(sampled)).count();
            metrics.count_samples("missing", missing);
            metrics.count_samples("read", samples.len() - missing);
            Measured { at: wanted.at, sequence: wanted.sequence, samples }
        });
    }
}

/// The Prometheus of each member that lets this namespace use it, now.
fn sources(registry: &Registry, namespace: &str, places: &Clusters) -> Sources {
    let source = |cluster: &str| match registry.member(cluster) {
        Some(found) => found.consents(namespace).and_then(|()| found.prometheus()).map_err(|why| why.message),
        None => Err(format!("there is no MemberCluster {cluster}")),
    };
    places.values().map(|destination| (destination.cluster.clone(), source(&destination.cluster))).collect()
}

fn is_missing(sampled: &Sampled) -> bool {
    match sampled.sample {
        Sample::Missing(_) => true,
        Sample::Ratio { .. } | Sample::Buckets(_) | Sample::Value(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        hub::fixtures::{objects, world::World},
        metric::Destination,
    };

    #[tokio::test(start_paused = true)]
    async fn a_member_that_does_not_allow_the_namespace_is_not_queried() {
        let mut closed = objects::member("eu-2");
        closed["spec"]["allowedNamespaces"] = json!({"from": "Names", "names": ["billing"]});
        let world = World::of([objects::member("eu-1"), closed]).await;
        let leads = |cluster: &str| {
            let to = Destination { cluster: cluster.to_owned(), ..Destination::default() };
            (("shop".to_owned(), cluster.to_owned()), to)
        };
        let sources = sources(&world.hub.registry, "shop", &Clusters::from(["eu-1", "eu-2"].map(leads)));
        assert!(sources["eu-1"].is_ok());
        let why = "MemberCluster eu-2 does not allow namespace shop; add it to its spec.allowedNamespaces.names";
        assert_eq!(sources["eu-2"].as_ref().err().map(String::as_str), Some(why));
    }
}
