//! The providers of Flagger: whose route holds the weights.

use std::str::FromStr;

/// A provider of Flagger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Provider {
    /// Apache APISIX.
    Apisix,
    /// AWS App Mesh.
    AppMesh,
    /// Contour: an HTTPProxy.
    Contour,
    /// Gateway API: an HTTPRoute.
    GatewayApi,
    /// Gloo.
    Gloo,
    /// Istio: a VirtualService. What Flagger takes where nothing is said.
    #[default]
    Istio,
    /// Knative.
    Knative,
    /// Services alone.
    Kubernetes,
    /// Kuma.
    Kuma,
    /// Linkerd.
    Linkerd,
    /// ingress-nginx: a canary Ingress.
    Nginx,
    /// Open Service Mesh.
    Osm,
    /// Skipper: a canary Ingress.
    Skipper,
    /// Service Mesh Interface.
    Smi,
    /// Traefik.
    Traefik,
}

/// The first part of their names in a Canary, before a version.
const NAMES: [(&str, Provider); 15] = [
    ("apisix", Provider::Apisix),
    ("appmesh", Provider::AppMesh),
    ("contour", Provider::Contour),
    ("gatewayapi", Provider::GatewayApi),
    ("gloo", Provider::Gloo),
    ("istio", Provider::Istio),
    ("knative", Provider::Knative),
    ("kubernetes", Provider::Kubernetes),
    ("kuma", Provider::Kuma),
    ("linkerd", Provider::Linkerd),
    ("nginx", Provider::Nginx),
    ("osm", Provider::Osm),
    ("skipper", Provider::Skipper),
    ("smi", Provider::Smi),
    ("traefik", Provider::Traefik),
];

impl Provider {
    /// Its name, without a version.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(_, provider)| *provider == self).map_or("", |(name, _)| name)
    }
}

impl FromStr for Provider {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let name = text.split(':').next().unwrap_or_default();
        let known = NAMES.iter().find(|(known, _)| *known == name).map(|(_, provider)| *provider);
        known.ok_or_else(|| format!("no provider of Flagger; there are {}", NAMES.map(|(name, _)| name).join(", ")))
    }
}
