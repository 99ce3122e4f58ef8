//! What must hold for every action of a decision when it is carried out.

use std::collections::BTreeMap;

use cutover::{
    api::{CANARY, PRIMARY, ServiceCopy, track::Configs},
    rollout::{Action, RouteKey, input::Mark},
};

use super::{
    super::world::{HUB, UID},
    evidence::Write,
    rules::Checked,
};

impl Checked<'_> {
    /// The rule that an action breaks, if any.
    pub fn wrong(&self, action: &Action) -> Option<&'static str> {
        let before = self.before;
        let (holds, rule) = match action {
            Action::AddFinalizer => (!before.deleting && !before.finalizer, "I6: a finalizer was added in vain"),
            Action::RemoveFinalizer => (self.may_go(), "I16: the finalizer went before the routes were given back"),
            Action::WriteBackend { service, member } => {
                let key = (service.clone(), member.clone());
                (!before.spec.suspend && self.may_lead_elsewhere(&key), "I17: a Service was changed that it should not")
            }
            Action::Rehearse { split, .. } => {
                let idle = !before.deleting && !before.spec.suspend;
                (idle && self.is_first_step(split), "a dry run of what is not written first")
            }
            Action::WriteRoute { route: key, split, run, sequence } => {
                let write = Write { key, split, run: *run, sequence: *sequence };
                (self.is_recorded(write) && self.is_newer(write), "I15: a write that is not recorded or not newer")
            }
            Action::ReleaseRoute { route, .. } => (
                before.deleting && self.shows_primary(route),
                "I16: a route was given back before it was on the primary",
            ),
            Action::ReleaseBackends { .. } => {
                (before.deleting && self.all_given_back(), "I16: backends were given back before the routes")
            }
            Action::WriteConfigCopies { configs, .. } => {
                (self.have_passed(configs), "I17: a copy for the primary becomes what did not pass")
            }
            Action::ReleaseConfigCopies => {
                (before.deleting && self.all_given_back(), "I16: copies were given away too early")
            }
            Action::AnswerRequest { name, .. } => {
                (before.requests.iter().any(|request| request.name == *name), "a request was answered that nobody made")
            }
        };
        (!holds).then_some(rule)
    }

    fn have_passed(&self, configs: &Configs) -> bool {
        let promoted = self.after.status.promoted.as_ref();
        let passed = |name: &str| promoted.and_then(|promoted| promoted.configs.fingerprint(name));
        configs.iter().all(|(name, fingerprint)| passed(name) == Some(fingerprint))
    }

    /// The decision is in the status that is written first.
    fn is_recorded(&self, write: Write<'_>) -> bool {
        let status = &self.after.status;
        let desired = status.desired.as_ref();
        let recorded =
            desired.is_some_and(|desired| (&desired.split, desired.sequence) == (write.split, write.sequence));
        recorded && write.run == status.last_run()
    }

    /// Sequences only rise on a route that this hub wrote; another hub's route is left alone unless it was adopted.
    fn is_newer(&self, write: Write<'_>) -> bool {
        let mark = self.mark(write.key);
        mark.is_none_or(|mark| mark.sequence < write.sequence)
    }

    fn mark(&self, key: &RouteKey) -> Option<&Mark> {
        self.before.routes.get(key)?.as_ref()?.mark.as_ref()
    }

    fn is_ours(mark: &Mark) -> bool {
        (mark.hub.as_str(), mark.rollout.as_str()) == (HUB, UID)
    }

    /// A route that people edited at rest stays as they left it.
    fn shows_primary(&self, key: &RouteKey) -> bool {
        let route = self.before.routes.get(key).and_then(Option::as_ref);
        route.is_none_or(|route| {
            route.editor.is_some() || !self.everybody_answers() || route.split.same_as(&self.primary().clone().into())
        })
    }

    fn all_given_back(&self) -> bool {
        self.before.routes.keys().all(|key| self.mark(key).is_none())
    }

    /// At the end of a rollout; while it is suspended, or a route is another's, no route is given back.
    fn may_go(&self) -> bool {
        let mut marks = self.before.routes.keys().filter_map(|key| self.mark(key));
        let known = self.before.status.sequence;
        let foreign = marks.any(|mark| !Self::is_ours(mark) || mark.sequence > known);
        self.before.deleting && (self.before.spec.suspend || foreign || self.all_given_back())
    }

    /// In service mode a Service changes only without traffic, and the primary becomes what passed on the canary. An old
    /// status that was restored knows older Services, and has them made again.
    fn may_lead_elsewhere(&self, key: &(String, String)) -> bool {
        let of = |copies: &BTreeMap<(String, String), ServiceCopy>| copies.get(key).cloned();
        let (old, new) = (of(&self.before.copies), of(&self.after.copies));
        if old.is_none() || old == new || self.evidence.restored {
            return true;
        }
        let reached = self.before.routes.values().flatten().any(|route| route.split.reaches(&key.1));
        let passed = key.1 != PRIMARY || new == self.evidence.proven_copy;
        !reached && passed && (key.1 == PRIMARY || key.1 == CANARY)
    }
}
