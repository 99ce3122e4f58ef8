//! The runs: what is there at the beginning, what people do, and when it is over.

mod objects;
mod people;
mod spec;
pub mod tenant;

use std::collections::BTreeMap;

use cutover::api::DeletionPolicy;
use serde_json::{Value, json};

use super::{
    plan::{Fault, Kind, Plan, Run, sorts::Deleted},
    routes::Form,
    world::World,
};
pub use objects::{CRDS, MEMBER_PATH, NEW_TOKEN, SECRET, SECRETS, kinds, member, members, secret, secret_of};
use objects::{alert_provider, backend, own_service};
pub use people::is_over;
pub use spec::RECEIVER;

/// Every member that there is.
pub const MEMBERS: [&str; 5] = ["eu-1", "eu-2", "eu-3", "eu-4", RENAMED];

/// The name that a member gets when it is renamed.
pub const RENAMED: &str = "eu-5";

/// One run.
pub struct Scenario {
    pub run: Run,
    /// What its routes are.
    pub form: &'static dyn Form,
    /// Routes by name, with the service that they are for.
    pub routes: BTreeMap<&'static str, &'static str>,
    /// Where it begins.
    pub start: BTreeMap<String, u32>,
    /// Where it ends if nothing goes wrong.
    pub end: BTreeMap<String, u32>,
    pub deletion_policy: DeletionPolicy,
    /// The rollout has an alert.
    pub alerts: bool,
}

fn weights(of: &[(&str, u32)]) -> BTreeMap<String, u32> {
    of.iter().map(|(name, weight)| ((*name).to_owned(), *weight)).collect()
}

impl Scenario {
    /// Every other plan in which the rollout is deleted has the policy Revert; but for a tool that puts back what Revert
    /// leaves, which would be no fault.
    pub fn of_plan(plan: &Plan) -> Self {
        let is_deleted = plan.run == Run::Deletion || plan.fault == Fault::Delete(Deleted::Rollout);
        let strikes = !matches!(plan.fault, Fault::Reapply(_)) && plan.run != Run::Service;
        let reverts = is_deleted && strikes && plan.seed % 4 >= 2;
        let deletion_policy = if reverts { DeletionPolicy::Revert } else { DeletionPolicy::Retain };
        let alerts = matches!(plan.fault, Fault::Alerts(_));
        Self { deletion_policy, alerts, ..Self::of(plan.run, plan.kind) }
    }

    fn of(run: Run, kind: Kind) -> Self {
        let (form, deletion_policy) = (kind.form(), DeletionPolicy::Retain);
        // A third member is to gain.
        let old: &[_] = if form.can().members > 2 { &[("eu-1", 50), ("eu-2", 50)] } else { &[("eu-1", 100)] };
        let old = weights(old);
        let (routes, end) = match run {
            Run::Promotion | Run::Rollback | Run::Retarget | Run::Deletion | Run::Mixed | Run::Hooks => {
                let routes = BTreeMap::from([("public", "shop"), ("partner", "shop")]);
                let end = match run {
                    Run::Rollback | Run::Deletion => old.clone(),
                    Run::Retarget => weights(&[("eu-1", 50), ("eu-4", 50)]),
                    Run::Promotion | Run::Fleet | Run::Service | Run::Mixed | Run::Hooks => weights(&[("eu-3", 100)]),
                };
                (routes, end)
            }
            Run::Service => {
                let primary = weights(&[("primary", 100)]);
                let routes = BTreeMap::from([("public", "shop"), ("partner", "shop")]);
                return Self {
                    run,
                    form,
                    routes,
                    start: primary.clone(),
                    end: primary,
                    deletion_policy,
                    alerts: false,
                };
            }
            Run::Fleet => {
                (BTreeMap::from([("public", "shop"), ("checkout", "checkout")]), weights(&[("eu-1", 20), ("eu-3", 80)]))
            }
        };
        Self { run, form, routes, start: old, end, deletion_policy, alerts: false }
    }

    /// Seconds for which the former primary stays the last known good one after the last step.
    pub fn soak(&self) -> f64 {
        if self.run == Run::Service { 0.0 } else { 10.0 }
    }

    pub fn service_of(&self, route: &str) -> Option<&'static str> {
        let theirs = || tenant::THEIRS.into_iter().find(|theirs| *theirs == route);
        self.routes.get(route).copied().or_else(theirs)
    }

    /// The members that are registered.
    pub fn members(&self) -> &'static [&'static str] {
        &MEMBERS[..if self.run == Run::Retarget { 4 } else { 3 }]
    }

    /// Installs kinds and objects. What the rollout is about comes last.
    pub fn install(&self, world: &World, with_kinds: bool, with_routes: bool) {
        for namespace in ["cutover-system", "shop", tenant::NAMESPACE] {
            let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
            world.create("/api/v1/namespaces", &object);
        }
        if let Some(definition) = self.form.definition().filter(|_| with_routes) {
            world.create(CRDS, definition);
        }
        for (place, object) in self.form.beside() {
            world.create(&place, &object);
        }
        if with_kinds {
            kinds(world);
        }
        self.bystanders(world, with_routes);
        for name in self.members() {
            secret(world, name);
            if with_kinds {
                world.create(MEMBER_PATH, &member(name));
            }
        }
        if with_routes {
            for (route, service) in &self.routes {
                self.create_route(world, route, service);
            }
        }
        if self.run == Run::Service {
            world.create("/api/v1/namespaces/shop/services", &own_service("eu-1"));
        }
        for service in self.routes.values().filter(|_| self.run != Run::Service) {
            for member in self.start.keys() {
                world.create("/api/v1/namespaces/shop/services", &backend(service, member));
            }
        }
        if with_kinds && self.alerts {
            world.create("/apis/cutover.dev/v1alpha1/namespaces/shop/alertproviders", &alert_provider());
        }
        if with_kinds {
            self.declare(world);
        }
    }

    pub fn declare(&self, world: &World) {
        world.create("/apis/cutover.dev/v1alpha1/namespaces/shop/fleetrollouts", &self.declared());
    }

    pub fn declared(&self) -> Value {
        json!({"apiVersion": "cutover.dev/v1alpha1", "kind": "FleetRollout",
               "metadata": {"name": "shop", "namespace": "shop"}, "spec": self.spec()})
    }

    /// What the hub must never touch.
    fn bystanders(&self, world: &World, with_routes: bool) {
        let service = |namespace: &str, name: &str| {
            json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": namespace},
                   "spec": {"type": "ExternalName", "externalName": "elsewhere.example.com", "ports": [{"name": "http", "port": 80}]}})
        };
        world.create("/api/v1/namespaces/shop/services", &service("shop", "bystander"));
        let others = tenant::collection("/api/v1", tenant::NAMESPACE, "services");
        world.create(&others, &service(tenant::NAMESPACE, "shop-eu-3"));
        if with_routes {
            let route = self.form.written("bystander", &[("bystander".to_owned(), 100)]);
            world.create(&self.form.collection("shop"), &route);
        }
    }

    /// A route as its user wrote it.
    pub fn route(&self, name: &str, service: &str) -> Value {
        if self.run == Run::Service {
            return self.form.written(name, &[(service.to_owned(), 100)]);
        }
        let backend = |(member, weight): (&String, &u32)| (format!("{service}-{member}"), *weight);
        self.form.written(name, &self.start.iter().map(backend).collect::<Vec<_>>())
    }

    pub fn create_route(&self, world: &World, name: &str, service: &str) {
        world.create(&self.form.collection("shop"), &self.route(name, service));
    }
}
