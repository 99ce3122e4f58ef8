//! Which members can serve: endpoints, backends and identities.

use super::{
    draft::Draft,
    input::{BackendSeen, EndpointSeen, EndpointSource, MemberSeen, Problem},
};
use crate::{
    api::{Reason, ServiceSpec, status::Run},
    rollout::decision::Action,
};

/// Probes in a row that make an endpoint down, or up again.
pub const PROBES: u32 = 3;

/// Watches the members of a live run: an unavailable canary rolls back, an unavailable primary gives its weight to others
/// until it is back, and a member that became another cluster voids the evidence.
pub(super) fn watch(draft: &mut Draft<'_>) {
    let Some(run) = draft.run() else { return };
    let canaries = run.canaries();
    let down = canaries.iter().filter(|_| !run.is_promoted()).find_map(|canary| down(draft, run, canary));
    let planned = run.plan.last().into_iter().flat_map(|step| step.split.weights.members());
    let unavailable: Vec<String> = planned
        .filter(|member| is_unavailable(draft, run, member, canaries.iter().any(|canary| canary == member)))
        .map(str::to_owned)
        .collect();
    if let Some(message) = down {
        draft.roll_back(Reason::EndpointDown, message, None);
    }
    if let Some(run) = draft.run_mut() {
        run.unavailable = unavailable;
    }
    identities(draft);
    restore_backends(draft);
}

/// A deleted backend is created again while a run sends traffic to it: a route must not name what does not exist.
fn restore_backends(draft: &mut Draft<'_>) {
    let weights = draft.status.desired.iter().flat_map(|desired| desired.split.weights.carrying());
    let needed: Vec<String> = weights.map(|(name, _)| name.to_owned()).collect();
    backends_not_ready(draft, &needed);
}

fn is_unavailable(draft: &Draft<'_>, run: &Run, member: &str, canary: bool) -> bool {
    if !run.is_unavailable(member) {
        return down(draft, run, member).is_some();
    }
    let answers = |service: &ServiceSpec| endpoint(draft, service, member).successes >= PROBES;
    let back = || missing(draft, member).is_none() && run.pinned.services.iter().all(answers);
    canary || !back()
}

/// Why a member is unavailable: it failed three times in a row, while another primary member answered as many in a row. One
/// answer would not do: when everybody comes back from the same incident, somebody is first.
fn down(draft: &Draft<'_>, run: &Run, member: &str) -> Option<String> {
    let missing = || missing_under_traffic(draft, member).map(|problem| problem.message);
    failed_probes(draft, run, member).or_else(missing)
}

fn failed_probes(draft: &Draft<'_>, run: &Run, member: &str) -> Option<String> {
    run.pinned.services.iter().find_map(|service| {
        let seen = endpoint(draft, service, member);
        let others = others_do(draft, run, service, member).filter(|_| seen.failures >= PROBES)?;
        let found = match seen.source {
            EndpointSource::Probe => format!("did not answer {PROBES} probes in a row"),
            EndpointSource::EndpointSlices => format!("had no ready address {PROBES} times in a row"),
        };
        Some(format!("the endpoint of {member} for {} {found}{others}", service.name))
    })
}

/// A Service of this member that its user named and that does not exist.
fn missing(draft: &Draft<'_>, member: &str) -> Option<Problem> {
    let of_member = draft.input.seen.backends.iter().filter(|((_, name), _)| name == member);
    of_member.map(|(_, seen)| seen).find_map(|seen| match seen {
        BackendSeen::Missing(problem) => Some(problem.clone()),
        BackendSeen::Ready | BackendSeen::Outdated(_) | BackendSeen::NotReady(_) => None,
    })
}

fn missing_under_traffic(draft: &Draft<'_>, member: &str) -> Option<Problem> {
    let has_traffic = match &draft.status.desired {
        Some(desired) => desired.split.reaches(member),
        None => draft.status.primary.as_ref().is_some_and(|primary| primary.weight(member) > 0),
    };
    missing(draft, member).filter(|_| has_traffic)
}

/// Outside a run: a Service that has traffic and does not exist.
pub(super) fn missing_at_rest(draft: &Draft<'_>) -> Option<Problem> {
    draft.status.primary.as_ref()?.carrying().find_map(|(member, _)| missing_under_traffic(draft, member))
}

/// In words, what shows that a failure of this member is its own: that another member answers. The hub's network takes no part
/// in what the hub cluster says of its own Services: there nothing needs to, if only no primary member fails too.
fn others_do(draft: &Draft<'_>, run: &Run, service: &ServiceSpec, member: &str) -> Option<String> {
    let seen = |name: &str| endpoint(draft, service, name);
    let answers = reference_members(run).find(|other| other != member && seen(other).successes >= PROBES);
    let is_certain = || {
        seen(member).source == EndpointSource::EndpointSlices
            && primaries(run).all(|primary| primary != member && seen(&primary).failures == 0)
    };
    let clause = answers.map(|name| format!(" while that of {name} did"));
    clause.or_else(|| is_certain().then(String::new))
}

/// A canary's endpoint does not answer, but no primary's does either.
pub(super) fn nobody_answers(draft: &Draft<'_>, run: &Run) -> Option<Problem> {
    let canaries = run.canaries();
    let (service, canary) = run
        .pinned
        .services
        .iter()
        .flat_map(|service| canaries.iter().map(move |canary| (service, canary)))
        .find(|(service, canary)| endpoint(draft, service, canary).failures >= PROBES)?;
    let look = match endpoint(draft, service, canary).source {
        EndpointSource::Probe => "the network of the hub",
        EndpointSource::EndpointSlices => "the workloads behind them",
    };
    let message = format!("neither {canary} nor any primary member serves {}; look at {look}", service.name);
    Some(Problem::new(Reason::PrimaryFailsToo, message))
}

