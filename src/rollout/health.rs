//! Which members can serve: endpoints, backends and identities.

use super::{
    distribution::weight,
    input::{BackendSeen, EndpointSeen, MemberSeen, Problem},
    pass::{Pass, canaries},
};
use crate::mistakes::{Mistake, made};
use crate::{
    api::{Distribution, Reason, ServiceSpec, status::Run},
    rollout::decision::Action,
};

/// Probes in a row that make an endpoint down, or up again.
const PROBES: u32 = 3;

/// Watches the members of a live run: a dead canary rolls back, a dead primary gives its weight to others until it is
/// back, and a member that became another cluster voids the evidence.
pub(super) fn watch(pass: &mut Pass<'_>) {
    let Some(run) = pass.run().cloned() else { return };
    let canaries = canaries(&run);
    let proving = run.promoting_since.is_none();
    if let Some(message) = canaries.iter().filter(|_| proving).find_map(|canary| down(pass, &run, canary)) {
        pass.retreat(Reason::EndpointDown, message, false);
    }
    let dead: Vec<String> = run
        .plan
        .last()
        .map(|step| step.weights.keys().cloned().collect::<Vec<_>>())
        .unwrap_or_default()
        .into_iter()
        .filter(|member| is_dead(pass, &run, member, canaries.contains(member)))
        .collect();
    if let Some(run) = pass.run_mut() {
        run.dead = dead;
    }
    identities(pass);
    keep_backends(pass);
}

/// What somebody took away is made again while a run sends traffic to it: a route must not name what is not there.
fn keep_backends(pass: &mut Pass<'_>) {
    let carrying = |weights: &Distribution| -> Vec<String> {
        weights.iter().filter(|(_, weight)| **weight > 0).map(|(name, _)| name.clone()).collect()
    };
    let needed = pass.status.asked.as_ref().map(|asked| carrying(&asked.weights)).unwrap_or_default();
    backends_not_ready(pass, &needed);
}

fn is_dead(pass: &Pass<'_>, run: &Run, member: &str, canary: bool) -> bool {
    if !run.dead.iter().any(|dead| dead == member) {
        return down(pass, run, member).is_some();
    }
    let back = || run.pinned.services.iter().all(|service| endpoint(pass, service, member).successes >= PROBES);
    canary || !back()
}

/// Why a member is dead: three failed probes in a row, while another primary member answered as many in a row. One answer
/// would not do: when everybody comes back from the same incident, somebody is first.
fn down(pass: &Pass<'_>, run: &Run, member: &str) -> Option<String> {
    run.pinned.services.iter().find_map(|service| {
        let failed = endpoint(pass, service, member).failures;
        let answers =
            witnesses(run).find(|other| other != member && endpoint(pass, service, other).successes >= PROBES)?;
        (failed >= PROBES).then(|| {
            format!(
                "the endpoint of {member} for {} did not answer {PROBES} probes in a row while that of {answers} did",
                service.name
            )
        })
    })
}

/// A canary's endpoint does not answer, but no primary's does either.
pub(super) fn nobody_answers(pass: &Pass<'_>, run: &Run) -> Option<Problem> {
    let canaries = canaries(run);
    let (service, canary) = run
        .pinned
        .services
        .iter()
        .flat_map(|service| canaries.iter().map(move |canary| (service, canary)))
        .find(|(service, canary)| endpoint(pass, service, canary).failures >= PROBES)?;
    let message = format!(
        "neither {canary} nor any primary member answers probes of {}; look at the network of the hub",
        service.name
    );
    Some(Problem::new(Reason::PrimaryFailsToo, message))
}

/// Who must answer while another one does not, so that it is not the hub's own network. What passed is as good a witness
/// as the primary once it is promoted.
fn witnesses(run: &Run) -> impl Iterator<Item = String> {
    let proven = if run.promoting_since.is_some() { canaries(run) } else { Vec::new() };
    primaries(run).chain(proven)
}

