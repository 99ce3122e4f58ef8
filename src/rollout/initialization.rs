//! Initialization: what the primary is. It is never guessed, and nothing is moved.

use super::{
    draft::Draft,
    health,
    input::{LiveRoute, MemberSeen, Problem, RouteKey, RouteSeen},
    promotion,
    revision::{declared, initial},
};
use crate::api::{Distribution, Mode, Reason};

/// Learns the primary from the live routes, else from `initialWeight`.
pub(super) fn initialize(draft: &mut Draft<'_>) -> Option<Problem> {
    if draft.status.desired.is_some() || draft.run().is_some() {
        return None;
    }
    if draft.input.spec.mode() == Mode::Service {
        return promotion::initialize(draft);
    }
    let known = match live_distribution(draft) {
        Ok(Some(distribution)) => distribution,
        Ok(None) => match given(draft) {
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
pub(super) fn live_distribution(draft: &Draft<'_>) -> Result<Option<Distribution>, Problem> {
    let mut found: Option<(&RouteKey, &LiveRoute)> = None;
    for (key, seen) in &draft.input.seen.routes {
        let Some(live) = readable(key, seen)? else { continue };
        match found {
            Some((first, other)) if !other.split.weights.same_as(&live.split.weights) => {
                let (shown, other) = (&live.split.weights, &other.split.weights);
                let message = format!(
                    "{first} shows {other} but {key} shows {shown}; bring all routes of all services to one distribution"
                );
                return Err(Problem::new(Reason::PrimaryDiffers, message));
            }
            Some(_) => {}
            None if live.split.weights.total() == 0 => {
                let message = format!("all weights of {key} are 0; give its backends the weights that hold today");
                return Err(Problem::new(Reason::PrimaryUnknown, message));
            }
            None => found = Some((key, live)),
        }
    }
    Ok(found.map(|(_, live)| live.split.weights.clone()))
}

/// A route that exists; `None` where the hub is to create it.
pub(super) fn readable<'s>(key: &RouteKey, seen: &'s RouteSeen) -> Result<Option<&'s LiveRoute>, Problem> {
    match seen {
        RouteSeen::Unseen => Err(Problem::new(Reason::Initializing, format!("{key} has not been read yet"))),
        RouteSeen::Unusable(problem) => Err(problem.clone()),
        RouteSeen::ToCreate => Ok(None),
        RouteSeen::Live(live) => Ok(Some(live)),
    }
}

fn given(draft: &Draft<'_>) -> Result<Distribution, Problem> {
    let spec = draft.input.spec;
    initial(spec).filter(|given| given.total() == spec.weight_total).ok_or_else(|| {
        let message = "no live route tells which members carry the traffic; give initialWeight to those that do";
        Problem::new(Reason::PrimaryUnknown, message)
    })
}

fn undeclared(draft: &Draft<'_>, live: &Distribution) -> Option<Problem> {
    let declared = declared(draft.input.spec);
    let (name, weight) = live.carrying().find(|(name, _)| !declared.names(name))?;
    let total = draft.input.spec.weight_total;
    let message =
        format!("{name} carries {weight} of {total} but is not in spec.members; to take it out say weight: 0");
    Some(Problem::new(Reason::MemberNotDeclared, message))
}

/// The first declared member that cannot be used.
pub(super) fn unusable_members(draft: &Draft<'_>) -> Option<Problem> {
    draft.input.seen.members.values().find_map(|member| match member {
        MemberSeen::Unusable(problem) => Some(problem.clone()),
        MemberSeen::Registered { .. } => None,
    })
}

/// Creates the missing routes with the weights of the primary, once the backends that they name exist.
fn create_routes(draft: &mut Draft<'_>) -> Option<Problem> {
    if !draft.input.seen.routes.values().any(|seen| *seen == RouteSeen::ToCreate) {
        return None;
    }
    if let Some(problem) = draft.input.seen.refused.clone() {
        return Some(problem);
    }
    let primary = draft.status.primary.clone().unwrap_or_default();
    let carrying: Vec<String> = primary.carrying().map(|(name, _)| name.to_owned()).collect();
    if let Some(problem) = health::backends_not_ready(draft, &carrying) {
        return Some(problem);
    }
    draft.renew_desired();
    None
}
