//! Series that are made anew for each scrape, of what is known then, so that nothing is left of what is gone.

use std::fmt;

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet},
};

use super::described::{Described, Kind};

/// One series with its present value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Series {
    /// Its metric.
    pub(super) metric: &'static str,
    /// Its labels.
    pub(super) labels: Vec<(&'static str, String)>,
    /// Its value.
    pub(super) value: f64,
}

impl Series {
    /// A series of a metric, with the values of its labels in their order.
    pub(super) fn new<'v>(metric: &Described, values: impl IntoIterator<Item = &'v str>, value: f64) -> Self {
        let labels = metric.labels.iter().copied().zip(values.into_iter().map(str::to_owned)).collect();
        Self { metric: metric.name, labels, value }
    }
}

/// Series of these metrics, ready to be written.
#[derive(Debug)]
pub(super) struct Shown {
    pub(super) metrics: &'static [&'static Described],
    pub(super) series: Vec<Series>,
}

impl Collector for Shown {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        for metric in self.metrics {
            let mut own = self.series.iter().filter(|series| series.metric == metric.name).peekable();
            if own.peek().is_none() {
                continue;
            }
            let mut encoder = encoder.encode_descriptor(metric.name, metric.help, None, metric.kind.encoded())?;
            for series in own {
                if series.labels.is_empty() {
                    write(&mut encoder, metric.kind, series.value)?;
                } else {
                    write(&mut encoder.encode_family(&series.labels)?, metric.kind, series.value)?;
                }
            }
        }
        Ok(())
    }
}

fn write(encoder: &mut MetricEncoder<'_>, kind: Kind, value: f64) -> Result<(), fmt::Error> {
    match kind {
        Kind::Counter => encoder.encode_counter::<NoLabelSet, f64, u64>(&value, None),
        Kind::Gauge | Kind::Histogram => encoder.encode_gauge(&value),
    }
}
