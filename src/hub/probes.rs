//! Whether the members' endpoints answer, probed in rounds while a run is live.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use kube::core::DynamicObject;
use serde_json::Value;
use tokio::{sync::Notify, time::Instant};

use super::{
    Hub,
    background_task::BackgroundTask,
    cache::Availability,
    observed::Observed,
    placed::{Placed, Readiness},
    public_host,
    subject::Subject,
};
use crate::{
    api::{Analysis, ServiceCopy, member::HostHeader},
    backend,
    member::probe::{self, Probe},
    object::Reach,
    rollout::{
        PROBES,
        input::{EndpointSeen, EndpointSource},
    },
    route,
};

/// A canary that is down is noticed within three rounds, however seldom metrics are checked: one of those in which all are
/// well, and two that follow sooner.
const AT_LEAST_EVERY: Duration = Duration::from_secs(5);
const AT_LEAST_EVERY_WHILE_WELL: Duration = Duration::from_secs(10);
/// Rounds in one interval of the analysis, where that is long and all are well.
const ROUNDS: u32 = 6;

/// A service and a member.
type Key = (String, String);

/// Whether somebody serves at an endpoint; in words, why not.
type Answer = Result<(), String>;

/// A probe of a service at a member.
type Unanswered = (String, String, Probe);

/// The answer of each endpoint, and which place that was: where it leads may change.
type Round = BTreeMap<Key, (Place, Answer)>;

/// What an endpoint is, as far as an answer is about it.
#[derive(Clone, Debug, Default, PartialEq)]
struct Place {
    source: EndpointSource,
    text: String,
}

/// The probes of one rollout's endpoints.
#[derive(Default)]
pub(super) struct Probes {
    task: BackgroundTask<Round>,
    /// The last round.
    began: Option<Instant>,
    streaks: BTreeMap<Key, (Place, EndpointSeen)>,
}

