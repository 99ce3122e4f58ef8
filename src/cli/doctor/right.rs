//! The single rights that a role gives. Pure.

use k8s_openapi::api::{authorization::v1::ResourceAttributes, rbac::v1::PolicyRule};

/// Each verb on each resource of the rules, in a namespace; without one, in all of them.
pub(super) fn rights(rules: &[PolicyRule], namespace: Option<&str>) -> Vec<ResourceAttributes> {
    rules.iter().flat_map(|rule| of_rule(rule, namespace)).collect()
}

fn of_rule(rule: &PolicyRule, namespace: Option<&str>) -> Vec<ResourceAttributes> {
    let (groups, resources) = (rule.api_groups.iter().flatten(), rule.resources.as_deref().unwrap_or_default());
    let names: Vec<Option<&String>> = match rule.resource_names.as_deref() {
        None | Some([]) => vec![None],
        Some(names) => names.iter().map(Some).collect(),
    };
    let mut rights = Vec::new();
    for (group, resource) in groups.flat_map(|group| resources.iter().map(move |resource| (group, resource))) {
        for (name, verb) in names.iter().flat_map(|name| rule.verbs.iter().map(move |verb| (*name, verb))) {
            rights.push(right(group, resource, name, verb, namespace));
        }
    }
    rights
}

fn right(
    group: &str,
    resource: &str,
    name: Option<&String>,
    verb: &str,
    namespace: Option<&str>,
) -> ResourceAttributes {
    let (resource, subresource) = match resource.split_once('/') {
        Some((resource, subresource)) => (resource, Some(subresource.to_owned())),
        None => (resource, None),
    };
    ResourceAttributes {
        group: Some(group.to_owned()),
        resource: Some(resource.to_owned()),
        subresource,
        name: name.cloned(),
        verb: Some(verb.to_owned()),
        namespace: namespace.map(str::to_owned),
        ..ResourceAttributes::default()
    }
}

/// A list of rights, the verbs on one resource together: `get, list services; get leases/cutover-hub`.
pub(super) fn listed(rights: &[ResourceAttributes]) -> String {
    let mut parts: Vec<(String, Vec<&str>)> = Vec::new();
    for right in rights {
        let (verb, what) = (right.verb.as_deref().unwrap_or_default(), resource(right));
        match parts.last_mut().filter(|(last, _)| *last == what) {
            Some((_, verbs)) => verbs.push(verb),
            None => parts.push((what, vec![verb])),
        }
    }
    parts.into_iter().map(|(what, verbs)| format!("{} {what}", verbs.join(", "))).collect::<Vec<_>>().join("; ")
}

/// A resource as kubectl writes it, with its subresource or the name of the one object.
fn resource(right: &ResourceAttributes) -> String {
    let text = |field: &Option<String>| field.clone().unwrap_or_default();
    let group = text(&right.group);
    let dot = if group.is_empty() { "" } else { "." };
    let below =
        |field: &Option<String>, sign: &str| field.as_ref().map(|part| format!("{sign}{part}")).unwrap_or_default();
    let (subresource, name) = (below(&right.subresource, "/"), below(&right.name, " "));
    format!("{}{dot}{group}{subresource}{name}", text(&right.resource))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::doctor::shipped::{HUB, MEMBER};

    #[test]
    fn a_role_is_each_verb_on_each_resource() {
        let roles = HUB.roles("cutover-system");
        let all = rights(&roles[0].rules, None);
        let verbs: usize =
            roles[0].rules.iter().map(|rule| rule.verbs.len() * rule.resources.as_ref().map_or(0, Vec::len)).sum();
        assert_eq!(all.len(), verbs);
        let status = all.iter().find(|right| right.subresource.is_some()).unwrap();
        assert_eq!(
            (status.resource.as_deref(), status.subresource.as_deref(), status.verb.as_deref()),
            (Some("fleetrollouts"), Some("status"), Some("update"))
        );
    }

    #[test]
    fn rights_are_listed_by_resource_as_kubectl_writes_them() {
        let roles = HUB.roles("cutover-system");
        assert_eq!(
            listed(&rights(&roles[1].rules, Some("kube-system"))),
            "get, create, update leases.coordination.k8s.io cutover-hub"
        );
        let member = MEMBER.roles("cutover-system");
        assert_eq!(listed(&rights(&member[0].rules, None)), "get namespaces kube-system");
        assert_eq!(listed(&rights(&member[1].rules, None)), "get services/proxy http:prometheus:9090");
    }
}
