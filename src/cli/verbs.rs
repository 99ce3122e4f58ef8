//! The verbs on a rollout: each creates a RolloutRequest and waits for the hub's answer.

use std::time::Instant;

use clap_complete::ArgValueCompleter;
use jiff::Timestamp;
use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use kube::{Api, ResourceExt, api::PostParams, core::ObjectMeta, runtime::watcher};

use super::{
    CliError, Exit, Output, access, adoption,
    cluster::{Cluster, Connection},
    complete,
    connection::rollout_name,
    direct,
    hub_liveness::HubLiveness,
    text::escape,
};
use crate::api::{
    Duration, FleetRollout, FleetRolloutStatus, RolloutRequest, RolloutRequestSpec, Verb,
    request::{RequestState, RolloutRef},
    status::Run,
};

/// Longest reason that a request takes, in characters.
const LONGEST_REASON: usize = 256;

/// What follows the flags in the help of a verb.
pub(super) fn help(examples: &str) -> String {
    format!(
        "Examples:\n{examples}\n\nExit status: 0 applied, 1 refused, expired or an error, 4 no answer within --timeout, or --no-wait."
    )
}

/// The same for a verb with a flag that has exit statuses of its own.
fn help_with(statuses: &str, examples: &str) -> String {
    let all = help(examples);
    format!("{}; {statuses}.", all.trim_end_matches('.'))
}

/// Arguments of every verb.
#[derive(Debug, clap::Args)]
pub(super) struct RequestArgs {
    /// The rollout.
    #[arg(value_parser = rollout_name, add = ArgValueCompleter::new(complete::rollouts))]
    name: String,
    /// The reason, for the record; at most 256 characters.
    #[arg(long, value_parser = reason)]
    reason: Option<String>,
    /// Do not wait for the hub's answer.
    #[arg(long)]
    no_wait: bool,
    /// Longest time to wait for the hub's answer.
    #[arg(long, default_value = "10s", conflicts_with = "no_wait")]
    timeout: Duration,
    #[command(flatten)]
    connection: Connection,
}

/// Stop the run in an emergency: send traffic back now, before every other request.
///
/// With --direct it works without the hub. To go back from a run that works, but is not wanted, use rollback: the weights move in
/// the same way, and the record says that nothing failed.
#[derive(Debug, clap::Args)]
#[command(after_help = help_with("with --direct: 0 every route is written, 1 one is not", "  cutover abort shop -n shop --reason 'checkout fails'
  cutover abort shop -n shop --direct     also write the routes with your own credentials, if the hub is down"))]
pub(super) struct Abort {
    #[command(flatten)]
    request: RequestArgs,
    /// Also write the routes with your own credentials, for when the hub is down.
    #[arg(long)]
    direct: bool,
}

/// Take the live weights as the primary.
#[derive(Debug, clap::Args)]
#[command(after_help = help_with("with --dry-run: 0 it can be adopted, 1 error, 3 it cannot", "  cutover adopt shop -n shop --dry-run     show what would be adopted
  cutover adopt shop -n shop"))]
pub(super) struct Adopt {
    #[command(flatten)]
    request: RequestArgs,
    /// Request nothing; show what would be adopted, and what the first write would change.
    #[arg(long)]
    dry_run: bool,
}

fn reason(text: &str) -> Result<String, String> {
    let length = text.chars().count();
    if length <= LONGEST_REASON {
        Ok(text.to_owned())
    } else {
        Err(format!("{length} characters; at most {LONGEST_REASON}"))
    }
}

impl RequestArgs {
    pub(super) fn run(self, verb: Verb, out: &mut Output) -> Result<Exit, CliError> {
        let Self { name, reason, no_wait, timeout, connection } = self;
        connection.run(async |cluster| {
            let rollout = cluster.call(access::REQUEST, cluster.api::<FleetRollout>().get(&name)).await?;
            let request = create(&cluster, &rollout, verb, reason).await?;
            if no_wait {
                out.line(format!("requested: rolloutrequest {}", request.name_any()))?;
                return Ok(Exit::Progressing);
            }
            answer(&cluster, &request, timeout, out).await
        })
    }
}

impl Abort {
    pub(super) fn run(self, out: &mut Output) -> Result<Exit, CliError> {
        let Self { request, direct: by_hand } = self;
        if !by_hand {
            return request.run(Verb::Abort, out);
        }
        let RequestArgs { name, reason, connection, .. } = request;
        connection.run(async |cluster| {
            let view = cluster.view(cluster.rollout(&name).await?).await?;
            let back = direct::RollbackTarget::of(&view)?;
            // A person who may write routes but not create requests must still be able to roll back.
            let requested = match create(&cluster, &view.rollout, Verb::Abort, reason).await {
                Ok(request) => format!("requested: rolloutrequest {}, for the hub when it is back", request.name_any()),
                Err(error) => format!("not requested, so the hub will see a foreign edit: {error}"),
            };
            out.line(requested)?;
            back.write(&cluster, out).await
        })
    }
}

impl Adopt {
    pub(super) fn run(self, out: &mut Output) -> Result<Exit, CliError> {
        let Self { request, dry_run } = self;
        if !dry_run {
            return request.run(Verb::Adopt, out);
        }
        let RequestArgs { name, connection, .. } = request;
        connection.run(async |cluster| {
            let view = cluster.view(cluster.rollout(&name).await?).await?;
            adoption::rehearse(&cluster, &view, out).await
        })
    }
}

