//! `cutover doctor` against an API server in which several things are wrong at once.
//!
//! `CUTOVER_WRITE_SCENES=1 cargo test --test it doctor` writes the page anew; read the difference before it is committed.

use std::{collections::BTreeMap, fs};

use cutover::{api::crd::definitions, yaml::documents};
use regex::Regex;
use serde_json::{Value, json};

use crate::{
    bad_environments::{api_server, bare, failure, in_time, kubeconfig},
    command::{printed, root},
};

/// Objects by the path at which they are read.
type World = BTreeMap<String, Value>;

/// Who runs it, where it is not just anybody; no path.
const USER: &str = "user";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const POLICIES: &str = "/apis/admissionregistration.k8s.io/v1";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/cutover-system/deployments";
const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/cutover-hub";

/// An installation in which all is as it should be, and nothing declared yet.
fn installed() -> World {
    let list = |kind: &str, items: &Value| json!({"apiVersion": "v1", "kind": kind, "metadata": {}, "items": items});
    let mut world = World::from([
        ("/version".to_owned(), version()),
        ("/apis/cutover.dev/v1alpha1".to_owned(), discovery()),
        (DEPLOYMENTS.to_owned(), list("DeploymentList", &json!([deployment(2, env!("CARGO_PKG_VERSION"))]))),
        (LEASE.to_owned(), lease()),
        ("/apis/cutover.dev/v1alpha1/namespaces/shop/fleetrollouts".to_owned(), list("List", &json!([]))),
        ("/apis/cutover.dev/v1alpha1/memberclusters".to_owned(), list("List", &json!([]))),
    ]);
    for mut definition in definitions().unwrap() {
        definition["status"] = json!({"conditions": [{"type": "Established", "status": "True"}],
            "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": []});
        world.insert(format!("{DEFINITIONS}/{}", definition["metadata"]["name"].as_str().unwrap()), definition);
    }
    for file in ["authors", "requested-by", "declared-by"] {
        let text = fs::read_to_string(root().join(format!("config/admission/{file}.yaml"))).unwrap();
        for object in documents(&text).unwrap() {
            let plural = match object.value["kind"].as_str().unwrap() {
                "ValidatingAdmissionPolicy" => "validatingadmissionpolicies",
                _ => "validatingadmissionpolicybindings",
            };
            world.insert(format!("{POLICIES}/{plural}/cutover-{file}"), object.value);
        }
    }
    world
}

fn version() -> Value {
    json!({"major": "1", "minor": "34", "gitVersion": "v1.34.1", "gitCommit": "", "gitTreeState": "", "buildDate": "",
        "goVersion": "", "compiler": "", "platform": ""})
}

fn discovery() -> Value {
    let kinds = ["fleetrollouts", "memberclusters", "metrictemplates", "rolloutrequests", "alertproviders"];
    let resource = |name| json!({"name": name, "singularName": "", "namespaced": true, "kind": name, "verbs": []});
    json!({"groupVersion": "cutover.dev/v1alpha1", "resources": kinds.map(resource)})
}

fn deployment(available: u32, tag: &str) -> Value {
    json!({"metadata": {"name": "cutover-hub"}, "status": {"availableReplicas": available},
        "spec": {"replicas": 2, "selector": {}, "template": {"spec": {"containers": [
            {"name": "hub", "image": format!("registry.example.com/cutover:{tag}")}]}}}})
}

/// It is always just renewed.
fn lease() -> Value {
    json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "cutover-hub"},
        "spec": {"holderIdentity": "hub-1", "leaseDurationSeconds": 15, "renewTime": "2999-01-01T00:00:00.000000Z"}})
}

/// What is answered to a review: that it is allowed, unless one of these words is in it.
fn review(body: &str, user: &str, denied: &[&str]) -> Value {
    let mut review: Value = serde_json::from_str(body).unwrap();
    let right = review["spec"]["resourceAttributes"].to_string();
    review["status"] = match review["kind"].as_str() {
        Some("SelfSubjectReview") => json!({"userInfo": {"username": user}}),
        _ => json!({"allowed": !denied.iter().any(|word| right.contains(word))}),
    };
    review
}

