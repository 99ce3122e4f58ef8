//! What people and the world do.

use std::collections::BTreeMap;

use cutover::{
    api::{
        Reason, RolloutRequestSpec, ServiceCopy, Verb,
        request::RolloutRef,
        status::Run,
        track::{Configs, Site},
    },
    rollout::{
        RouteKey,
        input::{ConfigsSeen, EndpointSeen, Problem, Request},
    },
};
use jiff::SignedDuration;

use super::{RouteInWorld, UID, World, of};

impl World {
    pub fn after(&mut self, seconds: i64) -> &mut Self {
        self.now += SignedDuration::from_secs(seconds);
        self.elapsed += seconds;
        self
    }

    /// The hub's clock jumps backwards; no time passes.
    pub fn set_clock_back(&mut self, seconds: i64) -> &mut Self {
        self.now -= SignedDuration::from_secs(seconds);
        self
    }

    /// Somebody applies the manifest of a route once more: its first weights, without the hub's mark.
    pub fn apply_anew(&mut self, key: &RouteKey, weights: &[(&str, u32)]) -> &mut Self {
        let route = RouteInWorld { editor: Some("kubectl-client-side-apply".to_owned()), ..RouteInWorld::of(weights) };
        self.routes.insert(key.clone(), Some(route));
        self
    }

    pub fn declare(&mut self, weights: &[(&str, u32)]) -> &mut Self {
        for member in &mut self.spec.members {
            member.weight = 0;
        }
        for (name, weight) in weights {
            match self.spec.members.iter_mut().find(|member| member.name == *name) {
                Some(member) => member.weight = *weight,
                None => self.spec.members.push(cutover::api::MemberWeight {
                    name: (*name).to_owned(),
                    weight: *weight,
                    initial_weight: None,
                }),
            }
        }
        self.generation += 1;
        self
    }

    pub fn ask(&mut self, verb: Verb) -> &mut Self {
        self.requested += 1;
        let number = self.requested;
        self.requests.push(Request {
            name: format!("r{number}"),
            uid: format!("uid-{number}"),
            at: self.now,
            spec: RolloutRequestSpec {
                rollout: RolloutRef { name: "shop".to_owned(), uid: UID.to_owned() },
                verb,
                run: self.status.last_run(),
                step: self.live_run().map(Run::step).filter(|_| verb == Verb::Promote),
                sequence: self.status.desired.as_ref().map(|desired| desired.sequence),
                reason: None,
                requested_by: self.person.to_owned(),
            },
        });
        self
    }

    /// Somebody edits every route; what changes nothing is no edit.
    pub fn edit(&mut self, weights: &[(&str, u32)]) -> &mut Self {
        for route in self.routes.values_mut().flatten().filter(|route| !route.split.weights.same_as(&of(weights))) {
            route.split.weights = of(weights);
            route.editor = Some("kubectl-edit".to_owned());
        }
        self
    }

    /// The hub dies and another instance of it begins.
    pub fn restart(&mut self) -> &mut Self {
        self.instance += 1;
        self.measured_at = None;
        self.rehearsed.clear();
        self.called.clear();
        self.endpoints.clear();
        for route in self.routes.values_mut().flatten() {
            route.failed = None;
        }
        self
    }

    /// Service mode: somebody points the Services elsewhere.
    pub fn point(&mut self, host: &str) -> &mut Self {
        for service in &self.spec.services {
            let spec = serde_json::json!({"type": "ExternalName", "externalName": host});
            let copy = ServiceCopy::of(&spec, &BTreeMap::new(), &BTreeMap::new());
            self.sources.insert(service.name.clone(), copy);
        }
        self
    }

    /// What the first service's workloads use in a cluster is this now, as name and content.
    pub fn config(&mut self, site: &Site, found: &[(&str, &str)]) -> &mut Self {
        let found = found.iter().map(|(name, content)| ((*name).to_owned(), (*content).to_owned()));
        let key = (self.spec.services[0].name.clone(), site.clone());
        self.configs.insert(key, ConfigsSeen::Found(Configs::at(site, found)));
        self
    }

    /// It cannot be read in any cluster from now on.
    pub fn hide_configs(&mut self) -> &mut Self {
        let why = Problem::new(Reason::ConfigsUnknown, "eu-3: no answer");
        self.configs.values_mut().for_each(|seen| *seen = ConfigsSeen::Unusable(why.clone()));
        self
    }

    /// Service mode: somebody annotates the Services.
    pub fn annotate(&mut self, key: &str, value: &str) -> &mut Self {
        for copy in self.sources.values_mut() {
            copy.annotations.insert(key.to_owned(), value.to_owned());
        }
        self
    }

    /// One round of probes.
    pub fn probe(&mut self) {
        for member in self.members() {
            let seen = self.endpoints.entry(member.clone()).or_default();
            let (failures, successes) = if self.down.contains(&member) {
                ((seen.failures + 1).min(3), 0)
            } else {
                (0, (seen.successes + 1).min(3))
            };
            let source = self.endpoint_source;
            *seen = EndpointSeen { source, failures, successes };
        }
    }
}
