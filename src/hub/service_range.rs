//! The addresses of the hub cluster's own Services, where no member may lead: the API server gives them to Services, and the
//! hub's rights in its cluster are not the members'.

use ipnet::IpNet;
use k8s_openapi::api::{core::v1::Service, networking::v1::ServiceCIDR};
use kube::{Api, Client, api::ListParams};

use super::{backoff::Waits, lease::CALL_DEADLINE};

/// The ranges that the API server reports as `ServiceCIDRs`; where it has none, before Kubernetes 1.33, its own address as a
/// Service. Tries until there is an answer.
pub(super) async fn find(client: &Client) -> Vec<IpNet> {
    let mut waits = Waits::default();
    loop {
        match tokio::time::timeout(CALL_DEADLINE, ask(client)).await {
            Ok(Ok(found)) => return found,
            Ok(Err(error)) => tracing::warn!(%error, "the hub cluster's Service range cannot be read; trying again"),
            Err(_) => tracing::warn!("the hub cluster does not answer; trying again"),
        }
        tokio::time::sleep(waits.after_failure()).await;
    }
}

async fn ask(client: &Client) -> kube::Result<Vec<IpNet>> {
    let ranges = ranges(client).await?;
    if !ranges.is_empty() {
        tracing::info!(?ranges, "members may not lead to Services of the hub cluster");
        return Ok(ranges);
    }
    let own = own_addresses(client).await?;
    tracing::warn!(refused = ?own, "the hub cluster has no ServiceCIDRs, or the hub may not list them: set --service-cidr");
    Ok(own)
}

async fn ranges(client: &Client) -> kube::Result<Vec<IpNet>> {
    let listed = Api::<ServiceCIDR>::all(client.clone()).list(&ListParams::default()).await;
    let cidrs = absent_or(listed)?.into_iter().flat_map(|list| list.items).filter_map(|range| range.spec?.cidrs);
    Ok(cidrs.flatten().filter_map(|cidr| cidr.parse().ok()).collect())
}

/// The addresses of the Service `kubernetes`, which is the API server.
async fn own_addresses(client: &Client) -> kube::Result<Vec<IpNet>> {
    let found = Api::<Service>::namespaced(client.clone(), "default").get("kubernetes").await;
    let addresses = absent_or(found)?.and_then(|service| service.spec?.cluster_ips).unwrap_or_default();
    Ok(addresses.iter().filter_map(|address| Some(IpNet::from(address.parse::<std::net::IpAddr>().ok()?))).collect())
}

/// What is not there, or not for the hub to see, will not be there at the next try.
fn absent_or<T>(answer: kube::Result<T>) -> kube::Result<Option<T>> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(kube::Error::Api(status)) if [403, 404].contains(&status.code) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;
    use tokio::time::Instant;

    use super::*;
    use crate::hub::fixtures::api_server::{Answer::Code, ApiServer};

    const LIST: &str = "LIST servicecidrs";

    /// A cluster with two ranges, and its API server's own address as a Service.
    fn cluster() -> ApiServer {
        let api = ApiServer::default();
        for (name, cidrs) in
            [("kubernetes", json!(["10.96.0.0/16", "fd00:10:96::/112"])), ("more", json!(["10.97.0.0/24"]))]
        {
            let (metadata, spec) = (json!({"name": name}), json!({"cidrs": cidrs}));
            api.store(&json!({
                "apiVersion": "networking.k8s.io/v1", "kind": "ServiceCIDR", "metadata": metadata, "spec": spec
            }));
        }
        let metadata = json!({"name": "kubernetes", "namespace": "default"});
        let spec = json!({"clusterIP": "10.96.0.1", "clusterIPs": ["10.96.0.1", "fd00:10:96::1"]});
        api.store(&json!({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}));
        api
    }

    async fn found(api: &ApiServer) -> Vec<String> {
        find(&api.client()).await.iter().map(ToString::to_string).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn the_ranges_are_those_of_all_service_cidrs() {
        assert_eq!(found(&cluster()).await, ["10.96.0.0/16", "fd00:10:96::/112", "10.97.0.0/24"]);
    }

    #[tokio::test(start_paused = true)]
    async fn where_there_are_none_the_api_servers_own_address_is_known() {
        for code in [404, 403] {
            let api = cluster();
            api.script(LIST, Code(code));
            assert_eq!(found(&api).await, ["10.96.0.1/32", "fd00:10:96::1/128"], "{code}");
        }
        let nothing = ApiServer::default();
        nothing.script(LIST, Code(404));
        assert_eq!(found(&nothing).await, [""; 0]);
    }

    #[tokio::test(start_paused = true)]
    async fn an_api_server_that_fails_is_tried_again() {
        let (api, began) = (cluster(), Instant::now());
        api.script(LIST, Code(503));
        assert_eq!(found(&api).await.len(), 3);
        assert_eq!(began.elapsed(), Duration::from_secs(1));
    }
}
