//! How often Flagger checks, and how many failures it takes.

use crate::{
    api::{
        Analysis, Duration, Metric,
        analysis::{Failures, Unknown},
    },
    import::{
        fields::Fields,
        go_duration::go_duration,
        remarks::{Remarks, shown},
    },
};

/// What Flagger takes where the interval is missing or cannot be read.
const USUAL: Duration = Duration::from_secs(60);
/// What it makes of a shorter one.
const SHORTEST: Duration = Duration::from_secs(10);
/// The longest interval of a rollout.
const LONGEST: Duration = Duration::from_secs(3600);
/// Checks that are counted at most.
const COUNTED: u32 = 100;

/// The rhythm of an analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pace {
    /// Between two checks of Flagger.
    pub(super) interval: Duration,
    /// The failed checks that roll back.
    threshold: u32,
}

impl Pace {
    /// Between two checks of the rollout.
    pub(super) fn checks(self) -> Duration {
        self.interval.min(LONGEST)
    }
}

/// Reads `interval` and `threshold`.
pub(super) fn pace(fields: &mut Fields<'_>, remarks: &mut Remarks) -> Pace {
    let interval = interval(fields, remarks);
    if interval > LONGEST {
        let why = format!("{LONGEST} is the most between two checks; each weight still holds for {interval}.");
        remarks.note("spec.analysis.interval", why);
    }
    let given = fields.take::<i64>("threshold", remarks).unwrap_or(1).max(1);
    let threshold = u32::try_from(given).unwrap_or(u32::MAX).min(COUNTED);
    let failures = "spec.analysis.failures";
    if i64::from(threshold) < given {
        remarks.note(failures, format!("The threshold of {given} is more than can be counted: {COUNTED}."));
    }
    let together =
        fields.of().document.value["spec"]["analysis"]["metrics"].as_array().is_some_and(|metrics| metrics.len() > 1);
    let counted = if together { ", over all metrics together; here each metric counts by itself" } else { "" };
    remarks.note(
        failures,
        format!("Flagger counts failed checks over the whole run{counted}. The last {COUNTED} are the most."),
    );
    fields.lose(
        &["primaryReadyThreshold", "canaryReadyThreshold"],
        "it is about Pods; a Service target is always ready for Flagger, and here the endpoint must answer",
        remarks,
    );
    Pace { interval, threshold }
}

fn interval(fields: &mut Fields<'_>, remarks: &mut Remarks) -> Duration {
    let Some(text) = fields.take::<String>("interval", remarks) else { return USUAL };
    match go_duration(&text) {
        None => {
            let why = format!("{:?} is not a duration, for which Flagger takes {USUAL}.", shown(&text));
            remarks.note("spec.analysis.interval", why);
            USUAL
        }
        Some(short) if short < SHORTEST => {
            remarks.note("spec.analysis.interval", format!("Flagger makes {SHORTEST} of {short}."));
            SHORTEST
        }
        Some(interval) => interval,
    }
}

/// The analysis of the rollout.
pub(super) fn analysis(pace: Pace, metrics: Vec<Metric>) -> Analysis {
    Analysis {
        interval: pace.checks(),
        failures: Failures { limit: pace.threshold, within: COUNTED },
        settle: Duration::from_secs(30),
        unknown: Unknown::default(),
        metrics,
        share: None,
        lag: Duration::from_secs(15),
    }
}
