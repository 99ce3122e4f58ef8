//! What is installed: least roles that are bound, kustomizations that forget nothing, a hub that may do little.

use std::{collections::BTreeSet, fs, path::Path};

use cutover::{
    api::{HUB_LEASE, HUB_LEASE_NAMESPACE},
    yaml,
};
use serde_json::{Value, json};

use crate::command::{cutover, printed};

fn read(path: &str) -> Vec<Value> {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
    yaml::documents(&text).unwrap().into_iter().map(|document| document.value).collect()
}

fn strings(value: &Value) -> BTreeSet<&str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

#[test]
fn every_manifest_is_in_its_kustomization() {
    let by_hand = [
        "member.yaml",
        "member-token-renewal.yaml",
        "member-tracking.yaml",
        "hub-tracking.yaml",
        "hub-tracking-copies.yaml",
        "hub-hooks.yaml",
        "hub-alerts.yaml",
    ];
    for folder in ["config/crd", "config/rbac", "config/rbac/routes", "config/admission", "deploy", "deploy/monitoring"]
    {
        let kustomization = read(&format!("{folder}/kustomization.yaml"));
        let listed = strings(&kustomization[0]["resources"]);
        let names = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)).unwrap();
        for name in names.map(|entry| entry.unwrap().file_name().into_string().unwrap()) {
            let manifest = Path::new(&name).extension().is_some_and(|extension| extension == "yaml")
                && name != "kustomization.yaml"
                && !by_hand.contains(&name.as_str());
            assert!(!manifest || listed.contains(name.as_str()), "{folder}/kustomization.yaml forgets {name}");
        }
        assert!(
            by_hand.iter().all(|name| !listed.contains(name)),
            "roles for the members, or for what few need, are applied by hand"
        );
    }
}

#[test]
fn every_role_is_bound_to_an_account_that_is_there() {
    for file in ["config/rbac/hub.yaml", "config/rbac/member.yaml"] {
        let documents = read(file);
        let of_kind = |kind: &str| documents.iter().filter(|found| found["kind"] == kind).collect::<Vec<_>>();
        for (role, binding) in [("ClusterRole", "ClusterRoleBinding"), ("Role", "RoleBinding")] {
            assert!(!of_kind(role).is_empty(), "{file}: no {role}");
            for found in of_kind(role) {
                let name = &found["metadata"]["name"];
                let namespace = &found["metadata"]["namespace"];
                let binds = |bound: &&&Value| {
                    bound["roleRef"]["name"] == *name
                        && bound["roleRef"]["kind"] == role
                        && bound["metadata"]["namespace"] == *namespace
                };
                let bindings = of_kind(binding);
                let bound = bindings.iter().find(binds).unwrap_or_else(|| panic!("{file}: {role} {name} is not bound"));
                let subject = &bound["subjects"][0];
                let is_it = |account: &&Value| {
                    account["metadata"]["name"] == subject["name"]
                        && account["metadata"]["namespace"] == subject["namespace"]
                };
                assert!(of_kind("ServiceAccount").into_iter().any(|account| is_it(&account)), "{file}: {subject}");
            }
        }
    }
}

fn rules(file: &str, kind: &str) -> Vec<Value> {
    let roles = read(file).into_iter().filter(|found| found["kind"] == kind);
    roles.flat_map(|role| role["rules"].as_array().cloned().unwrap_or_default()).collect()
}

/// The roles for kinds of routes.
const ROUTES: [&str; 5] = ["gateway-api", "contour", "istio", "skipper", "ingress"];

fn of_routes() -> Vec<String> {
    ROUTES.map(|name| format!("config/rbac/routes/{name}.yaml")).into()
}

/// How many pairs of a resource and a verb the rules grant.
fn pairs(rules: &[Value]) -> usize {
    rules.iter().map(|rule| strings(&rule["resources"]).len() * strings(&rule["verbs"]).len()).sum()
}

