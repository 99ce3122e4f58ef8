//! `cutover get`: all rollouts as a table, or one as a tree.

mod head;
pub(super) mod list;
mod tree;

#[cfg(test)]
mod tests;

use clap::ValueEnum;
use clap_complete::ArgValueCompleter;
use jiff::Timestamp;
use kube::{
    Api,
    api::ListParams,
    core::{ApiResource, DynamicObject, ObjectList},
};

use self::list::Rollouts;
use super::{
    CliError, Exit, Output, access,
    cluster::{Cluster, Connection},
    complete, connection,
    text::Page,
    view::View,
    watch::{Picture, watch},
};
use crate::api::FleetRollout;

/// Show all rollouts, or one with its members, weights and verdicts.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  cutover get -A
  cutover get shop -n shop
  cutover get shop -n shop --watch
  cutover get shop -n shop -o yaml

Exit status with a NAME: 0 succeeded or nothing to do, 1 error, 2 failed or rolled back, 3 held or waiting for a
person, or unfinished while the hub is silent, 4 in progress. With --watch, that of what was shown last.
Without a NAME: 0 listed, 1 error.")]
pub(super) struct Get {
    /// The rollout; default: all of the namespace.
    #[arg(value_parser = connection::rollout_name, add = ArgValueCompleter::new(complete::rollouts))]
    name: Option<String>,
    /// All namespaces.
    #[arg(long, short = 'A', conflicts_with = "name")]
    all_namespaces: bool,
    /// Read and draw it again every second, until interrupted; where the output is no terminal, print every change.
    #[arg(long, short, conflicts_with = "output")]
    watch: bool,
    /// Output format; `wide` shows every column, however wide the terminal is.
    #[arg(long, short)]
    output: Option<Shape>,
    #[command(flatten)]
    connection: Connection,
}

/// How it is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Shape {
    /// The object as stored in the API server.
    Json,
    /// The object as stored in the API server.
    Yaml,
    /// For people, with every column.
    Wide,
}

impl Get {
    pub(super) fn run(self, out: &mut Output) -> Result<Exit, CliError> {
        let Self { name, all_namespaces, watch, output, connection } = self;
        connection.run(async |cluster| match name {
            None if watch => Box::pin(watch_all(&cluster, all_namespaces, out)).await,
            None => list(&cluster, all_namespaces, output, out).await,
            Some(name) if watch => Box::pin(watch_one(&cluster, &name, out)).await,
            Some(name) => Box::pin(one(&cluster, &name, output, out)).await,
        })
    }
}

async fn list(cluster: &Cluster, everywhere: bool, shape: Option<Shape>, out: &mut Output) -> Result<Exit, CliError> {
    match shape {
        Some(Shape::Json) => out.json(&stored(cluster, everywhere).await?)?,
        Some(Shape::Yaml) => out.yaml(&stored(cluster, everywhere).await?)?,
        None | Some(Shape::Wide) => {
            let rollouts = rollouts(cluster, everywhere).await?;
            if rollouts.objects.is_empty() && !everywhere {
                out.line(format!("no rollouts in namespace {}; all namespaces: cutover get -A", cluster.namespace))?;
                return Ok(Exit::Done);
            }
            out.screen(&list::render(&rollouts, Page { wide: shape.is_some(), ..out.page() }))?;
        }
    }
    Ok(Exit::Done)
}

/// The rollouts as the API server stores them.
async fn stored(cluster: &Cluster, everywhere: bool) -> Result<ObjectList<DynamicObject>, CliError> {
    let (client, kind) = (cluster.client.clone(), ApiResource::erase::<FleetRollout>(&()));
    let api: Api<DynamicObject> =
        if everywhere { Api::all_with(client, &kind) } else { Api::namespaced_with(client, &cluster.namespace, &kind) };
    cluster.call(access::READ, api.list(&ListParams::default())).await
}

async fn rollouts(cluster: &Cluster, everywhere: bool) -> Result<Rollouts, CliError> {
    let (stored, lease) = tokio::join!(stored(cluster, everywhere), cluster.lease());
    Ok(Rollouts { objects: stored?.items, lease, everywhere, now: Timestamp::now() })
}

async fn one(cluster: &Cluster, name: &str, shape: Option<Shape>, out: &mut Output) -> Result<Exit, CliError> {
    let rollout = cluster.rollout(name).await?;
    match shape {
        Some(Shape::Json) => out.json(&rollout)?,
        Some(Shape::Yaml) => out.yaml(&rollout)?,
        None | Some(Shape::Wide) => {
            let view = cluster.view(rollout).await?;
            out.screen(&render(&view, Page { wide: shape.is_some(), ..out.page() }))?;
            return Ok(view.exit());
        }
    }
    Ok(View::new(rollout, cluster.lease().await, Timestamp::now()).exit())
}

async fn watch_all(cluster: &Cluster, everywhere: bool, out: &mut Output) -> Result<Exit, CliError> {
    let read = async || rollouts(cluster, everywhere).await.map(Some);
    watch(out, "", read, |rollouts, now, page| {
        let rollouts = Rollouts { now, ..rollouts.clone() };
        let versions = rollouts.objects.iter().map(|object| object.metadata.resource_version.as_deref());
        let state = format!("{:?}{}", versions.collect::<Vec<_>>(), rollouts.lease.at(now).is_silent());
        Picture { text: list::render(&rollouts, page), state, exit: Exit::Done }
    })
    .await
}

async fn watch_one(cluster: &Cluster, name: &str, out: &mut Output) -> Result<Exit, CliError> {
    let read = async || {
        let api = cluster.api::<FleetRollout>();
        match cluster.call(access::READ, api.get_opt(name)).await? {
            Some(rollout) => cluster.view(rollout).await.map(Some),
            None => Ok(None),
        }
    };
    watch(out, &format!("fleetrollout {name} does not exist (any more)"), read, |view: &View, now, page| {
        let view = view.at(now);
        let shown: Vec<_> = view.routes.iter().map(|route| route.weights()).collect();
        let (version, silent) = (&view.rollout.metadata.resource_version, view.hub().is_silent());
        let state = format!("{version:?}{silent}{shown:?}");
        Picture { text: render(&view, page), state, exit: view.exit() }
    })
    .await
}

/// The tree of one rollout.
pub(super) fn render(view: &View, page: Page) -> String {
    let (name, namespace) = (view.name(), view.namespace());
    format!("{}\n{}more: cutover why {name} -n {namespace}\n", head::render(view, page), tree::render(view, page))
}
