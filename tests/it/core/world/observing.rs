//! What the core is given of the world.

use std::collections::{BTreeMap, BTreeSet};

use cutover::{
    api::{CANARY, Mode, PRIMARY, Reason, ServiceCopy, track::Site},
    rollout::{
        self, Input, Observation,
        input::{BackendSeen, ConfigCopiesSeen, LiveRoute, Measured, MemberSeen, Problem, RouteSeen, SourceSeen},
    },
};

use super::{HUB, RouteInWorld, UID, World};

impl World {
    pub(super) fn members(&self) -> Vec<String> {
        let mut names: BTreeSet<String> = self.spec.members.iter().map(|member| member.name.clone()).collect();
        if self.spec.mode() == Mode::Service {
            names.extend([PRIMARY.to_owned(), CANARY.to_owned()]);
        }
        if let Some(run) = self.live_run() {
            names.extend(run.target.members().chain(run.rollback_to.members()).map(str::to_owned));
        }
        names.into_iter().collect()
    }

    pub(super) fn leader(&self) -> String {
        format!("instance-{}", self.instance)
    }

    pub fn observe(&self, measured: Option<Measured>) -> Observation {
        let services: Vec<String> =
            rollout::services(&self.spec, &self.status).iter().map(|service| service.name.clone()).collect();
        let members = self.members();
        let see = |route: &Option<RouteInWorld>| match route {
            _ if self.unlisted => RouteSeen::Unseen,
            Some(route) => seen(route),
            None if self.creates_routes => RouteSeen::ToCreate,
            None => RouteSeen::Unusable(Problem::new(Reason::RouteNotFound, "it does not exist")),
        };
        let each = || services.iter().flat_map(|service| members.iter().map(move |m| (service.clone(), m.clone())));
        Observation {
            refused: self.invalid.then(|| Problem::new(Reason::InvalidSpec, "spec.members: nonsense")),
            routes: self.routes.iter().map(|(key, route)| (key.clone(), see(route))).collect(),
            backends: each().map(|key| (key.clone(), self.backend(&key))).collect(),
            members: members
                .iter()
                .map(|name| {
                    let identity = self.identities.get(name).cloned().unwrap_or_else(|| name.clone());
                    let forbidden = || Problem::new(Reason::NamespaceNotAllowed, format!("{name} does not allow it"));
                    let seen = if self.forbidden.contains(name) {
                        MemberSeen::Unusable(forbidden())
                    } else {
                        MemberSeen::Registered { identity }
                    };
                    (name.clone(), seen)
                })
                .collect(),
            endpoints: each()
                .map(|(service, member)| {
                    let seen = self.endpoints.get(&member).copied().unwrap_or_default();
                    ((service, member), seen)
                })
                .collect(),
            left: BTreeSet::new(),
            serving: self.serving(),
            sources: self.sources.iter().map(|(name, copy)| (name.clone(), self.source(name, copy))).collect(),
            unprobed: BTreeSet::new(),
            delayed_at: self.delayed_at,
            measured,
            rehearsals: self.rehearsed.clone(),
            dependencies: self.dependencies.clone(),
            configs: self.configs.clone(),
            config_copies: self.config_copies(),
            hooks: self.called.clone(),
        }
    }

    pub fn input<'a>(&'a self, seen: &'a Observation, leader: &'a str) -> Input<'a> {
        Input {
            now: self.now,
            hub: HUB,
            leader,
            uid: UID,
            generation: self.generation,
            declared_by: Some("kubectl"),
            deliveries: &self.deliveries,
            author: self.author.as_deref(),
            deleting: self.deleting,
            finalizer: self.finalizer,
            spec: &self.spec,
            status: &self.status,
            requests: &self.requests,
            seen,
            announced: 0,
            measured_at: self.measured_at,
            measuring: false,
        }
    }

    fn backend(&self, key: &(String, String)) -> BackendSeen {
        if self.missing.contains(&key.1) {
            let message = format!("Service legacy-{} does not exist", key.1);
            return BackendSeen::Missing(Problem::new(Reason::BackendNotReady, message));
        }
        let other = self.copy(key).is_some_and(|copy| self.copies.get(key) != Some(copy));
        if self.unready_backends || other { BackendSeen::Outdated(None) } else { BackendSeen::Ready }
    }

    fn source(&self, name: &str, copy: &ServiceCopy) -> SourceSeen {
        if self.deleted.contains(name) {
            let message = format!("Service {name} does not exist");
            return SourceSeen::Unusable(Problem::new(Reason::ServiceNotFound, message));
        }
        SourceSeen::Found(copy.clone())
    }

    /// What is there of the copies of every service whose workloads run in the hub cluster.
    fn config_copies(&self) -> BTreeMap<String, ConfigCopiesSeen> {
        let failed = self.refuse_config_copies.then(|| "forbidden".to_owned());
        let of = |service: &String| {
            let copies = self.config_copies.get(service).cloned().unwrap_or_default();
            (service.clone(), ConfigCopiesSeen::Found { copies, failed: failed.clone() })
        };
        self.configs.keys().filter(|(_, site)| *site == Site::Hub).map(|(service, _)| of(service)).collect()
    }

    /// Service mode: the primaries, as they are; a route that exists names each.
    fn serving(&self) -> BTreeMap<String, ServiceCopy> {
        let primaries = self.copies.iter().filter(|((_, slot), _)| slot == PRIMARY);
        primaries.map(|((service, _), copy)| (service.clone(), copy.clone())).collect()
    }

    /// Service mode: what the Service of primary or canary must be, by what is recorded.
    pub(super) fn copy(&self, (service, slot): &(String, String)) -> Option<&ServiceCopy> {
        let promoted = self.status.promoted.as_ref().and_then(|promoted| promoted.services.get(service));
        let proving = self.live_run().map_or(&self.status.canary, |run| &run.services).get(service);
        if slot == CANARY { proving.or(promoted) } else { promoted }
    }
}

fn seen(route: &RouteInWorld) -> RouteSeen {
    RouteSeen::Live(Box::new(LiveRoute {
        split: route.split.clone(),
        uneven: route.uneven,
        mark: route.mark.clone(),
        marked_by: route.marked_by.clone(),
        to_release: route.traces,
        accepted: route.accepted.clone(),
        idle: route.idle,
        editor: route.editor.clone(),
        failed: route.failed.clone(),
    }))
}
