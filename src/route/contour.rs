//! HTTPProxy of Contour.

use kube::core::{ApiResource, DynamicObject};
use serde_json::{Value, json};

use super::Context;
use super::accepted::{MAX_WORDS, condition, items};
use super::capability::{other_sni, refuse};
use super::listed::ListKind;
use super::lists::Lists;
use super::provider::resource;
use crate::api::Backend;
use crate::api::member::HostHeader;
use crate::api::service::ContourRoute;
use crate::backend;
use crate::rollout::input::{Accepted, Problem};

impl ListKind for ContourRoute {
    /// A service without weight gets nothing beside one that has a weight. Contour sets no bound; the rollout's own is 64 members.
    const LISTS: Lists = Lists { rules: "routes", services: "services", max: 128, unset: 0, fields };
    const FIELDS: &'static [&'static [&'static str]] = &[&["spec", "routes"]];

    fn resource(&self) -> ApiResource {
        resource("projectcontour.io", "v1", "HTTPProxy", "httpproxies")
    }

    fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    fn rules(&self) -> &[String] {
        &self.rules
    }

    fn draft(&self) -> Option<Value> {
        let create = self.create.as_ref()?;
        let mut spec = json!({"virtualhost": {"fqdn": create.host}, "routes": [{"services": []}]});
        if let Some(class) = &create.ingress_class {
            spec["ingressClassName"] = class.as_str().into();
        }
        Some(spec)
    }

    /// The SNI is the Host that is set for the service, else the external name; both are the endpoint's host.
    fn problems(&self, context: &Context<'_>) -> Vec<Problem> {
        refuse(context, |reach| {
            let sends_host = reach.host_header == HostHeader::Endpoint || matches!(context.service.backend, Backend::ExternalName(_));
            match (&reach.server_name, context.service.backend.clone()) {
                (None, _) | (_, Backend::ClusterIp(_)) => None,
                (Some(name), _) if !sends_host => Some(format!(
                    "tls.serverName: {name}: an HTTPProxy sends no SNI to addresses: say hostHeader: Endpoint, or backend: {{externalName: {{}}}}"
                )),
                (Some(_), _) => other_sni(reach),
            }
        })
    }

    fn accepted(&self, object: &DynamicObject) -> Accepted {
        let conditions = items(object.data.pointer("/status/conditions"));
        let valid = conditions.iter().find(|one| one.get("type").and_then(Value::as_str) == Some("Valid"));
        let said = valid.map_or(Accepted::Pending, |valid| condition(valid, object.metadata.generation));
        let first_error = valid.and_then(|valid| valid.pointer("/errors/0/message")).and_then(Value::as_str);
        match (said, first_error) {
            (Accepted::No(_), Some(error)) => Accepted::No(error.chars().take(MAX_WORDS).collect()),
            (said, _) => said,
        }
    }
}

fn fields(context: &Context<'_>, member: &str) -> Value {
    let mut fields = json!({"port": backend::port(context, member)});
    let Some(reach) = context.endpoints.get(member) else { return fields };
    if reach.server_name.is_some() && !matches!(context.service.backend, Backend::ClusterIp(_)) {
        fields["protocol"] = "tls".into();
    }
    if reach.host_header == HostHeader::Endpoint {
        fields["requestHeadersPolicy"] = json!({"set": [{"name": "Host", "value": reach.host}]});
    }
    fields
}
