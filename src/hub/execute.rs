//! Does what was decided, in that order. What fails is logged and tried again later; it never stops the rest.

use std::collections::BTreeMap;

use kube::ResourceExt;
use tokio::time::Instant;

use super::{
    Hub,
    cache::Key,
    calls::{CallError, WriteMode},
    config_copies::ConfigCopies,
    memory::Memory,
    observed::{Found, Observed},
    placed::Placed,
    subject::Subject,
    turns::Turn,
};
use crate::{
    api::{
        DeletionPolicy, FINALIZER, FleetRollout, Route, Split,
        request::RolloutRequestStatus,
        status::{Answer, Run},
    },
    backend,
    object::{Target, Write, owner},
    rollout::{
        Action, Backends, RouteKey,
        input::{Mark, Problem, RouteSeen},
    },
    route::{self, Entry, RouteError},
};

/// A pass that executes.
pub(super) struct Execution<'a> {
    hub: &'a Hub,
    turn: &'a Turn,
    subject: &'a Subject<'a>,
    observed: &'a Observed,
    /// The rollout as it was stored last.
    rollout: FleetRollout,
    /// Objects that are newer than what is known of them.
    outdated: Vec<Target>,
}

impl<'a> Execution<'a> {
    pub(super) const fn new(
        hub: &'a Hub,
        turn: &'a Turn,
        subject: &'a Subject<'a>,
        observed: &'a Observed,
        rollout: FleetRollout,
    ) -> Self {
        Self { hub, turn, subject, observed, rollout, outdated: Vec::new() }
    }

    /// Does all of it. The finalizer goes last, and only if nothing before it failed.
    pub(super) async fn all(mut self, actions: &[Action], memory: &mut Memory) {
        let mut failed = false;
        for action in actions {
            if failed && *action == Action::RemoveFinalizer {
                continue;
            }
            let result = self.one(action).await;
            failed |= result.is_err();
            if let Action::Rehearse { route, .. } = action {
                memory.rehearsed(self.subject.status, route, &result);
            }
            if let Action::WriteConfigCopies { .. } = action {
                memory.configs.wrote();
            }
            if let (Action::ReleaseRoute { route, .. }, Ok(())) = (action, &result)
                && let Ok((placed, route)) = self.route(route)
            {
                memory.propagation.released(route::obeyed_within(&placed.spec, route), Instant::now());
            }
            memory.attempts.record(action, &result, Instant::now());
            if result.is_ok() && self.creates_route(action) {
                memory.attempts.forget(action);
            }
            self.log_outcome(action, &result);
        }
        self.read_outdated().await;
    }

    async fn one(&mut self, action: &Action) -> Result<(), CallError> {
        match action {
            Action::AddFinalizer => self.finalizer(true).await,
            Action::RemoveFinalizer => self.finalizer(false).await,
            Action::WriteBackend { service, member } => self.write_backend(service, member).await,
            Action::Rehearse { route, split } => {
                let (run, sequence) = (self.subject.status.last_run(), self.subject.status.sequence + 1);
                self.write_route(route, split, run, sequence, WriteMode::DryRun).await
            }
            Action::WriteRoute { route, split, run, sequence } => {
                self.write_route(route, split, *run, *sequence, WriteMode::Real).await
            }
            Action::ReleaseRoute { route, policy } => self.release_route(route, *policy).await,
            Action::ReleaseBackends { policy, which: Backends::All } => self.release_backends(*policy).await,
            Action::ReleaseBackends { policy, which: Backends::Left } => {
                self.release(&self.observed.left.of_members, *policy).await
            }
            Action::WriteConfigCopies { configs, .. } => self.copies().write(configs).await,
            Action::ReleaseConfigCopies => self.copies().release(self.subject.status).await,
            Action::AnswerRequest { name, answer } => self.answer(name, answer).await,
        }
    }

