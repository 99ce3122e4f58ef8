//! The data plane: takes each generation of a route a moment after it was written, says so, and splits traffic by it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use cutover::sandbox::api::Change;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{plan::sorts::DataPlaneFault, world::seconds};
use says::Said;

mod says;

/// From a write to its taking.
const DELAY: f64 = 0.4;
/// How often a data plane with a fault looks at a route again.
const AGAIN: f64 = 1.0;

/// Weights by name. What requests that match get stands under the name with [`MATCHED`] behind it, and the part of all
/// requests of which it gets copies, in percent, under the name with [`COPIED`].
pub type Weights = BTreeMap<String, u32>;

/// Behind a name: its weight among the requests that match.
pub const MATCHED: char = '*';
/// Behind a name: what it gets copies of.
pub const COPIED: char = '+';

/// The name with nothing behind it.
pub fn plain(name: &str) -> &str {
    name.trim_end_matches([MATCHED, COPIED])
}

/// Namespace and name.
type Named = (String, String);

/// Of so many requests one matches, where a route looks for it.
const ONE_IN: u32 = 10;

/// What came of one look.
#[derive(Default)]
pub struct Step {
    /// The status to write for each route of which there is something new to say.
    pub news: Vec<(String, Value)>,
    /// A fault changed what is served or said.
    pub is_wrong: bool,
}

#[derive(Default)]
pub struct DataPlane {
    routes: BTreeMap<Named, Seen>,
    /// The member to which each Service leads, by its external name.
    leads: BTreeMap<Named, String>,
}

struct Seen {
    object: Arc<Value>,
    generation: i64,
    /// When its spec changed last.
    changed: Timestamp,
    due: Option<Timestamp>,
    taken: Weights,
    /// What was said of it last.
    said: Option<Value>,
}

/// The weights of a route by backend: those of its first rule, those of the rule for requests that match, and copies.
pub fn weights(route: &Value) -> Weights {
    let rules = route.pointer("/spec/rules").and_then(Value::as_array);
    let of = |rule: &Value| {
        let behind = if chooses(rule) { MATCHED.to_string() } else { String::new() };
        let backends = rule["backendRefs"].as_array().cloned().unwrap_or_default();
        let one = move |backend: Value| {
            let weight = backend["weight"].as_u64().unwrap_or(1);
            let name = backend["name"].as_str().unwrap_or_default();
            (format!("{name}{behind}"), u32::try_from(weight).unwrap_or(u32::MAX))
        };
        let copies = copied(rule).map(|name| (format!("{name}{COPIED}"), 100)).collect::<Vec<_>>();
        backends.into_iter().map(one).chain(copies)
    };
    // Those who are kept were sent by these weights too; a Service stands in a rule as often as it has users to keep.
    let mut weights = Weights::new();
    for (name, weight) in rules.into_iter().flatten().filter(|rule| !keeps(rule)).flat_map(of) {
        *weights.entry(name).or_default() += weight;
    }
    weights
}

/// The Services that get copies of a rule's requests.
fn copied(rule: &Value) -> impl Iterator<Item = &str> {
    rule["filters"].as_array().into_iter().flatten().filter_map(copies_to)
}

/// The Service to which a filter sends copies.
pub fn copies_to(filter: &Value) -> Option<&str> {
    filter.pointer("/requestMirror/backendRef/name").and_then(Value::as_str)
}

/// The rule is not for everybody.
pub fn chooses(rule: &Value) -> bool {
    let headers = |one: &Value| one["headers"].as_array().is_some_and(|headers| !headers.is_empty());
    rule["matches"].as_array().is_some_and(|matches| matches.iter().any(headers))
}

/// The rule is for users with a cookie.
pub fn keeps(rule: &Value) -> bool {
    let looks = |one: &Value| {
        one["headers"].as_array().is_some_and(|headers| headers.iter().any(|one| one["name"] == "Cookie"))
    };
    rule["matches"].as_array().is_some_and(|matches| matches.iter().any(looks))
}

/// Who gets the requests of a route.
#[derive(Default)]
pub struct Shares {
    /// Members that answer, with their parts.
    pub answer: Weights,
    /// Members that get a copy of each request.
    pub copied: BTreeSet<String>,
}

impl DataPlane {
    pub fn see(&mut self, change: &Change) {
        let named = (change.namespace.clone(), change.name.clone());
        if change.plural == "services" {
            let host = change.after.as_ref().and_then(|service| service["spec"]["externalName"].as_str());
            let member = host.and_then(|host| host.split('.').next()).unwrap_or_default();
            self.leads.insert(named.clone(), member.to_owned());
        }
        if change.plural != "httproutes" {
            return;
        }
        let Some(after) = &change.after else {
            self.routes.remove(&named);
            return;
        };
        let generation = after["metadata"]["generation"].as_i64().unwrap_or_default();
        let seen = self.routes.entry(named).or_insert_with(|| Seen {
            object: after.clone(),
            generation: 0,
            changed: change.at,
            due: None,
            taken: weights(after),
            said: None,
        });
        if seen.generation != generation {
            (seen.generation, seen.changed, seen.due) = (generation, change.at, Some(change.at + seconds(DELAY)));
        }
        seen.object = after.clone();
    }

    /// Looks at what is due.
    pub fn step(&mut self, now: Timestamp, fault: Option<DataPlaneFault>) -> Step {
        let mut step = Step::default();
        for ((namespace, name), seen) in &mut self.routes {
            if seen.due.is_none_or(|due| due > now) {
                continue;
            }
            let said = says::of(&seen.object, now.duration_since(seen.changed), fault);
            step.is_wrong |= said != says::of(&seen.object, now.duration_since(seen.changed), None);
            let Said { is_served, parents } = said;
            // What is wrong for a while is looked at until it is right.
            seen.due = fault.map(|_| now + seconds(AGAIN));
            if is_served {
                seen.taken = weights(&seen.object);
            }
            if let Some(parents) = parents.filter(|parents| seen.said.as_ref() != Some(parents)) {
                let path =
                    format!("/apis/gateway.networking.k8s.io/v1/namespaces/{namespace}/httproutes/{name}/status");
                step.news.push((path, json!({"status": {"parents": parents}})));
                seen.said = Some(parents);
            }
        }
        step
    }

    /// How each route splits traffic among members now.
    pub fn shares(&self) -> BTreeMap<String, Shares> {
        let by_member = |namespace: &str, taken: &Weights| {
            let mut shares = Shares::default();
            let some_match = taken.keys().any(|backend| backend.ends_with(MATCHED));
            for (backend, weight) in taken {
                let parts = if some_match && !backend.ends_with(MATCHED) { ONE_IN - 1 } else { 1 };
                let service = (namespace.to_owned(), plain(backend).to_owned());
                let leads = self.leads.get(&service).cloned().unwrap_or_default();
                if backend.ends_with(COPIED) {
                    shares.copied.insert(leads);
                } else {
                    *shares.answer.entry(leads).or_default() += weight * parts;
                }
            }
            shares
        };
        let shown = |((namespace, name), seen): (&Named, &Seen)| (name.clone(), by_member(namespace, &seen.taken));
        self.routes.iter().map(shown).collect()
    }
}
