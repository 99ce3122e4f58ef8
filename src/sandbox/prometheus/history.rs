//! Samples of counters, and how they are selected.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};
use promql_parser::{label::METRIC_NAME, parser::VectorSelector};

use super::{Labels, Unsupported};

/// The worlds that use this last minutes, so no window is longer.
const KEPT: SignedDuration = SignedDuration::from_hours(1);
/// Prometheus' lookback: a sample stands for this long.
const LOOKBACK: Duration = Duration::from_mins(5);

/// Times and values.
type Samples = Vec<(Timestamp, f64)>;

/// Counters over time, the last hour of them.
#[derive(Clone, Debug, Default)]
pub struct Series {
    samples: BTreeMap<Labels, VecDeque<(Timestamp, f64)>>,
}

impl Series {
    /// Takes a sample, as a scrape does. One that is not newer than the last of its series is dropped, as Prometheus does.
    pub fn record(&mut self, at: Timestamp, metric: &str, labels: &[(&str, &str)], value: f64) {
        let named = [(METRIC_NAME, metric)].into_iter().chain(labels.iter().copied());
        let key = named.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let samples = self.samples.entry(key).or_default();
        if samples.back().is_some_and(|(last, _)| *last >= at) {
            return;
        }
        samples.push_back((at, value));
        while samples.front().is_some_and(|(first, _)| at.duration_since(*first) > KEPT) {
            samples.pop_front();
        }
    }

    /// The newest sample of each series at an instant, if it is not stale.
    pub(super) fn instant(&self, selector: &VectorSelector, at: Timestamp) -> Result<Vec<(Labels, f64)>, Unsupported> {
        let selected = self.range(selector, LOOKBACK, at)?;
        Ok(selected.into_iter().filter_map(|(labels, samples)| Some((labels, samples.last()?.1))).collect())
    }

    /// The samples of each series in the window that ends at an instant; its beginning is not within it.
    pub(super) fn range(
        &self,
        selector: &VectorSelector,
        window: Duration,
        at: Timestamp,
    ) -> Result<Vec<(Labels, Samples)>, Unsupported> {
        supported(selector)?;
        let begin = at - SignedDuration::try_from(window).unwrap_or(SignedDuration::MAX);
        let within = |samples: &VecDeque<(Timestamp, f64)>| {
            samples.iter().filter(|(time, _)| begin < *time && *time <= at).copied().collect::<Samples>()
        };
        let matching = self.samples.iter().filter(|(labels, _)| matches(selector, labels));
        Ok(matching.map(|(labels, samples)| (labels.clone(), within(samples))).filter(|(_, s)| !s.is_empty()).collect())
    }
}

fn supported(selector: &VectorSelector) -> Result<(), Unsupported> {
    let beyond = |what: &str| Err(Unsupported::Beyond(what.to_owned()));
    match selector {
        VectorSelector { offset: Some(_), .. } => beyond("offset"),
        VectorSelector { at: Some(_), .. } => beyond("the @ modifier"),
        VectorSelector { matchers, .. } if !matchers.or_matchers.is_empty() => beyond("or between matchers"),
        VectorSelector { .. } => Ok(()),
    }
}

/// A label that is not there is empty.
fn matches(selector: &VectorSelector, labels: &Labels) -> bool {
    let value = |label: &str| labels.get(label).map_or("", String::as_str);
    selector.name.as_ref().is_none_or(|name| name == value(METRIC_NAME))
        && selector.matchers.matchers.iter().all(|matcher| matcher.is_match(value(&matcher.name)))
}
