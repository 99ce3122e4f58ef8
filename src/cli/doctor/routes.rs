//! Every route of every rollout: it is there, can carry weights, is accepted, and its controller runs.

use std::sync::Arc;

use futures::{StreamExt, stream};
use kube::{
    Api,
    core::{ApiResource, DynamicObject, GroupVersionKind},
};
use serde_json::Value;

use super::{
    AT_ONCE,
    check::{Check, Outcome, Section, first_line},
    read::Placed,
};
use crate::{
    api::Route,
    cli::{
        CliError,
        cluster::Cluster,
        live::{self, Owner, Place},
        text,
    },
    object::Context,
    rollout::input::{Accepted, LiveRoute, RouteSeen},
    route,
    text::sanitise,
};

/// Objects of a route, in the order of its targets.
type Objects = Vec<Option<Arc<DynamicObject>>>;

/// A Gateway that a route names, and what was read of it.
struct Gateway {
    namespace: String,
    name: String,
    found: Result<Option<Value>, CliError>,
}

pub(super) async fn checks(cluster: &Cluster, rollouts: &[Placed]) -> Vec<Check> {
    let rollouts = stream::iter(rollouts).map(async |rollout| match &rollout.places {
        Ok(places) => of_rollout(cluster, rollout, places).await,
        Err(why) => {
            let remedy = "register the member, or correct spec.members of the rollout";
            vec![Check::new(Section::Routes, rollout.title(), Outcome::bad(why, remedy))]
        }
    });
    rollouts.buffered(AT_ONCE).concat().await
}

async fn of_rollout(cluster: &Cluster, rollout: &Placed, places: &[Place]) -> Vec<Check> {
    let owner = Owner::reading(&rollout.view);
    let routes = places.iter().flat_map(|place| place.service.routes.iter().map(move |route| (place, route)));
    let of_routes = routes.map(async |(place, route)| {
        let outcomes = of_route(cluster, &owner, place, route).await;
        let subject = format!("{} {}", rollout.title(), route::key(&place.service, route));
        outcomes.into_iter().map(|outcome| Check::new(Section::Routes, subject.clone(), outcome)).collect::<Vec<_>>()
    });
    futures::future::join_all(of_routes).await.concat()
}

async fn of_route(cluster: &Cluster, owner: &Owner, place: &Place, route: &Route) -> Vec<Outcome> {
    let context = owner.context(place);
    let objects = match live::objects(cluster, &context, route).await {
        Ok(objects) => objects,
        Err(error) => {
            let remedy = "ask for the ClusterRole cutover-viewer, which may read routes";
            return [can_carry(&context, route), vec![Outcome::unreadable(&error, remedy)]].concat();
        }
    };
    let gateways = gateways(cluster, context.namespace, &objects).await;
    judge(&context, route, &objects, &gateways)
}

/// The Gateways to which the routes of Gateway API are attached.
async fn gateways(cluster: &Cluster, namespace: &str, objects: &Objects) -> Vec<Gateway> {
    let parents = objects.iter().flatten().filter_map(|object| object.data.pointer("/spec/parentRefs")?.as_array());
    let is_gateway = |parent: &&Value| parent["kind"].as_str().is_none_or(|kind| kind == "Gateway");
    let names = parents
        .flatten()
        .filter(is_gateway)
        .filter_map(|parent| Some((parent["namespace"].as_str().unwrap_or(namespace), parent["name"].as_str()?)));
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("gateway.networking.k8s.io", "v1", "Gateway"));
    let gateways = names.map(async |(namespace, name)| {
        let api: Api<DynamicObject> = Api::namespaced_with(cluster.client.clone(), namespace, &kind);
        let found = cluster.call(&[], api.get_opt(name)).await;
        let found = found.map(|found| found.map(|gateway| gateway.data));
        Gateway { namespace: namespace.to_owned(), name: name.to_owned(), found }
    });
    futures::future::join_all(gateways).await
}

fn judge(context: &Context<'_>, route: &Route, objects: &Objects, gateways: &[Gateway]) -> Vec<Outcome> {
    let mut outcomes = can_carry(context, route);
    let present: Vec<&DynamicObject> = objects.iter().flatten().map(AsRef::as_ref).collect();
    match route::read(context, route, objects) {
        RouteSeen::ToCreate => outcomes.push(Outcome::good("it is not there yet; the hub creates it")),
        RouteSeen::Unseen => outcomes.push(Outcome::not_known("it was not read", "run this again")),
        RouteSeen::Unusable(problem) => {
            let remedy = if present.is_empty() {
                "create it, or correct the name under spec.services[].routes; install its kind if that is missing"
                    .to_owned()
            } else {
                format!("docs/operations.md, {}", problem.reason)
            };
            outcomes.push(Outcome::bad(problem.message, remedy));
        }
        RouteSeen::Live(live) => {
            let shows = text::shares(&live.split.weights, context.total);
            outcomes.push(Outcome::good(format!("it exists and shows {shows}")));
            outcomes.push(accepted(&live, &present));
            outcomes.extend(controllers(route, &live, &present, gateways));
        }
    }
    outcomes
}

