//! Flagger's Canary, MetricTemplate and AlertProvider. A Canary of a Service becomes a rollout in service mode.

mod alert_provider;
mod alerts;
mod analysis;
mod builtin;
mod canary;
mod matches;
mod metric;
mod names;
mod provider;
mod route;
mod service;
mod strategy;
mod target;
mod template;
mod webhooks;

use std::collections::BTreeSet;

pub use self::provider::Provider;
use self::{alert_provider::AlertProvider, canary::Translation, template::Template};
use super::{
    Imported, Source, Translated,
    foreign::{self, Place},
    services::Services,
};

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
    alert_providers: Vec<AlertProvider<'f>>,
}

impl<'f> Known<'f> {
    /// A template; one that names no namespace is in that of the Canary.
    fn template(&self, namespace: Option<&str>, name: &str) -> Option<&Template<'f>> {
        self.templates.iter().find(|template| template.of.is_referred_to(namespace, name))
    }

    /// A provider of alerts; one that names no namespace is in that of the Canary.
    fn alert_provider(&self, namespace: Option<&str>, name: &str) -> Option<&AlertProvider<'f>> {
        self.alert_providers.iter().find(|provider| provider.of.is_referred_to(namespace, name))
    }

    /// What the object at a place becomes in a namespace.
    fn referred(&self, place: &Place, namespace: Option<&str>) -> Option<Translated> {
        let template = self.templates.iter().find(|template| template.of.place() == *place);
        let provider = self.alert_providers.iter().find(|provider| provider.of.place() == *place);
        template.and_then(|template| template.manifest(namespace)).or_else(|| provider?.manifest(namespace))
    }
}

/// The objects of the files in the order in which they stand there; a template before the first rollout that uses it.
pub(super) fn import(files: &[Source<'_>], options: Options) -> Imported {
    let (objects, refusals) = foreign::read(files);
    let mut imported = Imported { refusals, ..Imported::default() };
    let services = Services::among(&objects);
    let of_kind = |kind| objects.iter().filter(move |one| (one.group(), one.kind()) == (GROUP, kind));
    let templates: Vec<Template<'_>> = of_kind("MetricTemplate").map(Template::read).collect();
    let alert_providers: Vec<AlertProvider<'_>> = of_kind("AlertProvider").map(AlertProvider::read).collect();
    imported.refusals.extend(templates.iter().flat_map(|template| template.refusals.clone()));
    imported.refusals.extend(alert_providers.iter().flat_map(|provider| provider.refusals.clone()));
    let known = Known { options, services, templates, alert_providers };
    let mut written = BTreeSet::new();
    for object in &objects {
        match (object.group(), object.kind()) {
            (GROUP, "Canary") => imported.add_canary(canary::translation(object, &known), &known, &mut written),
            (GROUP, "MetricTemplate" | "AlertProvider") | ("", "Service") => {}
            _ => imported.passed_over.push(format!("{}/{}", object.kind(), object.name())),
        }
    }
    for object in of_kind("MetricTemplate").chain(of_kind("AlertProvider")) {
        let is_used = written.iter().any(|(_, place)| *place == object.place());
        imported.manifests.extend(known.referred(&object.place(), object.namespace()).filter(|_| !is_used));
    }
    imported
}

/// An object in the namespace of a rollout: the namespace, and where the object itself stands.
type Copied = (Option<String>, Place);

impl Imported {
    fn add_canary(&mut self, canary: Translation, known: &Known<'_>, written: &mut BTreeSet<Copied>) {
        self.refusals.extend(canary.refusals);
        for place in canary.refers_to {
            let manifest = known.referred(&place, canary.namespace.as_deref());
            if written.insert((canary.namespace.clone(), place)) {
                self.manifests.extend(manifest);
            }
        }
        self.manifests.extend(canary.manifest);
    }
}
