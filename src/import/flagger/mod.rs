//! Flagger's Canary, MetricTemplate and AlertProvider. A Canary of a Service becomes a rollout in service mode.

mod alerts;
mod analysis;
mod builtin;
mod canary;
mod matches;
mod metric;
mod provider;
mod route;
mod service;
mod strategy;
mod target;
mod template;
mod webhooks;

use std::collections::BTreeSet;

pub use self::provider::Provider;
use self::{canary::Translation, template::Template};
use super::{Imported, Source, foreign, services::Services};

const GROUP: &str = "flagger.app";

/// How Canaries are translated.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// The provider of Canaries that name none.
    pub provider: Provider,
    /// Let the hub create the routes, instead of adopting those that Flagger made.
    pub create_routes: bool,
}

/// What Canaries refer to.
struct Known<'f> {
    options: Options,
    services: Services<'f>,
    templates: Vec<Template<'f>>,
}

impl<'f> Known<'f> {
    /// A template; one that names no namespace is in that of the Canary.
    fn template(&self, namespace: Option<&str>, name: &str) -> Option<&Template<'f>> {
        let is_it = |template: &&Template<'_>| {
            let own = template.of.namespace();
            template.of.name() == name && (own == namespace || own.is_none())
        };
        self.templates.iter().find(is_it)
    }
}

/// The objects of the files in the order in which they stand there; a template before the first rollout that uses it.
pub(super) fn import(files: &[Source<'_>], options: Options) -> Imported {
    let (objects, refusals) = foreign::read(files);
    let mut imported = Imported { refusals, ..Imported::default() };
    let services = Services::among(&objects);
    let templates = objects.iter().filter(|one| (one.group(), one.kind()) == (GROUP, "MetricTemplate"));
    let templates: Vec<Template<'_>> = templates.map(Template::read).collect();
    imported.refusals.extend(templates.iter().flat_map(|template| template.refusals.clone()));
    let known = Known { options, services, templates };
    let mut written = BTreeSet::new();
    for object in &objects {
        match (object.group(), object.kind()) {
            (GROUP, "Canary") => imported.add_canary(canary::translation(object, &known), &known, &mut written),
            (GROUP, "AlertProvider") => imported.manifests.push(alerts::provider(object)),
            (GROUP, "MetricTemplate") | ("", "Service") => {}
            _ => imported.passed_over.push(format!("{}/{}", object.kind(), object.name())),
        }
    }
    for template in &known.templates {
        let is_used = written.iter().any(|(_, place)| *place == template.place());
        imported.manifests.extend(template.manifest(template.of.namespace()).filter(|_| !is_used));
    }
    imported
}

/// A template in the namespace of a rollout: the namespace, and where the template itself stands.
type Copied = (Option<String>, (String, u64));

impl Imported {
    fn add_canary(&mut self, canary: Translation, known: &Known<'_>, written: &mut BTreeSet<Copied>) {
        self.refusals.extend(canary.refusals);
        for place in canary.templates {
            let Some(template) = known.templates.iter().find(|template| template.place() == place) else { continue };
            if written.insert((canary.namespace.clone(), place)) {
                self.manifests.extend(template.manifest(canary.namespace.as_deref()));
            }
        }
        self.manifests.extend(canary.manifest);
    }
}
