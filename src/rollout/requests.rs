//! What people ask for.

use super::{
    input::Request,
    pass::{Pass, Standing, between, keep_newest},
    run, sight,
    target::target,
};
use crate::{
    api::{
        Duration, Reason, Verb,
        request::RequestState,
        status::{self, Answer, Stop},
    },
    rollout::decision::Action,
};

/// Promote, Resume, Retry and Adopt that are older than this come too late.
const GOOD_FOR: Duration = Duration::from_secs(600);

type Outcome = Result<String, String>;

/// Takes the live distribution as the primary, if somebody asks for that: first sight again.
pub(super) fn adopt(pass: &mut Pass<'_>) {
    for request in open(pass).into_iter().filter(|request| request.spec.verb == Verb::Adopt) {
        let outcome = meant(pass, &request).and_then(|()| adopt_live(pass, &request));
        settle(pass, &request, outcome);
    }
}

fn adopt_live(pass: &mut Pass<'_>, request: &Request) -> Outcome {
    let live = sight::seen_distribution(pass).map_err(|problem| problem.message)?;
    let Some(live) = live else { return Err("there is no live route to adopt".to_owned()) };
    if pass.run().is_some_and(|run| run.step > 0) && sight::ownership(pass).is_none() {
        return Err("a run is going on; abort it first".to_owned());
    }
    let newest = pass.live_routes().filter_map(|(_, route)| route.mark.as_ref().map(|mark| mark.sequence)).max();
    pass.hands_off = false;
    pass.status.sequence = pass.status.sequence.max(newest.unwrap_or(0));
    run::end(pass, status::Outcome::Superseded, Reason::Adopted, "the live distribution was adopted");
    pass.status.routes.clear();
    pass.status.primary = Some(live);
    pass.ask_anew();
    let message = format!("the live distribution is the primary, as {} asked", request.spec.requested_by);
    pass.tell(false, Reason::Adopted, message.clone());
    Ok(message)
}

/// Nothing can be applied now: every request is told why, once.
pub(super) fn refuse_all(pass: &mut Pass<'_>, standing: Standing) -> Standing {
    // Routes that have not been read yet, as at every start, are no answer.
    let open = if standing.reason == Reason::FirstSight { Vec::new() } else { open(pass) };
    for request in open {
        settle(pass, &request, Err(format!("{}: {}", standing.reason, standing.message)));
    }
    standing
}

/// Applies what people asked for, Abort before all others.
pub(super) fn apply(pass: &mut Pass<'_>) {
    let mut requests = open(pass);
    requests.sort_by_key(|request| request.spec.verb != Verb::Abort);
    for request in requests {
        let outcome = meant(pass, &request).and_then(|()| apply_one(pass, &request));
        settle(pass, &request, outcome);
    }
}

/// The requests that have no answer yet. Those whose answer is recorded but not given are answered again.
fn open(pass: &mut Pass<'_>) -> Vec<Request> {
    let mut open = Vec::new();
    for request in pass.input.requests {
        match pass.status.answers.iter().find(|answer| answer.uid == request.uid).cloned() {
            Some(answer) => give(pass, request, answer),
            None => open.push(request.clone()),
        }
    }
    open
}

fn give(pass: &mut Pass<'_>, request: &Request, answer: Answer) {
    let action = Action::AnswerRequest { name: request.name.clone(), answer };
    if !pass.actions.contains(&action) {
        pass.actions.push(action);
    }
}

fn settle(pass: &mut Pass<'_>, request: &Request, outcome: Outcome) {
    let expired = outcome.is_err() && is_late(pass, request);
    let (state, reason) = match outcome {
        Ok(reason) => (RequestState::Applied, reason),
        Err(reason) if expired => (RequestState::Expired, reason),
        Err(reason) => (RequestState::Refused, reason),
    };
    let answer = Answer { uid: request.uid.clone(), state, reason, at: pass.now() };
    pass.status.answers.push(answer.clone());
    keep_newest(&mut pass.status.answers);
    give(pass, request, answer);
}

fn is_late(pass: &Pass<'_>, request: &Request) -> bool {
    let lasting = matches!(request.spec.verb, Verb::Abort | Verb::Pause | Verb::Rollback);
    !lasting && between(request.at, pass.now()) > GOOD_FOR
}

