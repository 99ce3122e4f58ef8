//! A small API server: enough of one to see what writes do, one after the other.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::api::{Split, Steering};
use crate::object::{AllowedHosts, Mesh};

pub(super) const UID: &str = "uid-1";

/// One form of route, its objects, and a rollout.
pub(super) struct World {
    pub form: Form,
    pub objects: Vec<Option<DynamicObject>>,
    pub total: u32,
    pub uid: String,
    version: u64,
}

/// A split among eu-1, eu-2 and eu-3; who has nothing is left out.
pub(super) fn distribution(split: [u32; 3], unit: u32) -> Distribution {
    let members = ["eu-1", "eu-2", "eu-3"].map(str::to_owned);
    members
        .into_iter()
        .zip(split)
        .filter(|(_, weight)| *weight > 0)
        .map(|(member, weight)| (member, weight * unit))
        .collect()
}

/// Weights, and requests that are steered beside them.
pub(super) fn steered(weights: &Distribution, steering: &Steering) -> Split {
    Split { steering: Some(steering.clone()), ..weights.into() }
}

/// Parses a fixture.
pub(super) fn object(yaml: &str) -> DynamicObject {
    let value: Value = serde_yaml::from_str(yaml).unwrap();
    serde_json::from_value(value).unwrap()
}

impl World {
    pub(super) fn new(form: Form, total: u32) -> Self {
        let mut world = Self { objects: Vec::new(), total, uid: UID.to_owned(), version: 1, form };
        let targets = targets(&world.context(), &world.form.route);
        let find = |target: &Target| world.form.objects.iter().find(|object| object.name_any() == target.name).cloned();
        world.objects = targets.iter().map(find).collect();
        world
    }

    pub(super) fn context(&self) -> Context<'_> {
        Context {
            namespace: "shop",
            rollout: "fleet",
            uid: &self.uid,
            hub: "hub-1",
            service: &self.form.service,
            total: self.total,
            endpoints: &self.form.endpoints,
            copies: &self.form.copies,
            allowed_hosts: AllowedHosts::none(),
            neighbours: &self.form.neighbours,
            mesh: &Mesh::NotKnown,
        }
    }

    pub(super) fn mark(&self, sequence: u64) -> Mark {
        Mark { hub: "hub-1".to_owned(), rollout: self.uid.clone(), run: 1, sequence }
    }

    pub(super) fn read(&self) -> RouteSeen {
        read(&self.context(), &self.form.route, &shared(&self.objects))
    }

    pub(super) fn live(&self) -> LiveRoute {
        match self.read() {
            RouteSeen::Live(live) => *live,
            other => panic!("{}: {other:?}", self.form.name),
        }
    }

    pub(crate) fn weights(&self) -> Distribution {
        self.live().split.weights.nonzero()
    }

    pub(crate) fn attempt(&self, split: impl Into<Split>, sequence: u64) -> Result<Vec<Write>, RouteError> {
        render(&self.context(), &self.form.route, &shared(&self.objects), &split.into(), &self.mark(sequence))
    }

    pub(crate) fn render(&self, split: impl Into<Split>, sequence: u64) -> Vec<Write> {
        match self.attempt(split, sequence) {
            Ok(writes) => writes,
            Err(error) => panic!("{}: {error}", self.form.name),
        }
    }

    pub(crate) fn try_with(&mut self, weights: &Distribution, steering: &Steering, sequence: u64) {
        for write in self.render(steered(weights, steering), sequence) {
            self.apply(write);
        }
    }

    pub(crate) fn entry(&self, weights: &Distribution, sequence: u64) -> Entry {
        match entry(&self.context(), &self.form.route, &shared(&self.objects), &weights.into(), &self.mark(sequence)) {
            Ok(entry) => entry,
            Err(error) => panic!("{}: {error}", self.form.name),
        }
    }

    pub(super) fn write(&mut self, weights: &Distribution, sequence: u64) {
        for write in self.render(weights, sequence) {
            self.apply(write);
        }
    }

    pub(super) fn release(&mut self, policy: DeletionPolicy) {
        let writes = release(&self.context(), &self.form.route, &shared(&self.objects), policy).unwrap();
        for write in writes {
            self.apply(write);
        }
    }

    /// Does one write, as an API server would.
    pub(super) fn apply(&mut self, write: Write) {
        let (name, object) = match write {
            Write::Create(mut object) => {
                object.metadata.uid = Some(format!("uid-of-{}", object.name_any()));
                (object.name_any(), Some(object))
            }
            Write::Replace(object) => {
                assert_eq!(
                    object.resource_version(),
                    self.find(&object.name_any()).and_then(ResourceExt::resource_version),
                    "a conflict"
                );
                (object.name_any(), Some(object))
            }
            Write::Delete { target, uid, resource_version } => {
                let live = self.find(&target.name).map(|live| (live.uid(), live.resource_version()));
                assert_eq!(live, Some((Some(uid), Some(resource_version))), "a conflict");
                (target.name, None)
            }
        };
        self.version += 1;
        let index = targets(&self.context(), &self.form.route).iter().position(|target| target.name == name).unwrap();
        let object = object.map(|mut object| {
            object.metadata.resource_version = Some(self.version.to_string());
            object
        });
        self.objects[index] = object;
    }

    pub(super) fn find(&self, name: &str) -> Option<&DynamicObject> {
        self.objects.iter().flatten().find(|object| object.name_any() == name)
    }

    /// The objects with one text in place of another.
    pub(super) fn renamed(mut self, from: &str, to: &str) -> Self {
        let within = |text: &str| {
            text.replace(&format!("\"{from}\""), &format!("\"{to}\""))
                .replace(&format!("\\\"{from}\\\""), &format!("\\\"{to}\\\""))
        };
        for object in self.objects.iter_mut().flatten() {
            *object = serde_json::from_str(&within(&serde_json::to_string(object).unwrap())).unwrap();
        }
        self
    }

    /// Somebody else annotates every object that is there.
    pub(super) fn annotate(&mut self, note: &str) {
        for object in self.objects.iter_mut().flatten() {
            object.annotations_mut().insert(note.to_owned(), note.to_owned());
        }
    }

    /// All texts that begin with `foreign`, but for those that are only kept for `Revert`.
    pub(super) fn foreign(&self) -> BTreeSet<String> {
        let mut objects = self.objects.clone();
        objects
            .iter_mut()
            .flatten()
            .for_each(|object| drop(object.annotations_mut().remove(crate::api::ORIGINAL_ANNOTATION)));
        let text = serde_json::to_string(&objects).unwrap();
        text.split(['"', '\\']).filter(|part| part.starts_with("foreign")).map(str::to_owned).collect()
    }

    /// The objects without what the API server writes.
    pub(super) fn contents(&self) -> BTreeMap<String, Value> {
        let content = |object: &DynamicObject| {
            let mut object = object.clone();
            object.metadata.resource_version = None;
            object.metadata.annotations = object.metadata.annotations.filter(|annotations| !annotations.is_empty());
            (object.name_any(), serde_json::to_value(object).unwrap())
        };
        self.objects.iter().flatten().map(content).collect()
    }
}
