//! `cutover import … --live`: what adoption of what is in a cluster would do. It reads, and writes nothing.

use std::{collections::VecDeque, sync::Arc};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Service;
use kube::{
    Api, Error,
    api::ListParams,
    core::{ApiResource, DeserializeGuard, DynamicObject},
};
use serde_json::Value;

use super::{
    super::{
        CliError, Exit, Output,
        adoption::{NOTHING_WRITTEN, outlook},
        cluster::{Cluster, Connection},
        hub_liveness::LeaseSeen,
        live::{Owner, Place, objects, places},
        view::View,
    },
    checked,
    outlook::{Services, Subject},
    refused,
};
use crate::{
    api::{CANARY, FleetRollout, FleetRolloutSpec, MemberCluster, PRIMARY, Route, status::Promoted, track::Configs},
    backend,
    import::{Imported, Kind, Referred, Source, Tool},
    object::{AllowedHosts, Context},
    rollout::input::Mark,
    route, validate,
};

/// Objects that one translation may need.
const MOST: usize = 100;
/// What stands in the mark of a hub and a rollout that are not there yet.
const HUB: &str = "HUB";
const UID: &str = "UID";

/// Reads the object of this name with all that it names, and says what adoption would do.
pub(super) fn rehearse(
    tool: Tool,
    name: &str,
    connection: Connection,
    translate: impl FnOnce(&[Source<'_>]) -> Imported,
    out: &mut Output,
) -> Result<Exit, CliError> {
    connection.run(async |cluster| {
        let named = Referred { kind: tool.subject(), namespace: None, name: name.to_owned() };
        let subject = get(&cluster, &named).await?.ok_or_else(|| missing(&cluster, &named))?;
        let all = all_named(&cluster, tool, &named, &subject).await?;
        let texts: Vec<(&str, String)> = all.iter().map(|(name, object)| (name.as_str(), object.to_string())).collect();
        let sources: Vec<Source<'_>> = texts.iter().map(|(name, text)| (*name, text.as_str())).collect();
        let imported = checked(translate(&sources));
        refused(&imported, out);
        if !imported.refusals.is_empty() {
            return Ok(Exit::Error);
        }
        let rollout = rollout(&imported, &cluster.namespace)?;
        let (text, adoptable) =
            Box::pin(Read::of(&cluster, rollout)).await?.outlook(&Subject { tool, object: &subject })?;
        out.text(&text)?;
        out.line(NOTHING_WRITTEN)?;
        Ok(if adoptable { Exit::Done } else { Exit::Held })
    })
}

fn missing(cluster: &Cluster, Referred { kind, name, .. }: &Referred) -> CliError {
    let Kind { group, version, kind, .. } = kind;
    CliError::Said(format!(
        "no {kind} {name:?} of {group}/{version} in namespace {}\nis it the right cluster and namespace? see --context and -n",
        cluster.namespace
    ))
}

/// The object and all to which it refers, and those to which these do, by name. What does not exist is left out: the
/// translation says what it needs.
async fn all_named(
    cluster: &Cluster,
    tool: Tool,
    named: &Referred,
    subject: &Value,
) -> Result<Vec<(String, Value)>, CliError> {
    let mut all = vec![(title(named), subject.clone())];
    let mut to_read: VecDeque<Referred> = tool.refers(subject).into();
    let mut known = vec![named.clone()];
    while let Some(next) = to_read.pop_front() {
        if known.contains(&next) {
            continue;
        }
        if known.len() == MOST {
            return Err(CliError::Said(format!("{} refers to more than {MOST} objects", title(named))));
        }
        if let Some(object) = get(cluster, &next).await? {
            to_read.extend(tool.refers(&object));
            all.push((title(&next), object));
        }
        known.push(next);
    }
    Ok(all)
}

fn title(named: &Referred) -> String {
    format!("{} {}", named.kind.kind, named.name)
}

async fn get(cluster: &Cluster, Referred { kind, namespace, name }: &Referred) -> Result<Option<Value>, CliError> {
    let Kind { group, version, kind, plural, namespaced } = *kind;
    let kind = kube::core::GroupVersionKind::gvk(group, version, kind);
    let resource = ApiResource::from_gvk_with_plural(&kind, plural);
    let namespace = namespace.as_deref().unwrap_or(&cluster.namespace);
    let api: Api<DynamicObject> = if namespaced {
        Api::namespaced_with(cluster.client.clone(), namespace, &resource)
    } else {
        Api::all_with(cluster.client.clone(), &resource)
    };
    let found = cluster.call(&[], if_there(api.get(name))).await?;
    let mut found = found.map(serde_json::to_value).transpose().map_err(CliError::said)?;
    if let Some(metadata) = found.as_mut().and_then(|object| object["metadata"].as_object_mut()) {
        metadata.remove("managedFields");
    }
    Ok(found)
}

/// What is not there, or not even known as a kind, is no error.
async fn if_there<T>(call: impl Future<Output = Result<T, Error>>) -> Result<Option<T>, Error> {
    match call.await {
        Err(Error::Api(status)) if status.code == 404 => Ok(None),
        found => found.map(Some),
    }
}

/// The rollout that was made, as it would be declared.
fn rollout(imported: &Imported, namespace: &str) -> Result<FleetRollout, CliError> {
    let reports = imported.manifests.iter().map(|manifest| validate::file(&manifest.text));
    let (name, spec): (String, FleetRolloutSpec) = reports
        .flat_map(|report| report.rollouts)
        .next()
        .ok_or_else(|| CliError::Said("no rollout can be made of it".to_owned()))?;
    let mut rollout = FleetRollout::new(&name, spec);
    (rollout.metadata.namespace, rollout.metadata.uid) = (Some(namespace.to_owned()), Some(UID.to_owned()));
    Ok(rollout)
}

/// All that a rehearsal is about, as it was read.
struct Read {
    view: View,
    place: Place,
    routes: Vec<(Route, Vec<Option<Arc<DynamicObject>>>)>,
    services: Services,
}

impl Read {
    async fn of(cluster: &Cluster, rollout: FleetRollout) -> Result<Self, CliError> {
        let service = rollout.spec.services.first().cloned();
        let service = service.ok_or_else(|| CliError::Said("the rollout names no service".to_owned()))?;
        let mut view = View::new(rollout, LeaseSeen::Read(None), Timestamp::now());
        let listed: Api<DeserializeGuard<MemberCluster>> = Api::all(cluster.client.clone());
        let members = cluster.call(&[], if_there(listed.list(&ListParams::default()))).await?;
        view.members = members.into_iter().flatten().filter_map(|member| member.0.ok()).collect();
        let api: Api<DynamicObject> =
            Api::namespaced_with(cluster.client.clone(), &cluster.namespace, &ApiResource::erase::<Service>(&()));
        let read = async |name: &str| cluster.call(&[], api.get_opt(name)).await;
        let services = Services {
            own: read(&service.name).await?,
            primary: read(&backend::name(&service, PRIMARY)).await?,
            canary: read(&backend::name(&service, CANARY)).await?,
        };
        let mut place = promoted(&mut view, services.own.as_ref())?;
        let mut routes = Vec::new();
        for route in place.service.routes.clone() {
            let read = objects(cluster, &Owner::reading(&view).context(&place), &route).await?;
            routes.push((route, read));
        }
        // What a route names already is what passed last, as the hub takes it.
        let primary = backend::name(&service, PRIMARY);
        if services.primary.is_some() && routes.iter().any(|(_, objects)| route::names(objects, &primary)) {
            place = promoted(&mut view, services.primary.as_ref())?;
        }
        Ok(Self { view, place, routes, services })
    }

    /// What adoption would do, in lines; and whether it could.
    fn outlook(&self, subject: &Subject<'_>) -> Result<(String, bool), CliError> {
        let owner = Owner::reading(&self.view);
        let (namespace, service) = (self.view.namespace(), &self.place.service.name);
        let hosts = self.view.members.iter().flat_map(|member| backend::hosts(&member.spec, &namespace, service));
        let allowed_hosts = AllowedHosts::new(hosts, &[]);
        let context = Context { allowed_hosts: &allowed_hosts, ..owner.context(&self.place) };
        let (mut text, mut adoptable) = subject.outlook(&context);
        let mark = Mark { hub: HUB.to_owned(), rollout: UID.to_owned(), run: 0, sequence: 1 };
        for (route, objects) in &self.routes {
            let outlook = outlook(&context, route, objects, &mark)?;
            text.push_str(&outlook.text);
            adoptable &= outlook.adoptable;
        }
        let (of_services, all) = self.services.outlook(&context);
        text.push_str(&of_services);
        text.push_str(&self.services.to_do(&context, subject, &self.view.members));
        Ok((text, adoptable && all))
    }
}

/// The rollout's place, if what this Service leads to had passed last.
fn promoted(view: &mut View, object: Option<&DynamicObject>) -> Result<Place, CliError> {
    let copy = object.map(backend::service_copy).unwrap_or_default();
    let services = view.rollout.spec.services.iter().map(|service| (service.name.clone(), copy.clone())).collect();
    view.status.promoted =
        Some(Promoted { revision: String::new(), services, configs: Configs::default(), made_at: None });
    places(view)?.pop().ok_or_else(|| CliError::Said("the rollout names no service".to_owned()))
}
