//! Service mode: initialization of the Services, a revision that changes in mid-run, and the copy of what passed.

use super::{
    config_copies,
    draft::{Draft, Evidence},
    gates, health, initialization,
    input::{Problem, SourceSeen},
    plan::primary_and_canary,
    standing::Standing,
    target::{revision_of, target},
    time::later,
    tracking,
};
use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::api::{
    CANARY, Distribution, Duration, PRIMARY, Phase, Reason, ServiceCopy,
    status::{Promoted, Promoting, Run, RunState},
};

/// The Services as they are count as what passed last: the copies are made, and nothing is moved. Where routes name a
/// primary already, that is what passed last, wherever the user's own Service leads now.
pub(super) fn initialize(draft: &mut Draft<'_>) -> Option<Problem> {
    if draft.status.promoted.is_none() {
        let (services, configs) = match target(draft) {
            Ok(target) => (with_serving(draft, target.services), target.configs),
            Err(problem) => return Some(problem),
        };
        let revision = revision_of(draft.input.spec, &services, &configs);
        if let Some(problem) = initialization::unusable_members(draft).or_else(|| tracking::unknown(draft)) {
            return Some(problem);
        }
        draft.status.promoted = Some(Promoted { revision, services, configs, made_at: None });
        let now = draft.now();
        draft.wake_at(now);
        return Some(Problem::new(Reason::BackendNotReady, "the Services of primary and canary are made"));
    }
    let primary = primary_and_canary(0, draft.input.spec.weight_total);
    if let Some(problem) = draft.input.seen.refused.clone() {
        return Some(problem);
    }
    if let Some(problem) = copies_not_ready(draft).or_else(|| not_known_yet(draft)) {
        return Some(problem);
    }
    match initialization::live_distribution(draft) {
        Err(problem) => return Some(problem),
        Ok(Some(live)) => {
            if let Some(Problem { reason, message }) = not_the_primary(draft, &live) {
                return Some(Problem::new(reason, format!("{message} before the first run")));
            }
        }
        Ok(None) => {}
    }
    draft.status.primary = Some(primary);
    // A route that names the user's own Service would send everybody after it when that changes.
    draft.renew_desired();
    None
}

/// These Services, but those of primaries that have traffic: they stay as they are.
fn with_serving(draft: &Draft<'_>, mut services: BTreeMap<String, ServiceCopy>) -> BTreeMap<String, ServiceCopy> {
    for (name, serving) in &draft.input.seen.serving {
        if services.get(name).is_none_or(|own| !own.leads_as(serving)) {
            services.insert(name.clone(), serving.clone());
        }
    }
    services
}

/// The Services of the primaries as they are now count as what passed last. Nothing is known of a canary that has traffic,
/// and none of the Services may change under it.
pub(super) fn adopt(draft: &mut Draft<'_>, live: &Distribution) -> Result<(), String> {
    if let Some(Problem { message, .. }) = not_the_primary(draft, live) {
        return Err(format!("{message} by hand, then cutover adopt"));
    }
    let known = draft.status.promoted.take();
    let made_at = known.as_ref().and_then(|known| known.made_at);
    let configs = tracking::configs(draft);
    let declared = target(draft).ok().map(|target| target.services);
    let services = declared.or(known.map(|known| known.services)).unwrap_or_default();
    let services = with_serving(draft, services);
    let revision = revision_of(draft.input.spec, &services, &configs);
    draft.status.promoted = Some(Promoted { revision, services, configs, made_at });
    draft.status.canary.clear();
    Ok(())
}

/// In service mode the last known good distribution is known: all traffic goes to the primary. Live routes that show
/// another one are no beginning, for a canary that has traffic may lead anywhere.
pub(super) fn not_the_primary(draft: &Draft<'_>, live: &Distribution) -> Option<Problem> {
    let primary = primary_and_canary(0, draft.input.spec.weight_total);
    (!live.same_as(&primary)).then(|| {
        let service = draft.input.spec.services.first().map_or("", |service| service.name.as_str());
        let message = format!("the routes show {live}; bring them to Service {service} or to its primary");
        Problem::new(Reason::PrimaryDiffers, message)
    })
}

/// A Service that was just made has no addresses yet where its selector finds them, and the data plane must learn of it.
fn not_known_yet(draft: &mut Draft<'_>) -> Option<Problem> {
    let now = draft.now();
    let made_at = *draft.status.promoted.as_mut()?.made_at.get_or_insert(now);
    let known_at = later(made_at, draft.input.spec.analysis.settle);
    if now >= known_at {
        return None;
    }
    draft.wake_at(known_at);
    let message = format!("the data plane learns of the Services of primary and canary, until {known_at:.0}");
    Some(Problem::new(Reason::Settling, message))
}

