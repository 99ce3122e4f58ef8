//! ConfigMaps and Secrets of the workloads behind the services: they belong to the revision.

use std::collections::BTreeMap;

use super::{
    draft::Draft,
    input::{ConfigsSeen, Problem, SourceSeen},
};
use crate::api::{
    FleetRolloutSpec, Mode, Reason, ServiceSpec,
    fingerprint::fingerprint,
    track::{Configs, Site},
};

/// A status must stay small: about a hundred bytes for each.
const MOST: usize = 256;

/// The clusters in which the workloads behind the services run, each with the service: in member mode those that are declared to
/// have traffic, in service mode where the users' Services lead, as far as these are known.
#[must_use]
pub fn tracked<'s>(
    spec: &'s FleetRolloutSpec,
    sources: &BTreeMap<String, SourceSeen>,
) -> Vec<(&'s ServiceSpec, Result<Site, Problem>)> {
    let of = |service: &'s ServiceSpec| match spec.mode() {
        Mode::Member => {
            let carrying = spec.members.iter().filter(|member| member.weight > 0);
            carrying.map(|member| (service, Ok(Site::Member(member.name.clone())))).collect()
        }
        Mode::Service => match sources.get(&service.name) {
            Some(SourceSeen::Found(copy)) => vec![(service, copy.site().ok_or_else(|| no_site(service)))],
            Some(SourceSeen::Unusable(_)) | None => Vec::new(),
        },
    };
    spec.services.iter().filter(|service| service.track.is_some()).flat_map(of).collect()
}

fn no_site(service: &ServiceSpec) -> Problem {
    let message = format!(
        "Service {}: it has neither a selector nor the annotation {}, so nobody knows where the workloads of its `track` run: \
         add one, or remove `track`",
        service.name,
        crate::api::copy::LEADS_TO_ANNOTATION
    );
    Problem::new(Reason::ConfigsUnknown, message)
}

/// Outside a run nothing is decided before they have been read for the first time, or could not be.
pub(super) fn awaited(draft: &Draft<'_>) -> bool {
    let is_unread = |(service, site): (&ServiceSpec, Result<Site, Problem>)| {
        site.is_ok_and(|site| !draft.input.seen.configs.contains_key(&(service.name.clone(), site)))
    };
    let decides = draft.run().is_none() && !draft.input.deleting && !draft.input.spec.suspend;
    decides && tracked(draft.input.spec, &draft.input.seen.sources).into_iter().any(is_unread)
}

/// What they are now. Of a cluster where that is not known they are what the run, or what passed last, recorded.
pub(super) fn configs(draft: &Draft<'_>) -> Configs {
    let promoted = || draft.status.promoted.as_ref().map(|promoted| &promoted.configs);
    let recorded = draft.run().map(|run| &run.configs).or_else(promoted);
    let mut all = Configs::default();
    for (service, site) in tracked(draft.input.spec, &draft.input.seen.sources) {
        let Ok(site) = site else { continue };
        match draft.input.seen.configs.get(&(service.name.clone(), site.clone())) {
            Some(ConfigsSeen::Found(found)) => all.extend(found),
            Some(ConfigsSeen::Unusable(_)) | None => {
                all.extend(&recorded.map_or_else(Configs::default, |of| of.of(&site)));
            }
        }
    }
    all
}

/// Why a run cannot begin: those of a cluster are not known.
pub(super) fn unknown(draft: &Draft<'_>) -> Option<Problem> {
    let problem = |(service, site): (&ServiceSpec, Result<Site, Problem>)| match site {
        Err(problem) => Some(problem),
        Ok(site) => match draft.input.seen.configs.get(&(service.name.clone(), site.clone())) {
            Some(ConfigsSeen::Found(_)) => None,
            Some(ConfigsSeen::Unusable(problem)) => Some(problem.clone()),
            None => {
                let message = format!("what service {} uses in {site} has not been read yet", service.name);
                Some(Problem::new(Reason::ConfigsUnknown, message))
            }
        },
    };
    tracked(draft.input.spec, &draft.input.seen.sources).into_iter().find_map(problem).or_else(|| too_many(draft))
}

fn too_many(draft: &Draft<'_>) -> Option<Problem> {
    let count = configs(draft).len();
    let message =
        format!("{count} ConfigMaps and Secrets are tracked, at most {MOST} fit into a status: track fewer workloads");
    (count > MOST).then(|| Problem::new(Reason::ConfigsUnknown, message))
}

/// A revision with what is tracked. Without that it is what it was before anything was.
pub(super) fn with_configs(revision: String, configs: &Configs) -> String {
    if configs.is_empty() { revision } else { fingerprint(&(revision, configs)) }
}

/// Which of them changed, in words; at most three by name.
pub(super) fn changes(before: &Configs, after: &Configs) -> Option<String> {
    const NAMED: usize = 3;
    let changed = after.changed_since(before);
    let more = changed.len().saturating_sub(NAMED);
    let named = changed.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!changed.is_empty()).then(|| format!("{named}{more} changed"))
}
