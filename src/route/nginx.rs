//! Ingress of ingress-nginx with a canary Ingress.
//!
//! A canary inherits every annotation of its stable Ingress but the few that are repeated here, so Host and TLS are
//! the same for both members. One that leads to the stable one's own Service is left out by the controller.

use kube::ResourceExt;
use kube::core::DynamicObject;

use super::RouteError;
use super::canary_ingress::CanaryKind;
use super::capability::{
    AffinitySupport, Applied, BackendSupport, Capability, ISTIO_ONLY, Mirroring, Shape, Verified, Weighting,
};
use super::refusal::{refuse, same_for_all};
use crate::api::service::StableIngress;
use crate::object::{Context, describe};
use crate::rollout::input::Problem;

const ENABLED: &str = "nginx.ingress.kubernetes.io/canary";
const WEIGHT: &str = "nginx.ingress.kubernetes.io/canary-weight";
const TOTAL: &str = "nginx.ingress.kubernetes.io/canary-weight-total";
const DEFAULT_TOTAL: u32 = 100;

/// What this kind can do.
pub(super) const CAPABILITY: Capability = Capability {
    route: "nginx",
    object: "Ingress of ingress-nginx and its canary Ingress",
    weighting: Weighting::Weights { members: Some(2), parts: None },
    external_name: BackendSupport::Yes,
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
    obeyed: "nothing says it, and nothing was measured: `settle` must be longer than a reload of the controller",
    verified: Verified::Objects,
    note: "The Ingress is adopted, and the hub creates `<ingress>-canary`, which holds the weight of one of two \
           members. When one member has all traffic, the adopted Ingress points to it and the canary is removed. Host \
           and TLS settings are those of the Ingress, the same for both members. The rollout must be the only writer \
           of the Ingress's rules. In service mode, an Ingress that names the user's own Service is pointed to the \
           primary after a canary without weight has introduced the primary to the controller.",
};

/// The annotations of ingress-nginx.
pub(super) struct Nginx<'r>(pub &'r StableIngress);

impl CanaryKind for Nginx<'_> {
    const CAPABILITY: &'static Capability = &CAPABILITY;
    const PREFIX: &'static str = "nginx.ingress.kubernetes.io";
    const REPEATED: &'static [&'static str] = &[
        "nginx.ingress.kubernetes.io/affinity",
        "nginx.ingress.kubernetes.io/load-balance",
        "nginx.ingress.kubernetes.io/session-cookie-",
        "nginx.ingress.kubernetes.io/upstream-hash-by",
    ];

    fn name(&self) -> &str {
        &self.0.name
    }

    fn problems(&self, context: &Context<'_>) -> Vec<Problem> {
        refuse(context, |reach| {
            same_for_all(context, reach, "ingress-nginx has one Host and one TLS setting for both members")
        })
    }

    fn share(&self, canary: &DynamicObject) -> Result<(u32, u32), RouteError> {
        let text = |key: &str| canary.annotations().get(key).map(String::as_str);
        let total = text(TOTAL).map_or(Some(DEFAULT_TOTAL), |total| total.parse().ok());
        let share = text(WEIGHT).unwrap_or("0").parse().ok().zip(total).filter(|(weight, total)| weight <= total);
        share.filter(|_| text(ENABLED) == Some("true")).ok_or_else(|| {
            let title = describe(canary);
            RouteError::Unreadable(format!(
                "{title}: annotations {ENABLED}, {WEIGHT} and {TOTAL} are not true, a whole number, and one that is not smaller: correct them, or remove the Ingress"
            ))
        })
    }

    fn put_share(&self, canary: &mut DynamicObject, weight: u32, total: u32) {
        let set = [(ENABLED, "true".to_owned()), (WEIGHT, weight.to_string()), (TOTAL, total.to_string())];
        canary.annotations_mut().extend(set.map(|(key, value)| (key.to_owned(), value)));
    }
}
