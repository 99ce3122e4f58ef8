//! What `cutover install` applies, as data: what is checked is read from the files, so that it cannot differ from them.

use k8s_openapi::api::rbac::v1::PolicyRule;
use serde_json::Value;

use crate::{
    api::{Route, service::SkipperForm},
    cli::hub_liveness::NAMESPACE,
    yaml,
};

/// A file of the repository, which is also in this binary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct File {
    pub(super) path: &'static str,
    text: &'static str,
}

macro_rules! file {
    ($path:literal) => {
        File { path: $path, text: include_str!(concat!("../../../", $path)) }
    };
}

pub(super) const HUB: File = file!("config/rbac/hub.yaml");
pub(super) const HUB_TOKEN_RENEWAL: File = file!("config/rbac/hub-token-renewal.yaml");
pub(super) const PEOPLE: File = file!("config/rbac/people.yaml");
pub(super) const MEMBER: File = file!("config/rbac/member.yaml");
pub(super) const ADMISSION: [File; 3] = [
    file!("config/admission/authors.yaml"),
    file!("config/admission/requested-by.yaml"),
    file!("config/admission/declared-by.yaml"),
];
const CONTOUR: File = file!("config/rbac/routes/contour.yaml");
const GATEWAY_API: File = file!("config/rbac/routes/gateway-api.yaml");
const INGRESS: File = file!("config/rbac/routes/ingress.yaml");
const ISTIO: File = file!("config/rbac/routes/istio.yaml");
const SKIPPER: File = file!("config/rbac/routes/skipper.yaml");
#[cfg(test)]
const ALL: [File; 12] = [
    HUB,
    HUB_TOKEN_RENEWAL,
    PEOPLE,
    MEMBER,
    ADMISSION[0],
    ADMISSION[1],
    ADMISSION[2],
    CONTOUR,
    GATEWAY_API,
    INGRESS,
    ISTIO,
    SKIPPER,
];

/// The role that the hub needs for a kind of route; none for a Service, which it may write anyway.
pub(super) const fn of_route(route: &Route) -> Option<File> {
    match route {
        Route::GatewayApi(_) => Some(GATEWAY_API),
        Route::Contour(_) => Some(CONTOUR),
        Route::Istio(_) => Some(ISTIO),
        Route::Skipper(route) => match route.form {
            None | Some(SkipperForm::RouteGroup) => Some(SKIPPER),
            Some(SkipperForm::Ingress | SkipperForm::IngressPerMember | SkipperForm::CanaryIngress) => Some(INGRESS),
        },
        Route::Nginx(_) | Route::AliyunAlb(_) => Some(INGRESS),
        Route::Kubernetes(_) => None,
    }
}

/// A Role or `ClusterRole` of a file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Role {
    pub(super) kind: String,
    pub(super) name: String,
    /// Where it holds; none for a `ClusterRole`.
    pub(super) namespace: Option<String>,
    pub(super) rules: Vec<PolicyRule>,
}

impl File {
    /// Its objects, for a hub in this namespace.
    pub(super) fn objects(self, namespace: &str) -> Vec<Value> {
        let text = self.text.replace(NAMESPACE, namespace);
        yaml::documents(&text).into_iter().flatten().map(|document| document.value).collect()
    }

    /// Its roles, for a hub in this namespace.
    pub(super) fn roles(self, namespace: &str) -> Vec<Role> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let role = |object: Value| {
            let kind = text(&object["kind"]).filter(|kind| ["Role", "ClusterRole"].contains(&kind.as_str()))?;
            let rules = serde_json::from_value(object["rules"].clone()).ok()?;
            let metadata = &object["metadata"];
            Some(Role { kind, name: text(&metadata["name"])?, namespace: text(&metadata["namespace"]), rules })
        };
        self.objects(namespace).into_iter().filter_map(role).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_read_whole() {
        for file in ALL {
            let parts = file.text.split("\n---\n").count();
            assert_eq!(file.objects("elsewhere").len(), parts, "{}", file.path);
        }
        for file in ALL.iter().filter(|file| !ADMISSION.contains(file)) {
            assert!(file.roles("elsewhere").iter().all(|role| !role.rules.is_empty()), "{}", file.path);
            assert_eq!(file.roles("elsewhere").len(), file.text.matches("\nrules:").count(), "{}", file.path);
        }
    }

    #[test]
    fn a_hub_in_another_namespace_has_its_roles_there() {
        let namespaces: Vec<Option<String>> = HUB.roles("elsewhere").into_iter().map(|role| role.namespace).collect();
        assert_eq!(namespaces, [None, Some("kube-system".to_owned()), Some("elsewhere".to_owned())]);
    }
}