fn can_carry(context: &Context<'_>, route: &Route) -> Vec<Outcome> {
    let problems = route::problems(context, route);
    if problems.is_empty() {
        return vec![Outcome::good("it can carry weights to these backends")];
    }
    let bad = |problem: crate::rollout::input::Problem| {
        Outcome::bad(
            problem.message,
            format!("docs/routes.md says what each route can do; docs/operations.md, {}", problem.reason),
        )
    };
    problems.into_iter().map(bad).collect()
}

fn accepted(live: &LiveRoute, present: &[&DynamicObject]) -> Outcome {
    let generation = present.first().and_then(|object| object.metadata.generation).unwrap_or_default();
    match &live.accepted {
        Accepted::Yes => Outcome::good(format!("its controller accepted generation {generation}")),
        Accepted::No(why) => Outcome::bad(format!("its controller refuses it: {why}"), "correct what it names"),
        Accepted::Pending => Outcome::bad(
            format!("no controller has answered for generation {generation}"),
            "does its controller run, and does its Gateway or class select this object? kubectl describe it",
        ),
        Accepted::Unsaid => Outcome::not_known(
            "whether it is accepted is not known: this kind has no status for it",
            "see that requests get through; the hub counts a write as applied when it is read back",
        ),
    }
}

/// Whether somebody serves the objects, as far as an API server can tell it.
fn controllers(route: &Route, live: &LiveRoute, present: &[&DynamicObject], gateways: &[Gateway]) -> Vec<Outcome> {
    match route {
        Route::GatewayApi(_) => gateways.iter().map(programmed).collect(),
        // Nobody serves a Service but the cluster itself, and istiod writes nothing into a VirtualService.
        Route::Kubernetes(_) | Route::Istio(_) => Vec::new(),
        Route::Contour(_) | Route::Skipper(_) | Route::Nginx(_) | Route::AliyunAlb(_) => {
            vec![published(live, present)]
        }
    }
}

fn programmed(gateway: &Gateway) -> Outcome {
    let name = format!("Gateway {}/{}", sanitise(&gateway.namespace), sanitise(&gateway.name));
    let describe = format!("kubectl describe gateway -n {} {}", sanitise(&gateway.namespace), sanitise(&gateway.name));
    let found = match &gateway.found {
        Err(why) => {
            return Outcome::not_known(
                format!("{name}: {}", first_line(why)),
                format!("as somebody who may: {describe}"),
            );
        }
        Ok(None) => {
            return Outcome::bad(
                format!("{name} does not exist"),
                "create it, or correct spec.parentRefs of the route",
            );
        }
        Ok(Some(found)) => found,
    };
    let conditions = found.pointer("/status/conditions").and_then(Value::as_array);
    let condition = conditions.and_then(|all| all.iter().find(|one| one["type"] == "Programmed"));
    match condition {
        Some(condition) if condition["status"] == "True" => Outcome::good(format!("{name} is Programmed")),
        Some(condition) => {
            let said = sanitise(condition["message"].as_str().unwrap_or_default());
            Outcome::bad(format!("{name} is not Programmed: {said}"), describe)
        }
        None => Outcome::bad(
            format!("{name} has no condition Programmed: its controller does not run"),
            format!("start the controller of its GatewayClass; {describe}"),
        ),
    }
}

/// The controller of an ingress writes its own address into the status.
fn published(live: &LiveRoute, present: &[&DynamicObject]) -> Outcome {
    let has_address = |object: &&DynamicObject| {
        let addresses = object.data.pointer("/status/loadBalancer/ingress").and_then(Value::as_array);
        addresses.is_some_and(|addresses| !addresses.is_empty())
    };
    if live.accepted == Accepted::Yes || present.iter().any(has_address) {
        return Outcome::good("its controller has written its status");
    }
    Outcome::not_known(
        "whether its controller runs is not known: it has written no address into the status",
        "see that its pods run, and that the ingress class is the one that they serve",
    )
}

#[cfg(test)]
mod tests;
