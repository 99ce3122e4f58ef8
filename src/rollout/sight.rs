//! What the live routes say: whose they are, what the primary is, and whether our writes arrived.

use super::{
    input::{LiveRoute, Mark, MemberSeen, Problem, RouteKey, RouteSeen},
    pass::{Pass, in_words, later},
    promotion,
    revision::{declared, same},
};
use crate::api::{Distribution, Mode, Reason, status::RouteStatus};
use crate::mistakes::{Mistake, made};

/// Why nothing may be written: a route is another's, or knows more than this status does.
pub(super) fn ownership(pass: &mut Pass<'_>) -> Option<Problem> {
    let problem =
        pass.live_routes().find_map(|(key, live)| live.mark.as_ref().and_then(|mark| stranger(pass, key, mark)));
    pass.hands_off = problem.is_some();
    problem
}

fn stranger(pass: &Pass<'_>, key: &RouteKey, mark: &Mark) -> Option<Problem> {
    let taken_over = pass.status.asked.as_ref().is_some_and(|asked| asked.sequence > mark.sequence);
    if mark.hub != pass.input.hub {
        let message = format!("{key} was last written by hub {}; if that hub is gone: cutover adopt", mark.hub);
        return (!taken_over).then(|| Problem::new(Reason::OwnedByOtherHub, message));
    }
    if mark.rollout != pass.input.uid {
        let message = format!(
            "{key} carries the mark of rollout {}, which is gone; to go on from the live weights: cutover adopt",
            mark.rollout
        );
        return (!taken_over).then(|| Problem::new(Reason::StatusBehindRoute, message));
    }
    (mark.sequence > pass.status.sequence).then(|| {
        let message = format!(
            "{key} carries write {} but this status knows only {}: an old status was restored; to go on from the live weights: cutover adopt",
            mark.sequence, pass.status.sequence
        );
        Problem::new(Reason::StatusBehindRoute, message)
    })
}

/// Nothing is decided by a new life of the hub, nor at rest or at the end of a rollout, before every route has been
/// read: a route may know more than the status does, and whether one still has to be given back cannot be told.
pub(super) fn unread(pass: &Pass<'_>) -> bool {
    let unseen = pass.input.seen.routes.values().any(|seen| *seen == RouteSeen::Unseen);
    let at_rest = pass.run().is_none() && pass.status.observed_generation.is_some();
    unseen && (pass.input.deleting || at_rest || takes_over(pass))
}

fn takes_over(pass: &Pass<'_>) -> bool {
    pass.run().is_some() && pass.status.leader.as_deref() != Some(pass.input.leader)
}

/// The clock was set back: what is recorded of the future counts as of now, or nothing would happen until then.
pub(super) fn forget_the_future(pass: &mut Pass<'_>) {
    let now = pass.now();
    let settled = later(now, pass.input.spec.analysis.settle);
    if let Some(asked) = &mut pass.status.asked {
        asked.at = asked.at.min(now);
        asked.confirmed_at = asked.confirmed_at.map(|at| at.min(now));
    }
    let Some(run) = pass.run_mut() else { return };
    run.baked_until = run.baked_until.map(|at| at.min(settled));
    run.waiting_since = run.waiting_since.map(|at| at.min(now));
    run.soaking_since = run.soaking_since.map(|at| at.min(now));
    if let Some(check) = &mut run.check {
        (check.at, check.since) = (check.at.min(now), check.since.min(now));
        check.passed_at = check.passed_at.map(|at| at.min(now));
    }
}

/// Another life of the hub acts now: every route of a live run gets a new mark before anything else, so that a write
/// that the former leader still holds back meets a route that has changed.
pub(super) fn take_over(pass: &mut Pass<'_>) {
    if !takes_over(pass) || made(Mistake::SilentTakeover) {
        return;
    }
    let leader = pass.input.leader;
    pass.status.leader = Some(leader.to_owned());
    if let (true, Some(run)) = (made(Mistake::DwellFromStart), pass.run_mut()) {
        run.baked = crate::api::Duration::from_secs(86_400);
    }
    let sequence = pass.status.sequence + 1;
    if let Some(asked) = pass.status.asked.as_mut() {
        asked.sequence = sequence;
        pass.status.sequence = sequence;
        pass.tell(false, Reason::TookOver, format!("hub process {leader} took over"));
    }
}

/// Learns the primary from the live routes, else from `initialWeight`. It is never guessed, and nothing is moved.
pub(super) fn first_sight(pass: &mut Pass<'_>) -> Option<Problem> {
    if pass.status.asked.is_some() || pass.run().is_some() {
        return None;
    }
    if pass.input.spec.mode() == Mode::Service {
        return promotion::first_sight(pass);
    }
    let known = match seen_distribution(pass) {
        Ok(Some(distribution)) => distribution,
        Ok(None) => match initial(pass) {
            Ok(distribution) => distribution,
            Err(problem) => return Some(problem),
        },
        Err(problem) => return Some(problem),
    };
    if let Some(problem) = undeclared(pass, &known).or_else(|| unusable_members(pass)) {
        return Some(problem);
    }
    pass.status.primary = Some(known);
    create_routes(pass)
}

