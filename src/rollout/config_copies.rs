//! Service mode: copies of ConfigMaps and Secrets for the workloads of the primary. They become what passed, as the primary's
//! Service does, and never anything else: an original that has changed since it was analysed is not copied.

use super::{
    decision::Action,
    draft::Draft,
    input::{ConfigCopiesSeen, ConfigsSeen, Problem},
    tracking::tracked,
};
use crate::api::{
    Mode, Reason,
    track::{ABSENT, Configs, Site},
};

/// What stands in the way of the copies being what passed last. Asks for those that are behind.
pub(super) fn not_ready(draft: &mut Draft<'_>) -> Option<Problem> {
    let mut first = None;
    for (service, site) in keeping(draft) {
        if let Some(problem) = of_service(draft, &service, &site) {
            first.get_or_insert(problem);
        }
    }
    first
}

fn of_service(draft: &mut Draft<'_>, service: &str, site: &Site) -> Option<Problem> {
    if *site != Site::Hub {
        let message = format!(
            "service {service}: track.primaryCopies: it leads to {site}, and copies are kept for pods of the hub cluster only: \
             leave primaryCopies out"
        );
        return Some(Problem::new(Reason::InvalidSpec, message));
    }
    let failed = match draft.input.seen.config_copies.get(service) {
        None => {
            let message = format!("the copies for the primary of {service} have not been read yet");
            return Some(Problem::new(Reason::ConfigCopiesNotReady, message));
        }
        Some(ConfigCopiesSeen::Unusable(problem)) => return Some(problem.clone()),
        Some(ConfigCopiesSeen::Found { failed, .. }) => failed.clone(),
    };
    let behind = behind(draft, service, Original::Passed);
    let (name, _) = behind.iter().next()?;
    let message = match failed {
        None => format!("{name}-primary is being written"),
        Some(why) => format!("{name}-primary could not be written and is tried again: {why}"),
    };
    draft.actions.push(Action::WriteConfigCopies { service: service.to_owned(), configs: behind });
    Some(Problem::new(Reason::ConfigCopiesNotReady, message))
}

/// What the original of a copy is now.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Original {
    /// What passed last.
    Passed,
    /// Something that nobody has analysed.
    Changed,
}

/// Those of which the copy is not what passed last, with the fingerprints that they had then.
fn behind(draft: &Draft<'_>, service: &str, original: Original) -> Configs {
    let seen = &draft.input.seen;
    let (Some(promoted), Some(ConfigsSeen::Found(used)), Some(ConfigCopiesSeen::Found { copies, .. })) =
        (&draft.status.promoted, seen.configs.get(&(service.to_owned(), Site::Hub)), seen.config_copies.get(service))
    else {
        return Configs::default();
    };
    let is = |name: &str, passed: &str| match used.fingerprint(name) {
        Some(now) if now == passed => original == Original::Passed,
        Some(_) => original == Original::Changed,
        None => false,
    };
    promoted
        .configs
        .filter(|name, passed| passed != ABSENT && is(name, passed) && copies.fingerprint(name) != Some(passed))
}

/// In words, which copies are not what the run that ends has proven, because their originals changed after it was.
pub(super) fn left_behind(draft: &Draft<'_>) -> Option<String> {
    let services = keeping(draft);
    let changed = services.iter().map(|(service, _)| behind(draft, service, Original::Changed));
    let names: Vec<String> =
        changed.flat_map(|configs| configs.iter().map(|(name, _)| name.to_owned()).collect::<Vec<_>>()).collect();
    let message = || {
        format!(
            "{} changed after the analysis: the copy for the primary keeps what it has until a run with the change has passed",
            names.join(", ")
        )
    };
    (!names.is_empty()).then(message)
}

/// Services whose copies are kept, with the cluster of their workloads, where that is known.
fn keeping(draft: &Draft<'_>) -> Vec<(String, Site)> {
    if draft.input.spec.mode() == Mode::Member {
        return Vec::new();
    }
    let tracked = tracked(draft.input.spec, &draft.input.seen.sources).into_iter();
    let keeps = tracked.filter(|(service, _)| service.track.as_ref().is_some_and(|track| track.primary_copies));
    keeps.filter_map(|(service, site)| Some((service.name.clone(), site.ok()?))).collect()
}

/// The rollout is being deleted and its copies stay: some may be there.
pub(super) fn to_release(draft: &Draft<'_>) -> bool {
    let promoted = draft.status.promoted.as_ref();
    promoted.is_some_and(|promoted| !promoted.configs.of(&Site::Hub).is_empty())
}
