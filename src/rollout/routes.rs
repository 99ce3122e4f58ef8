//! What the live routes say: whose they are, what the primary is, and whether our writes arrived.

use super::{
    draft::{Draft, in_words, later},
    input::{LiveRoute, Mark, MemberSeen, Problem, RouteKey, RouteSeen},
    promotion,
    revision::{declared, same},
};
use crate::api::{Distribution, Mode, Reason, status::RouteStatus};

/// Why nothing may be written: a route is another's, or knows more than this status does.
pub(super) fn ownership(draft: &mut Draft<'_>) -> Option<Problem> {
    let problem =
        draft.live_routes().find_map(|(key, live)| live.mark.as_ref().and_then(|mark| foreign_mark(draft, key, mark)));
    draft.hands_off = problem.is_some();
    problem
}

fn foreign_mark(draft: &Draft<'_>, key: &RouteKey, mark: &Mark) -> Option<Problem> {
    let taken_over = draft.status.desired.as_ref().is_some_and(|desired| desired.sequence > mark.sequence);
    if mark.hub != draft.input.hub {
        let message = format!("{key} was last written by hub {}; if that hub is gone: cutover adopt", mark.hub);
        return (!taken_over).then(|| Problem::new(Reason::OwnedByOtherHub, message));
    }
    if mark.rollout != draft.input.uid {
        let message = format!(
            "{key} carries the mark of rollout {}, which is gone; to go on from the live weights: cutover adopt",
            mark.rollout
        );
        return (!taken_over).then(|| Problem::new(Reason::StatusBehindRoute, message));
    }
    (mark.sequence > draft.status.sequence).then(|| {
        let message = format!(
            "{key} carries write {} but this status knows only {}: an old status was restored; to go on from the live weights: cutover adopt",
            mark.sequence, draft.status.sequence
        );
        Problem::new(Reason::StatusBehindRoute, message)
    })
}

/// Nothing is decided by a new life of the hub, nor at rest or at the end of a rollout, before every route has been
/// read: a route may know more than the status does, and whether one still has to be given back cannot be told.
pub(super) fn unread(draft: &Draft<'_>) -> bool {
    let unseen = draft.input.seen.routes.values().any(|seen| *seen == RouteSeen::Unseen);
    let at_rest = draft.run().is_none() && draft.status.observed_generation.is_some();
    unseen && (draft.input.deleting || at_rest || takes_over(draft))
}

fn takes_over(draft: &Draft<'_>) -> bool {
    draft.run().is_some() && draft.status.leader.as_deref() != Some(draft.input.leader)
}

