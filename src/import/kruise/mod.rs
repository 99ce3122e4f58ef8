//! Rollout and TrafficRouting of Kruise Rollouts: the part about traffic, as service mode.

mod matches;
mod rollout;
mod routing;
mod steps;

use super::{
    Imported, Source,
    foreign::{self, Foreign},
    services::Services,
};

const GROUP: &str = "rollouts.kruise.io";

/// What Rollouts refer to.
struct Known<'f> {
    services: Services<'f>,
    routings: Vec<&'f Foreign>,
}

impl<'f> Known<'f> {
    fn routing(&self, namespace: Option<&str>, name: &str) -> Option<&'f Foreign> {
        self.routings.iter().copied().find(|routing| routing.name() == name && routing.namespace() == namespace)
    }
}

/// The Rollouts of the files, in their order.
pub(super) fn import(files: &[Source<'_>]) -> Imported {
    let (objects, refusals) = foreign::read(files);
    let mut imported = Imported { refusals, ..Imported::default() };
    let routings = objects.iter().filter(|one| (one.group(), one.kind()) == (GROUP, "TrafficRouting")).collect();
    let known = Known { services: Services::among(&objects), routings };
    for object in &objects {
        match (object.group(), object.kind()) {
            (GROUP, "Rollout") => {
                let (manifest, refusals) = rollout::translation(object, &known);
                imported.manifests.extend(manifest);
                imported.refusals.extend(refusals);
            }
            (GROUP, "TrafficRouting") | ("", "Service") => {}
            _ => imported.passed_over.push(format!("{}/{}", object.kind(), object.name())),
        }
    }
    imported
}
