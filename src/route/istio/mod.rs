//! VirtualService of Istio.

use std::time::Duration;

use kube::core::{ApiResource, DynamicObject};
use serde_json::{Value, json};

use super::capability::{
    AffinitySupport, Applied, BackendSupport, Capability, Extent, Matching, Mirroring, Parts, Regexes, Shape, Values,
    Verified, Weighting,
};
use super::json::{items, put};
use super::listed::ListKind;
use super::lists::{Lists, Mirrors};
use super::provider::resource;
use super::refusal::refuse;
use crate::api::Backend;
use crate::api::istio::IstioRoute;
use crate::api::member::HostHeader;
use crate::object::{Context, Reach};
use crate::rollout::input::{Accepted, Problem};

mod cookies;
mod destination;
mod frozen;
mod made;
mod matches;
pub(super) mod re2;

/// istiod gathers changes for a tenth of a second and then pushes them; 0.1 s were measured, and a large mesh takes longer.
pub(super) const PUSHED_WITHIN: Duration = Duration::from_secs(3);

pub(super) const CAPABILITY: Capability = Capability {
    route: "istio",
    object: "VirtualService of Istio",
    weighting: Weighting::Weights { members: None, parts: None },
    external_name: BackendSupport::Yes,
    cluster_ip: BackendSupport::Yes,
    endpoint_slice: BackendSupport::Yes,
    service_entry: BackendSupport::Yes,
    subset: BackendSupport::Yes,
    own_host: true,
    own_tls: true,
    matches: Matching {
        headers: Values { regex: Regexes::Re2, ..Values::ANY },
        cookies: Values { regex: Regexes::Re2, ..Values::ANY },
        query: Values { regex: Regexes::Re2, ..Values::ANY },
        extent: Extent::EachNameOnce,
    },
    mirrors: Mirroring::Yes { members: None, parts: Parts::Any },
    affinity: AffinitySupport::Yes { bins: 64 },
    shape: Shape::OneObject,
    applied: Applied::Polled { within: PUSHED_WITHIN },
    obeyed: "nothing says it. 0.07 to 0.16 s were measured, and a new backend may be late; the hub waits for 3 s. If istiod has \
             stopped, or somebody else's VirtualService freezes the port, only `analysis.share` shows it",
    verified: Verified::Traffic,
    note: "`networking.istio.io/v1`: Istio 1.22 or newer. Other entries of the same VirtualService stay as they are, and \
           those for matched requests and kept users stand directly before the selected one, with the name \
           `cutover.dev/<uid>`. An entry that delegates is not adopted; the VirtualService to which it delegates can be. \
           For Istio an ExternalName Service is an alias of its target: it is refused while no ServiceEntry has that host. \
           Backend `serviceEntry` makes a ServiceEntry for each member, and a DestinationRule where the member is reached \
           by TLS, which sends and checks its server name. A backend is named at weight 0 three seconds before it gets \
           more, and removed three seconds after the last route that named it: no request was refused by either. A copy \
           has the Host of the destination that answers. What freezes all VirtualServices of a port (weights that \
           are all 0, a regular expression that RE2 cannot read) is refused before it is written, whether istiod's \
           webhook is there or not; where others wrote it, the place is named. A made route takes timeouts, retries, headers and CORS.",
};

pub(super) const OF_CONNECTIONS: Capability = Capability {
    route: "istio, TCP and TLS",
    object: "VirtualService of Istio, its entries of `spec.tcp` and `spec.tls`",
    own_host: false,
    matches: Matching::NONE,
    mirrors: Mirroring::No,
    affinity: AffinitySupport::No,
    note: "Entries of `spec.tcp` and `spec.tls` have no names: `tcp#0` is the first. They divide connections, of which one \
           may carry many requests, so an observed share follows the weights only where clients open new ones. TLS \
           goes through as it is. Connections of `spec.tcp` were counted; `spec.tls` differs in how a connection is chosen.",
    ..CAPABILITY
};

const NO_TLS: &str =
    "Istio speaks TLS to a backend only by a DestinationRule, which cutover writes for its own ServiceEntry";

