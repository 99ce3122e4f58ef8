//! What is compared of the end with that of the same run without faults, and what is not, with the reason.

use std::{collections::BTreeMap, sync::Arc};

use cutover::sandbox::api::Verb;
use serde_json::{Value, json};

use super::super::{
    judge::Written,
    plan::{Fault, Plan, sorts::BadCalls},
    routes::Weights,
    scenario::MEMBER_PATH,
    status::Status,
    world::{ROLLOUT, World},
};

/// What the end is, by object: what people declared, and what the hub made of it.
pub fn end_state(world: &World) -> BTreeMap<String, Value> {
    let uid = world.judge().uid().to_owned();
    let mut end = BTreeMap::new();
    let backends = world.judge().backends().clone();
    let form = world.scenario.form;
    let routes = world.scenario.routes.keys().flat_map(|route| form.names(route)).map(|name| form.path(&name));
    let services = backends.iter().map(|name| format!("/api/v1/namespaces/shop/services/{name}"));
    let members = world.scenario.members().iter().map(|name| format!("{MEMBER_PATH}/{name}"));
    for path in routes.chain(services).chain(members).chain([ROLLOUT.to_owned()]) {
        let object = world.object(&path).unwrap_or_default();
        for (part, value) in comparable(&object, &uid) {
            end.insert(format!("{part} of {}", path.rsplit('/').next().unwrap_or_default()), value);
        }
    }
    let rollout = Arc::new(world.object(ROLLOUT).unwrap_or_default());
    let status = Status::of(&rollout);
    for key in ["phase", "primary", "failedRevision", "observedGeneration"] {
        end.insert(format!("status.{key}"), status.field(key).clone());
    }
    end.insert("status.desired.weights".to_owned(), status.desired()["split"]["weights"].clone());
    end.insert("status.run.outcome".to_owned(), Value::from(status.outcome()));
    end.extend(made_and_removed(world));
    end
}

/// The objects that the hub created and deleted, each as often as it did. Events and requests have names of their own in
/// each run.
fn made_and_removed(world: &World) -> BTreeMap<String, Value> {
    let judge = world.judge();
    let written = judge.written.iter().filter(|((_, object), _)| !is_passing(object));
    let of = |verb: Verb| written.clone().filter(move |((found, _), _)| *found == verb);
    let named = |verb: Verb, what: &str| {
        of(verb)
            .map(|((_, object), times)| (format!("times that {object} was {what}"), json!(times)))
            .collect::<Vec<_>>()
    };
    named(Verb::Create, "created").into_iter().chain(named(Verb::Delete, "deleted")).collect()
}

fn is_passing(object: &str) -> bool {
    ["events/", "rolloutrequests/"].iter().any(|kind| object.starts_with(kind))
}

/// Spec, ports, labels, annotations, finalizers, owners and conditions. Left out of metadata: uid, times, resourceVersion
/// and managedFields, which are others in each run, and generation, which counts writes.
fn comparable(object: &Value, uid: &str) -> BTreeMap<&'static str, Value> {
    let metadata = &object["metadata"];
    let parts = [
        ("spec", object["spec"].clone()),
        ("labels", metadata["labels"].clone()),
        ("annotations", annotations(metadata)),
        ("finalizers", metadata["finalizers"].clone()),
        ("owners", metadata["ownerReferences"].clone()),
        ("conditions", conditions(&object["status"])),
        ("cluster", object["status"]["clusterId"].clone()),
        ("version", object["status"]["kubernetesVersion"].clone()),
    ];
    parts.into_iter().map(|(part, value)| (part, without_uid(value, uid))).collect()
}

/// The rollout has another uid with each seed; that it is named must not differ.
fn without_uid(value: Value, uid: &str) -> Value {
    match value {
        Value::String(text) if !uid.is_empty() => Value::String(text.replace(uid, "<uid>")),
        Value::Array(items) => items.into_iter().map(|item| without_uid(item, uid)).collect(),
        Value::Object(fields) => fields.into_iter().map(|(key, field)| (key, without_uid(field, uid))).collect(),
        other => other,
    }
}

