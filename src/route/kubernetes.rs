//! A Service that clients call by its name. It has no weights: of type ExternalName it leads to one member's endpoint; in service
//! mode, of any type, where the Service of primary or canary leads ([`slots`]).
//!
//! Clients resolve the name themselves and keep their connections, so they follow when their resolver forgets the old
//! name. The hub knows which member a Service leads to by the host alone: a name without port, Host or TLS.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Service;
use kube::core::{ApiResource, DynamicObject};
use serde_json::{Value, json};

use super::RouteError;
use super::capability::{
    AffinitySupport, Applied, BackendSupport, Capability, ISTIO_ONLY, Matching, Mirroring, Shape, Verified, Weighting,
};
use super::json::put;
use super::provider::{Objects, Provider, only};
use super::refusal::{no_host, no_tls, refuse};
use crate::api::service::KubernetesRoute;
use crate::api::{Backend, Distribution, Split};
use crate::object::Reach;
use crate::object::{Context, describe};
use crate::rollout::input::Problem;

mod slots;

const WHY: &str = "clients of an ExternalName Service speak to the member themselves";
const BETWEEN_MEMBERS: &str = "only a Service of type ExternalName can be switched from one member to another";
const NAMES: &str = "use backend: {externalName: {}}, or a route with weights";

/// What this kind can do.
pub(super) const CAPABILITY: Capability = Capability {
    route: "kubernetes",
    object: "Service",
    weighting: Weighting::Switch,
    external_name: BackendSupport::Yes,
    cluster_ip: BackendSupport::InServiceMode { why: BETWEEN_MEMBERS, remedy: NAMES },
    endpoint_slice: BackendSupport::No { why: BETWEEN_MEMBERS, remedy: NAMES },
    service_entry: ISTIO_ONLY,
    subset: ISTIO_ONLY,
    own_host: false,
    own_tls: false,
    matches: Matching::NONE,
    mirrors: Mirroring::No,
    affinity: AffinitySupport::No,
    shape: Shape::OneObject,
    applied: Applied::ReadBack,
    obeyed: "nothing says it: clients follow when their DNS cache expires",
    verified: Verified::Traffic,
    note: "Blue/green: `steps: [{progress: 100%}]`, in service mode `ramp: {iterations: 10}`; a rollback is a switch as well. Only \
           `externalName` changes, or the selector and the target ports. Clients of a name follow when their DNS cache \
           expires; open connections stay where they are. In service mode the Service is another one than that which \
           declares the target: clients call `create: {name: shop-live}`, not `shop`.",
};

/// The Service that is switched.
pub(super) struct SwitchedService<'r>(pub &'r KubernetesRoute);

impl Provider for SwitchedService<'_> {
    fn resource(&self) -> ApiResource {
        ApiResource::erase::<Service>(&())
    }

    fn title(&self, service: &str) -> String {
        self.0.switched(service).to_owned()
    }

    fn capability(&self) -> &'static Capability {
        &CAPABILITY
    }

    fn creates(&self, _context: &Context<'_>, _index: usize) -> bool {
        self.0.name.is_none()
    }

    fn fields(&self) -> &'static [&'static [&'static str]] {
        &[&["spec", "externalName"], &["spec", "selector"]]
    }

    fn problems(&self, context: &Context<'_>) -> Vec<Problem> {
        if matches!(context.service.backend, Backend::ClusterIp(_)) {
            return Vec::new();
        }
        refuse(context, |reach| {
            no_tls(reach, WHY).or_else(|| no_host(reach, WHY)).or_else(|| other_port(context, reach))
        })
    }

    fn claims(&self, _context: &Context<'_>, _objects: Objects<'_>, _index: usize) -> Result<Vec<String>, RouteError> {
        Ok(vec!["externalName".to_owned()])
    }

    fn read(&self, context: &Context<'_>, objects: Objects<'_>) -> Result<Distribution, RouteError> {
        let Some(service) = only(objects) else { return Ok(Distribution::new()) };
        if !context.copies.is_empty() {
            return slots::read(context, service);
        }
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
        let member = wanted.weights.carrying().next().map(|(member, _)| member);
        if let Some((slot, copy)) = member.and_then(|member| Some((member, context.copies.get(member)?))) {
            let mut service = only(objects).cloned().or_else(|| self.draft_of(context, &slots::draft(copy)));
            service.as_mut().map_or(Ok(()), |service| slots::set(service, slot, copy))?;
            return Ok(vec![service.map(Arc::new)]);
        }
        let reach = member.and_then(|member| context.endpoints.get(member));
        let mut service = only(objects).cloned().or_else(|| self.draft_of(context, &draft(context)));
        if let (Some(reach), Some(spec)) = (reach, service.as_mut().and_then(|service| service.data.get_mut("spec"))) {
            put(spec, "externalName", reach.host.as_str());
        }
        Ok(vec![service.map(Arc::new)])
    }

    fn original_rules(&self, _context: &Context<'_>, object: &DynamicObject) -> Result<Value, RouteError> {
        let spec = object.data.get("spec").unwrap_or(&Value::Null);
        Ok(match spec.get("externalName") {
            Some(host) => host.clone(),
            None => json!({"selector": spec.get("selector"), "ports": spec.get("ports")}),
        })
    }

    fn restore(&self, _context: &Context<'_>, object: &mut DynamicObject, original: &Value) {
        let Some(spec) = object.data.get_mut("spec") else { return };
        if let Some(host) = original.as_str() {
            put(spec, "externalName", host);
        }
        for key in ["selector", "ports"] {
            if let Some(value) = original.get(key).filter(|value| !value.is_null()) {
                put(spec, key, value.clone());
            }
        }
    }
}

impl SwitchedService<'_> {
    /// A new Service with this `spec`, where the hub makes it.
    fn draft_of(&self, context: &Context<'_>, spec: &Value) -> Option<DynamicObject> {
        self.0.create.as_ref()?;
        let name = self.0.switched(&context.service.name);
        Some(DynamicObject::new(name, &self.resource()).within(context.namespace).data(json!({"spec": spec})))
    }
}

fn draft(context: &Context<'_>) -> Value {
    let port = json!({"name": "http", "port": context.service.port, "protocol": "TCP"});
    json!({"type": "ExternalName", "ports": [port]})
}

/// A Service of type ExternalName translates no ports.
fn other_port(context: &Context<'_>, reach: &Reach) -> Option<String> {
    let (port, wanted) = (reach.port, context.service.port);
    (port != wanted).then(|| {
        format!("port: {port}: {WHY}, on the port of the service, {wanted}: give both the same port, or use a route with weights")
    })
}
