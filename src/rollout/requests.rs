//! What people ask for.

use super::{
    approvals,
    decision::Action,
    draft::{Draft, KEPT, keep_newest},
    edits, initialization,
    input::{Mark, Request},
    marks, promotion, routes,
    standing::Standing,
    states,
    target::target,
    time::between,
};
use crate::api::{
    Duration, Mode, Reason, RolloutRequestSpec, Verb,
    request::RequestState,
    status::{self, Answer, Requested, Stop},
};

/// Promote, Resume, Retry and Adopt that are older than this come too late.
const GOOD_FOR: Duration = Duration::from_secs(600);

type Outcome = Result<String, String>;

/// Takes the live distribution as the primary, if a request says so: initialization again.
pub(super) fn adopt(draft: &mut Draft<'_>) {
    for request in open(draft).into_iter().filter(|request| request.spec.verb == Verb::Adopt) {
        let outcome = meant(draft, &request).and_then(|()| adopt_live(draft, &request));
        settle(draft, &request, outcome);
    }
}

fn adopt_live(draft: &mut Draft<'_>, request: &Request) -> Outcome {
    let live = initialization::live_distribution(draft).map_err(|problem| problem.message)?;
    let Some(live) = live else { return Err("there is no live route to adopt".to_owned()) };
    if draft.run().is_some_and(|run| run.step() > 0) && routes::ownership(draft).is_none() {
        return Err("a run is going on; abort it first".to_owned());
    }
    if draft.input.spec.mode() == Mode::Service {
        promotion::adopt(draft, &live)?;
    }
    let found: Vec<&Mark> = draft.live_routes().filter_map(|(key, route)| draft.mark(key, route)).collect();
    marks::adopt(&mut draft.status, draft.input.hub, draft.input.uid, &found);
    let by = Some(request.spec.requested_by.clone());
    draft.note_request(requested(draft, request));
    states::end(draft, status::Outcome::Superseded, Reason::Adopted, "the live distribution was adopted", by);
    draft.status.routes.clear();
    // In service mode the first write leads the routes to Services that initialization makes.
    if draft.input.spec.mode() == Mode::Member || draft.status.primary.is_some() {
        draft.status.primary = Some(live);
        draft.renew_desired();
    }
    let (who, why) = (&request.spec.requested_by, why(request));
    let message = format!("the live distribution is the primary, as {who} requested{why}");
    draft.announce(false, Reason::Adopted, message.clone());
    Ok(message)
}

/// Nothing can be applied now: every request is answered with the reason, once.
pub(super) fn refuse_all(draft: &mut Draft<'_>, standing: Standing) -> Standing {
    // Routes that have not been read yet, as at every start, are no answer.
    let open = if standing.reason == Reason::Initializing { Vec::new() } else { open(draft) };
    for request in open {
        settle(draft, &request, Err(format!("{}: {}", standing.reason, standing.message)));
    }
    standing
}

/// Applies what people requested, Abort before all others.
pub(super) fn apply(draft: &mut Draft<'_>) {
    let mut requests = open(draft);
    requests.sort_by_key(|request| request.spec.verb != Verb::Abort);
    for request in requests {
        let outcome = meant(draft, &request).and_then(|()| apply_one(draft, &request));
        if outcome.is_ok() {
            draft.note_request(requested(draft, &request));
        }
        settle(draft, &request, outcome);
    }
}

/// What the run keeps of a request.
fn requested(draft: &Draft<'_>, request: &Request) -> Requested {
    let RolloutRequestSpec { verb, requested_by, reason, .. } = &request.spec;
    Requested { at: draft.now(), verb: *verb, by: requested_by.clone(), reason: reason.clone() }
}

/// The reason that was given, as the end of a sentence.
fn why(request: &Request) -> String {
    request.spec.reason.as_deref().map(|why| format!(": {why}")).unwrap_or_default()
}

/// The requests that have no answer yet. Those whose answer is recorded but not given are answered again.
fn open(draft: &mut Draft<'_>) -> Vec<Request> {
    let mut open = Vec::new();
    for request in draft.input.requests {
        match draft.status.answers.iter().find(|answer| answer.uid == request.uid).cloned() {
            Some(answer) => give(draft, request, answer),
            None => open.push(request.clone()),
        }
    }
    open
}

fn give(draft: &mut Draft<'_>, request: &Request, answer: Answer) {
    let action = Action::AnswerRequest { name: request.name.clone(), answer };
    if !draft.actions.contains(&action) {
        draft.actions.push(action);
    }
}

fn settle(draft: &mut Draft<'_>, request: &Request, outcome: Outcome) {
    let expired = outcome.is_err() && is_late(draft, request);
    let (state, reason) = match outcome {
        Ok(reason) => (RequestState::Applied, reason),
        Err(reason) if expired => (RequestState::Expired, reason),
        Err(reason) => (RequestState::Refused, reason),
    };
    let answer = Answer { uid: request.uid.clone(), state, reason, at: draft.now() };
    draft.status.answers.push(answer.clone());
    keep_newest(&mut draft.status.answers, KEPT);
    give(draft, request, answer);
}

fn is_late(draft: &Draft<'_>, request: &Request) -> bool {
    let lasting = matches!(request.spec.verb, Verb::Abort | Verb::Pause | Verb::Rollback);
    !lasting && between(request.at, draft.now()) > GOOD_FOR
}

