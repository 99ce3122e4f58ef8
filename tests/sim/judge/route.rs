//! One route as the judge knows it: what it shows, whose it is, and what is marked on its objects.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    super::routes::{Form, Objects, Shows, Weights},
    kept,
    weights::{by_member, nonzero},
};

/// What the objects of a route say together.
pub struct Reading {
    /// The weights by backend, and by member.
    pub named: Weights,
    pub weights: Weights,
    /// Members that keep users.
    pub kept: BTreeSet<String>,
    /// The data plane can divide requests so.
    pub is_served: bool,
    /// It says that it does.
    is_accepted: bool,
    shows: Shows,
}

impl Reading {
    pub fn of(form: &dyn Form, objects: Objects<'_>, service: &str) -> Self {
        let (named, shows) = (form.weights(objects), form.shows());
        Self {
            weights: by_member(&named, service),
            kept: kept::kept(form, objects, service),
            is_served: nonzero(&form.served(objects)) == nonzero(&named),
            is_accepted: objects.first().is_some_and(|object| form.is_accepted(object)),
            named,
            shows,
        }
    }

    /// Whether the data plane shows it, after what it showed before.
    fn is_shown(&self, before: Option<&Route>) -> bool {
        match self.shows {
            Shows::Accepted => self.is_accepted,
            Shows::Taken => before.is_some_and(|before| before.shown && before.weights == self.weights),
            Shows::Stored => self.is_served,
        }
    }
}

/// What is known of one.
#[derive(Clone, Debug)]
pub struct Route {
    pub weights: Weights,
    /// The data plane shows them.
    pub shown: bool,
    /// Run and sequence of the last write that is marked on each object.
    pub marks: BTreeMap<String, Mark>,
    /// Members that keep users.
    pub kept: BTreeSet<String>,
    /// Who owns it for good: the hub gave it back, or somebody has edited it since.
    pub ownership: Ownership,
}

/// Run and sequence of a write; zeros where none is marked.
pub type Mark = (u64, u64);

impl Route {
    /// After a write with this mark to one of its objects.
    pub fn after(before: Option<Self>, reading: Reading, object: &str, mark: Option<Mark>, by_hub: bool) -> Self {
        let shown = reading.is_shown(before.as_ref());
        let moved = before.as_ref().is_some_and(|before| before.weights != reading.weights);
        let ownership = before.as_ref().map_or(Ownership::Hub, |before| before.ownership).after(by_hub, mark, moved);
        let mut marks = before.map(|before| before.marks).unwrap_or_default();
        // What somebody else marks is not what the hub has reached; what is taken off is gone.
        let last = marks.remove(object).filter(|_| !by_hub);
        marks.extend(mark.map(|mark| (object.to_owned(), last.map_or(mark, |last| last.min(mark)))));
        Self { weights: reading.weights, shown, marks, kept: reading.kept, ownership }
    }

    /// The last run that is marked on it.
    pub fn run(&self) -> u64 {
        self.marks.values().map(|mark| mark.0).max().unwrap_or(0)
    }
}

/// Whose a route is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ownership {
    /// The hub's, as long as it carries a mark.
    Hub,
    /// The hub gave it back, at the end of the rollout.
    Released,
    /// It was edited after the hub gave it back: what it shows is not the hub's concern any more.
    Foreign,
}

impl Ownership {
    /// After a write with this mark, which gave other weights or did not.
    fn after(self, by_hub: bool, mark: Option<Mark>, moved: bool) -> Self {
        match self {
            _ if by_hub && is_marked(mark) => Self::Hub,
            Self::Hub if by_hub && mark.is_some() => Self::Released,
            Self::Released if !by_hub && moved => Self::Foreign,
            before => before,
        }
    }
}

pub fn is_marked(mark: Option<Mark>) -> bool {
    mark.is_some_and(|mark| mark != (0, 0))
}

/// Run and sequence of the last write for this rollout that is marked on a route.
pub fn mark(route: &Value, rollout: &str) -> Mark {
    let text = route["metadata"]["annotations"]["cutover.dev/write"].as_str().unwrap_or_default();
    let parts: Vec<&str> = text.split('/').collect();
    if parts.get(1) != Some(&rollout) {
        return (0, 0);
    }
    let number = |place: usize| parts.get(place).and_then(|part| part.parse().ok()).unwrap_or(0);
    (number(2), number(3))
}
