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
    object::{Context, Write},
    rollout::input::{Mark, RouteSeen},
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
            out.text(&format!("{}: ", route::key(&place.service, route)))?;
            match route::read(&context, route, &objects) {
                RouteSeen::Live(seen) => {
                    out.line(format!("{} would become the primary", shares(&seen.split.weights, view.total())))?;
                    out.text(&first_write(&context, route, &objects, &seen.split.weights, &mark)?)?;
                }
                RouteSeen::ToCreate => out.line("does not exist; the hub would create it")?,
                RouteSeen::Unusable(problem) => {
                    exit = Exit::Held;
                    out.line(escape(&format!("{}: {}", problem.reason, problem.message)))?;
                }
                RouteSeen::Unseen => out.line("could not be read")?,
            }
        }
    }
    out.line("nothing was written")?;
    Ok(exit)
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
    let mut text = String::new();
    for write in writes {
        let Write::Replace(after) = write else { continue };
        let before =
            objects.iter().filter_map(Option::as_deref).find(|object| object.metadata.name == after.metadata.name);
        let as_json = |object| serde_json::to_value(object).map_err(CliError::said);
        let before = before.map_or(Ok(Value::Null), as_json)?;
        text.push_str(&difference(&before, &as_json(&after)?));
    }
    Ok(if text.is_empty() { "  no field would change\n".to_owned() } else { text })
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