/// Who must answer while another one does not, so that it is not the hub's own network. What passed is as good a reference
/// as the primary once it is promoted.
fn reference_members(run: &Run) -> impl Iterator<Item = String> {
    let proven = if run.is_promoted() { run.canaries() } else { Vec::new() };
    primaries(run).chain(proven)
}

fn primaries(run: &Run) -> impl Iterator<Item = String> {
    let canaries = run.canaries();
    let carrying: Vec<String> = run.rollback_to.carrying().map(|(name, _)| name.to_owned()).collect();
    carrying.into_iter().filter(move |name| !canaries.contains(name))
}

fn endpoint(draft: &Draft<'_>, service: &ServiceSpec, member: &str) -> EndpointSeen {
    let key = (service.name.clone(), member.to_owned());
    draft.input.seen.endpoints.get(&key).copied().unwrap_or_default()
}

/// Why members may not gain traffic yet: no consent any more, no backend, or no good probe.
pub(super) fn not_ready(draft: &mut Draft<'_>, members: &[String]) -> Option<Problem> {
    unusable(draft, members).or_else(|| backends_not_ready(draft, members)).or_else(|| {
        let services = super::services(draft.input.spec, &draft.status).iter();
        let mut endpoints = services.flat_map(|service| members.iter().map(move |member| (service, member)));
        endpoints.find_map(|(service, member)| unanswered(draft, service, member))
    })
}

/// The first of these members that is not registered, or may not be used by this namespace: who ran it can take his consent
/// back at any time.
fn unusable(draft: &Draft<'_>, members: &[String]) -> Option<Problem> {
    members.iter().find_map(|member| match draft.input.seen.members.get(member)? {
        MemberSeen::Unusable(problem) => Some(problem.clone()),
        MemberSeen::Registered { .. } => None,
    })
}

fn unanswered(draft: &Draft<'_>, service: &ServiceSpec, member: &str) -> Option<Problem> {
    let seen = endpoint(draft, service, member);
    if draft.input.seen.unprobed.contains(&(service.name.clone(), member.to_owned())) {
        return None;
    }
    let of = format!("the endpoint of {member} for {}", service.name);
    let fails = match seen.source {
        EndpointSource::Probe => "does not answer",
        EndpointSource::EndpointSlices => "has no ready address",
    };
    match (seen.successes, seen.failures) {
        (0, 0) => Some(Problem::new(Reason::Rehearsing, format!("{of} has not been probed yet"))),
        (0, _) => Some(Problem::new(Reason::MemberNotReady, format!("{of} {fails}"))),
        // What was unavailable gets no weight before it is back: a step of nothing would prove nothing, for ever.
        (good, _) if draft.run().is_some_and(|run| run.is_unavailable(member)) => {
            let since = match seen.source {
                EndpointSource::Probe => format!("was down and has answered {good} of {PROBES} probes in a row since"),
                EndpointSource::EndpointSlices => {
                    format!("was down and has had a ready address {good} of {PROBES} times in a row since")
                }
            };
            let message = format!("{of} {since}");
            Some(Problem::new(Reason::MemberNotReady, message))
        }
        _ => None,
    }
}

/// Asks for the backends that are missing; tells the first that is not ready.
pub(super) fn backends_not_ready(draft: &mut Draft<'_>, members: &[String]) -> Option<Problem> {
    let mut first = None;
    for ((service, member), seen) in &draft.input.seen.backends {
        if !members.contains(member) {
            continue;
        }
        let problem = match seen {
            BackendSeen::Ready => continue,
            BackendSeen::Outdated(failed) => {
                let action = Action::WriteBackend { service: service.clone(), member: member.clone() };
                if !draft.actions.contains(&action) {
                    draft.actions.push(action);
                }
                let of = format!("the backend of {member} for {service}");
                let message = match failed {
                    None => format!("{of} is being written"),
                    Some(why) => format!("{of} could not be written and is tried again: {why}"),
                };
                Problem::new(Reason::BackendNotReady, message)
            }
            BackendSeen::NotReady(problem) | BackendSeen::Missing(problem) => problem.clone(),
        };
        first.get_or_insert(problem);
    }
    first
}

/// The first member that the rollback target needs and that is unavailable.
pub(super) fn rollback_target_unavailable(run: &Run) -> Option<Problem> {
    let member = run.unavailable.iter().find(|member| run.rollback_to.weight(member) > 0)?;
    let message = format!("the rollback target needs {member}, whose endpoint is down");
    Some(Problem::new(Reason::RollbackTargetUnavailable, message))
}

/// Remembers which cluster each member is; another one voids the evidence.
fn identities(draft: &mut Draft<'_>) {
    let mut changed = None;
    let seen = &draft.input.seen.members;
    let Some(run) = draft.run_mut() else { return };
    for (name, member) in seen {
        let MemberSeen::Registered { identity } = member else { continue };
        if identity.is_empty() {
            continue;
        }
        let known = run.identities.entry(name.clone()).or_insert_with(|| identity.clone());
        if known != identity {
            known.clone_from(identity);
            changed.get_or_insert_with(|| name.clone());
        }
    }
    if let Some(name) = changed.filter(|_| !run.is_rolling_back()) {
        run.check = None;
        draft.forget_evidence();
        let message = format!(
            "{name} is another cluster, or is reached elsewhere, than when the run began; look, then cutover retry or abort"
        );
        draft.hold(Reason::ClusterIdentityChanged, message);
    }
}
