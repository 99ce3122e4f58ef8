//! Rollout, AnalysisTemplate and ClusterAnalysisTemplate of Argo Rollouts: the part about traffic, as service mode.

mod analysis;
mod arguments;
mod condition;
mod istio;
mod rollout;
mod routing;
mod steps;
mod strategy;
mod template;

use self::template::Templates;
use super::{Imported, Source, foreign, services::Services};

const GROUP: &str = "argoproj.io";

/// What Rollouts refer to.
struct Known<'f> {
    services: Services<'f>,
    templates: Templates<'f>,
}

/// The Rollouts of the files, in their order.
pub(super) fn import(files: &[Source<'_>]) -> Imported {
    let (objects, refusals) = foreign::read(files);
    let mut imported = Imported { refusals, ..Imported::default() };
    let known = Known { services: Services::among(&objects), templates: Templates::among(&objects) };
    for object in &objects {
        match (object.group(), object.kind()) {
            (GROUP, "Rollout") => {
                let (manifest, refusals) = rollout::translation(object, &known);
                imported.manifests.extend(manifest);
                imported.refusals.extend(refusals);
            }
            (GROUP, "AnalysisTemplate" | "ClusterAnalysisTemplate") | ("", "Service") => {}
            _ => imported.passed_over.push(format!("{}/{}", object.kind(), object.name())),
        }
    }
    imported
}
