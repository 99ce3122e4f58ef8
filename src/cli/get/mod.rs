//! `cutover get`: all rollouts as a table, or one as a tree.

mod head;
mod list;
mod tree;

#[cfg(test)]
mod tests;

use clap::ValueEnum;
use kube::{
    Api,
    api::ListParams,
    core::{ApiResource, DynamicObject},
    runtime::watcher,
};

use super::{
    CliError, Exit, Output, access,
    cluster::{Cluster, Connection},
    view::View,
};
use crate::api::FleetRollout;

/// Show all rollouts, or one with its members, weights and verdicts.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  cutover get -A
  cutover get shop -n shop
  cutover get shop -n shop --watch
  cutover get shop -n shop -o yaml

Exit status with a NAME: 0 succeeded or nothing to do, 1 error, 2 failed or rolled back,
3 held or waiting for a person, 4 in progress.")]
pub(super) struct Get {
    /// The rollout; default: all of the namespace.
    name: Option<String>,
    /// All namespaces.
    #[arg(long, short = 'A', conflicts_with = "name")]
    all_namespaces: bool,
    /// Show every change, until interrupted.
    #[arg(long, short, requires = "name", conflicts_with = "output")]
    watch: bool,
    /// Output format; `wide` shows every metric and needs more than 100 columns.
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
            None => list(&cluster, all_namespaces, output, out).await,
            Some(name) if watch => Box::pin(redraw(&cluster, &name, out)).await,
            Some(name) => {
                let rollout = cluster.rollout(&name).await?;
                one(&cluster, rollout, output, out).await
            }
        })
    }
}

async fn list(cluster: &Cluster, everywhere: bool, shape: Option<Shape>, out: &mut Output) -> Result<Exit, CliError> {
    let (client, kind) = (cluster.client.clone(), ApiResource::erase::<FleetRollout>(&()));
    let api: Api<DynamicObject> =
        if everywhere { Api::all_with(client, &kind) } else { Api::namespaced_with(client, &cluster.namespace, &kind) };
    let rollouts = cluster.call(access::READ, api.list(&ListParams::default())).await?;
    match shape {
        Some(Shape::Json) => out.json(&rollouts)?,
        Some(Shape::Yaml) => out.yaml(&rollouts)?,
        None | Some(Shape::Wide) => {
            out.text(&list::render(&rollouts.items, everywhere, shape.is_some(), jiff::Timestamp::now()))?;
        }
    }
    Ok(Exit::Done)
}

async fn one(
    cluster: &Cluster,
    rollout: FleetRollout,
    shape: Option<Shape>,
    out: &mut Output,
) -> Result<Exit, CliError> {
    match shape {
        Some(Shape::Json) => out.json(&rollout)?,
        Some(Shape::Yaml) => out.yaml(&rollout)?,
        None | Some(Shape::Wide) => {
            let view = cluster.view(rollout).await?;
            out.text(&render(&view, shape.is_some()))?;
            return Ok(view.exit());
        }
    }
    Ok(View::alone(rollout).exit())
}

/// Shows every change; a terminal is cleared before each. Ends when the rollout is deleted.
async fn redraw(cluster: &Cluster, name: &str, out: &mut Output) -> Result<Exit, CliError> {
    let mut changes = Box::pin(watcher::watch_object(cluster.api::<FleetRollout>(), name));
    loop {
        let Some(rollout) = cluster.next(access::READ, &mut changes).await? else {
            return Err(CliError::Said(format!("fleetrollout {name} does not exist (any more)")));
        };
        let view = cluster.view(rollout).await?;
        out.clear()?;
        out.text(&render(&view, false))?;
    }
}

/// The tree of one rollout.
fn render(view: &View, wide: bool) -> String {
    let (name, namespace) = (view.name(), view.namespace());
    format!("{}\n{}more: cutover why {name} -n {namespace}\n", head::render(view), tree::render(view, wide))
}