/// Runs it in a world in which these paths are forbidden, and rights with these words are denied.
fn doctor(words: &[&str], world: World, forbidden: &'static [&str], denied: &'static [&str]) -> (Option<i32>, String) {
    let address = api_server(move |line, body| {
        let path = line.split([' ', '?']).nth(1)?;
        if forbidden.iter().any(|part| path.contains(part)) {
            return Some(failure(403, "Forbidden", &format!("you may not see {path}"), ""));
        }
        if line.starts_with("POST") {
            let user = world.get(USER).and_then(Value::as_str).unwrap_or("ann");
            return Some((201, review(body, user, denied)));
        }
        let name = path.rsplit('/').next().unwrap_or_default();
        Some(world.get(path).map_or_else(|| failure(404, "NotFound", "not found", name), |found| (200, found.clone())))
    });
    let (_folder, file) = kubeconfig(&format!("http://{address}"));
    let (status, text, said) = printed(&in_time(bare(words).env("KUBECONFIG", &file)));
    assert_eq!(said, "");
    // Lines are broken by the length of the version.
    let text = Regex::new("\n {8}([^ -])").unwrap().replace_all(&text, " $1");
    (status, text.replace(&address.to_string(), "SERVER").replace(env!("CARGO_PKG_VERSION"), "VERSION"))
}

fn is_as_in(name: &str, shown: &str) {
    let file = root().join("tests/it/doctor").join(format!("{name}.txt"));
    if std::env::var_os("CUTOVER_WRITE_SCENES").is_some() {
        fs::write(&file, shown).unwrap();
    }
    let expected = fs::read_to_string(file).unwrap();
    assert!(shown == expected, "{name} is now\n{shown}");
}

/// A member at which nobody listens, as the hub says as well.
fn member() -> Value {
    let condition = |type_, status, reason, message| {
        json!({"type": type_, "status": status, "reason": reason, "message": message,
            "lastTransitionTime": "2999-01-01T00:00:00Z"})
    };
    json!({
        "apiVersion": "cutover.dev/v1alpha1", "kind": "MemberCluster", "metadata": {"name": "eu-1", "generation": 1},
        "spec": {
            "kubeconfigSecretRef": {"name": "eu-1-kubeconfig", "key": "value"},
            "endpoints": [{"host": "eu-1.test", "port": 1}], "allowedNamespaces": {"from": "All"},
            "prometheus": {"url": {"address": "http://prometheus.test:1"}},
        },
        "status": {"observedGeneration": 1, "conditions": [
            condition("Reachable", "Unknown", "SecretNotFound", "Secret eu-1-kubeconfig does not exist"),
            condition("EndpointsReady", "False", "EndpointUnreachable", "eu-1.test:1: Connection refused"),
            condition("MetricsAvailable", "True", "MetricsAnswer", "Prometheus answers"),
            condition("Healthy", "False", "EndpointUnreachable", "eu-1.test:1: Connection refused"),
        ]},
    })
}

/// Two rollouts: one whose route does not exist, and one of a member that is not registered.
fn rollouts() -> Value {
    let rollout = |name: &str, member: &str| {
        json!({
            "apiVersion": "cutover.dev/v1alpha1", "kind": "FleetRollout", "metadata": {"name": name, "namespace": "shop"},
            "spec": {
                "services": [{"name": "storefront", "port": 80, "routes": [{"gatewayAPI": {"name": "public"}}]}],
                "members": [{"name": member, "weight": 100}],
                "analysis": {"metrics": [
                    {"name": "errors", "ratio": {"numerator": "sum(a)", "denominator": "sum(b)"}, "max": 1},
                    {"name": "latency", "templateRef": {"name": "slow"}, "max": 1},
                ]},
            },
        })
    };
    json!([rollout("shop", "eu-1"), rollout("spare", "eu-9")])
}

/// The network of the members of this world.
const NETWORK: [&str; 7] = [
    "doctor",
    "--allow-addresses",
    "127.0.0.0/8",
    "--host-alias",
    "eu-1.test=127.0.0.1",
    "--host-alias",
    "prometheus.test=127.0.0.1",
];

