//! Whether the members' endpoints answer, probed in rounds while a run is live.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use tokio::{sync::Notify, time::Instant};

use super::{Hub, background_task::BackgroundTask, observed::Observed, placed::Placed, public_host, subject::Subject};
use crate::{
    api::{Analysis, member::HostHeader},
    member::probe::{self, Probe},
    rollout::input::EndpointSeen,
    route,
};

/// A canary that is down is noticed within three rounds, however seldom metrics are checked.
const AT_LEAST_EVERY: Duration = Duration::from_secs(5);

/// Whether each endpoint answered, and which address was probed: where it leads may change.
type Round = BTreeMap<(String, String), (String, Result<(), String>)>;

type Unable = BTreeMap<(String, String), Result<(), String>>;

/// The probes of one rollout's endpoints.
#[derive(Default)]
pub(super) struct Probes {
    task: BackgroundTask<Round>,
    next: Option<Instant>,
    streaks: BTreeMap<(String, String), (String, EndpointSeen)>,
}

impl Probes {
    /// How each endpoint has answered lately, where it leads now.
    pub(super) fn endpoints(&self, subject: &Subject) -> BTreeMap<(String, String), EndpointSeen> {
        let places = places(subject);
        let there = |(key, (place, seen)): (&(String, String), &(String, EndpointSeen))| {
            (places.get(key) == Some(place)).then(|| (key.clone(), *seen))
        };
        self.streaks.iter().filter_map(there).collect()
    }

    /// Takes a round that has come back.
    pub(super) fn collect(&mut self) {
        if let Some(round) = self.task.take_result() {
            self.count(&round);
        }
    }

    /// Begins the next round if it is time. Says when that is; `None` while no run is live.
    pub(super) fn start_if_due(
        &mut self,
        hub: &Hub,
        subject: &Subject,
        observed: &Observed,
        analysis: &Analysis,
        wake: &Arc<Notify>,
    ) -> Option<Instant> {
        if subject.status.run.is_none() {
            *self = Self::default();
            return None;
        }
        let now = Instant::now();
        if self.task.is_running() {
            return None;
        }
        if let Some(next) = self.next.filter(|next| *next > now) {
            return Some(next);
        }
        let (probes, unable) = probes(hub, subject, observed);
        let places = places(subject);
        let network = hub.network.clone();
        self.next = Some(now + AT_LEAST_EVERY.min(Duration::from_millis(analysis.interval.as_millis())));
        self.task.start("probes", &hub.metrics, wake, async move {
            let mut round = probe::round(probes, &network).await;
            round.extend(unable);
            let place = |key: &(String, String)| places.get(key).cloned().unwrap_or_default();
            round.into_iter().map(|(key, answer)| (key.clone(), (place(&key), answer))).collect()
        });
        None
    }

    /// Endpoints that are no longer probed are forgotten.
    fn count(&mut self, round: &Round) {
        self.streaks.retain(|key, _| round.contains_key(key));
        for (key, (place, answer)) in round {
            let streak = self.streaks.entry(key.clone()).or_default();
            if streak.0 != *place {
                *streak = (place.clone(), EndpointSeen::default());
            }
            let seen = &mut streak.1;
            *seen = match answer {
                Ok(()) => EndpointSeen { failures: 0, successes: seen.successes.saturating_add(1) },
                Err(why) => {
                    tracing::debug!(service = key.0, member = key.1, why, "an endpoint does not answer");
                    EndpointSeen { failures: seen.failures.saturating_add(1), successes: 0 }
                }
            };
        }
    }
}

/// The place of every endpoint.
fn places(subject: &Subject) -> BTreeMap<(String, String), String> {
    let of = |placed: &Placed| {
        let service = placed.spec.name.clone();
        let places = placed.endpoints.iter().map(|(member, reach)| {
            ((service.clone(), member.clone()), format!("{}:{} {:?}", reach.host, reach.port, reach.server_name))
        });
        places.collect::<Vec<_>>()
    };
    subject.services.iter().flat_map(of).collect()
}

