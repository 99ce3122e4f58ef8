//! Ingress of Alibaba Cloud's ALB with a canary Ingress.
//!
//! The load balancer tries its rules by their `order`, so the canary's must come before that of its stable Ingress, be
//! nobody else's, and stand before no rule that the stable one does not stand before; see [`super::order`].

use kube::ResourceExt;
use kube::core::DynamicObject;

use super::RouteError;
use super::canary_ingress::CanaryKind;
use super::capability::{
    AffinitySupport, Applied, BackendSupport, Capability, ISTIO_ONLY, Mirroring, Shape, Verified, Weighting,
};
use super::order;
use super::refusal::{refuse, same_for_all};
use crate::api::service::StableIngress;
use crate::object::{Context, describe};
use crate::rollout::input::Problem;

const ENABLED: &str = "alb.ingress.kubernetes.io/canary";
const WEIGHT: &str = "alb.ingress.kubernetes.io/canary-weight";
/// A weight is a percentage.
const PARTS: u32 = 100;

/// What this kind can do.
pub(super) const CAPABILITY: Capability = Capability {
    route: "aliyunALB",
    object: "Ingress of Alibaba Cloud's ALB and its canary Ingress",
    weighting: Weighting::Weights { members: Some(2), parts: Some(PARTS) },
    external_name: BackendSupport::No {
        why: "an ALB sends to the endpoints of a Service, and an ExternalName Service has none",
        remedy: "use backend kind EndpointSlice or clusterIP",
    },
    cluster_ip: BackendSupport::Yes,
    endpoint_slice: BackendSupport::Yes,
    service_entry: ISTIO_ONLY,
    subset: ISTIO_ONLY,
    own_host: false,
    own_tls: false,
    matches: super::canary_ingress::MATCHING,
    mirrors: Mirroring::No,
    affinity: AffinitySupport::No,
    shape: Shape::StableAndCanary,
    applied: Applied::ReadBack,
    obeyed: "nothing says it, and nothing was measured: `settle` must be longer than an update of the ALB",
    verified: Verified::Objects,
    note: "Like nginx. `alb.ingress.kubernetes.io/order` of the canary is the nearest free number before that of its \
           Ingress (1 to 1000; an Ingress without `order` has 10). It never precedes a rule with a longer path of the \
           same host that comes before the Ingress's own. The number is freed with the canary. If two canaries take \
           the same number at once, one of them moves. If no number is free, the rollout says so: give the Ingress a \
           larger number.",
};

/// The annotations of the ALB.
pub(super) struct AliyunAlb<'r>(pub &'r StableIngress);

impl CanaryKind for AliyunAlb<'_> {
    const CAPABILITY: &'static Capability = &CAPABILITY;
    const PREFIX: &'static str = "alb.ingress.kubernetes.io";
    const REPEATED: &'static [&'static str] = &["alb.ingress.kubernetes.io/listen-ports"];

    fn name(&self) -> &str {
        &self.0.name
    }

    fn problems(&self, context: &Context<'_>) -> Vec<Problem> {
        refuse(context, |reach| {
            same_for_all(context, reach, "an ALB has one Host and one TLS setting for both members")
        })
    }

    fn share(&self, canary: &DynamicObject) -> Result<(u32, u32), RouteError> {
        let text = |key: &str| canary.annotations().get(key).map(String::as_str);
        let weight = text(WEIGHT).unwrap_or("0").parse().ok().filter(|weight| *weight <= PARTS);
        weight.filter(|_| text(ENABLED) == Some("true")).map(|weight| (weight, PARTS)).ok_or_else(|| {
            let title = describe(canary);
            RouteError::Unreadable(format!(
                "{title}: annotations {ENABLED} and {WEIGHT} are not true and a whole number up to {PARTS}: correct them, or remove the Ingress"
            ))
        })
    }

    /// Weights that are no whole percentages were refused before.
    fn put_share(&self, canary: &mut DynamicObject, weight: u32, total: u32) {
        let percent = u64::from(weight) * u64::from(PARTS) / u64::from(total.max(1));
        canary.annotations_mut().insert(ENABLED.to_owned(), "true".to_owned());
        canary.annotations_mut().insert(WEIGHT.to_owned(), percent.to_string());
    }

    fn is_placed(&self, context: &Context<'_>, stable: &DynamicObject, canary: &DynamicObject) -> bool {
        order::has_free_order(context.neighbours, stable, canary)
    }

    fn place(
        &self,
        context: &Context<'_>,
        stable: &DynamicObject,
        canary: &mut DynamicObject,
    ) -> Result<(), RouteError> {
        if self.is_placed(context, stable, canary) {
            return Ok(());
        }
        let order = order::free_order(context.neighbours, stable, canary).map_err(RouteError::CannotCarry)?;
        order::set_order(canary, order);
        Ok(())
    }
}