    const fn copies(&self) -> ConfigCopies<'_> {
        ConfigCopies { hub: self.hub, turn: self.turn, subject: self.subject, owner: &self.rollout }
    }

    async fn finalizer(&mut self, wanted: bool) -> Result<(), CallError> {
        let mut finalizers: Vec<String> =
            self.rollout.finalizers().iter().filter(|name| *name != FINALIZER).cloned().collect();
        if wanted {
            finalizers.push(FINALIZER.to_owned());
        }
        self.rollout = self.hub.calls.set_finalizers(self.turn, &self.rollout, &finalizers).await?;
        Ok(())
    }

    async fn write_backend(&mut self, service: &str, member: &str) -> Result<(), CallError> {
        let key = (service.to_owned(), member.to_owned());
        let (Some(placed), Some(found)) = (self.placed(service), self.observed.backends.get(&key)) else {
            return Err(CallError::Conflict);
        };
        let addresses = self.observed.addresses.get(&key).map_or(&[][..], Vec::as_slice);
        let writes = backend::render(&self.subject.context(placed), member, found, addresses).map_err(refused)?;
        self.write(&writes, WriteMode::Real).await
    }

    async fn write_route(
        &mut self,
        key: &RouteKey,
        split: &Split,
        run: u64,
        sequence: u64,
        mode: WriteMode,
    ) -> Result<(), CallError> {
        let (placed, route) = self.route(key)?;
        let found = self.observed.routes.get(key).ok_or(CallError::Conflict)?;
        let mark = Mark { hub: self.subject.hub.clone(), rollout: self.subject.uid.clone(), run, sequence };
        let context = self.subject.context(placed);
        if matches!(mode, WriteMode::Real) && !self.rolls_back() {
            match route::entry(&context, route, found, split, &mark).map_err(|error| unable(&error))? {
                Entry::Done => {}
                Entry::Pending => return Ok(()),
                Entry::Missing(writes) => return self.write(&writes, mode).await,
            }
        }
        let writes = route::render(&context, route, found, split, &mark).map_err(|error| unable(&error))?;
        self.write(&writes, mode).await
    }

    /// A rollback waits for nothing.
    fn rolls_back(&self) -> bool {
        let run = self.rollout.status.as_ref().and_then(|status| status.run.as_ref());
        run.is_some_and(Run::is_rolling_back)
    }

    async fn release_route(&mut self, key: &RouteKey, policy: DeletionPolicy) -> Result<(), CallError> {
        let (placed, route) = self.route(key)?;
        let found = self.observed.routes.get(key).ok_or(CallError::Conflict)?;
        let writes =
            route::release(&self.subject.context(placed), route, found, policy).map_err(|error| unable(&error))?;
        self.write(&writes, WriteMode::Real).await
    }

    /// Those of services that are not declared any more stay, whatever the policy: nobody looks at what may name them.
    async fn release_backends(&mut self, policy: DeletionPolicy) -> Result<(), CallError> {
        let mut result = self.release(&self.observed.backends, policy).await;
        result = result.and(self.release(&self.observed.left.of_members, policy).await);
        for object in &self.observed.left.of_services {
            result = result.and(self.write(&[owner::released(object)], WriteMode::Real).await);
        }
        result
    }

    /// A backend that any route still names stays.
    async fn release(
        &mut self,
        backends: &BTreeMap<(String, String), Found>,
        policy: DeletionPolicy,
    ) -> Result<(), CallError> {
        let mut result = Ok(());
        for ((service, member), found) in backends {
            let Some(placed) = self.placed(service) else { continue };
            let name = backend::name(&placed.spec, member);
            let named = self.observed.routes.values().any(|route| route::names(route, &name));
            let writes = backend::release(&self.subject.context(placed), member, found, policy, named);
            result = result.and(self.write(&writes, WriteMode::Real).await);
        }
        result
    }

    async fn answer(&self, name: &str, answer: &Answer) -> Result<(), CallError> {
        let found = self.hub.requests.get(&Key::new(&self.subject.namespace, name));
        let Some(request) = found.as_ref().and_then(|guarded| guarded.0.as_ref().ok()) else { return Ok(()) };
        let mut request = request.clone();
        request.metadata.managed_fields = None;
        let (state, reason) = (Some(answer.state), Some(answer.reason.clone()));
        request.status = Some(RolloutRequestStatus { state, reason, at: Some(answer.at) });
        self.hub.calls.write_request_status(self.turn, &request).await
    }

    async fn write(&mut self, writes: &[Write], mode: WriteMode) -> Result<(), CallError> {
        for write in writes {
            let written = self.hub.calls.write_object(self.turn, write, mode).await;
            if written == Err(CallError::Conflict) {
                self.outdated.push(write.target());
            }
            written?;
        }
        Ok(())
    }

    /// What is there now is what the next writes are made of, and the watch may be late.
    async fn read_outdated(&self) {
        for target in &self.outdated {
            if let Err(error) = self.hub.calls.is_current(self.turn, target).await {
                tracing::debug!(%error, ?target, "not read again");
            }
        }
    }

    /// The route did not exist before: no other writer contends for it, and the next write need not wait.
    fn creates_route(&self, action: &Action) -> bool {
        matches!(action, Action::WriteRoute { route, .. } if self.observed.seen.routes.get(route) == Some(&RouteSeen::ToCreate))
    }

    fn placed(&self, service: &str) -> Option<&'a Placed> {
        self.subject.services.iter().find(|placed| placed.spec.name == service)
    }

    /// A route that is not there any more was named by another version of the rollout.
    fn route(&self, key: &RouteKey) -> Result<(&'a Placed, &'a Route), CallError> {
        let placed = self.placed(&key.service).ok_or(CallError::Conflict)?;
        let route = placed.spec.routes.iter().find(|route| route::key(&placed.spec, route) == *key);
        Ok((placed, route.ok_or(CallError::Conflict)?))
    }

    fn log_outcome(&self, action: &Action, result: &Result<(), CallError>) {
        let (kind, rollout) = (kind(action), &self.subject.name);
        let namespace = &self.subject.namespace;
        match result {
            Ok(()) => {
                self.hub.metrics.count_action(kind, "done");
                tracing::debug!(namespace, rollout, ?action, "done");
            }
            Err(error) => {
                self.hub.metrics.count_action(kind, error.outcome());
                tracing::warn!(namespace, rollout, kind, %error, "not done; looked at again");
            }
        }
    }
}

fn refused(problem: Problem) -> CallError {
    CallError::Refused(problem.message)
}

fn unable(error: &RouteError) -> CallError {
    CallError::Refused(error.to_string())
}

/// For the metric `actions`.
const fn kind(action: &Action) -> &'static str {
    match action {
        Action::AddFinalizer => "AddFinalizer",
        Action::WriteBackend { .. } => "WriteBackend",
        Action::Rehearse { .. } => "Rehearse",
        Action::WriteRoute { .. } => "WriteRoute",
        Action::ReleaseRoute { .. } => "ReleaseRoute",
        Action::ReleaseBackends { .. } => "ReleaseBackends",
        Action::WriteConfigCopies { .. } => "WriteConfigCopies",
        Action::ReleaseConfigCopies => "ReleaseConfigCopies",
        Action::AnswerRequest { .. } => "AnswerRequest",
        Action::RemoveFinalizer => "RemoveFinalizer",
    }
}