/// Every endpoint of every service, and those that cannot even be probed.
fn probes(hub: &Hub, subject: &Subject, observed: &Observed) -> (Vec<(String, String, Probe)>, Unable) {
    let (mut probes, mut unable) = (Vec::new(), Unable::new());
    for placed in &subject.services {
        let service = &placed.spec;
        let public = service.routes.iter().find_map(|route| {
            let found = observed.routes.get(&route::key(service, route));
            public_host::of(route, found.map_or(&[], Vec::as_slice))
        });
        for (name, reach) in &placed.endpoints {
            let may_be_called = placed.is_probed(name) && placed.check_host(name, &subject.namespace).is_ok();
            let member = placed.leads_to(name).filter(|_| may_be_called);
            let Some(member) = member.and_then(|member| hub.registry.member(member)) else { continue };
            let host = match reach.host_header {
                HostHeader::Preserve => public.as_deref().unwrap_or(&reach.host),
                HostHeader::Endpoint => &reach.host,
            };
            match member.probe(&reach.host, reach.port, reach.server_name.as_deref(), host) {
                Ok(probe) => probes.push((service.name.clone(), name.clone(), probe)),
                Err(problem) => {
                    unable.insert((service.name.clone(), name.clone()), Err(problem.message));
                }
            }
        }
    }
    (probes, unable)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::hub::fixtures::{objects, world::World};

    fn round(answers: &[(&str, bool)]) -> Round {
        let answer = |good| if good { Ok(()) } else { Err("refused".to_owned()) };
        let at = |member: &str| format!("{member}.example.com:443");
        let one =
            |(member, good): &(&str, bool)| (("shop".to_owned(), (*member).to_owned()), (at(member), answer(*good)));
        answers.iter().map(one).collect()
    }

    #[test]
    fn streaks_are_counted_in_rounds_and_what_is_not_probed_is_forgotten() {
        let mut probes = Probes::default();
        for good in [true, false, false] {
            probes.count(&round(&[("eu-1", true), ("eu-3", good)]));
        }
        let seen = |member: &str| probes.streaks.get(&("shop".to_owned(), member.to_owned())).map(|(_, seen)| *seen);
        assert_eq!(seen("eu-1"), Some(EndpointSeen { failures: 0, successes: 3 }));
        assert_eq!(seen("eu-3"), Some(EndpointSeen { failures: 2, successes: 0 }));
        probes.count(&round(&[("eu-1", true)]));
        assert_eq!(probes.streaks.len(), 1);
    }

    #[tokio::test]
    async fn a_canary_that_leads_where_no_service_may_is_never_probed() {
        let world = World::of([objects::member("eu-1")]).await;
        let hosts = |host: &str| {
            let spec = json!({"type": "ExternalName", "externalName": host});
            let copy = json!({"spec": spec, "annotations": {"cutover.dev/member": "eu-1"}});
            let rollout = json!({
                "apiVersion": "cutover.dev/v1alpha1", "kind": "FleetRollout",
                "metadata": {"name": "shop", "namespace": "shop"},
                "spec": {"services": [{"name": "shop", "port": 80, "routes": []}], "analysis": {"metrics": []}},
                "status": {"promoted": {"revision": "r", "services": {}}, "canary": {"shop": copy}}});
            let rollout = serde_json::from_value(rollout).unwrap();
            let subject = Subject::new("hub", &rollout, &world.hub.registry, &[]);
            let (probes, unable) = probes(&world.hub, &subject, &Observed::default());
            assert_eq!(unable, Unable::new());
            probes.into_iter().map(|(_, _, probe)| probe.host).collect::<Vec<_>>()
        };
        assert_eq!(hosts("eu-1.example.com"), ["eu-1.example.com"]);
        assert_eq!(hosts("EU-1.example.com."), ["EU-1.example.com."]);
        for host in ["kubernetes.default.svc.cluster.local.", "metadata.google.internal", "eu-2.example.com"] {
            assert_eq!(hosts(host), [""; 0], "{host}");
        }
    }

    #[test]
    fn one_answer_ends_a_row_of_failures() {
        let mut probes = Probes::default();
        for good in [false, false, true] {
            probes.count(&round(&[("eu-3", good)]));
        }
        let seen: Vec<EndpointSeen> = probes.streaks.values().map(|(_, seen)| *seen).collect();
        assert_eq!(seen, [EndpointSeen { failures: 0, successes: 1 }]);
    }

    #[test]
    fn an_endpoint_that_leads_elsewhere_starts_anew() {
        let mut probes = Probes::default();
        let key = ("shop".to_owned(), "canary".to_owned());
        for place in ["eu-2.example.com:443", "eu-2.example.com:443", "eu-3.example.com:443"] {
            probes.count(&Round::from([(key.clone(), (place.to_owned(), Ok(())))]));
        }
        assert_eq!(probes.streaks.get(&key).map(|(_, seen)| seen.successes), Some(1));
    }
}