/// The one distribution that all live routes show; `None` where no route is there yet.
pub(super) fn seen_distribution(pass: &Pass<'_>) -> Result<Option<Distribution>, Problem> {
    let mut found: Option<(&RouteKey, &LiveRoute)> = None;
    for (key, seen) in &pass.input.seen.routes {
        match seen {
            RouteSeen::Unseen => return Err(Problem::new(Reason::FirstSight, format!("{key} has not been read yet"))),
            RouteSeen::Unusable(problem) => return Err(problem.clone()),
            RouteSeen::ToCreate => {}
            RouteSeen::Live(live) => match found {
                Some((first, other)) if !same(&other.weights, &live.weights) => {
                    return Err(Problem::new(
                        Reason::PrimaryDiffers,
                        format!(
                            "{first} shows {} but {key} shows {}; bring all routes of all services to one distribution",
                            in_words(&other.weights),
                            in_words(&live.weights)
                        ),
                    ));
                }
                Some(_) => {}
                None => found = Some((key, live)),
            },
        }
    }
    Ok(found.map(|(_, live)| live.weights.clone()))
}

fn initial(pass: &Pass<'_>) -> Result<Distribution, Problem> {
    let members = &pass.input.spec.members;
    let given: Distribution =
        members.iter().filter_map(|member| member.initial_weight.map(|weight| (member.name.clone(), weight))).collect();
    if given.values().sum::<u32>() == pass.input.spec.weight_total {
        return Ok(given);
    }
    Err(Problem::new(
        Reason::PrimaryUnknown,
        "no live route tells which members carry the traffic; give initialWeight to those that do",
    ))
}

fn undeclared(pass: &Pass<'_>, live: &Distribution) -> Option<Problem> {
    let declared = declared(pass.input.spec);
    let (name, weight) = live.iter().find(|(name, weight)| **weight > 0 && !declared.contains_key(*name))?;
    let message = format!(
        "{name} carries {weight} of {} but is not in spec.members; to take it out say weight: 0",
        pass.input.spec.weight_total
    );
    Some(Problem::new(Reason::MemberNotDeclared, message))
}

/// The first declared member that cannot be used.
pub(super) fn unusable_members(pass: &Pass<'_>) -> Option<Problem> {
    pass.input.seen.members.values().find_map(|member| match member {
        MemberSeen::Unusable(problem) => Some(problem.clone()),
        MemberSeen::Registered { .. } => None,
    })
}

/// Routes that the hub shall make begin at the primary, once what they name is there.
fn create_routes(pass: &mut Pass<'_>) -> Option<Problem> {
    if !pass.input.seen.routes.values().any(|seen| *seen == RouteSeen::ToCreate) {
        return None;
    }
    if let Some(problem) = pass.input.seen.refused.clone() {
        return Some(problem);
    }
    let primary = pass.status.primary.clone().unwrap_or_default();
    let carrying: Vec<String> =
        primary.iter().filter(|(_, weight)| **weight > 0).map(|(name, _)| name.clone()).collect();
    if let Some(problem) = super::health::backends_not_ready(pass, &carrying) {
        return Some(problem);
    }
    pass.ask_anew();
    None
}

/// Records which routes show what is asked, and when all of them do.
pub(super) fn confirm(pass: &mut Pass<'_>) {
    let Some(asked) = pass.status.asked.clone() else { return };
    let confirmed: Vec<&RouteKey> =
        pass.live_routes().filter(|(_, live)| pass.confirmed(live, &asked)).map(|(key, _)| key).collect();
    for key in confirmed {
        record(pass, key, &asked.weights, asked.sequence);
    }
    let keys = &pass.input.seen.routes;
    pass.status.routes.retain(|route| keys.keys().any(|key| key.service == route.service && key.route == route.route));
    if asked.confirmed_at.is_none() && pass.confirmed_everywhere() {
        let now = pass.now();
        if let Some(asked) = &mut pass.status.asked {
            asked.confirmed_at = Some(now);
        }
        let settle = pass.input.spec.analysis.settle;
        if let Some(run) = pass.run_mut() {
            run.baked_until = Some(later(now, settle));
        }
    }
}

fn record(pass: &mut Pass<'_>, key: &RouteKey, weights: &Distribution, sequence: u64) {
    let at = pass.now();
    let known = pass.status.routes.iter_mut().find(|route| route.service == key.service && route.route == key.route);
    match known {
        Some(route) if route.sequence == sequence => {}
        Some(route) => {
            if !same(&route.applied, weights) {
                route.at = at;
            }
            route.applied = weights.clone();
            route.sequence = sequence;
        }
        None => pass.status.routes.push(RouteStatus {
            service: key.service.clone(),
            route: key.route.clone(),
            applied: weights.clone(),
            sequence,
            at,
        }),
    }
}
