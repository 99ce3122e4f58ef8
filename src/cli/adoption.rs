//! `cutover adopt --dry-run`: what would be adopted, and what the first write would change.

use std::sync::Arc;

use kube::core::DynamicObject;
use serde_json::Value;

use super::{
    CliError, Exit, Output,
    cluster::Cluster,
    live,
    text::{escape, shares},
    view::View,
};
use crate::{
    api::{Distribution, Route},
    object::{Context, Target, Write},
    rollout::{
        input::{Mark, RouteSeen},
        plan::primary_and_canary,
    },
    route,
};

/// Shows every route as the hub would read it, and writes nothing.
pub(super) async fn rehearse(cluster: &Cluster, view: &View, out: &mut Output) -> Result<Exit, CliError> {
    let owner = live::Owner::of(cluster, view).await?;
    let run = view.status.last_run();
    let mark = Mark { hub: owner.hub.clone(), rollout: owner.uid.clone(), run, sequence: view.status.sequence + 1 };
    let mut exit = Exit::Done;
    for place in live::places(view)? {
        let context = owner.context(&place);
        for route in &place.service.routes {
            let objects = live::objects(cluster, &context, route).await?;
            let outlook = outlook(&context, route, &objects, &mark)?;
            out.text(&outlook.text)?;
            exit = if outlook.adoptable { exit } else { Exit::Held };
        }
    }
    out.line(NOTHING_WRITTEN)?;
    Ok(exit)
}

/// What ends every rehearsal.
pub(super) const NOTHING_WRITTEN: &str = "nothing was written";

/// A route as the hub would read it.
pub(super) struct Outlook {
    /// What it shows and what the first write would change, in lines.
    pub(super) text: String,
    pub(super) adoptable: bool,
}

/// One route as the hub would read it.
pub(super) fn outlook(
    context: &Context<'_>,
    route: &Route,
    objects: &[Option<Arc<DynamicObject>>],
    mark: &Mark,
) -> Result<Outlook, CliError> {
    let key = route::key(context.service, route);
    let yes = |said: String| Outlook { text: format!("{key}: {said}\n"), adoptable: true };
    let no = |said: &str| Outlook { text: format!("{key}: {}\n", escape(said)), adoptable: false };
    Ok(match route::read(context, route, objects) {
        RouteSeen::Live(seen) => {
            let weights = &seen.split.weights;
            let shown = shares(weights, context.total);
            if is_elsewhere(context, weights) {
                let service = &context.service.name;
                no(&format!("{shown}; bring it to Service {service} or to its primary first"))
            } else {
                let changes = first_write(context, route, objects, weights, mark)?;
                yes(format!("{shown} would become the primary\n{}", changes.trim_end()))
            }
        }
        RouteSeen::ToCreate => yes("does not exist; the hub would create it".to_owned()),
        RouteSeen::Unusable(problem) => no(&format!("{}: {}", problem.reason, problem.message)),
        RouteSeen::Unseen => yes("could not be read".to_owned()),
    })
}

/// In service mode a canary that has traffic may lead anywhere, and is no beginning.
fn is_elsewhere(context: &Context<'_>, weights: &Distribution) -> bool {
    !context.copies.is_empty() && !weights.same_as(&primary_and_canary(0, context.total))
}

/// The changes of the first write, one line for each field.
fn first_write(
    context: &Context<'_>,
    route: &Route,
    objects: &[Option<Arc<DynamicObject>>],
    weights: &Distribution,
    mark: &Mark,
) -> Result<String, CliError> {
    let writes = route::render(context, route, objects, &weights.into(), mark).map_err(CliError::said)?;
    let text = writes.into_iter().map(|write| changes(write, objects)).collect::<Result<String, _>>()?;
    Ok(if text.is_empty() { "  no field would change\n".to_owned() } else { text })
}

fn changes(write: Write, objects: &[Option<Arc<DynamicObject>>]) -> Result<String, CliError> {
    let Target { resource, name, .. } = write.target();
    let object = escape(&format!("{}/{name}", resource.kind));
    let after = match write {
        Write::Create(_) => return Ok(format!("  {object} would be made\n")),
        Write::Delete { .. } => return Ok(format!("  {object} would be removed\n")),
        Write::Replace(after) => after,
    };
    let before = objects.iter().filter_map(Option::as_deref).find(|object| object.metadata.name == after.metadata.name);
    let as_json = |object| serde_json::to_value(object).map_err(CliError::said);
    let before = before.map_or(Ok(Value::Null), as_json)?;
    Ok(difference(&before, &as_json(&after)?))
}

fn difference(before: &Value, after: &Value) -> String {
    let changes = json_patch::diff(&without_managers(before), &without_managers(after));
    let line = |change| serde_json::to_string(change).map(|line| format!("  {}\n", escape(&line))).unwrap_or_default();
    changes.iter().map(line).collect()
}

/// `managedFields` is maintained by the API server.
fn without_managers(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    object
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::difference;

    #[test]
    fn a_difference_names_the_changed_fields_alone() {
        let before = json!({"metadata": {"name": "public", "managedFields": []}, "spec": {"a": 1}});
        let after = json!({"metadata": {"name": "public", "annotations": {"x": "\u{202e}"}}, "spec": {"a": 1}});
        assert_eq!(
            difference(&before, &after),
            "  {\"op\":\"add\",\"path\":\"/metadata/annotations\",\"value\":{\"x\":\"\\u{202e}\"}}\n"
        );
    }
}
