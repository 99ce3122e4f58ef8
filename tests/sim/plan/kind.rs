//! Kinds of route on which a run moves traffic.

use super::{
    fault::Fault,
    run::Run,
    sorts::{DataPlaneFault, Declared, Edit, Late, MemberChange, Webhook},
};

/// A kind of route, by the key under which a rollout declares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// HTTPRoute.
    GatewayApi,
    /// HTTPProxy.
    Contour,
    /// RouteGroup.
    Skipper,
    /// An Ingress and the canary Ingress that the hub makes beside it.
    Nginx,
    /// VirtualService.
    Istio,
}

impl Kind {
    pub const ALL: [Self; 5] = [Self::GatewayApi, Self::Contour, Self::Skipper, Self::Nginx, Self::Istio];

    /// Those of which some plans are made, beside all of those on an HTTPRoute.
    pub const OTHERS: [Self; 4] = [Self::Contour, Self::Skipper, Self::Nginx, Self::Istio];

    pub const fn name(self) -> &'static str {
        match self {
            Self::GatewayApi => "gatewayAPI",
            Self::Contour => "contour",
            Self::Skipper => "skipper",
            Self::Nginx => "nginx",
            Self::Istio => "istio",
        }
    }

    pub const fn title(self) -> &'static str {
        match self {
            Self::GatewayApi => "HTTPRoute",
            Self::Contour => "HTTPProxy",
            Self::Skipper => "RouteGroup",
            Self::Nginx => "the canary Ingress pair",
            Self::Istio => "VirtualService",
        }
    }

    /// The run can be made on this kind: an Ingress and its canary lead to two members at most.
    pub const fn carries(self, run: Run) -> bool {
        match (self, run) {
            (Self::Nginx, Run::Retarget) => false,
            // No hook knows a route.
            (_, Run::Hooks) => matches!(self, Self::GatewayApi),
            _ => true,
        }
    }

    /// What the pattern does can be done on this kind.
    pub const fn suits(self, fault: Fault) -> bool {
        match (self, fault) {
            // Only Istio has objects that stop the data plane for others.
            (Self::GatewayApi, Fault::DataPlane(DataPlaneFault::Frozen)) => false,
            (Self::GatewayApi, _) => true,
            // Here only rules of an HTTPRoute are renamed.
            (_, Fault::Declare(Declared::Route)) => false,
            // An HTTPProxy has one voice, which looks at no backend without weight.
            (Self::Contour, Fault::DataPlane(what)) => {
                !matches!(what, DataPlaneFault::OneParent | DataPlaneFault::Unresolved | DataPlaneFault::Frozen)
            }
            // Nobody says anything of it: observed shares tell.
            (Self::Istio, Fault::DataPlane(what)) => matches!(what, DataPlaneFault::Frozen | DataPlaneFault::Late),
            // Nobody says anything of these.
            (Self::Skipper | Self::Nginx, Fault::DataPlane(_)) => false,
            // Every API server has Ingresses, and a webhook sees one of the two at a time.
            (Self::Nginx, Fault::Late(Late::RouteKind) | Fault::Webhook(Webhook::Mutate)) => false,
            // These have no weights that could all be 0: requests would go to another object.
            (Self::Skipper | Self::Nginx, Fault::Edit(Edit::Zero)) => false,
            // Three members would have traffic at once.
            (Self::Nginx, Fault::Declare(Declared::Members)) => false,
            (Self::Nginx, Fault::Members(MemberChange::Added | MemberChange::Renamed)) => false,
            (Self::Contour | Self::Skipper | Self::Nginx | Self::Istio, _) => true,
        }
    }
}