impl ListKind for IstioRoute {
    /// Istio sets no bound; the rollout's own is 64 members.
    const LISTS: Lists = Lists {
        rules: &["http", "tcp", "tls"],
        nouns: "routes",
        field: "routes",
        ordered: true,
        services: "route",
        max: 128,
        counts: destination::counts,
        name: destination::name,
        set_name: destination::set_name,
        narrowed: matches::narrowed,
        conditions: matches::conditions,
        mirrors: Mirrors { list: "mirrors", entry: mirror, service: mirrored, single: false, obstacle: other_mirror },
        cookies: Some(cookies::COOKIES),
        fields: destination::fields,
    };
    const FIELDS: &'static [&'static [&'static str]] = &[&["spec", "http"], &["spec", "tcp"], &["spec", "tls"]];

    fn capability(&self) -> &'static Capability {
        if self.divides_connections() { &OF_CONNECTIONS } else { &CAPABILITY }
    }

    fn resource(&self) -> ApiResource {
        resource("networking.istio.io", "v1", "VirtualService", "virtualservices")
    }

    fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    fn rules(&self) -> &[String] {
        &self.routes
    }

    fn draft(&self) -> Option<Value> {
        self.create.as_ref().map(made::spec)
    }

    fn problems(&self, context: &Context<'_>) -> Vec<Problem> {
        let host = |reach: &Reach| {
            let cannot = self.divides_connections() && reach.host_header == HostHeader::Endpoint;
            cannot.then(|| {
                "hostHeader: Endpoint: a connection has no Host: say hostHeader: Preserve and let the member accept the public name"
                    .to_owned()
            })
        };
        let tls = |reach: &Reach| {
            let name = reach.server_name.as_ref().filter(|_| !self.passes_tls())?;
            Some(format!("tls.serverName: {name}: {NO_TLS}: say backend: {{serviceEntry: {{}}}}, or leave tls out"))
        };
        match context.service.backend {
            Backend::ClusterIp(_) | Backend::ServiceEntry(_) | Backend::Subset(_) => refuse(context, host),
            Backend::ExternalName(_) | Backend::EndpointSlice(_) => {
                refuse(context, |reach| tls(reach).or_else(|| host(reach)))
            }
        }
    }

    /// What is true of the object before the hub ever writes it, and cannot be with weights.
    fn unfit(&self, context: &Context<'_>, object: &DynamicObject, entries: &[(String, &Value)]) -> Option<String> {
        let of_entry = |(name, entry): &(String, &Value)| Some(format!("route {name}: {}", unfit(context, entry)?));
        entries.iter().find_map(of_entry).or_else(|| frozen::frozen(object))
    }

    /// Nobody says whether Envoy has taken it; some things it never takes.
    fn accepted(&self, object: &DynamicObject) -> Accepted {
        frozen::frozen(object).map_or(Accepted::Unsaid, Accepted::No)
    }
}

fn unfit(context: &Context<'_>, entry: &Value) -> Option<String> {
    if let Some(delegate) = entry.pointer("/delegate/name").and_then(Value::as_str) {
        return Some(format!("it delegates to VirtualService {delegate}: adopt that one"));
    }
    if entry.get("redirect").is_some() || entry.get("directResponse").is_some() {
        return Some("it answers itself: select another one".to_owned());
    }
    let gives_host = || context.endpoints.values().any(|reach| reach.host_header == HostHeader::Endpoint);
    if destination::sets_host(entry) && gives_host() {
        return Some(
            "it sets the Host of all its requests, so that hostHeader: Endpoint of a member has no effect: take one of them away"
                .to_owned(),
        );
    }
    let of_subset = |destination: &&Value| {
        destination.pointer("/destination/subset").is_some()
            && destination::name(context, destination) == context.service.name
    };
    let subset = items(entry.get("route")).iter().find(of_subset).filter(|_| !context.copies.is_empty());
    subset.map(|_| {
        format!(
            "it leads to a subset of Service {}, which the primary does not have: lead it to the Service itself",
            context.service.name
        )
    })
}

/// Copies of a part of all requests. The Host of a copy is the one of the destination that answers.
fn mirror(mut destination: Value, percent: u32) -> Value {
    if let Some(fields) = destination.as_object_mut() {
        fields.retain(|key, _| key == "destination");
    }
    put(&mut destination, "percentage", json!({"value": percent}));
    destination
}

fn mirrored(entry: &Value) -> Option<&Value> {
    Some(entry).filter(|entry| entry.get("destination").is_some())
}

fn other_mirror(entry: &Value) -> Option<&'static str> {
    entry.get("mirror").map(|_| {
        "its field mirror, which stands in the way of mirrors: write what it says as an entry of mirrors, or leave mirror out of the step"
    })
}