fn primaries(run: &Run) -> impl Iterator<Item = String> {
    let canaries = canaries(run);
    let carrying: Vec<String> =
        run.way_back.iter().filter(|(_, weight)| **weight > 0).map(|(name, _)| name.clone()).collect();
    carrying.into_iter().filter(move |name| !canaries.contains(name))
}

fn endpoint(pass: &Pass<'_>, service: &ServiceSpec, member: &str) -> EndpointSeen {
    let key = (service.name.clone(), member.to_owned());
    pass.input.seen.endpoints.get(&key).copied().unwrap_or_default()
}

/// Why members may not gain traffic yet: no backend, or no good probe.
pub(super) fn not_ready(pass: &mut Pass<'_>, members: &[String]) -> Option<Problem> {
    backends_not_ready(pass, members).or_else(|| {
        let services = super::services(pass.input.spec, &pass.status).iter();
        let mut endpoints = services.flat_map(|service| members.iter().map(move |member| (service, member)));
        endpoints.find_map(|(service, member)| unanswered(pass, service, member))
    })
}

fn unanswered(pass: &Pass<'_>, service: &ServiceSpec, member: &str) -> Option<Problem> {
    let seen = endpoint(pass, service, member);
    if pass.input.seen.unprobed.contains(&(service.name.clone(), member.to_owned())) {
        return None;
    }
    let of = format!("the endpoint of {member} for {}", service.name);
    match (seen.successes, seen.failures) {
        (0, 0) => Some(Problem::new(Reason::Rehearsing, format!("{of} has not been probed yet"))),
        (0, _) => Some(Problem::new(Reason::MemberNotReady, format!("{of} does not answer"))),
        // What was dead gets no weight before it is back: a step of nothing would prove nothing, for ever.
        (good, _) if pass.run().is_some_and(|run| run.dead.iter().any(|dead| dead == member)) => {
            let message = format!("{of} was down and has answered {good} of {PROBES} probes in a row since");
            Some(Problem::new(Reason::MemberNotReady, message))
        }
        _ => None,
    }
}

/// Asks for the backends that are missing; tells the first that is not ready.
pub(super) fn backends_not_ready(pass: &mut Pass<'_>, members: &[String]) -> Option<Problem> {
    let mut first = None;
    for ((service, member), seen) in &pass.input.seen.backends {
        if !members.contains(member) {
            continue;
        }
        let problem = match seen {
            BackendSeen::Ready => continue,
            BackendSeen::Outdated(_) if made(Mistake::RouteBeforeBackend) => continue,
            BackendSeen::Outdated(failed) => {
                let action = Action::WriteBackend { service: service.clone(), member: member.clone() };
                if !pass.actions.contains(&action) {
                    pass.actions.push(action);
                }
                let of = format!("the backend of {member} for {service}");
                let message = match failed {
                    None => format!("{of} is being written"),
                    Some(why) => format!("{of} could not be written and is tried again: {why}"),
                };
                Problem::new(Reason::BackendNotReady, message)
            }
            BackendSeen::NotReady(problem) => problem.clone(),
        };
        first.get_or_insert(problem);
    }
    first
}

/// The first member that the way back needs and that is dead.
pub(super) fn way_back_dead(run: &Run) -> Option<Problem> {
    let dead = run.dead.iter().find(|member| weight(&run.way_back, member) > 0)?;
    Some(Problem::new(Reason::WayBackDead, format!("the way back needs {dead}, whose endpoint is down")))
}

/// Remembers which cluster each member is; another one voids the evidence.
fn identities(pass: &mut Pass<'_>) {
    let mut changed = None;
    let seen = &pass.input.seen.members;
    let Some(run) = pass.run_mut() else { return };
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
    if let Some(name) = changed.filter(|_| run.retreat.is_none()) {
        run.check = None;
        run.baked = crate::api::Duration::ZERO;
        let message = format!(
            "{name} is another cluster, or is reached elsewhere, than when the run began; look, then cutover retry or abort"
        );
        pass.hold(Reason::ClusterIdentityChanged, message);
    }
}
