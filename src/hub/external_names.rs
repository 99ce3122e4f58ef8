//! Where the Services that users name, or write in service mode, may lead.

use crate::{
    api::{Mode, ServiceSpec},
    backend,
    member::Registry,
    object::{AllowedHosts, HostPattern},
};

/// The hosts of every member that allows the namespace, and those that the hub was started with. Nobody needs them where the
/// hub makes all Services.
pub(super) fn allowed(
    service: &ServiceSpec,
    mode: Mode,
    namespace: &str,
    registry: &Registry,
    patterns: &[HostPattern],
) -> AllowedHosts {
    let is_needed = match mode {
        Mode::Service => true,
        Mode::Member => !service.backend.existing().is_empty(),
    };
    if !is_needed {
        return AllowedHosts::default();
    }
    let members = registry.all().into_iter().filter(|member| member.consents(namespace).is_ok());
    let hosts = members.flat_map(|member| backend::hosts(member.spec(), namespace, &service.name));
    AllowedHosts::new(hosts, patterns)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::hub::fixtures::{objects, world::World};

    #[tokio::test]
    async fn endpoints_of_members_that_allow_the_namespace_are_allowed_for_their_service() {
        let (mut open, mut closed) = (objects::member("eu-1"), objects::member("eu-2"));
        open["spec"]["endpoints"] = json!([
            {"host": "{{ service }}.{{ namespace }}.eu-1.example.com", "port": 443},
            {"host": "direct.eu-1.example.com", "port": 443, "service": {"namespace": "shop", "name": "storefront"}},
            {"host": "other.eu-1.example.com", "port": 443, "service": {"namespace": "shop", "name": "checkout"}},
            {"host": "{{ typo }}.eu-1.example.com", "port": 443, "service": {"namespace": "shop", "name": "storefront"}}]);
        closed["spec"]["allowedNamespaces"] = json!({"from": "Names", "names": ["billing"]});
        let registry = World::of([open, closed]).await.hub.registry.clone();
        let service = |backend| {
            let service = json!({"name": "storefront", "port": 443, "backend": backend, "routes": []});
            serde_json::from_value::<ServiceSpec>(service).unwrap()
        };
        let patterns = ["*.partner.net".parse().unwrap()];
        let allowed = |service: &ServiceSpec, mode| allowed(service, mode, "shop", &registry, &patterns);
        let (made, named) = (json!({"externalName": {}}), json!({"externalName": {"existing": {"eu-1": "legacy"}}}));
        for all in [allowed(&service(made.clone()), Mode::Service), allowed(&service(named), Mode::Member)] {
            let hosts = ["storefront.shop.eu-1.example.com", "direct.eu-1.example.com", "gw.partner.net"];
            assert!(hosts.iter().all(|host| all.allow(host)), "{all:?}");
            let others = ["other.eu-1.example.com", "eu-2.example.com", "checkout.shop.eu-1.example.com"];
            assert!(!others.iter().any(|host| all.allow(host)), "{all:?}");
        }
        assert_eq!(allowed(&service(made), Mode::Member), AllowedHosts::default(), "the hub makes all of them");
    }
}
