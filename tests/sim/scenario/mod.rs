//! The runs: what is there at the beginning, what people do, and when it is over.

mod objects;
mod people;
mod spec;
pub mod tenant;

use std::collections::BTreeMap;

use cutover::api::DeletionPolicy;
use serde_json::{Value, json};

use super::{
    plan::{Fault, Plan, Run, sorts::Deleted},
    world::World,
};
pub use objects::{
    CRDS, MEMBER_PATH, NEW_TOKEN, ROUTES, SECRET, SECRETS, kinds, member, members, route_kind, secret, secret_of,
};
use objects::{HTTP_ROUTE, backend, own_service};
pub use people::is_over;

/// Every member that there is.
pub const MEMBERS: [&str; 5] = ["eu-1", "eu-2", "eu-3", "eu-4", RENAMED];

/// The name that a member gets when it is renamed.
pub const RENAMED: &str = "eu-5";

/// One run.
pub struct Scenario {
    pub run: Run,
    /// Routes by name, with the service that they are for.
    pub routes: BTreeMap<&'static str, &'static str>,
    /// Where it begins.
    pub start: BTreeMap<String, u32>,
    /// Where it ends if nothing goes wrong.
    pub end: BTreeMap<String, u32>,
    pub deletion_policy: DeletionPolicy,
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
        Self { deletion_policy, ..Self::of(plan.run) }
    }

    fn of(run: Run) -> Self {
        let deletion_policy = DeletionPolicy::Retain;
        let old = weights(&[("eu-1", 50), ("eu-2", 50)]);
        let (routes, end) = match run {
            Run::Promotion | Run::Rollback | Run::Retarget | Run::Deletion | Run::Mixed => {
                let routes = BTreeMap::from([("public", "shop"), ("partner", "shop")]);
                let end = match run {
                    Run::Rollback | Run::Deletion => old.clone(),
                    Run::Retarget => weights(&[("eu-1", 50), ("eu-4", 50)]),
                    Run::Promotion | Run::Fleet | Run::Service | Run::Mixed => weights(&[("eu-3", 100)]),
                };
                (routes, end)
            }
            Run::Service => {
                let primary = weights(&[("primary", 100)]);
                let routes = BTreeMap::from([("public", "shop"), ("partner", "shop")]);
                return Self { run, routes, start: primary.clone(), end: primary, deletion_policy };
            }
            Run::Fleet => {
                (BTreeMap::from([("public", "shop"), ("checkout", "checkout")]), weights(&[("eu-1", 20), ("eu-3", 80)]))
            }
        };
        Self { run, routes, start: old, end, deletion_policy }
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
        if with_routes {
            world.create(CRDS, &HTTP_ROUTE);
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
                world.create(ROUTES, &self.route(route, service));
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
            let mut route = self.route("bystander", "bystander");
            route["spec"]["rules"][0]["backendRefs"] = json!([{"name": "bystander", "port": 80}]);
            world.create(ROUTES, &route);
        }
    }

    pub fn route(&self, name: &str, service: &str) -> Value {
        if self.run == Run::Service {
            let mut route = Self::of(Run::Promotion).route(name, service);
            route["spec"]["rules"][0]["backendRefs"] = json!([{"name": service, "port": 80, "weight": 100}]);
            return route;
        }
        let backends: Vec<Value> = self
            .start
            .iter()
            .map(|(member, weight)| json!({"name": format!("{service}-{member}"), "port": 80, "weight": weight}))
            .collect();
        let mut rule = json!({"timeouts": {"request": "10s"}, "backendRefs": backends});
        if self.run == Run::Mixed {
            // Copies stand among filters; the user's own stay.
            let header = json!({"set": [{"name": "x-team", "value": "web"}]});
            rule["filters"] = json!([{"type": "RequestHeaderModifier", "requestHeaderModifier": header}]);
        }
        json!({
            "apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute",
            "metadata": {"name": name, "namespace": "shop", "annotations": {"team": "web"}},
            "spec": {"parentRefs": [{"name": "public"}], "hostnames": [format!("{name}.example.com")], "rules": [rule]},
        })
    }
}