/// Creates the request in the name of the authenticated user.
async fn create(
    cluster: &Cluster,
    rollout: &FleetRollout,
    verb: Verb,
    reason: Option<String>,
) -> Result<RolloutRequest, CliError> {
    let who: Api<SelfSubjectReview> = Api::all(cluster.client.clone());
    let review = cluster.call(&[], who.create(&PostParams::default(), &SelfSubjectReview::default())).await?;
    let user = review.status.and_then(|status| status.user_info).and_then(|user| user.username);
    let user = user.ok_or_else(|| CliError::Said("the API server does not say who you are".to_owned()))?;
    let request = request(rollout, verb, reason, user);
    cluster.call(access::REQUEST, cluster.api().create(&PostParams::default(), &request)).await
}

/// The request, for the present run and step.
fn request(rollout: &FleetRollout, verb: Verb, reason: Option<String>, requested_by: String) -> RolloutRequest {
    let status = rollout.status.as_ref();
    let run = status.and_then(|status| status.run.as_ref());
    let name = rollout.name_any();
    let spec = RolloutRequestSpec {
        rollout: RolloutRef { name: name.clone(), uid: rollout.uid().unwrap_or_default() },
        verb,
        run: status.map_or(0, FleetRolloutStatus::last_run),
        step: run.map(Run::step).filter(|step| verb == Verb::Promote && *step > 0),
        sequence: seen(status, verb),
        reason,
        requested_by,
    };
    let prefix = format!("{name}-{}-", verb.to_string().to_lowercase());
    let metadata = ObjectMeta { generate_name: Some(prefix), namespace: rollout.namespace(), ..ObjectMeta::default() };
    RolloutRequest { metadata, spec, status: None }
}

/// The write whose checks the status shows: whoever promotes has looked at these.
fn seen(status: Option<&FleetRolloutStatus>, verb: Verb) -> Option<u64> {
    let desired = status?.desired.as_ref().filter(|_| verb == Verb::Promote)?;
    Some(desired.sequence)
}

/// Waits for the hub's answer and prints it.
async fn answer(
    cluster: &Cluster,
    request: &RolloutRequest,
    timeout: Duration,
    out: &mut Output,
) -> Result<Exit, CliError> {
    let begin = Instant::now();
    let name = request.name_any();
    let Ok(answered) = tokio::time::timeout(timeout.to_std(), answered(cluster, &name)).await else {
        let hub = cluster.lease().await.at(Timestamp::now());
        out.line(unanswered(request, timeout, &hub))?;
        return Ok(Exit::Progressing);
    };
    let status = answered?.status.unwrap_or_default();
    let state = status.state.map(|state| format!("{state:?}")).unwrap_or_default();
    let reason = escape(&status.reason.unwrap_or_default());
    out.line(format!("{state}: {reason} ({:.1} s)", begin.elapsed().as_secs_f64()))?;
    Ok(match status.state {
        Some(RequestState::Applied) => Exit::Done,
        Some(RequestState::Refused | RequestState::Expired) | None => Exit::Error,
    })
}

/// What to know of a request that no hub answers, and what helps without one.
fn unanswered(request: &RolloutRequest, timeout: Duration, hub: &HubLiveness) -> String {
    let (name, rollout) = (request.name_any(), &request.spec.rollout.name);
    let namespace = request.namespace().unwrap_or_default();
    let stays = format!("no answer within {timeout}; rolloutrequest {name} stays open, for the hub when it runs");
    let goes_back = matches!(request.spec.verb, Verb::Abort | Verb::Rollback);
    match hub.alarm() {
        Some(alarm) if goes_back => format!("{alarm}\n{stays}\nnow: cutover abort {rollout} -n {namespace} --direct"),
        Some(alarm) => format!("{alarm}\n{stays}"),
        None => format!("no answer within {timeout} ({hub}); rolloutrequest {name} stays open"),
    }
}

async fn answered(cluster: &Cluster, name: &str) -> Result<RolloutRequest, CliError> {
    let mut changes = Box::pin(watcher::watch_object(cluster.api::<RolloutRequest>(), name));
    loop {
        let Some(request) = cluster.next(access::REQUEST, &mut changes).await? else {
            return Err(CliError::Said(format!("rolloutrequest {name} was deleted before it was answered")));
        };
        if request.status.as_ref().is_some_and(|status| status.state.is_some()) {
            return Ok(request);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::fixtures;

    #[test]
    fn a_request_is_for_the_run_and_step_that_are_live_and_for_what_was_seen() {
        let request = request(&fixtures::waiting().rollout, Verb::Promote, Some("go".to_owned()), "ada".to_owned());
        assert_eq!(request.metadata.generate_name.as_deref(), Some("shop-promote-"));
        let expected = serde_json::json!({
            "rollout": {"name": "shop", "uid": "u-1"}, "verb": "Promote", "run": 7, "step": 2, "sequence": 9,
            "reason": "go", "requestedBy": "ada"
        });
        assert_eq!(serde_json::to_value(&request.spec).unwrap(), expected);
    }

    #[test]
    fn only_a_promotion_is_bound_to_a_step_and_no_run_is_run_0() {
        let abort = request(&fixtures::waiting().rollout, Verb::Abort, None, "ada".to_owned()).spec;
        assert_eq!((abort.step, abort.sequence), (None, None));
        let before = request(&fixtures::needs_mapping().rollout, Verb::Promote, None, "ada".to_owned()).spec;
        assert_eq!((before.run, before.step), (0, None));
    }

    #[test]
    fn a_reason_that_the_api_would_refuse_is_refused_at_once() {
        assert!(reason(&"x".repeat(256)).is_ok());
        assert_eq!(reason(&"x".repeat(257)), Err("257 characters; at most 256".to_owned()));
    }
}