/// The clock was set back: what is recorded of the future counts as of now, or nothing would happen until then.
pub(super) fn forget_the_future(draft: &mut Draft<'_>) {
    let now = draft.now();
    let settled = later(now, draft.input.spec.analysis.settle);
    if let Some(desired) = &mut draft.status.desired {
        desired.at = desired.at.min(now);
        desired.confirmed_at = desired.confirmed_at.map(|at| at.min(now));
    }
    let Some(run) = draft.run_mut() else { return };
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
pub(super) fn take_over(draft: &mut Draft<'_>) {
    if !takes_over(draft) {
        return;
    }
    let leader = draft.input.leader;
    draft.status.leader = Some(leader.to_owned());
    let sequence = draft.status.sequence + 1;
    if let Some(desired) = draft.status.desired.as_mut() {
        desired.sequence = sequence;
        draft.status.sequence = sequence;
        draft.tell(false, Reason::TookOver, format!("hub process {leader} took over"));
    }
}

/// Learns the primary from the live routes, else from `initialWeight`. It is never guessed, and nothing is moved.
pub(super) fn initialize(draft: &mut Draft<'_>) -> Option<Problem> {
    if draft.status.desired.is_some() || draft.run().is_some() {
        return None;
    }
    if draft.input.spec.mode() == Mode::Service {
        return promotion::initialize(draft);
    }
    let known = match seen_distribution(draft) {
        Ok(Some(distribution)) => distribution,
        Ok(None) => match initial(draft) {
            Ok(distribution) => distribution,
            Err(problem) => return Some(problem),
        },
        Err(problem) => return Some(problem),
    };
    if let Some(problem) = undeclared(draft, &known).or_else(|| unusable_members(draft)) {
        return Some(problem);
    }
    draft.status.primary = Some(known);
    create_routes(draft)
}

/// The one distribution that all live routes show; `None` where no route is there yet.
pub(super) fn seen_distribution(draft: &Draft<'_>) -> Result<Option<Distribution>, Problem> {
    let mut found: Option<(&RouteKey, &LiveRoute)> = None;
    for (key, seen) in &draft.input.seen.routes {
        match seen {
            RouteSeen::Unseen => {
                return Err(Problem::new(Reason::Initializing, format!("{key} has not been read yet")));
            }
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

fn initial(draft: &Draft<'_>) -> Result<Distribution, Problem> {
    let members = &draft.input.spec.members;
    let given: Distribution =
        members.iter().filter_map(|member| member.initial_weight.map(|weight| (member.name.clone(), weight))).collect();
    if given.values().sum::<u32>() == draft.input.spec.weight_total {
        return Ok(given);
    }
    Err(Problem::new(
        Reason::PrimaryUnknown,
        "no live route tells which members carry the traffic; give initialWeight to those that do",
    ))
}

fn undeclared(draft: &Draft<'_>, live: &Distribution) -> Option<Problem> {
    let declared = declared(draft.input.spec);
    let (name, weight) = live.iter().find(|(name, weight)| **weight > 0 && !declared.contains_key(*name))?;
    let message = format!(
        "{name} carries {weight} of {} but is not in spec.members; to take it out say weight: 0",
        draft.input.spec.weight_total
    );
    Some(Problem::new(Reason::MemberNotDeclared, message))
}

/// The first declared member that cannot be used.
pub(super) fn unusable_members(draft: &Draft<'_>) -> Option<Problem> {
    draft.input.seen.members.values().find_map(|member| match member {
        MemberSeen::Unusable(problem) => Some(problem.clone()),
        MemberSeen::Registered { .. } => None,
    })
}

/// Routes that the hub shall make begin at the primary, once what they name is there.
fn create_routes(draft: &mut Draft<'_>) -> Option<Problem> {
    if !draft.input.seen.routes.values().any(|seen| *seen == RouteSeen::ToCreate) {
        return None;
    }
    if let Some(problem) = draft.input.seen.refused.clone() {
        return Some(problem);
    }
    let primary = draft.status.primary.clone().unwrap_or_default();
    let carrying: Vec<String> =
        primary.iter().filter(|(_, weight)| **weight > 0).map(|(name, _)| name.clone()).collect();
    if let Some(problem) = super::health::backends_not_ready(draft, &carrying) {
        return Some(problem);
    }
    draft.renew_desired();
    None
}

/// Records which routes show what is asked, and when all of them do.
pub(super) fn confirm(draft: &mut Draft<'_>) {
    let Some(desired) = draft.status.desired.clone() else { return };
    let confirmed: Vec<&RouteKey> =
        draft.live_routes().filter(|(_, live)| draft.confirmed(live, &desired)).map(|(key, _)| key).collect();
    for key in confirmed {
        record(draft, key, &desired.weights, desired.sequence);
    }
    let keys = &draft.input.seen.routes;
    draft.status.routes.retain(|route| keys.keys().any(|key| key.service == route.service && key.route == route.route));
    if desired.confirmed_at.is_none() && draft.confirmed_everywhere() {
        let now = draft.now();
        if let Some(desired) = &mut draft.status.desired {
            desired.confirmed_at = Some(now);
        }
        let settle = draft.input.spec.analysis.settle;
        if let Some(run) = draft.run_mut() {
            run.baked_until = Some(later(now, settle));
        }
    }
}

fn record(draft: &mut Draft<'_>, key: &RouteKey, weights: &Distribution, sequence: u64) {
    let at = draft.now();
    let known = draft.status.routes.iter_mut().find(|route| route.service == key.service && route.route == key.route);
    match known {
        Some(route) if route.sequence == sequence => {}
        Some(route) => {
            if !same(&route.applied, weights) {
                route.at = at;
            }
            route.applied = weights.clone();
            route.sequence = sequence;
        }
        None => draft.status.routes.push(RouteStatus {
            service: key.service.clone(),
            route: key.route.clone(),
            applied: weights.clone(),
            sequence,
            at,
        }),
    }
}