#[test]
fn a_member_a_route_and_a_metric_that_are_wrong_have_a_line_each() {
    let mut world = installed();
    world.get_mut("/apis/cutover.dev/v1alpha1/memberclusters").unwrap()["items"] = json!([member()]);
    world.get_mut("/apis/cutover.dev/v1alpha1/namespaces/shop/fleetrollouts").unwrap()["items"] = rollouts();
    let templates = "/apis/cutover.dev/v1alpha1/namespaces/shop/metrictemplates".to_owned();
    let empty = json!({"apiVersion": "v1", "kind": "List", "metadata": {}, "items": []});
    world.insert(templates, empty.clone());
    world.insert("/api/v1/namespaces/cutover-system/secrets".to_owned(), empty);
    let (status, shown) = doctor(&NETWORK, world.clone(), &[], &[]);
    is_as_in("bad-member", &shown);
    assert_eq!(status, Some(1));
    let (_, shown) = doctor(&NETWORK, world, &["/secrets"], &[]);
    let not_tried = "  ?     eu-1: from here: not tried: you may not see /api/v1/namespaces/cutover-system/secrets";
    assert!(shown.contains(not_tried), "{shown}");
}

#[test]
fn of_an_installation_without_members_everything_is_good_that_can_be() {
    let (status, shown) = doctor(&["doctor"], installed(), &[], &[]);
    is_as_in("installed", &shown);
    assert_eq!(status, Some(0), "what is not known is no error");
}

#[test]
fn everything_that_is_wrong_is_said_at_once_with_its_remedy() {
    let mut world = installed();
    let description = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/endpoints/description";
    *world.get_mut(&format!("{DEFINITIONS}/memberclusters.cutover.dev")).unwrap().pointer_mut(description).unwrap() =
        json!("of another version");
    world.remove(&format!("{DEFINITIONS}/metrictemplates.cutover.dev"));
    world.remove(LEASE);
    world.remove(&format!("{POLICIES}/validatingadmissionpolicies/cutover-requested-by"));
    world.get_mut(&format!("{POLICIES}/validatingadmissionpolicybindings/cutover-authors")).unwrap()["spec"]["validationActions"] =
        json!(["Audit"]);
    let version = world.get_mut("/version").unwrap();
    (version["minor"], version["gitVersion"]) = (json!("29"), json!("v1.29.9"));
    world.get_mut(DEPLOYMENTS).unwrap()["items"] = json!([deployment(1, "9.9.9")]);
    let denied = &["rolloutrequests\",\"verb\":\"create", "\"servicecidrs\"", "services\",\"verb\":\"update"];
    let (status, shown) = doctor(&["doctor"], world, &[], denied);
    is_as_in("many-things-wrong", &shown);
    assert_eq!(status, Some(1));
}

#[test]
fn what_may_not_be_looked_at_is_said_with_who_may_and_hides_nothing_else() {
    let forbidden = &[
        "customresourcedefinitions",
        "subjectaccessreviews",
        "validatingadmission",
        "deployments",
        "leases",
        "memberclusters",
    ];
    let (status, shown) = doctor(&["doctor"], installed(), forbidden, &[]);
    is_as_in("forbidden", &shown);
    assert_eq!(status, Some(0));
}

#[test]
fn the_hub_looks_at_its_own_rights_where_it_may_not_review_those_of_others() {
    let mut world = installed();
    world.insert(USER.to_owned(), json!("system:serviceaccount:cutover-system:cutover-hub"));
    let (status, shown) = doctor(&["doctor"], world, &["/subjectaccessreviews"], &["servicecidrs"]);
    assert_eq!(status, Some(1), "{shown}");
    assert!(!shown.contains("you as "), "{shown}");
    assert!(shown.contains("the hub may not list servicecidrs.networking.k8s.io\n"), "{shown}");
    assert!(shown.contains("  ok    the hub by Role cutover-hub in kube-system: "), "{shown}");
}

#[test]
fn a_program_gets_the_same_checks() {
    let mut world = installed();
    world.remove(LEASE);
    let (status, shown) = doctor(&["doctor", "-o", "json"], world, &[], &[]);
    let report: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!((status, &report["bad"]), (Some(1), &json!(1)));
    let bad = report["checks"].as_array().unwrap().iter().find(|check| check["outcome"] == "bad").unwrap();
    assert_eq!((&bad["section"], &bad["subject"]), (&json!("hub"), &json!("Lease kube-system/cutover-hub")));
    assert!(bad["remedy"].as_str().unwrap().starts_with("kubectl logs "), "{bad}");
}
