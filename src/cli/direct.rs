//! `cutover abort --direct`: the rollback written with a person's own credentials, for when the hub is down.

use kube::{
    ResourceExt,
    api::{DeleteParams, PostParams, Preconditions},
    core::DynamicObject,
};

use super::{
    CliError, Exit, Output,
    cluster::Cluster,
    live,
    text::{escape, shares},
    view::View,
};
use crate::{
    api::{DIRECT_FIELD_MANAGER, Distribution, Route, status::Run},
    object::{Context, Target, Write},
    rollout::input::Mark,
    route,
};

/// Attempts per route, when a write conflicts with a newer object.
const TRIES: usize = 3;

/// The rollback target of a run in progress.
pub(super) struct RollbackTarget<'v> {
    view: &'v View,
    run: &'v Run,
}

impl<'v> RollbackTarget<'v> {
    /// Refuses a rollout without a run in progress.
    pub(super) fn of(view: &'v View) -> Result<Self, CliError> {
        let run = view.live();
        let refused = || CliError::Said(format!("rollout {} has no run in progress; nothing was done", view.name()));
        Ok(Self { view, run: run.ok_or_else(refused)? })
    }

    /// Writes it to every route; continues past errors, and fails if there was one.
    pub(super) async fn write(&self, cluster: &Cluster, out: &mut Output) -> Result<Exit, CliError> {
        let Self { view, run } = self;
        let owner = live::Owner::of(cluster, view).await?;
        // The hub accepts this sequence as its own: it finds lowered canaries and the request, not a restored backup.
        let mark = Mark {
            hub: owner.hub.clone(),
            rollout: owner.uid.clone(),
            run: run.number,
            sequence: view.status.sequence,
        };
        let mut exit = Exit::Done;
        for place in live::places(view)? {
            for route in &place.service.routes {
                let key = route::key(&place.service, route);
                match bring(cluster, &owner.context(&place), route, &run.rollback_to, &mark).await {
                    Ok(()) => out.line(format!("{key}: {}", shares(&run.rollback_to, view.total())))?,
                    Err(error) => {
                        exit = Exit::Error;
                        out.line(escape(&format!("{key}: NOT WRITTEN: {error}")))?;
                    }
                }
            }
        }
        Ok(exit)
    }
}

async fn bring(
    cluster: &Cluster,
    context: &Context<'_>,
    route: &Route,
    weights: &Distribution,
    mark: &Mark,
) -> Result<(), CliError> {
    let mut last = Ok(());
    for _ in 0..TRIES {
        let objects = live::objects(cluster, context, route).await?;
        let writes = route::render(context, route, &objects, &weights.into(), mark).map_err(CliError::said)?;
        last = write_all(cluster, &route::targets(context, route), writes).await;
        if last.is_ok() {
            break;
        }
    }
    last
}

async fn write_all(cluster: &Cluster, targets: &[Target], writes: Vec<Write>) -> Result<(), CliError> {
    for write in writes {
        match write {
            Write::Create(object) => {
                let target = target_of(targets, &object)?;
                cluster.call(&[], live::api(&cluster.client, target).create(&params(), &object)).await?;
            }
            Write::Replace(object) => {
                let target = target_of(targets, &object)?;
                cluster.call(&[], live::api(&cluster.client, target).replace(&target.name, &params(), &object)).await?;
            }
            Write::Delete { target, uid, resource_version } => {
                let preconditions = Preconditions { uid: Some(uid), resource_version: Some(resource_version) };
                let only_that = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
                cluster.call(&[], live::api(&cluster.client, &target).delete(&target.name, &only_that)).await?;
            }
        }
    }
    Ok(())
}

fn params() -> PostParams {
    PostParams { field_manager: Some(DIRECT_FIELD_MANAGER.to_owned()), ..PostParams::default() }
}

fn target_of<'t>(targets: &'t [Target], object: &DynamicObject) -> Result<&'t Target, CliError> {
    let name = object.name_any();
    let found = targets.iter().find(|target| target.name == name);
    found.ok_or_else(|| CliError::Said(format!("{name} is not an object of this route")))
}