#[test]
fn the_hub_needs_few_rights_and_a_small_role_for_each_kind_of_route() {
    assert!(pairs(&rules("config/rbac/hub.yaml", "ClusterRole")) <= 30);
    for file in of_routes() {
        let rules = rules(&file, "ClusterRole");
        // Istio's backends are no Services.
        let kinds = if file.contains("istio") { 3 } else { 1 };
        assert_eq!((rules.len(), pairs(&rules)), (1, 6 * kinds), "{file}");
        let documents = read(&file);
        let name = &documents[0]["metadata"]["name"];
        assert_eq!(documents[1]["roleRef"]["name"], *name, "{file}");
        let account = json!([{"kind": "ServiceAccount", "name": "cutover-hub", "namespace": "cutover-system"}]);
        assert_eq!(documents[1]["subjects"], account, "{file}");
    }
}

#[test]
fn no_role_is_wider_than_it_must_be() {
    let others = ["config/rbac/hub.yaml", "config/rbac/member.yaml", "config/rbac/people.yaml"].map(str::to_owned);
    for file in of_routes().iter().chain(&others) {
        for rule in [rules(file, "ClusterRole"), rules(file, "Role")].concat() {
            assert!(!rule.to_string().contains('*'), "{file}: {rule}");
        }
        for rule in rules(file, "ClusterRole") {
            assert!(!strings(&rule["resources"]).contains("secrets"), "{file}: {rule}");
        }
    }
    for rule in [rules("config/rbac/member.yaml", "ClusterRole"), rules("config/rbac/member.yaml", "Role")].concat() {
        assert_eq!(rule["verbs"], json!(["get"]), "the hub writes nothing in a member: {rule}");
        assert!(rule["resourceNames"].is_array(), "only what is named: {rule}");
    }
}

#[test]
fn a_token_is_renewed_by_two_roles_that_allow_nothing_else() {
    let in_member = json!([{"apiGroups": [""], "resources": ["serviceaccounts/token"],
                            "resourceNames": ["cutover-member"], "verbs": ["create"]}]);
    let in_hub = json!([{"apiGroups": [""], "resources": ["secrets"], "verbs": ["patch"]}]);
    for (file, account, namespace, allowed) in [
        ("config/rbac/member-token-renewal.yaml", "cutover-member", "cutover", in_member),
        ("config/rbac/hub-token-renewal.yaml", "cutover-hub", "cutover-system", in_hub),
    ] {
        let [role, binding] = read(file).try_into().unwrap();
        assert_eq!((&role["kind"], &role["rules"]), (&json!("Role"), &allowed), "{file}");
        assert_eq!(binding["roleRef"]["name"], role["metadata"]["name"], "{file}");
        let subject = json!([{"kind": "ServiceAccount", "name": account, "namespace": namespace}]);
        assert_eq!(binding["subjects"], subject, "{file}");
        for object in [role, binding] {
            assert_eq!(object["metadata"]["namespace"], namespace, "{file}");
        }
    }
}

#[test]
fn what_is_tracked_can_be_got_in_one_namespace_and_nothing_else() {
    for (file, account, home, verbs) in [
        ("config/rbac/hub-tracking.yaml", "cutover-hub", "cutover-system", json!(["get"])),
        ("config/rbac/hub-tracking-copies.yaml", "cutover-hub", "cutover-system", json!(["create", "update"])),
        ("config/rbac/hub-hooks.yaml", "cutover-hub", "cutover-system", json!(["get"])),
        ("config/rbac/member-tracking.yaml", "cutover-member", "cutover", json!(["get"])),
    ] {
        let [role, binding] = read(file).try_into().unwrap();
        assert_eq!((&role["kind"], &binding["kind"]), (&json!("Role"), &json!("RoleBinding")), "{file}");
        assert_eq!(role["metadata"], binding["metadata"], "{file}");
        assert!(role["rules"].as_array().unwrap().iter().all(|rule| rule["verbs"] == verbs), "{file}");
        let subject = json!([{"kind": "ServiceAccount", "name": account, "namespace": home}]);
        assert_eq!(binding["subjects"], subject, "{file}");
    }
}

