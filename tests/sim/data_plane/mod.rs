//! The data plane: takes what is written of a route a moment later, says so where it can, and splits traffic by it.

use std::collections::{BTreeMap, BTreeSet};

use cutover::sandbox::api::Change;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    plan::sorts::DataPlaneFault,
    routes::{COPIED, Form, MATCHED, Objects, Stored, Weights, plain},
    world::seconds,
};
use says::Said;

mod says;

/// How often a data plane with a fault looks at a route again.
const AGAIN: f64 = 1.0;

/// Namespace and name.
type Named = (String, String);

/// Of so many requests one matches, where a route looks for it.
const ONE_IN: u32 = 10;

/// What came of one look.
#[derive(Default)]
pub struct Step {
    /// The status to write for each route of which there is something new to say.
    pub news: Vec<(String, Value)>,
    /// The routes that it takes now as they are, each with its namespace.
    pub taken: Vec<(String, String)>,
    /// A fault changed what is served or said.
    pub is_wrong: bool,
}

pub struct DataPlane {
    form: &'static dyn Form,
    stored: Stored,
    routes: BTreeMap<Named, Seen>,
    /// The member to which each Service leads, by its external name.
    leads: BTreeMap<Named, String>,
}

struct Seen {
    written: Split,
    /// When that changed last.
    changed: Timestamp,
    due: Option<Timestamp>,
    taken: Split,
    /// What was said of it last.
    said: Option<Value>,
}

/// What a route is for traffic.
#[derive(Clone, Default, PartialEq)]
struct Split {
    generation: i64,
    weights: Weights,
    /// Members to which the route leads backends itself.
    leads: BTreeMap<String, String>,
}

impl Split {
    fn of(form: &dyn Form, objects: Objects<'_>) -> Self {
        let weights = form.served(objects);
        let lead = |name: &String| Some((plain(name).to_owned(), member(&form.host_of(objects, plain(name))?)));
        let leads = weights.keys().filter_map(lead).collect();
        let generation = objects.first().and_then(|object| object["metadata"]["generation"].as_i64());
        Self { generation: generation.unwrap_or_default(), weights, leads }
    }
}

/// The member whose host this is.
pub fn member(host: &str) -> String {
    host.split('.').next().unwrap_or_default().to_owned()
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
    pub fn new(form: &'static dyn Form) -> Self {
        Self { form, stored: Stored::new(form), routes: BTreeMap::new(), leads: BTreeMap::new() }
    }

    pub fn see(&mut self, change: &Change) {
        if change.plural == "services" {
            let host = change.after.as_ref().and_then(|service| service["spec"]["externalName"].as_str());
            self.leads.insert((change.namespace.clone(), change.name.clone()), member(host.unwrap_or_default()));
        }
        let Some(route) = self.stored.see(change) else { return };
        let named = (change.namespace.clone(), route.to_owned());
        let Some(objects) = self.stored.of(&change.namespace, route) else {
            self.routes.remove(&named);
            return;
        };
        let written = Split::of(self.form, &objects);
        let seen = self.routes.entry(named).or_insert_with(|| Seen {
            written: Split::default(),
            changed: change.at,
            due: None,
            taken: written.clone(),
            said: None,
        });
        if seen.written != written {
            (seen.written, seen.changed, seen.due) = (written, change.at, Some(self.form.due(change.at)));
        }
    }

    /// Looks at what is due.
    pub fn step(&mut self, now: Timestamp, fault: Option<DataPlaneFault>) -> Step {
        let mut step = Step::default();
        if self.stored.is_frozen() {
            step.is_wrong = self.routes.values().any(|seen| seen.due.is_some_and(|due| due <= now));
            return step;
        }
        for ((namespace, name), seen) in &mut self.routes {
            if seen.due.is_none_or(|due| due > now) {
                continue;
            }
            let objects = self.stored.of(namespace, name).unwrap_or_default();
            let Some(object) = objects.first() else { continue };
            let says = |fault| says::of(self.form, object, now.duration_since(seen.changed), fault);
            let said = says(fault);
            step.is_wrong |= said != says(None);
            let Said { is_served, status } = said;
            // What is wrong for a while is looked at until it is right.
            seen.due = fault.map(|_| now + seconds(AGAIN));
            if is_served {
                seen.taken = seen.written.clone();
                step.taken.push((namespace.clone(), name.clone()));
            }
            if let Some(status) = status.filter(|status| seen.said.as_ref() != Some(status)) {
                let path = format!("{}/{name}/status", self.form.collection(namespace));
                step.news.push((path, json!({"status": status})));
                seen.said = Some(status);
            }
        }
        step
    }

    /// How each route splits traffic among members now.
    pub fn shares(&self) -> BTreeMap<String, Shares> {
        let by_member = |namespace: &str, taken: &Split| {
            let mut shares = Shares::default();
            let some_match = taken.weights.keys().any(|backend| backend.ends_with(MATCHED));
            for (backend, weight) in &taken.weights {
                let parts = if some_match && !backend.ends_with(MATCHED) { ONE_IN - 1 } else { 1 };
                let service = (namespace.to_owned(), plain(backend).to_owned());
                let leads = taken.leads.get(&service.1).or_else(|| self.leads.get(&service)).cloned();
                if backend.ends_with(COPIED) {
                    shares.copied.insert(leads.unwrap_or_default());
                } else {
                    *shares.answer.entry(leads.unwrap_or_default()).or_default() += weight * parts;
                }
            }
            shares
        };
        let shown = |((namespace, name), seen): (&Named, &Seen)| (name.clone(), by_member(namespace, &seen.taken));
        self.routes.iter().map(shown).collect()
    }
}
