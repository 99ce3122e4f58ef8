//! The route of a provider: the object that Flagger made is adopted, or the hub makes another one.

mod created;
mod istio;

use super::{Provider, canary::Context, service::Exposed};
use crate::{
    api::{
        Route,
        service::{
            ContourRoute, CreateService, CreateSkipper, GatewayApiRoute, KubernetesRoute, SkipperRoute, StableIngress,
        },
    },
    import::{
        fields::{Fields, ListOf},
        remarks::{Remarks, shown},
        services::Reached,
    },
};

/// The place of the route in the rollout.
pub(super) const ROUTE: &str = "spec.services[0].routes[0]";
/// Fields that an adopted route has already.
const IN_THE_ROUTE: [&str; 16] = [
    "hosts",
    "gateways",
    "gatewayRefs",
    "match",
    "rewrite",
    "timeout",
    "backendTimeout",
    "retries",
    "headers",
    "corsPolicy",
    "mirror",
    "apex",
    "trafficPolicy",
    "delegation",
    "meshName",
    "backends",
];

/// The route that holds the weights; none where the provider or the combination is refused.
pub(super) fn route(
    fields: &mut Fields<'_>,
    exposed: &Exposed,
    context: &Context<'_, '_>,
    remarks: &mut Remarks,
) -> Option<Route> {
    let create = context.known.options.create_routes;
    let route = match context.provider {
        Provider::GatewayApi if create => created::http_route(fields, context, remarks).map(Route::GatewayApi),
        Provider::Contour if create => created::http_proxy(fields, remarks).map(Route::Contour),
        Provider::GatewayApi => {
            let name = Some(adopted("HTTPRoute", fields, exposed, context, remarks));
            Some(Route::GatewayApi(GatewayApiRoute { name, rules: Vec::new(), create: None }))
        }
        Provider::Contour => {
            let name = Some(adopted("HTTPProxy", fields, exposed, context, remarks));
            Some(Route::Contour(ContourRoute { name, rules: Vec::new(), create: None }))
        }
        Provider::Istio => istio::virtual_service(fields, exposed, context, remarks).map(Route::Istio),
        Provider::Skipper => skipper(fields, context, remarks).map(Route::Skipper),
        Provider::Nginx => ingress(context, remarks).map(|name| Route::Nginx(StableIngress { name })),
        Provider::Kubernetes => Some(Route::Kubernetes(switched(context, remarks))),
        Provider::Apisix
        | Provider::AppMesh
        | Provider::Gloo
        | Provider::Knative
        | Provider::Kuma
        | Provider::Linkerd
        | Provider::Osm
        | Provider::Smi
        | Provider::Traefik => {
            not_there(context, remarks);
            None
        }
    };
    let provider = context.provider.name();
    fields.lose(&IN_THE_ROUTE, &format!("not for a route of {provider} here"), remarks);
    route
}

/// Says that a route of Flagger's is adopted as it is.
fn adopted(
    kind: &str,
    fields: &mut Fields<'_>,
    exposed: &Exposed,
    context: &Context<'_, '_>,
    remarks: &mut Remarks,
) -> String {
    let apex = shown(&exposed.apex);
    let kept: Vec<&str> = IN_THE_ROUTE.into_iter().filter(|key| fields.any(key).is_some()).collect();
    let kept = if kept.is_empty() { String::new() } else { format!(" It keeps {}.", kept.join(", ")) };
    remarks.note(
        ROUTE,
        format!("The {kind} {apex} that Flagger made; hand it over first (docs/coming-from-flagger.md).{kept}"),
    );
    let tests = context.of.document.value["spec"]["analysis"]["match"].as_array();
    if tests.is_some_and(|tests| !tests.is_empty()) {
        let text =
            "Take out its first rule, for spec.analysis.match: the hub makes such a rule for the time of a test.";
        remarks.note(ROUTE, text);
    }
    exposed.apex.clone()
}

/// The Ingress that `ingressRef` names.
fn ingress(context: &Context<'_, '_>, remarks: &mut Remarks) -> Option<String> {
    if context.ingress.is_none() {
        let found = format!("missing, and Flagger's provider {} needs it", context.provider.name());
        remarks.refusals.push(context.of.refusal(
            "spec.ingressRef",
            found,
            "name the Ingress through which clients come",
        ));
    }
    let name = context.ingress.clone()?;
    let ingress = shown(&name);
    remarks.note(ROUTE, format!("Remove Flagger's Ingress {ingress}-canary first: the hub makes one of that name (docs/coming-from-flagger.md)."));
    Some(name)
}

fn skipper(fields: &mut Fields<'_>, context: &Context<'_, '_>, remarks: &mut Remarks) -> Option<SkipperRoute> {
    match context.target.reached {
        Reached::BySelector => {
            let name = ingress(context, remarks);
            let service = shown(&context.target.name);
            remarks.note(
                ROUTE,
                format!("Let the Ingress name Service {service}-primary: one that names {service} sends everybody to what is not proven yet."),
            );
            Some(SkipperRoute { form: None, name: Some(name?), create: None })
        }
        Reached::ByName => {
            let hosts = fields.take::<ListOf<String>>("hosts", remarks).map(|ListOf(hosts)| hosts).unwrap_or_default();
            if context.known.options.create_routes && !hosts.is_empty() {
                return Some(SkipperRoute { form: None, name: None, create: Some(CreateSkipper { hosts }) });
            }
            let found =
                "Skipper ignores weights of ExternalName Services in an Ingress: all requests go to one of them";
            let remedy = "use a RouteGroup: give spec.service.hosts and import with --create-routes";
            remarks.refusals.push(context.of.refusal("spec.provider", found, remedy));
            None
        }
    }
}

/// Another Service than the one that declares the target.
fn switched(context: &Context<'_, '_>, remarks: &mut Remarks) -> KubernetesRoute {
    let service = &context.target.name;
    let name = format!("{service}-live");
    let shown = shown(service);
    remarks.note(
        ROUTE,
        format!(
            "Clients must call {shown}-live. With a Service target Flagger's provider kubernetes protects nobody: clients call \
             {shown}, and that changes before it is analysed."
        ),
    );
    KubernetesRoute { name: None, create: Some(CreateService { name: Some(name) }) }
}

fn not_there(context: &Context<'_, '_>, remarks: &mut Remarks) {
    let found = format!("provider {} has no route in cutover", context.provider.name());
    let remedy = "where the mesh or ingress reads HTTPRoutes of Gateway API, write gatewayapi:v1 (docs/routes.md lists the routes)";
    remarks.refusals.push(context.of.refusal("spec.provider", found, remedy));
}
