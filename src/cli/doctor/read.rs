//! What several sections look at: the rollouts and the members, read once.

use jiff::Timestamp;
use kube::{
    Api, ResourceExt,
    api::ListParams,
    core::{DeserializeGuard, ObjectList},
};

use super::check::{Check, Outcome, Section, first_line};
use crate::{
    api::{FleetRollout, MemberCluster, Route},
    cli::{
        CliError, access,
        cluster::Cluster,
        hub_liveness::LeaseSeen,
        live::{self, Place},
        view::View,
    },
    text::sanitise,
};

/// The rollouts and the members, and the hub's Lease.
pub(super) struct Read {
    pub(super) rollouts: Listed<FleetRollout>,
    pub(super) members: Listed<MemberCluster>,
    pub(super) lease: LeaseSeen,
}

/// A rollout, and where its services and their members are.
pub(super) struct Placed {
    pub(super) view: View,
    /// Or why that is not known.
    pub(super) places: Result<Vec<Place>, String>,
}

impl Placed {
    /// Its namespace and name.
    pub(super) fn title(&self) -> String {
        format!("{}/{}", self.view.namespace(), self.view.name())
    }
}

/// The objects of a kind.
pub(super) struct Listed<K> {
    pub(super) objects: Vec<K>,
    /// The names of those that this version cannot read.
    strange: Vec<String>,
    /// Why there is no list.
    failed: Option<String>,
}

impl Read {
    pub(super) async fn new(cluster: &Cluster, everywhere: bool) -> Self {
        let client = cluster.client.clone();
        let rollouts: Api<DeserializeGuard<FleetRollout>> =
            if everywhere { Api::all(client.clone()) } else { Api::namespaced(client.clone(), &cluster.namespace) };
        let members: Api<DeserializeGuard<MemberCluster>> = Api::all(client);
        let (every, lease) = (ListParams::default(), cluster.lease());
        let (rollouts, members, lease) = tokio::join!(
            cluster.call(access::READ, rollouts.list(&every)),
            cluster.call(access::READ, members.list(&every)),
            lease
        );
        Self { rollouts: Listed::new(rollouts), members: Listed::new(members), lease }
    }

    /// The routes of all rollouts.
    pub(super) fn routes(&self) -> Vec<Route> {
        let specs = self.rollouts.objects.iter().map(|rollout| &rollout.spec);
        let services = specs.flat_map(|spec| spec.services.iter().map(|service| service.in_mode(spec.mode())));
        services.flat_map(|service| service.routes).collect()
    }

    /// Every rollout with all members, and where it places its services.
    pub(super) fn placed(&self, now: Timestamp) -> Vec<Placed> {
        let place = |rollout: &FleetRollout| {
            let view = View::new(rollout.clone(), self.lease.clone(), now);
            let view = View { members: self.members.objects.clone(), ..view };
            Placed { places: live::places(&view).map_err(|error| first_line(&error)), view }
        };
        self.rollouts.objects.iter().map(place).collect()
    }

    /// What could not be read, and that there is none.
    pub(super) fn unreadable(&self) -> Vec<Check> {
        let members =
            self.members.checks(Section::Members, "MemberCluster", "register one: cutover member kubeconfig --help");
        let none = "declare one, or look into another namespace with -n, or into all with -A";
        members.into_iter().chain(self.rollouts.checks(Section::Routes, "FleetRollout", none)).collect()
    }
}

impl<K> Listed<K>
where
    K: Clone,
    DeserializeGuard<K>: ResourceExt + Clone,
{
    fn new(listed: Result<ObjectList<DeserializeGuard<K>>, CliError>) -> Self {
        let mut all = Self { objects: Vec::new(), strange: Vec::new(), failed: None };
        match listed {
            Ok(list) => {
                for one in list.items {
                    let name = sanitise(&one.name_any());
                    match one.0 {
                        Ok(object) => all.objects.push(object),
                        Err(_) => all.strange.push(name),
                    }
                }
            }
            Err(error) => all.failed = Some(first_line(&error)),
        }
        all
    }
}

impl<K> Listed<K> {
    fn checks(&self, section: Section, kind: &str, none: &str) -> Vec<Check> {
        let check = |subject: String, outcome| Check::new(section, subject, outcome);
        if let Some(why) = &self.failed {
            let remedy = "ask for the ClusterRole cutover-viewer; the lines above say what else is wrong";
            return vec![check(format!("{kind}s"), Outcome::not_known(why, remedy))];
        }
        if self.objects.is_empty() && self.strange.is_empty() {
            return vec![check(format!("{kind}s"), Outcome::not_known("there is none to look at", none))];
        }
        let strange = |name: &String| {
            let remedy = "correct it as the log of the hub says, or use the command of the hub's version";
            check(format!("{kind} {name}"), Outcome::bad("this version of cutover cannot read it", remedy))
        };
        self.strange.iter().map(strange).collect()
    }
}