/// Labels and annotations of the users' Services go to the copies that lead where those do. They lead no traffic, so a note
/// that a cloud's controller leaves begins no run.
pub(super) fn copy_metadata(draft: &mut Draft<'_>) {
    let status = &mut draft.status;
    for (service, seen) in &draft.input.seen.sources {
        let SourceSeen::Found(declared) = seen else { continue };
        let promoted = status.promoted.as_mut().map(|promoted| &mut promoted.services);
        let proving = status.run.as_mut().map(|run| &mut run.services);
        let copies = [promoted, proving, Some(&mut status.canary)].into_iter().flatten();
        for copy in copies.filter_map(|copies| copies.get_mut(service)).filter(|copy| copy.leads_as(declared)) {
            copy.clone_from(declared);
        }
    }
}

/// The routes must lead to the primary before a Service may change.
pub(super) fn not_on_primary(draft: &Draft<'_>) -> Option<Standing> {
    if draft.status.desired.is_some() && draft.confirmed_everywhere() {
        return None;
    }
    let late = if draft.is_late() { format!(":{}", gates::unconfirmed_in_words(draft)) } else { String::new() };
    let message =
        "the routes are brought to the primary, which leads where the Service does; change no Service before that";
    Some(Standing::new(Phase::Initializing, Reason::Confirming, format!("{message}{late}")))
}

fn both() -> Vec<String> {
    vec![PRIMARY.to_owned(), CANARY.to_owned()]
}

/// At rest the copies stay as they were made; one that was changed is made again.
pub(super) fn copies_not_ready(draft: &mut Draft<'_>) -> Option<Problem> {
    health::backends_not_ready(draft, &both()).or_else(|| config_copies::not_ready(draft))
}

/// A primary that does not serve is no success, whatever was copied.
pub(super) fn primary_not_ready(draft: &mut Draft<'_>) -> Option<Standing> {
    let problem = health::not_ready(draft, &[PRIMARY.to_owned()]).or_else(|| config_copies::not_ready(draft))?;
    Some(Standing::not_ready(problem))
}

/// The next pass looks at what the run is about now.
pub(super) fn observe_canary_first(draft: &mut Draft<'_>) -> Standing {
    let now = draft.now();
    draft.wake_at(now);
    Standing::progressing(Reason::Rehearsing, "the canary becomes what was declared")
}

/// The step that comes next gives traffic back to a primary that must become what passed first.
pub(super) fn is_next(run: &Run) -> bool {
    run.next().is_some_and(|step| step.promotes && step.split.weights.weight(PRIMARY) > 0)
}

/// When the primary became what passed; before that, when it had given its traffic away.
pub(super) fn changed_at(draft: &Draft<'_>) -> Option<Timestamp> {
    let copied_at = match draft.run()?.state {
        RunState::Promoting(promoting) => promoting.copied_at,
        RunState::Preparing(_) | RunState::Stepping(_) | RunState::Soaking(_) | RunState::RollingBack(_) => None,
    };
    copied_at.or(draft.status.desired.as_ref()?.confirmed_at)
}

/// Traffic goes to a Service only after the data plane had time to learn where it leads, and a Service is changed only
/// after it had time to learn that nothing goes there.
pub(super) fn not_learnt(draft: &mut Draft<'_>, since: Timestamp) -> Option<Standing> {
    let settled = later(since, draft.input.spec.analysis.settle);
    if draft.now() >= settled {
        return None;
    }
    draft.wake_at(settled);
    let message = format!("the data plane learns of the change, until {settled:.0}");
    Some(Standing::progressing(Reason::Settling, message))
}

/// Records what passed as the next primary, never a later version of it: it must serve now, which nobody has looked at where
/// no analysis came before. The copies are made in the next pass.
pub(super) fn begin(draft: &mut Draft<'_>) -> Option<Standing> {
    draft.run().filter(|run| !run.is_promoted())?;
    if let Some(problem) = health::not_ready(draft, &[CANARY.to_owned()]) {
        return Some(Standing::not_ready(problem));
    }
    let now = draft.now();
    let run = draft.run_mut()?;
    run.state = RunState::Promoting(Promoting { step: run.step(), copied_at: Some(now) });
    // The primary becomes another cluster now, and means to.
    run.identities.clear();
    run.deadline_used = Duration::ZERO;
    let (revision, services, configs) = (run.revision.clone(), run.services.clone(), run.configs.clone());
    let promoted = Promoted { revision, services, configs, made_at: None };
    draft.status.promoted = Some(promoted);
    let message = match draft.evidence() {
        Evidence::Checks => "the Services that passed are copied to the primary",
        Evidence::TimeAlone => "the Services of the canary are copied to the primary, with nothing measured",
        Evidence::NotAnalysed => "the Services of the canary are copied to the primary, without analysis",
    };
    draft.announce(false, Reason::PromotingServices, message);
    draft.wake_at(now);
    Some(Standing::new(Phase::Promoting, Reason::PromotingServices, message))
}
