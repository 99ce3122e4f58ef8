//! The pure core: what to observe, what it means, and what to do next.
//!
//! Everything here is total, synchronous and deterministic: no clock, no I/O, no logging, no randomness.

mod alerts;
mod approvals;
mod checks;
mod config_copies;
mod deadline;
pub mod decision;
mod deletion;
pub mod dependencies;
mod draft;
mod edits;
mod gates;
mod health;
mod hooks;
mod initialization;
pub mod input;
mod judge;
mod marks;
pub mod merge;
pub mod plan;
mod promotion;
mod report;
mod requests;
mod revision;
mod routes;
mod schedule;
mod standing;
mod states;
mod target;
mod time;
mod tracking;
mod urgency;
mod verbs;
pub mod windows;

pub use approvals::awaited;
pub use checks::due;
pub use decision::{Action, Backends, Decision};
pub use health::PROBES;
pub use input::{Deliveries, HookCall, Input, Observation, RouteKey};
pub use marks::credible;
pub use report::CONDITIONS;
pub use revision::{declared, initial, revision};
pub use tracking::tracked;
pub use urgency::Urgency;
pub use verbs::verbs;

use std::collections::BTreeMap;

use crate::api::{CANARY, FleetRolloutSpec, FleetRolloutStatus, PRIMARY, Phase, Reason, ServiceCopy, ServiceSpec};
use draft::Draft;
use standing::{Intent, Standing};

/// Decides what to do next. Total and deterministic: the same input gives the same decision, byte for byte.
///
/// # Guarantees
/// The weights that it desires always sum to the total, and a canary's weight rises only on a recorded pass at the
/// weight before it (or, for the first step, on good probes).
#[must_use]
pub fn decide(input: &Input<'_>) -> Decision {
    let mut draft = Draft::new(input);
    if routes::unread(&draft) || tracking::awaited(&draft) {
        return draft.finish(Intent::WriteNothing(Reason::Initializing));
    }
    let (standing, intent) = flow(&mut draft);
    report::write(&mut draft, &standing);
    alerts::record(&mut draft);
    hooks::deliver(&mut draft);
    deletion::wait_until_announced(&mut draft);
    draft.finish(intent)
}

/// All control flow of a decision: the first thing that stands in the way decides where the rollout stands.
fn flow(draft: &mut Draft<'_>) -> (Standing, Intent) {
    if draft.input.deleting {
        return deletion::proceed(draft);
    }
    if draft.input.spec.suspend {
        return suspended();
    }
    draft.want_finalizer();
    requests::adopt(draft);
    if let Some(problem) = routes::ownership(draft) {
        let intent = Intent::WriteNothing(problem.reason);
        return (requests::refuse_all(draft, Standing::held(problem)), intent);
    }
    routes::forget_the_future(draft);
    routes::take_over(draft);
    if let Some(problem) = initialization::initialize(draft) {
        let intent = Intent::WriteNothing(problem.reason);
        return (requests::refuse_all(draft, Standing::initializing(problem)), intent);
    }
    promotion::copy_metadata(draft);
    routes::confirm(draft);
    let edit = edits::judge(draft);
    requests::apply(draft);
    health::watch(draft);
    checks::consume(draft);
    hooks::consume(draft);
    let standing = states::advance(draft);
    draft.update_desired();
    hooks::call(draft);
    states::give_back_left(draft);
    (standing, edits::intent(draft, edit))
}

fn suspended() -> (Standing, Intent) {
    let message = "spec.suspend is true: nothing is written, rollback included";
    let standing = Standing::new(Phase::Paused, Reason::Suspended, message);
    (standing, Intent::WriteNothing(Reason::Suspended))
}

/// Service mode: what primary and canary of a service are, as far as the status knows. The primary is what passed last;
/// the canary is what the last run proves or proved, and before any run the same.
#[must_use]
pub fn copies(service: &str, status: &FleetRolloutStatus) -> BTreeMap<String, ServiceCopy> {
    let promoted = status.promoted.as_ref().and_then(|promoted| promoted.services.get(service));
    let proving = status.run.as_ref().map_or(&status.canary, |run| &run.services).get(service);
    let slots = [(PRIMARY, promoted), (CANARY, proving.or(promoted))];
    slots.into_iter().filter_map(|(slot, copy)| Some((slot.to_owned(), copy?.clone()))).collect()
}

/// The services that a pass is about: those that the live run began with, else the declared ones.
#[must_use]
pub fn services<'a>(spec: &'a FleetRolloutSpec, status: &'a FleetRolloutStatus) -> &'a [ServiceSpec] {
    status.run.as_ref().map_or(&spec.services, |run| &run.pinned.services)
}