#[test]
fn the_rights_of_the_hub_are_counted() {
    let pairs = |file: &str, kind: &str| {
        let all = rules(file, kind);
        let of_rule = |rule: &Value| {
            let (resources, verbs) = (strings(&rule["resources"]), strings(&rule["verbs"]));
            resources
                .into_iter()
                .flat_map(|one| verbs.iter().map(move |verb| format!("{verb} {one}")))
                .collect::<Vec<_>>()
        };
        all.iter().flat_map(of_rule).collect::<BTreeSet<String>>().len()
    };
    let hub = "config/rbac/hub.yaml";
    let counted = format!(
        "{} pairs of resource and verb in the whole hub cluster, {} in single namespaces, {} more to renew tokens",
        pairs(hub, "ClusterRole"),
        pairs(hub, "Role"),
        pairs("config/rbac/hub-token-renewal.yaml", "Role"),
    );
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/security.md")).unwrap();
    assert!(page.contains(&counted), "docs/security.md must say: {counted}");
}

#[test]
fn of_leases_only_the_hubs_own_is_named() {
    for file in ["config/rbac/hub.yaml", "config/rbac/people.yaml"] {
        let all = [rules(file, "ClusterRole"), rules(file, "Role")].concat();
        let of_leases: Vec<&Value> = all.iter().filter(|rule| strings(&rule["resources"]).contains("leases")).collect();
        assert!(!of_leases.is_empty(), "{file}");
        for rule in of_leases {
            assert_eq!(rule["resourceNames"], json!([HUB_LEASE]), "{file}");
        }
    }
    let places: BTreeSet<String> = read("config/rbac/hub.yaml").iter().filter_map(place_of_leases).collect();
    assert_eq!(places, [HUB_LEASE_NAMESPACE, "cutover-system"].map(str::to_owned).into());
}

/// The namespace in which a role is about Leases.
fn place_of_leases(role: &Value) -> Option<String> {
    let mut rules = role["rules"].as_array()?.iter();
    rules.any(|rule| strings(&rule["resources"]).contains("leases")).then_some(())?;
    Some(role["metadata"]["namespace"].as_str()?.to_owned())
}

/// Every object that a kustomization lists, and those that it leads to.
fn listed(folder: &str) -> Vec<Value> {
    let kustomization = read(&format!("{folder}/kustomization.yaml"));
    let resources = strings(&kustomization[0]["resources"]).into_iter().map(str::to_owned).collect::<Vec<_>>();
    let of = |name: &String| {
        let place = format!("{folder}/{name}").replace("deploy/../", "");
        if Path::new(name).extension().is_some() { read(&place) } else { listed(&place) }
    };
    resources.iter().flat_map(of).collect()
}

fn sorted(objects: &[Value]) -> Vec<String> {
    let mut texts: Vec<String> = objects.iter().map(Value::to_string).collect();
    texts.sort();
    texts
}

fn printed_objects(words: &[&str]) -> Vec<Value> {
    let (status, text, said) = printed(&cutover(words));
    assert_eq!((status, said.as_str()), (Some(0), ""), "{words:?}");
    yaml::documents(&text).unwrap().into_iter().map(|document| document.value).collect()
}

#[test]
fn install_prints_what_the_kustomization_has_in_an_order_that_can_be_applied() {
    let objects = printed_objects(&["install", "--image", "cutover"]);
    assert_eq!(sorted(&objects), sorted(&listed("deploy")));
    let place = |kind: &str| objects.iter().position(|one| one["kind"] == kind).unwrap();
    let last = |kind: &str| objects.iter().rposition(|one| one["kind"] == kind).unwrap();
    assert_eq!(place("Namespace"), 0);
    assert!(last("CustomResourceDefinition") < place("ServiceAccount"));
    assert!(last("ClusterRoleBinding") < place("ValidatingAdmissionPolicy"));
    assert_eq!(place("Deployment"), objects.len() - 1);
}

