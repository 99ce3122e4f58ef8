//! A Service of type ExternalName that clients call by its name. It has no weights: it leads to one member's endpoint.
//!
//! Clients resolve the name themselves and keep their connections, so they follow when their resolver forgets the old
//! name. The hub knows which member a Service leads to by the host alone: a name without port, Host or TLS.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Service;
use kube::core::{ApiResource, DynamicObject};
use serde_json::{Value, json};

use super::RouteError;
use super::capability::{
    AffinitySupport, Applied, BackendSupport, Capability, Matching, Mirroring, Shape, Verified, Weighting,
};
use super::json::put;
use super::provider::{Objects, Provider, only};
use super::refusal::{no_host, no_tls, refuse};
use crate::api::service::KubernetesRoute;
use crate::api::{Distribution, Split};
use crate::object::Reach;
use crate::object::{Context, describe};
use crate::rollout::input::Problem;

const WHY: &str = "clients of an ExternalName Service speak to the member themselves";
const ADDRESSES: BackendSupport = BackendSupport::No {
    why: "only a Service of type ExternalName can be switched from one member to another",
    remedy: "use backend: {externalName: {}}, or a route with weights",
};

/// What this kind can do.
pub(super) const CAPABILITY: Capability = Capability {
    route: "kubernetes",
    object: "Service of type ExternalName",
    weighting: Weighting::Switch,
    external_name: BackendSupport::Yes,
    cluster_ip: ADDRESSES,
    endpoint_slice: ADDRESSES,
    own_host: false,
    own_tls: false,
    matches: Matching::NONE,
    mirrors: Mirroring::No,
    affinity: AffinitySupport::No,
    shape: Shape::OneObject,
    applied: Applied::ReadBack,
    verified: Verified::Traffic,
    note: "Blue/green: `steps: [{progress: 100%}]`; a rollback is a switch as well. Only `externalName` changes. \
           Clients follow when their DNS cache expires; open connections stay where they are.",
};

/// The Service that is switched.
pub(super) struct SwitchedService<'r>(pub &'r KubernetesRoute);

impl Provider for SwitchedService<'_> {
    fn resource(&self) -> ApiResource {
        ApiResource::erase::<Service>(&())
    }

    fn title(&self, service: &str) -> String {
        self.0.name.as_deref().unwrap_or(service).to_owned()
    }

    fn capability(&self) -> &'static Capability {
        &CAPABILITY
    }

    fn creates(&self, _context: &Context<'_>, _index: usize) -> bool {
        self.0.name.is_none()
    }

    fn fields(&self) -> &'static [&'static [&'static str]] {
        &[&["spec", "externalName"]]
    }

    fn problems(&self, context: &Context<'_>) -> Vec<Problem> {
        refuse(context, |reach| {
            no_tls(reach, WHY).or_else(|| no_host(reach, WHY)).or_else(|| other_port(context, reach))
        })
    }

    fn claims(&self, _context: &Context<'_>, _objects: Objects<'_>, _index: usize) -> Result<Vec<String>, RouteError> {
        Ok(vec!["externalName".to_owned()])
    }

    fn read(&self, context: &Context<'_>, objects: Objects<'_>) -> Result<Distribution, RouteError> {
        let Some(service) = only(objects) else { return Ok(Distribution::new()) };
        let refuse = |what: String| RouteError::Unreadable(format!("{}: {what}", describe(service)));
        let text = |pointer: &str| service.data.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        if text("/spec/type") != "ExternalName" {
            let found = text("/spec/type");
            return Err(refuse(format!("its type is {found}: only one of type ExternalName can be switched")));
        }
        let host = text("/spec/externalName").trim_end_matches('.');
        let leads_there = |(_, reach): &(&String, &Reach)| reach.host.eq_ignore_ascii_case(host);
        match context.endpoints.iter().find(leads_there) {
            Some((member, _)) => Ok(Distribution::from([(member.clone(), context.total)])),
            None => Err(refuse(format!(
                "it leads to {host}, where no declared member is reached: declare the member (say weight: 0 if it shall leave), or correct spec.externalName"
            ))),
        }
    }

    fn set(
        &self,
        context: &Context<'_>,
        objects: Objects<'_>,
        wanted: &Split,
    ) -> Result<Vec<Option<Arc<DynamicObject>>>, RouteError> {
        let reach = wanted.weights.carrying().next().and_then(|(member, _)| context.endpoints.get(member));
        let mut service = only(objects).cloned().or_else(|| self.0.create.is_some().then(|| self.draft(context)));
        if let (Some(reach), Some(spec)) = (reach, service.as_mut().and_then(|service| service.data.get_mut("spec"))) {
            put(spec, "externalName", reach.host.as_str());
        }
        Ok(vec![service.map(Arc::new)])
    }

    fn original_rules(&self, _context: &Context<'_>, object: &DynamicObject) -> Result<Value, RouteError> {
        Ok(json!(object.data.pointer("/spec/externalName")))
    }

    fn restore(&self, _context: &Context<'_>, object: &mut DynamicObject, original: &Value) {
        if let (Some(spec), Some(host)) = (object.data.get_mut("spec"), original.as_str()) {
            put(spec, "externalName", host);
        }
    }
}

impl SwitchedService<'_> {
    fn draft(&self, context: &Context<'_>) -> DynamicObject {
        let port = json!({"name": "http", "port": context.service.port, "protocol": "TCP"});
        DynamicObject::new(&context.service.name, &self.resource())
            .within(context.namespace)
            .data(json!({"spec": {"type": "ExternalName", "ports": [port]}}))
    }
}

/// A Service of type ExternalName translates no ports.
fn other_port(context: &Context<'_>, reach: &Reach) -> Option<String> {
    let (port, wanted) = (reach.port, context.service.port);
    (port != wanted).then(|| {
        format!("port: {port}: {WHY}, on the port of the service, {wanted}: give both the same port, or use a route with weights")
    })
}
