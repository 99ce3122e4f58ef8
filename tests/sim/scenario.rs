//! The runs: what is there at the beginning, what people do, and when it is over.

use std::{collections::BTreeMap, sync::LazyLock};

use cutover::api::crd::definitions;
use serde_json::{Value, json};

use super::{
    plan::Run,
    world::{ROLLOUT, World},
};

/// Every member that there is.
pub const MEMBERS: [&str; 4] = ["eu-1", "eu-2", "eu-3", "eu-4"];
/// What nobody may ever read but in its Secret.
pub const SECRET: &str = "s3cret-of-a-member";

/// One run.
pub struct Scenario {
    pub run: Run,
    /// Routes by name, with the service that they are for.
    pub routes: BTreeMap<&'static str, &'static str>,
    /// Where it begins.
    pub start: BTreeMap<String, u32>,
    /// Where it ends if nothing goes wrong.
    pub end: BTreeMap<String, u32>,
}

fn weights(of: &[(&str, u32)]) -> BTreeMap<String, u32> {
    of.iter().map(|(name, weight)| ((*name).to_owned(), *weight)).collect()
}

impl Scenario {
    pub fn of(run: Run) -> Self {
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
                return Self { run, routes, start: primary.clone(), end: primary };
            }
            Run::Fleet => {
                (BTreeMap::from([("public", "shop"), ("checkout", "checkout")]), weights(&[("eu-1", 20), ("eu-3", 80)]))
            }
        };
        Self { run, routes, start: old, end }
    }

    pub fn service_of(&self, route: &str) -> Option<&'static str> {
        self.routes.get(route).copied()
    }

    pub fn spec(&self) -> Value {
        let services: Vec<&str> = {
            let mut names: Vec<&str> = self.routes.values().copied().collect();
            names.sort_unstable();
            names.dedup();
            names
        };
        let service = |name: &&str| {
            let routes = self.routes.iter().filter(|(_, service)| service == &name);
            let routes: Vec<Value> = routes.map(|(route, _)| json!({"gatewayAPI": {"name": route}})).collect();
            json!({"name": name, "port": 80, "routes": routes})
        };
        let services: Vec<Value> = services.iter().map(service).collect();
        let members = match self.run {
            Run::Promotion | Run::Rollback | Run::Retarget | Run::Deletion | Run::Mixed => members(&[("eu-3", 100)]),
            Run::Fleet => members(&[("eu-1", 20), ("eu-3", 80)]),
            Run::Service => Value::Null,
        };
        let first = if self.run == Run::Promotion {
            json!({"progress": "20%", "wait": "Promotion"})
        } else {
            json!({"progress": "20%"})
        };
        let mut spec = json!({
            "services": services,
            "members": members,
            "strategy": {"bake": "15s", "keepPrevious": "10s", "progressDeadline": "30m",
                         "steps": [first, {"progress": "60%"}, {"progress": "100%"}]},
            "analysis": {
                "interval": "5s", "settle": "3s", "lag": "1s",
                "unknown": {"limit": 5, "action": "Hold"},
                "metrics": [{
                    "name": "errors", "max": 1, "window": "10s", "minSamples": 50,
                    "ratio": {"numerator": "sum(increase(http_requests_total{service=\"{{ service }}\",code=~\"5..\"}[{{ window }}]))",
                              "denominator": "sum(increase(http_requests_total{service=\"{{ service }}\"}[{{ window }}]))"},
                }],
            },
        });
        if self.run == Run::Mixed {
            let mobile = json!({"headers": [{"name": "user-agent", "exact": "mobile"}]});
            spec["strategy"]["steps"] = json!([
                {"progress": "20%"},
                {"mirror": {}, "iterations": 3},
                {"matches": [mobile], "iterations": 3},
                {"progress": "100%"},
            ]);
        }
        if let (Run::Service, Some(fields)) = (self.run, spec.as_object_mut()) {
            fields.remove("members");
            fields.insert(
                "strategy".to_owned(),
                json!({"bake": "15s", "progressDeadline": "30m", "ramp": {"stepWeights": [20, 60]}}),
            );
        }
        if matches!(self.run, Run::Service | Run::Fleet) {
            spec["strategy"]["sessionAffinity"] = json!({"cookieName": "shop"});
        }
        spec
    }

    /// The members that are registered.
    pub fn members(&self) -> &'static [&'static str] {
        &MEMBERS[..if self.run == Run::Retarget { 4 } else { 3 }]
    }

    /// Installs kinds and objects. What the rollout is about comes last.
    pub fn install(&self, world: &World, with_kinds: bool, with_routes: bool) {
        for namespace in ["cutover-system", "shop", "other"] {
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
        world.create("/api/v1/namespaces/other/services", &service("other", "shop-eu-3"));
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

    /// What people do in this run, looked at again and again.
    pub fn people(&self, world: &World) {
        let Some(rollout) = world.rollout() else { return };
        let status = &rollout["status"];
        let step = status["run"]["step"].as_u64().unwrap_or_default();
        if status["reason"] == "WaitingForPromotion" && !world.judge().has_asked("Promote") {
            world.ask("Promote");
        }
        let stood = world.judge().stood(world.now());
        match self.run {
            Run::Promotion | Run::Fleet | Run::Mixed => {}
            Run::Service => {
                if status["phase"] == "Initialized" && status.get("run").is_none() {
                    world.patch("/api/v1/namespaces/shop/services/shop", &own_service("eu-3"), "user");
                }
            }
            Run::Rollback => {
                if step == 2 && stood > 4.0 {
                    world.fleet().member("eu-3").errors = 0.3;
                }
            }
            Run::Retarget => {
                let members = members(&[("eu-1", 50), ("eu-4", 50)]);
                if step == 2 && stood > 2.0 && rollout["metadata"]["generation"] == 1 {
                    world.judge().declared_anew();
                    world.patch(ROLLOUT, &json!({"spec": {"members": members}}), "user");
                }
            }
            Run::Deletion => {
                if step == 2 && stood > 2.0 && rollout["metadata"].get("deletionTimestamp").is_none() {
                    world.delete(ROLLOUT);
                }
            }
        }
    }
}

/// It came to rest, in whatever way.
pub fn is_over(world: &World) -> bool {
    world.rollout().is_none_or(|rollout| {
        let phase = rollout["status"]["phase"].as_str().unwrap_or_default();
        let observed = rollout["status"]["observedGeneration"] == rollout["metadata"]["generation"];
        let begun = world.scenario.run != Run::Service || rollout["status"]["run"].is_object();
        observed && begun && ["Initialized", "Succeeded", "Failed", "RolledBack"].contains(&phase)
    })
}

pub const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
pub const ROUTES: &str = "/apis/gateway.networking.k8s.io/v1/namespaces/shop/httproutes";
pub const MEMBER_PATH: &str = "/apis/cutover.dev/v1alpha1/memberclusters";
pub const SECRETS: &str = "/api/v1/namespaces/cutover-system/secrets";

/// The weights of all members that are declared, those that leave at 0.
pub fn members(gaining: &[(&str, u32)]) -> Value {
    let mut all: BTreeMap<&str, u32> = BTreeMap::from([("eu-1", 0), ("eu-2", 0), ("eu-3", 0)]);
    all.extend(gaining.iter().copied());
    all.into_iter().map(|(name, weight)| json!({"name": name, "weight": weight})).collect()
}

pub fn kinds(world: &World) {
    for definition in &*KINDS {
        world.create(CRDS, definition);
    }
}

pub fn member(name: &str) -> Value {
    json!({
        "apiVersion": "cutover.dev/v1alpha1", "kind": "MemberCluster", "metadata": {"name": name},
        "spec": {
            "kubeconfigSecretRef": {"name": name, "key": "kubeconfig"},
            "endpoints": [{"host": format!("{name}.example.com"), "port": 80}],
            "prometheus": {"url": {"address": format!("https://prometheus.{name}.example.com")}},
        },
    })
}

/// Service mode: the user's own Service, pointed at a member.
fn own_service(member: &str) -> Value {
    let mut service = backend("shop", member);
    service["metadata"] = json!({"name": "shop", "namespace": "shop", "annotations": {"cutover.dev/member": member}, "labels": {"team": "web"}});
    service
}

/// A backend that was made by hand before there was a hub.
fn backend(service: &str, member: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Service",
           "metadata": {"name": format!("{service}-{member}"), "namespace": "shop"},
           "spec": {"type": "ExternalName", "externalName": format!("{member}.example.com"),
                    "ports": [{"name": "http", "port": 80}]}})
}

