//! What may be written to a route, and what it takes to give a canary more.

use cutover::api::{CANARY, PRIMARY, Split, Verb};

use super::{
    evidence::{self, PROBES, Shown, Write, applied, writes},
    rules::Checked,
};

impl Checked<'_> {
    /// The canaries that a split gives more than the decision before it, by weight or beside it.
    fn risen(&self, split: &Split) -> Vec<String> {
        let decided = &self.evidence.decided;
        // Copies are less than requests that match: to go back to them raises nobody.
        let taken_back = decided.matched().is_some() && split.matched().is_none();
        let anew = split.steering != decided.steering && !taken_back;
        let steered = split.steered().filter(|_| anew).map(str::to_owned);
        let risen = split.weights.above(&decided.weights).into_iter().chain(steered);
        risen.filter(|member| self.is_canary(member, split)).collect()
    }

    /// Decisions that give a canary more than before; to return to what every route showed last is none.
    pub fn raising(&self) -> Option<(Write<'_>, Vec<String>)> {
        let write = writes(self.decision).next()?;
        let back = &self.evidence.last_shown;
        let beyond = |member: &String| {
            write.split.weights.weight(member) > back.weights.weight(member) || write.split.steering != back.steering
        };
        let risen: Vec<String> = self.risen(write.split).into_iter().filter(beyond).collect();
        (!risen.is_empty()).then_some((write, risen))
    }

    /// What the last known good distribution does not give that much. While somebody is down its weight goes to others, and
    /// stays there until something else is decided.
    /// In service mode a canary that leads where the primary does is none.
    fn is_canary(&self, member: &str, split: &Split) -> bool {
        let good = self.primary().weight(member);
        let proven = member == CANARY && self.leads(CANARY) == self.leads(PRIMARY);
        let stands_in = self.evidence.stands_in && split.same_as(&self.evidence.decided);
        !proven && (good == 0 || !stands_in && self.everybody_answers() && split.weights.weight(member) > good)
    }

    pub fn everybody_answers(&self) -> bool {
        evidence::everybody_answers(self.before)
    }

    /// What carries weight rises after it passed there, and what has none after its endpoint answered.
    pub fn rises_on_evidence(&self) -> bool {
        let Some((write, risen)) = self.raising() else { return true };
        let answers = |name: &String| self.before.endpoints.get(name).is_some_and(|seen| seen.successes > 0);
        let probed = risen.iter().all(|name| self.evidence.decided.reaches(name) || answers(name));
        probed && (!self.raises_what_carries(write) || self.shows_decided(|shown| shown.passed))
    }

    /// Settle and bake, of time that really passed. A projection on other members waits for nothing.
    pub fn dwells(&self) -> bool {
        let Some((write, _)) = self.raising() else { return true };
        let goes_on = self.evidence.rises.0 == write.run && self.evidence.rises.1 > 0;
        let proves = goes_on || self.raises_what_carries(write);
        !proves || self.shows_decided(|shown| shown.enough) || !self.everybody_answers()
    }

    fn raises_what_carries(&self, write: Write<'_>) -> bool {
        let decided = &self.evidence.decided.weights;
        let carries =
            |name: &String| decided.weight(name) > self.primary().weight(name) && self.is_canary(name, write.split);
        write.split.weights.above(decided).iter().any(carries)
    }

    fn shows_decided(&self, proven: impl Fn(&Shown) -> bool) -> bool {
        let shown = self.evidence.shown.as_ref();
        shown.is_some_and(|shown| shown.present && shown.split.same_as(&self.evidence.decided) && proven(shown))
    }

    /// What is down gets no more than it has while a primary member answers that is no canary.
    pub fn feeds_nobody_unavailable(&self) -> bool {
        let seen = |name: &str| self.before.endpoints.get(name).copied().unwrap_or_default();
        let decided = &self.evidence.decided.weights;
        let mut primaries = self.primary().carrying().filter(|(name, weight)| decided.weight(name) <= *weight);
        let answers = primaries.any(|(name, _)| seen(name).successes >= PROBES);
        let live = self.after.live_run().is_some() && !self.before.deleting;
        let fed = |write: Write<'_>| {
            let route = self.before.routes.get(write.key).and_then(Option::as_ref);
            let has = route.map_or_else(|| self.before.live(), |route| route.split.weights.clone());
            let mut more = write.split.weights.above(decided).into_iter();
            more.any(|name| seen(&name).failures >= PROBES && write.split.weights.weight(&name) > has.weight(&name))
        };
        !live || !answers || !writes(self.decision).any(fed)
    }

    pub fn waits(&self) -> bool {
        let Some((write, _)) = self.raising() else { return true };
        let first_passed = self.evidence.rises.0 == write.run && self.evidence.rises.1 > 0;
        let now = self.applied(Verb::Promote, write.run);
        !self.small.waits_first || !first_passed || now || self.evidence.promoted.contains(&write.run)
    }

    /// While somebody is down its weight goes to others.
    pub fn rests_while_paused(&self) -> bool {
        let Some((write, _)) = self.raising() else { return true };
        let applied_requests = applied(self.before, self.decision);
        let mut verbs = applied_requests.iter().rev().filter(|(verb, _)| matches!(verb, Verb::Pause | Verb::Resume));
        let now = verbs.find(|(_, run)| *run == write.run).map(|(verb, _)| *verb == Verb::Pause);
        let paused = now.unwrap_or_else(|| self.evidence.paused.contains(&write.run));
        !(paused || self.before.spec.paused) || !self.everybody_answers()
    }

    /// Requests are steered to members that were declared, in no rollback, and no weight rises with them.
    pub fn steers_as_declared(&self) -> bool {
        writes(self.decision).all(|write| {
            let declared =
                |name: &str| name == CANARY || self.after.live_run().is_some_and(|run| run.target.weight(name) > 0);
            let anew = write.split.steering != self.evidence.decided.steering;
            let raised = write.split.weights.above(&self.evidence.decided.weights);
            write.split.steering.is_none()
                || write.split.steered().all(declared)
                    && !self.evidence.closed.contains(&write.run)
                    && !(anew && raised.iter().any(|name| self.is_canary(name, write.split)))
        })
    }

    /// A run that was rolled back raises no canary on any route, and gives nothing to others than the last known good
    /// distribution does.
    pub fn goes_back(&self) -> bool {
        writes(self.decision).filter(|write| self.evidence.closed.contains(&write.run)).all(|write| {
            let route = self.before.routes.get(write.key).and_then(Option::as_ref);
            let live = route.map_or(&self.evidence.decided.weights, |route| &route.split.weights);
            let raised = write.split.weights.above(live);
            let back = write.split.reached().members().all(|name| self.primary().weight(name) > 0);
            !raised.iter().any(|name| self.is_canary(name, write.split))
                && (back || !self.everybody_answers() || self.before.deleting)
        })
    }

    /// What somebody lowered by hand stays so until it is resumed.
    pub fn obeys_edits(&self) -> bool {
        writes(self.decision).all(|write| {
            let route = self.before.routes.get(write.key).and_then(Option::as_ref);
            let Some(edited) = route.filter(|route| route.editor.is_some() && route.mark.is_some()) else {
                return true;
            };
            let canary = |name: &String| self.is_canary(name, write.split);
            let Some(unedited) = self.evidence.unedited.get(write.key) else { return true };
            let by_hand = edited.split.weights.above(&unedited.weights);
            let lowered = unedited.weights.above(&edited.split.weights);
            let raised = write.split.weights.above(&edited.split.weights);
            by_hand.iter().any(canary)
                || lowered.is_empty()
                || !raised.iter().any(canary)
                || self.evidence.resumed
                || self.applied(Verb::Resume, write.run)
        })
    }
}