/// The request is meant for this rollout and this run, and still in time.
fn meant(pass: &Pass<'_>, request: &Request) -> Result<(), String> {
    let number = pass.status.run.as_ref().map_or(0, |run| run.number);
    if request.spec.rollout.uid != pass.input.uid {
        return Err(format!("the rollout of that name is another one now (uid {})", pass.input.uid));
    }
    if is_late(pass, request) {
        return Err(format!("older than {GOOD_FOR}; ask again"));
    }
    if request.spec.run != number {
        return Err(format!("meant for run {}, but this is run {number}", request.spec.run));
    }
    Ok(())
}

fn apply_one(pass: &mut Pass<'_>, request: &Request) -> Outcome {
    match request.spec.verb {
        Verb::Abort => go_back(pass, request, Reason::Aborted),
        Verb::Rollback => go_back(pass, request, Reason::RollbackRequested),
        Verb::Pause => pause(pass, request),
        Verb::Resume => resume(pass),
        Verb::Promote => promote(pass, request),
        Verb::Retry => retry(pass),
        Verb::Adopt => Err("there is nothing to adopt".to_owned()),
    }
}

fn go_back(pass: &mut Pass<'_>, request: &Request, reason: Reason) -> Outcome {
    let Some(run) = pass.run() else { return Err("no run is going on".to_owned()) };
    if run.retreat.is_some() {
        return Ok("the run is going back already".to_owned());
    }
    if run.promoting_since.is_some() {
        return Err("what passed is being copied to the primary; to go back declare the old Services again, with skipAnalysis: true if it must be now"
            .to_owned());
    }
    let why = request.spec.reason.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
    pass.retreat(reason, format!("{} asked for {}{why}", request.spec.requested_by, request.spec.verb), true);
    Ok("going back to the primary".to_owned())
}

fn pause(pass: &mut Pass<'_>, request: &Request) -> Outcome {
    let at = pass.now();
    let message =
        format!("{} asked for a pause; checks and rollback go on; cutover resume goes on", request.spec.requested_by);
    let Some(run) = pass.run_mut() else { return Err("no run is going on".to_owned()) };
    if run.pause.is_none() {
        run.pause = Some(Stop { reason: Reason::PausedByRequest, message: message.clone(), at });
        pass.tell(false, Reason::PausedByRequest, message);
    }
    Ok("no advance until resume; checks and rollback go on".to_owned())
}

fn resume(pass: &mut Pass<'_>) -> Outcome {
    if pass.input.spec.paused {
        return Err("spec.paused is true; set it to false".to_owned());
    }
    let Some(run) = pass.run_mut() else { return Err("no run is going on".to_owned()) };
    let Some(pause) = run.pause.take() else { return Err("the run is not paused".to_owned()) };
    if pause.is_by_foreign_edit() {
        pass.hands_off = false;
        pass.ask_anew();
        return Ok("the step's weights are written again, with a fresh bake".to_owned());
    }
    Ok("the run goes on".to_owned())
}

fn promote(pass: &mut Pass<'_>, request: &Request) -> Outcome {
    let Some(run) = pass.run_mut() else { return Err("no run is going on".to_owned()) };
    let step = run.step;
    if request.spec.step.is_some_and(|meant| meant != step) {
        return Err(format!("meant for step {}, but this is step {step}", request.spec.step.unwrap_or_default()));
    }
    let waits = run.present().is_some_and(|step| step.wait.is_some());
    if !waits {
        return Err(format!("step {step} has no wait to open"));
    }
    if run.retreat.is_some() {
        return Err("the run is going back".to_owned());
    }
    if !run.promoted.contains(&step) {
        run.promoted.push(step);
    }
    Ok(format!("the wait of step {step} is open"))
}

fn retry(pass: &mut Pass<'_>) -> Outcome {
    let wanted = target(pass).map_err(|problem| problem.message)?.revision;
    if let Some(run) = pass.run_mut() {
        if run.retreat.is_some() {
            return Err("the run is going back; retry when it has ended".to_owned());
        }
        if run.hold.take().is_none() {
            return Err("the run is not held".to_owned());
        }
        run.deadline_used = Duration::ZERO;
        run.forget_evidence();
        run.put_back.clear();
        for metric in run.check.iter_mut().flat_map(|check| &mut check.metrics) {
            metric.recent.clear();
        }
        return Ok("the run goes on with a fresh bake".to_owned());
    }
    if pass.status.failed_revision.as_deref() != Some(wanted.as_str()) {
        return Err("the declared revision has not failed".to_owned());
    }
    pass.status.failed_revision = None;
    Ok("the declared revision is tried again".to_owned())
}
