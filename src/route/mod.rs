//! Routes: the objects of a mesh or ingress in which the weights live.
//!
//! Everything here is pure: objects in, objects out. A kind of route is one `Provider` in a file of its own; what is
//! the same for all of them (marks, claims, originals, owners, the order of writes) is done here, once.

mod accepted;
mod aliyun_alb;
mod canary_ingress;
pub mod capability;
mod check;
#[cfg(test)]
mod conformance;
mod contour;
mod cookie_pattern;
mod desired;
mod error;
mod gateway_api;
mod ingress;
mod istio;
mod json;
mod kubernetes;
mod listed;
mod lists;
mod mark;
mod nginx;
mod order;
mod original;
mod provider;
mod read;
mod refusal;
mod release;
mod render;
mod skipper;
mod weights;

use std::collections::BTreeMap;
use std::time::Duration;

use aliyun_alb::AliyunAlb;
use canary_ingress::CanaryIngress;
use capability::{Applied, BackendSupport, Capability};
use kube::core::{ApiResource, DynamicObject};
use kubernetes::SwitchedService;
use listed::Listed;
use nginx::Nginx;
use provider::Provider;
use serde_json::{Value, json};
use skipper::canary::ApexAndCanary;
use skipper::per_member::IngressPerMember;
use skipper::route_group::RouteGroup;
use skipper::weighted::WeightedIngress;

use crate::api::service::SkipperForm;
use crate::api::{Backend, Reason, Route, ServiceSpec};
use crate::backend;
use crate::object::{Context, Target};
use crate::rollout::RouteKey;
use crate::rollout::input::Problem;

pub(crate) use error::RouteError;
pub(crate) use read::{names, read};
pub(crate) use release::release;
pub(crate) use render::{Entry, entry, render};

fn provider(route: &Route) -> Box<dyn Provider + '_> {
    match route {
        Route::GatewayApi(route) => Box::new(Listed(route)),
        Route::Contour(route) => Box::new(Listed(route)),
        Route::Istio(route) => Box::new(Listed(route)),
        Route::Skipper(route) => match route.form.unwrap_or_default() {
            SkipperForm::RouteGroup => Box::new(RouteGroup(route)),
            SkipperForm::Ingress => Box::new(WeightedIngress(route)),
            SkipperForm::IngressPerMember => Box::new(IngressPerMember(route)),
            SkipperForm::CanaryIngress => Box::new(ApexAndCanary(route)),
        },
        Route::Nginx(route) => Box::new(CanaryIngress(Nginx(route))),
        Route::AliyunAlb(route) => Box::new(CanaryIngress(AliyunAlb(route))),
        Route::Kubernetes(route) => Box::new(SwitchedService(route)),
    }
}

/// Every kind of route, for people.
#[must_use]
pub const fn capabilities() -> [&'static Capability; 11] {
    [
        &gateway_api::CAPABILITY,
        &contour::CAPABILITY,
        &istio::CAPABILITY,
        &istio::OF_CONNECTIONS,
        &skipper::route_group::CAPABILITY,
        &skipper::weighted::CAPABILITY,
        &skipper::per_member::CAPABILITY,
        &skipper::canary::CAPABILITY,
        &nginx::CAPABILITY,
        &aliyun_alb::CAPABILITY,
        &kubernetes::CAPABILITY,
    ]
}

/// What a kind of route can do.
#[must_use]
pub(crate) fn capability(route: &Route) -> &'static Capability {
    provider(route).capability()
}

/// How long a data plane may take to obey what it was given, where it does not say when it does. istiod answers for an
/// HTTPRoute before it has given the route to Envoy, and then a new entry of its registry is the most that can be late.
#[must_use]
pub(crate) fn obeyed_within(service: &ServiceSpec, route: &Route) -> Option<Duration> {
    let of_mesh = matches!(service.backend, Backend::ServiceEntry(_));
    match capability(route).applied {
        Applied::Polled { within } => Some(within),
        Applied::Accepted if of_mesh => Some(istio::PUSHED_WITHIN),
        Applied::Accepted | Applied::ReadBack => None,
    }
}

/// The route's name for people, and its key in status: `HTTPRoute/public#main`.
#[must_use]
pub(crate) fn key(service: &ServiceSpec, route: &Route) -> RouteKey {
    let provider = provider(route);
    let route = format!("{}/{}", provider.resource().kind, provider.title(&service.name));
    RouteKey { service: service.name.clone(), route }
}

/// The objects to fetch. Their order is that of the objects which the other functions take.
#[must_use]
pub(crate) fn targets(context: &Context<'_>, route: &Route) -> Vec<Target> {
    let provider = provider(route);
    let target = |name| Target { resource: provider.resource(), namespace: context.namespace.to_owned(), name };
    provider.names(context).into_iter().map(target).collect()
}

/// The kind of which every object in the cluster counts, because they share one row of numbers.
#[must_use]
pub(crate) fn neighbours(route: &Route) -> Option<ApiResource> {
    match route {
        Route::AliyunAlb(_) => Some(provider(route).resource()),
        Route::GatewayApi(_)
        | Route::Contour(_)
        | Route::Istio(_)
        | Route::Skipper(_)
        | Route::Nginx(_)
        | Route::Kubernetes(_) => None,
    }
}

/// All that is read of an object that no route names, because it is a neighbour of others: annotations, and fields beside
/// its metadata.
#[must_use]
pub(crate) fn read_of_neighbour(kind: &str, object: &DynamicObject) -> (BTreeMap<String, String>, Value) {
    match kind {
        "Ingress" => order::read_of(object),
        "ServiceEntry" | "DestinationRule" => (BTreeMap::new(), backend::read_of_mesh(object)),
        _ => (BTreeMap::new(), json!({})),
    }
}

/// Combinations of route, backend and endpoint that would lie about weights or could not reach a member.
#[must_use]
pub(crate) fn problems(context: &Context<'_>, route: &Route) -> Vec<Problem> {
    let provider = provider(route);
    let mut problems = crate::backend::problems(context);
    match provider.capability().supports(&context.service.backend) {
        BackendSupport::Yes => problems.extend(provider.problems(context)),
        // Before primary and canary are known there are no members either.
        BackendSupport::InServiceMode { .. } if !context.copies.is_empty() || context.endpoints.is_empty() => {
            problems.extend(provider.problems(context));
        }
        BackendSupport::No { why, remedy } | BackendSupport::InServiceMode { why, remedy } => {
            let message = format!("service {}: {why}: {remedy}", context.service.name);
            problems.push(Problem::new(Reason::CannotCarryWeights, message));
        }
    }
    problems
}
