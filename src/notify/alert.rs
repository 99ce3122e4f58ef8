//! One alert, and what is said of it wherever it goes. Pure.

use serde_json::{Value, json};

use crate::api::{
    Severity, Verb,
    alert::{About, PendingAlert},
};

/// One alert of one rollout.
#[derive(Clone, Debug)]
pub(crate) struct Alert {
    /// Namespace of the rollout.
    pub namespace: String,
    /// Name of the rollout.
    pub rollout: String,
    /// UID of the rollout.
    pub uid: String,
    /// What is recorded of it.
    pub what: PendingAlert,
}

impl Alert {
    /// The idempotency key: the same in every life of the hub, and of no other alert.
    pub(crate) fn key(&self) -> String {
        format!("{}.{}.{}", self.uid, self.what.number, self.what.at.as_second())
    }

    /// What identifies the hold of this rollout where a service keeps one open.
    pub(super) fn hold_key(&self) -> String {
        format!("{}.hold", self.uid)
    }

    /// `shop/storefront`.
    pub(super) fn place(&self) -> String {
        format!("{}/{}", self.namespace, self.rollout)
    }

    /// One line: which rollout, and what became of it.
    pub(super) fn title(&self) -> String {
        let (place, what) = (self.place(), &self.what);
        match what.about {
            About::Transition => format!("{place}: {:?}: {}", what.phase, what.reason),
            About::Hold => format!("{place}: held: {}", what.reason),
            About::Reminder => format!("{place}: still held: {}", what.reason),
            About::HoldEnd => format!("{place}: no longer held: {:?}", what.phase),
        }
    }

    /// What happened, what its reason means, and where the run is.
    pub(super) fn lines(&self) -> Vec<String> {
        let what = &self.what;
        let run = (what.run > 0).then(|| {
            let step = if what.step.is_empty() { String::new() } else { format!(", step {}", what.step) };
            let weights = if what.weights.is_empty() { String::new() } else { format!(", weights {}", what.weights) };
            format!("run {}{step}{weights}", what.run)
        });
        let since = what.since.filter(|_| what.about == About::Reminder).map(|since| format!("held since {since}"));
        let lines = [Some(what.message.clone()), Some(what.reason.meaning().to_owned()), since, run];
        lines.into_iter().flatten().collect()
    }

    /// The commands that a person can type now; the first explains everything.
    pub(super) fn commands(&self) -> Vec<String> {
        let verbs = self.what.verbs.iter().map(|verb| word(*verb));
        let words = std::iter::once("why").chain(verbs);
        words.map(|word| format!("cutover {word} {} -n {}", self.rollout, self.namespace)).collect()
    }

    /// Everything, for programs.
    pub(super) fn data(&self) -> Value {
        let what = &self.what;
        json!({
            "key": self.key(), "at": what.at, "severity": what.severity, "about": what.about,
            "namespace": self.namespace, "rollout": self.rollout, "uid": self.uid,
            "phase": what.phase, "reason": what.reason, "meaning": what.reason.meaning(), "message": what.message,
            "run": what.run, "step": what.step, "weights": what.weights, "since": what.since,
            "commands": self.commands(),
        })
    }

    /// Red, yellow, green: the colour of a message.
    pub(super) const fn colour(&self) -> u32 {
        match (self.what.about, self.what.severity) {
            (About::HoldEnd, _) | (_, Severity::Info) => 0x002e_b886,
            (_, Severity::Warn) => 0x00da_a038,
            (_, Severity::Error) => 0x00a3_0200,
        }
    }
}

const fn word(verb: Verb) -> &'static str {
    match verb {
        Verb::Abort => "abort",
        Verb::Rollback => "rollback",
        Verb::Pause => "pause",
        Verb::Resume => "resume",
        Verb::Promote => "promote",
        Verb::Retry => "retry",
        Verb::Adopt => "adopt",
    }
}

/// At most so many characters.
pub(super) fn cut(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}
