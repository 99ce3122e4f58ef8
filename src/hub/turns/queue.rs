//! Those that wait for a turn. Thousands may: whom to call is found without looking at each of them.

use std::collections::{BTreeMap, BTreeSet};

use crate::rollout::Urgency;

/// Their numbers, by urgency and then by namespace. A number is lower the earlier it came.
#[derive(Default)]
pub(super) struct Queue(BTreeMap<Urgency, BTreeMap<String, BTreeSet<u64>>>);

impl Queue {
    pub(super) fn add(&mut self, urgency: Urgency, namespace: &str, number: u64) {
        self.0.entry(urgency).or_default().entry(namespace.to_owned()).or_default().insert(number);
    }

    pub(super) fn remove(&mut self, urgency: Urgency, namespace: &str, number: u64) {
        let Some(namespaces) = self.0.get_mut(&urgency) else { return };
        if let Some(numbers) = namespaces.get_mut(namespace) {
            numbers.remove(&number);
            if numbers.is_empty() {
                namespaces.remove(namespace);
            }
        }
        if namespaces.is_empty() {
            self.0.remove(&urgency);
        }
    }

    /// How urgent the most urgent is.
    pub(super) fn urgency(&self) -> Option<Urgency> {
        self.0.keys().next().copied()
    }

    /// The most urgent; among equals that of the namespace with the fewest turns, and then the first that came.
    pub(super) fn first(&self, turns: &BTreeMap<String, usize>) -> Option<u64> {
        let namespaces = self.0.values().next()?;
        let first = namespaces.iter().filter_map(|(namespace, numbers)| {
            let taken = turns.get(namespace).copied().unwrap_or(0);
            Some((taken, *numbers.first()?))
        });
        first.min().map(|(_, number)| number)
    }
}
