//! The hub: passes, and what they do to the world.

use cutover::{
    api::{
        Split,
        status::Verdict,
        track::{Configs, Site},
    },
    rollout::{
        self, Action, Decision, HookCall, RouteKey,
        input::{Accepted, ConfigsSeen, HookAnswer, HookSeen, Mark, Rehearsal},
    },
};
use jiff::SignedDuration;

use super::{super::scrambled::assert_output_is_not_read, Called, Crash, HUB, RouteInWorld, UID, World, Writes};

impl World {
    /// One pass of the hub: observe, measure what is due, decide, record, act.
    pub fn pass(&mut self) -> Decision {
        self.pass_until(Crash::Never)
    }

    pub fn pass_until(&mut self, crash: Crash) -> Decision {
        let leader = self.leader();
        let nothing = self.observe(None);
        let wanted = rollout::due(&self.input(&nothing, &leader));
        let measured = wanted.map(|wanted| self.measure(&wanted));
        let measured_at = measured.as_ref().map(|measured| measured.at);
        let seen = self.observe(measured);
        let input = self.input(&seen, &leader);
        let decision = rollout::decide(&input);
        assert_output_is_not_read(&input, &decision);
        self.measured = measured_at.map(|_| self.metrics);
        self.measured_at = measured_at.or(self.measured_at);
        self.status = decision.status.clone();
        if crash == Crash::AfterStatus {
            self.restart();
            return decision;
        }
        for (index, action) in decision.actions.iter().enumerate() {
            self.act(action);
            if crash == Crash::AfterAction(index) {
                self.restart();
                return decision;
            }
        }
        for call in &decision.hooks {
            self.call(call);
        }
        decision
    }

    /// Whoever is called answers before the next pass, unless it is slow.
    fn call(&mut self, call: &HookCall) {
        let weights = self.status.desired.as_ref().map(|desired| desired.split.weights.nonzero());
        let (name, key) = (call.name.clone(), call.key(UID));
        self.calls.push(Called { name: name.clone(), key, phase: self.status.phase, weights });
        self.called.insert(name, HookSeen { call: call.clone(), at: self.now, answer: None });
        self.answer_hooks();
    }

    /// The answers of all receivers that are not slow.
    pub fn answer_hooks(&mut self) {
        for (name, seen) in &mut self.called {
            let (verdict, message) = match self.receivers.get(name).copied().unwrap_or(Some(200)) {
                Some(status @ 200..=202) => (Verdict::Pass, format!("it answered {status}")),
                Some(status) => (Verdict::Fail, format!("it answered {status}")),
                None => (Verdict::Unknown, "no answer within 10 s".to_owned()),
            };
            if seen.answer.is_none() && !self.slow.contains(name) {
                seen.answer = Some(HookAnswer { verdict, message, at: self.now });
            }
        }
    }

    /// Passes at the times that the hub would wake, with a round of probes before each, for so many seconds.
    pub fn run_for(&mut self, seconds: i64) -> &mut Self {
        let end = self.now + SignedDuration::from_secs(seconds);
        while self.now <= end && !self.gone {
            self.probe();
            self.pass();
            self.pass();
            self.after(1);
        }
        self
    }

    fn act(&mut self, action: &Action) {
        match action {
            Action::AddFinalizer => self.finalizer = true,
            Action::RemoveFinalizer => {
                self.finalizer = false;
                self.gone = true;
            }
            Action::WriteBackend { service, member } => {
                self.unready_backends = false;
                let key = (service.clone(), member.clone());
                if let Some(copy) = self.copy(&key).cloned() {
                    self.copies.insert(key, copy);
                }
            }
            Action::ReleaseBackends { .. } => {}
            Action::Rehearse { route, .. } => {
                let result = if self.refuse_rehearsals {
                    Rehearsal::Refused("denied by a webhook".to_owned())
                } else {
                    Rehearsal::Passed
                };
                self.rehearsed.insert(route.clone(), result);
            }
            Action::WriteRoute { route, split, run, sequence } => {
                let mark = Mark { hub: HUB.to_owned(), rollout: UID.to_owned(), run: *run, sequence: *sequence };
                self.write(route, split, mark);
            }
            Action::ReleaseRoute { route, policy } => {
                self.released.push((route.clone(), *policy));
                if let Some(route) = self.routes.get_mut(route).and_then(Option::as_mut) {
                    (route.mark, route.traces) = (None, false);
                }
            }
            Action::WriteConfigCopies { service, configs } => self.copy_configs(service, configs),
            Action::ReleaseConfigCopies => self.released_config_copies = true,
            Action::AnswerRequest { name, answer } => {
                self.requests.retain(|request| request.name != *name);
                self.answered.push((name.clone(), answer.state, answer.reason.clone()));
            }
        }
    }

    /// An original that is something else by now is not copied.
    fn copy_configs(&mut self, service: &str, passed: &Configs) {
        let Some(ConfigsSeen::Found(now)) = self.configs.get(&(service.to_owned(), Site::Hub)) else { return };
        if !self.refuse_config_copies {
            let copied = passed.filter(|name, fingerprint| now.fingerprint(name) == Some(fingerprint));
            self.config_copies.entry(service.to_owned()).or_default().extend(&copied);
        }
    }

    fn write(&mut self, key: &RouteKey, split: &Split, mark: Mark) {
        let mode = self.writes.get(key).copied().unwrap_or(Writes::Confirmed);
        let route = self.routes.get_mut(key).unwrap();
        let refused = route.as_ref().is_some_and(|route| matches!(route.accepted, Accepted::No(_)));
        let idle = !refused && split.weights.iter().any(|(_, weight)| weight == 0);
        let accepted = match mode {
            Writes::Refused => {
                if let Some(route) = route {
                    route.failed = Some("denied by a webhook".to_owned());
                }
                return;
            }
            Writes::Conflict => return,
            Writes::NotAccepted => Accepted::Pending,
            Writes::AcceptedFalse => Accepted::No("the listener has no certificate".to_owned()),
            Writes::IdleRefused if idle => Accepted::No("a backend does not resolve".to_owned()),
            Writes::IdleRefused | Writes::Confirmed | Writes::AnswerLost => Accepted::Yes,
        };
        let failed = (mode == Writes::AnswerLost).then(|| "the answer was lost".to_owned());
        *route = Some(RouteInWorld {
            split: split.clone(),
            uneven: false,
            mark: Some(mark),
            marked_by: None,
            traces: true,
            accepted,
            idle,
            failed,
            editor: None,
        });
        self.written.push((key.clone(), split.clone()));
    }
}