/// The mark of a write: the hub's id is another with each seed; run and sequence count what was written, of which a fault
/// may cost more.
fn annotations(metadata: &Value) -> Value {
    let mut annotations = metadata["annotations"].clone();
    if let Some(Value::String(marks)) = annotations.get_mut("cutover.dev/write") {
        let masked = marks.split(' ').map(|mark| match mark.split('/').collect::<Vec<_>>()[..] {
            [_, rollout, _, _, rules] => format!("hub/{rollout}/run/sequence/{rules}"),
            _ => mark.to_owned(),
        });
        *marks = masked.collect::<Vec<_>>().join(" ");
    }
    annotations
}

/// Types, statuses and reasons. Messages and times tell how it came to this, which a fault may change.
fn conditions(status: &Value) -> Value {
    let conditions = status["conditions"].as_array().into_iter().flatten();
    conditions.map(|condition| json!([condition["type"], condition["status"], condition["reason"]])).collect()
}

pub fn differences(plan: &Plan, wanted: &BTreeMap<String, Value>, found: &BTreeMap<String, Value>) -> Vec<String> {
    let keys = wanted.keys().chain(found.keys().filter(|key| !wanted.contains_key(*key)));
    let masked = |value: Option<&Value>| value.cloned().map(|value| mask(plan, value));
    keys.filter(|key| masked(wanted.get(*key)) != masked(found.get(*key)))
        .map(|key| format!("end: {key} is {:?}, and {:?} without the fault", found.get(key), wanted.get(key)))
        .collect()
}

/// P25: a route that the data plane refused is written without the backends that have no weight.
fn mask(plan: &Plan, value: Value) -> Value {
    match value {
        _ if !matches!(plan.fault, Fault::DataPlane(_)) => value,
        Value::Array(items) => {
            let named = items.into_iter().filter(|item| item["weight"] != 0);
            named.map(|item| mask(plan, item)).collect()
        }
        Value::Object(fields) => fields.into_iter().map(|(key, field)| (key, mask(plan, field))).collect(),
        other => other,
    }
}

/// A fault may cost some writes more, and no object many.
pub fn too_many(plan: &Plan, wanted: &Written, found: &Written) -> Vec<String> {
    let long = !matches!(
        plan.fault,
        Fault::CrashAfter | Fault::CrashBefore | Fault::CrashPair | Fault::BadCalls(BadCalls::Once | BadCalls::Twice)
    );
    let more = |object: &str| if object.starts_with("fleetrollouts/") { 16 } else { 6 };
    let extra = |object: &str| more(object) * if long { 6 } else { 1 };
    found
        .iter()
        .filter(|((_, object), _)| !object.starts_with("events/"))
        .filter(|(key, count)| **count > wanted.get(*key).copied().unwrap_or(0) + extra(&key.1))
        .map(|(key, count)| {
            let (verb, object) = key;
            format!("count: {verb:?} of {object}: {count} times, {:?} without the fault", wanted.get(key))
        })
        .collect()
}

/// Two histories whose writes are no further apart, in seconds, are one.
const SAME_TIME: f64 = 1.0;

/// P26: what another tenant does changes no write to this one's routes, and delays none: where both runs have the same seed, and
/// so the same chances, their times are compared too.
pub fn otherwise(
    wanted: &[(f64, String, Weights)],
    found: &[(f64, String, Weights)],
    same_seed: bool,
) -> Option<String> {
    let same = |(one, other): (&(f64, String, Weights), &(f64, String, Weights))| {
        (&one.1, &one.2) == (&other.1, &other.2) && (!same_seed || (one.0 - other.0).abs() <= SAME_TIME)
    };
    let place = wanted.iter().zip(found).position(|pair| !same(pair));
    let place = place.or((wanted.len() != found.len()).then(|| wanted.len().min(found.len())))?;
    Some(format!("I13: another tenant changes the run: {:?}, and {:?} without it", found.get(place), wanted.get(place)))
}