impl Probes {
    /// How each endpoint has answered lately, where it leads now.
    pub(super) fn endpoints(&self, subject: &Subject) -> BTreeMap<Key, EndpointSeen> {
        let places = places(subject);
        let there = |(key, (place, seen)): (&Key, &(Place, EndpointSeen))| {
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

    /// Begins the next round if it is time. Says when the one after it is; `None` while no run is live, or while a round takes
    /// longer than that. A round in which all is as well as before wakes nobody before the next one.
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
        let well = self.well();
        let places = places(subject);
        let pause = pause(analysis.interval.to_std(), places.keys().all(|key| well.contains_key(key)));
        let next = self.began.map(|began| began + pause).filter(|next| *next > now);
        if next.is_some() || self.task.is_running() {
            return next;
        }
        let (probes, known) = round(hub, subject, observed);
        let network = hub.network.clone();
        let next = now + pause;
        self.began = Some(now);
        let is_news = move |round: &Round| !round.iter().all(|one| is_as_before(one, &well));
        self.task.start_and_tell("probes", &hub.metrics, wake, (is_news, next), async move {
            let mut round = probe::round(probes, &network).await;
            round.extend(known);
            let place = |key: &Key| places.get(key).cloned().unwrap_or_default();
            round.into_iter().map(|(key, answer)| (key.clone(), (place(&key), answer))).collect()
        });
        Some(next)
    }

    /// The endpoints of which another good answer says nothing new.
    fn well(&self) -> BTreeMap<Key, Place> {
        let well = self.streaks.iter().filter(|(_, (_, seen))| seen.successes >= PROBES);
        well.map(|(key, (place, _))| (key.clone(), place.clone())).collect()
    }

    /// Endpoints that are no longer probed are forgotten.
    fn count(&mut self, round: &Round) {
        self.streaks.retain(|key, _| round.contains_key(key));
        for (key, (place, answer)) in round {
            let streak = self.streaks.entry(key.clone()).or_default();
            if streak.0 != *place {
                *streak = (place.clone(), EndpointSeen { source: place.source, ..EndpointSeen::default() });
            }
            let seen = &mut streak.1;
            (seen.failures, seen.successes) = match answer {
                Ok(()) => (0, seen.successes.saturating_add(1)),
                Err(why) => {
                    tracing::debug!(service = key.0, member = key.1, why, "nobody serves at an endpoint");
                    (seen.failures.saturating_add(1), 0)
                }
            };
        }
    }
}

/// From one round to the next.
fn pause(interval: Duration, all_are_well: bool) -> Duration {
    let shortest = AT_LEAST_EVERY.min(interval);
    if all_are_well { (interval / ROUNDS).clamp(shortest, AT_LEAST_EVERY_WHILE_WELL) } else { shortest }
}

fn is_as_before((key, (place, answer)): (&Key, &(Place, Answer)), well: &BTreeMap<Key, Place>) -> bool {
    answer.is_ok() && well.get(key) == Some(place)
}

/// The place of every endpoint.
fn places(subject: &Subject) -> BTreeMap<Key, Place> {
    let of = |placed: &Placed| {
        let place = |(member, reach): (&String, &Reach)| {
            ((placed.spec.name.clone(), member.clone()), Place::of(placed.readiness(member), reach))
        };
        placed.endpoints.iter().map(place).collect::<Vec<_>>()
    };
    subject.services.iter().flat_map(of).collect()
}

impl Place {
    fn of(readiness: Readiness<'_>, reach: &Reach) -> Self {
        match readiness {
            Readiness::BySlices(copy) => {
                Self { source: EndpointSource::EndpointSlices, text: Value::Object(copy.spec.clone()).to_string() }
            }
            Readiness::ByProbes | Readiness::NotKnown => {
                let text = format!("{}:{} {:?}", reach.host, reach.port, reach.server_name);
                Self { source: EndpointSource::Probe, text }
            }
        }
    }
}

/// The endpoints to probe, and the answers that need no probe.
fn round(hub: &Hub, subject: &Subject, observed: &Observed) -> (Vec<Unanswered>, BTreeMap<Key, Answer>) {
    let (mut probes, mut known) = (Vec::new(), BTreeMap::new());
    for placed in &subject.services {
        let public = public_host(placed, observed);
        for (member, reach) in &placed.endpoints {
            let key = (placed.spec.name.clone(), member.clone());
            match placed.readiness(member) {
                Readiness::NotKnown => {}
                // It leads where no Service may, and nobody calls it.
                Readiness::ByProbes if placed.check_host(member, &subject.namespace).is_err() => {}
                Readiness::BySlices(copy) => {
                    let service = observed.backends.get(&key).map(|found| found.first().and_then(Option::as_deref));
                    let seen = service.and_then(|service| by_slices(hub, subject, placed, (member, copy), service));
                    known.extend(seen.map(|seen| (key, seen)));
                }
                Readiness::ByProbes => match probe_of(hub, placed, member, reach, public.as_deref()) {
                    Some(Ok(probe)) => probes.push((key.0, key.1, probe)),
                    Some(Err(why)) => {
                        known.insert(key, Err(why));
                    }
                    None => {}
                },
            }
        }
    }
    (probes, known)
}

/// The host by which clients know a service, as its routes say.
fn public_host(placed: &Placed, observed: &Observed) -> Option<String> {
    placed.spec.routes.iter().find_map(|route| {
        let found = observed.routes.get(&route::key(&placed.spec, route));
        public_host::of(route, found.map_or(&[], Vec::as_slice))
    })
}

/// How an endpoint is probed, or why it cannot be; nothing while its cluster is not registered.
fn probe_of(
    hub: &Hub,
    placed: &Placed,
    member: &str,
    reach: &Reach,
    public: Option<&str>,
) -> Option<Result<Probe, String>> {
    let cluster = placed.leads_to(member).and_then(|name| hub.registry.member(name))?;
    let host = match reach.host_header {
        HostHeader::Preserve => public.unwrap_or(&reach.host),
        HostHeader::Endpoint => &reach.host,
    };
    let probe = cluster.probe(&reach.host, reach.port, reach.server_name.as_deref(), host);
    Some(probe.map_err(|problem| problem.message))
}

/// Whether the hub cluster has a ready address for a Service; nothing before its slices have been listed. The cluster puts the
/// labels of a Service on its slices, so those of a copy are among the objects of the rollout.
fn by_slices(
    hub: &Hub,
    subject: &Subject,
    placed: &Placed,
    (member, copy): (&str, &ServiceCopy),
    service: Option<&DynamicObject>,
) -> Option<Answer> {
    let kind = backend::slices();
    match hub.objects.availability(&kind) {
        Availability::Pending => return None,
        Availability::Synced => {}
        Availability::NotInstalled | Availability::Forbidden => {
            return Some(Err("the hub may not list EndpointSlices; give it its role in config/rbac".to_owned()));
        }
    }
    if service.is_some_and(|service| !backend::service_copy(service).leads_as(copy)) {
        return Some(Err("its Service does not lead there yet".to_owned()));
    }
    let name = backend::name(&placed.spec, member);
    let slices = hub.objects.of_rollout(&kind, &subject.namespace, &subject.uid);
    let unready = backend::unready(&name, service, placed.spec.port, slices.iter().map(AsRef::as_ref));
    Some(unready.map_or(Ok(()), Err))
}

#[cfg(test)]
mod tests;