#[test]
fn install_writes_namespace_image_and_kinds_of_routes() {
    let image = "registry.example.com:5000/team/cutover:0.1.0";
    let objects = printed_objects(&["install", "--image", image, "--namespace", "traffic", "--routes", "contour"]);
    let text = objects.iter().map(Value::to_string).collect::<String>();
    assert!(!text.contains("cutover-system") && text.contains(image));
    assert_eq!(objects[0]["metadata"]["name"], "traffic");
    let routes = objects
        .iter()
        .filter(|one| one["kind"] == "ClusterRole" && one["metadata"]["name"].to_string().contains("hub"));
    assert_eq!(routes.count(), 2, "its own rights, and those for one kind of route");
    for wrong in [["--image", "a b", "--namespace", "a"], ["--image", "a", "--namespace", "A: b"]] {
        assert_eq!(cutover(&[&["install"][..], &wrong].concat()).status.code(), Some(1), "{wrong:?}");
    }
}

#[test]
fn uninstall_deletes_rollouts_and_members_before_the_hub() {
    let (status, script, _) = printed(&cutover(&["uninstall"]));
    assert_eq!(status, Some(0));
    let place = |text: &str| script.find(text).unwrap_or_else(|| panic!("{text}"));
    assert!(place("kubectl delete fleetrollouts") < place("kubectl delete memberclusters"));
    assert!(place("kubectl delete memberclusters") < place("kind: Deployment"));
    assert!(place("kind: Deployment") < place("kind: CustomResourceDefinition"));
    let manifests = script.split_once("<<'MANIFESTS'\n").unwrap().1.strip_suffix("MANIFESTS\n").unwrap();
    let objects: Vec<Value> = yaml::documents(manifests).unwrap().into_iter().map(|one| one.value).collect();
    assert_eq!(sorted(&objects), sorted(&listed("deploy")));
}

#[test]
fn nobody_but_the_hub_may_write_a_status() {
    for rule in rules("config/rbac/people.yaml", "ClusterRole") {
        assert!(strings(&rule["resources"]).iter().all(|resource| !resource.contains("/status")), "{rule}");
    }
}

#[test]
fn the_hub_runs_as_its_account_with_nothing_to_spare() {
    let [deployment] = read("deploy/hub.yaml").try_into().unwrap();
    let pod = &deployment["spec"]["template"]["spec"];
    let container = &pod["containers"][0];
    assert_eq!(pod["serviceAccountName"], "cutover-hub");
    assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
    assert_eq!(pod["securityContext"]["seccompProfile"]["type"], "RuntimeDefault");
    assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true);
    assert_eq!(container["securityContext"]["allowPrivilegeEscalation"], false);
    assert_eq!(container["securityContext"]["capabilities"]["drop"], json!(["ALL"]));
    for probe in ["livenessProbe", "readinessProbe"] {
        assert!(container[probe]["httpGet"]["path"].is_string(), "{probe}");
    }
}

#[test]
fn only_the_port_of_metrics_and_health_is_open_to_others() {
    let [deployment] = read("deploy/hub.yaml").try_into().unwrap();
    let [policy] = read("deploy/network-policy.yaml").try_into().unwrap();
    assert_eq!((&policy["kind"], &policy["apiVersion"]), (&json!("NetworkPolicy"), &json!("networking.k8s.io/v1")));
    assert_eq!(policy["metadata"]["namespace"], deployment["metadata"]["namespace"]);
    let template = &deployment["spec"]["template"];
    assert_eq!(policy["spec"]["podSelector"], json!({"matchLabels": template["metadata"]["labels"]}));
    assert_eq!(policy["spec"]["policyTypes"], json!(["Ingress"]));
    let [port] = template["spec"]["containers"][0]["ports"].as_array().unwrap().as_slice() else { panic!("one port") };
    let open = json!([{"ports": [{"protocol": "TCP", "port": port["containerPort"]}]}]);
    assert_eq!(policy["spec"]["ingress"], open, "and nothing else");
    let listened = format!("[default: 0.0.0.0:{}]", port["containerPort"]);
    let (_, help, _) = printed(&cutover(&["hub", "--help"]));
    assert!(help.contains(&listened), "{help}");
}

#[test]
fn the_documents_explain_every_reason() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/operations.md")).unwrap();
    for reason in cutover::api::Reason::ALL {
        let row = format!("| `{reason}` | {} |", reason.meaning());
        assert!(page.contains(&row), "docs/operations.md lacks the row\n{row}");
    }
}