/// The request is meant for this rollout and this run, and still in time.
fn meant(draft: &Draft<'_>, request: &Request) -> Result<(), String> {
    let number = draft.status.last_run();
    if request.spec.rollout.uid != draft.input.uid {
        return Err(format!("the rollout of that name is another one now (uid {})", draft.input.uid));
    }
    if is_late(draft, request) {
        return Err(format!("older than {GOOD_FOR}; ask again"));
    }
    if request.spec.run != number {
        return Err(format!("meant for run {}, but this is run {number}", request.spec.run));
    }
    Ok(())
}

fn apply_one(draft: &mut Draft<'_>, request: &Request) -> Outcome {
    match request.spec.verb {
        Verb::Abort => go_back(draft, request, Reason::Aborted),
        Verb::Rollback => go_back(draft, request, Reason::RollbackRequested),
        Verb::Pause => pause(draft, request),
        Verb::Resume => resume(draft),
        Verb::Promote => promote(draft, request),
        Verb::Retry => retry(draft, request),
        Verb::Adopt => Err("there is nothing to adopt".to_owned()),
    }
}

fn go_back(draft: &mut Draft<'_>, request: &Request, reason: Reason) -> Outcome {
    let Some(run) = draft.run() else { return Err("no run is going on".to_owned()) };
    if run.is_rolling_back() {
        return Ok("the run is going back already".to_owned());
    }
    if run.is_promoted() {
        return Err("what passed is being copied to the primary; to go back declare the old Services again, with skipAnalysis: true if it must be now"
            .to_owned());
    }
    let by = request.spec.requested_by.clone();
    draft.roll_back(reason, format!("{by} requested {}{}", request.spec.verb, why(request)), Some(by));
    Ok("going back to the primary".to_owned())
}

fn pause(draft: &mut Draft<'_>, request: &Request) -> Outcome {
    let at = draft.now();
    let (who, why) = (&request.spec.requested_by, why(request));
    let message = format!("{who} requested a pause{why}; checks and rollback go on; cutover resume goes on");
    let Some(run) = draft.run_mut() else { return Err("no run is going on".to_owned()) };
    if run.pause.is_none() {
        run.pause = Some(Stop { reason: Reason::PausedByRequest, message: message.clone(), at });
        draft.announce(false, Reason::PausedByRequest, message);
    }
    Ok("no advance until resume; checks and rollback go on".to_owned())
}

fn resume(draft: &mut Draft<'_>) -> Outcome {
    if draft.input.spec.paused {
        return Err("spec.paused is true; set it to false".to_owned());
    }
    let Some(run) = draft.run_mut() else { return Err("no run is going on".to_owned()) };
    let Some(pause) = run.pause.take() else { return Err("the run is not paused".to_owned()) };
    if pause.is_by_foreign_edit() {
        draft.renew_desired();
        return Ok("the step's weights are written again, with a fresh bake".to_owned());
    }
    Ok("the run goes on".to_owned())
}

fn promote(draft: &mut Draft<'_>, request: &Request) -> Outcome {
    let Some(run) = draft.run_mut() else { return Err("no run is going on".to_owned()) };
    let step = run.step();
    if request.spec.step.is_some_and(|meant| meant != step) {
        return Err(format!("meant for step {}, but this is step {step}", request.spec.step.unwrap_or_default()));
    }
    let present = run.present();
    if present.is_none_or(|present| present.wait.is_none()) {
        return Err(format!("step {step} has no wait to open"));
    }
    if run.is_rolling_back() {
        return Err("the run is going back".to_owned());
    }
    let (said, is_enough) = match present.and_then(|present| present.approval) {
        Some(approval) => approvals::approve(draft, request, approval)?,
        None => (String::new(), true),
    };
    if !is_enough {
        return Ok(said);
    }
    let Some(run) = draft.run_mut() else { return Ok(said) };
    if !run.approved.contains(&step) {
        run.approved.push(step);
    }
    let with = if said.is_empty() { said } else { format!("; {said}") };
    Ok(format!("the wait of step {step} is open{with}"))
}

fn retry(draft: &mut Draft<'_>, request: &Request) -> Outcome {
    if draft.run().is_none() && edits::drift(draft).is_some() {
        draft.renew_desired();
        return Ok("what was written last is written again; what failed is not tried by that".to_owned());
    }
    let wanted = target(draft).map_err(|problem| problem.message)?.revision;
    if let Some(run) = draft.run_mut() {
        if run.is_rolling_back() {
            return Err("the run is going back; retry when it has ended".to_owned());
        }
        if run.hold.take().is_none() {
            return Err("the run is not held".to_owned());
        }
        (run.deadline_used, run.not_ready_since) = (Duration::ZERO, None);
        run.put_back.clear();
        for metric in run.check.iter_mut().flat_map(|check| &mut check.metrics) {
            metric.recent.clear();
        }
        run.hooks.clear();
        draft.forget_evidence();
        return Ok("the run goes on with a fresh bake".to_owned());
    }
    if draft.status.failed_revision.as_deref() != Some(wanted.as_str()) {
        return Err("the declared revision has not failed".to_owned());
    }
    draft.status.failed_revision = None;
    draft.retried = Some(requested(draft, request));
    Ok("the declared revision is tried again".to_owned())
}