pub fn secret(world: &World, name: &str) {
    world.create(SECRETS, &secret_of(name, SECRET));
}

pub fn secret_of(name: &str, token: &str) -> Value {
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": name,
        "clusters": [{"name": name, "cluster": {"server": format!("https://api.{name}.example.com:6443"),
                      "certificate-authority-data": *AUTHORITY}}],
        "users": [{"name": name, "user": {"token": token}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
    });
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "cutover-system"},
           "stringData": {"kubeconfig": config.to_string()}})
}

/// Made once: schemas are built from types, which takes longer than a plan's first minute.
static KINDS: LazyLock<Vec<Value>> = LazyLock::new(|| definitions().expect("the definitions are JSON"));

/// Trusted by nobody; a kubeconfig must have one.
static AUTHORITY: LazyLock<String> = LazyLock::new(|| {
    let made = rcgen::generate_simple_self_signed(vec!["api.example.com".to_owned()]).expect("a certificate");
    let bytes = k8s_openapi::ByteString(made.cert.pem().into_bytes());
    serde_json::to_value(bytes).expect("text").as_str().unwrap_or_default().to_owned()
});

static HTTP_ROUTE: LazyLock<Value> = LazyLock::new(|| {
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "httproutes.gateway.networking.k8s.io",
                     "annotations": {"api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/gateway-api/pull/3328"}},
        "spec": {
            "group": "gateway.networking.k8s.io", "scope": "Namespaced",
            "names": {"kind": "HTTPRoute", "listKind": "HTTPRouteList", "plural": "httproutes", "singular": "httproute"},
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                          "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": open, "status": open}}}}],
        },
    })
});

/// The definition of `HTTPRoutes`.
pub fn route_kind() -> &'static Value {
    &HTTP_ROUTE
}
