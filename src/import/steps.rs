//! Steps of other tools as ours: each weight with what is waited for after it.

use super::{
    fields::Fields,
    remarks::{Remarks, shown},
};
use crate::api::{
    Duration, Progress,
    strategy::{Step, Wait},
};

/// Steps that are being read, in order.
#[derive(Debug, Default)]
pub(super) struct Steps {
    read: Vec<Step>,
    weight: Option<Progress>,
    /// Something was refused, so there are no steps.
    broken: bool,
}

impl Steps {
    /// So many parts of `total` go to the canary from now on. Weight 0 is no step.
    pub(super) fn weight(&mut self, parts: i64, total: i64, fields: &Fields<'_>, key: &str, remarks: &mut Remarks) {
        if parts == 0 && self.weight.is_none() {
            remarks.lose(fields.at(key), "the canary has nothing before the first step");
            return;
        }
        match (progress(parts, total), self.weight) {
            (Some(progress), before) if before.is_none_or(|before| before < progress) => {
                self.weight = Some(progress);
                self.read.push(Step { progress: Some(progress), ..Step::default() });
            }
            (Some(progress), Some(before)) if before == progress => {}
            (Some(_), _) => self.refuse(fields, key, &format!("{parts} is less than the weight before it"), remarks),
            (None, _) => self.refuse(fields, key, &format!("{parts} of {total} is no share of two decimals"), remarks),
        }
    }

    fn refuse(&mut self, fields: &Fields<'_>, key: &str, found: &str, remarks: &mut Remarks) {
        self.broken = true;
        fields.refuse(key, found, "the weights of a run rise; write steps that do", remarks);
    }

    /// The step that is the last one so far.
    pub(super) fn last(&mut self) -> Option<&mut Step> {
        self.read.last_mut()
    }

    /// A step that moves no weight.
    pub(super) fn steer(&mut self, step: Step) {
        self.read.push(step);
    }

    /// What is waited for at the last step so far; a wait before the first step has no counterpart.
    pub(super) fn wait(&mut self, wait: Wait, at: &str, remarks: &mut Remarks) {
        match self.read.last_mut() {
            Some(step) => step.wait = Some(both(step.wait, wait)),
            None => remarks.lose(at, "nothing waits before the first step; change the Service when it may begin"),
        }
    }

    /// The steps, the last of which is all traffic.
    pub(super) fn ended(mut self) -> Option<Vec<Step>> {
        if self.read.last().and_then(|step| step.progress) != Some(Progress::ALL) {
            self.read.push(Step { progress: Some(Progress::ALL), ..Step::default() });
        }
        (!self.broken).then_some(self.read)
    }
}

/// Two waits one after the other.
fn both(before: Option<Wait>, wait: Wait) -> Wait {
    match (before, wait) {
        (Some(Wait::For(before)), Wait::For(time)) => Wait::For(before.saturating_add(time)),
        (None, wait) => wait,
        (Some(Wait::Promotion), _) | (_, Wait::Promotion) => Wait::Promotion,
    }
}

/// A part of a total in hundredths of a percent, where it is a whole number of them.
fn progress(parts: i64, total: i64) -> Option<Progress> {
    let hundredths = parts.checked_mul(10_000)?;
    let exact = total > 0 && (1..=total).contains(&parts) && hundredths % total == 0;
    let hundredths = hundredths.checked_div(total).filter(|_| exact)?;
    format!("{}.{:02}%", hundredths / 100, hundredths % 100).parse().ok()
}

/// Seconds, or a duration of Go.
pub(super) fn pause(value: &serde_json::Value) -> Option<Duration> {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match text.parse::<u64>() {
        Ok(seconds) if seconds < 400_000_000 => Some(Duration::from_secs(seconds)),
        Ok(_) => None,
        Err(_) => super::go_duration::go_duration(&text),
    }
}

/// The wait of a pause: for a person, where it has no duration.
pub(super) fn wait_of(fields: &mut Fields<'_>, remarks: &mut Remarks) -> Option<Wait> {
    let Some(value) = fields.any("duration") else { return Some(Wait::Promotion) };
    let time = pause(&value);
    if time.is_none() {
        let found = format!("{} is neither seconds nor a duration", shown(&value.to_string()));
        fields.refuse("duration", found, "write one such as 10m", remarks);
    }
    time.map(Wait::For)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn shares_are_exact_or_none() {
        let shown = |parts, total| progress(parts, total).map(|progress| progress.to_string());
        assert_eq!(shown(20, 100).as_deref(), Some("20%"));
        assert_eq!(shown(5, 1000).as_deref(), Some("0.5%"));
        assert_eq!(shown(1000, 1000).as_deref(), Some("100%"));
        for (parts, total) in [(1, 3), (0, 100), (-5, 100), (101, 100), (1, 0), (i64::MAX, 100)] {
            assert_eq!(shown(parts, total), None, "{parts} of {total}");
        }
    }

    #[test]
    fn pauses_are_seconds_or_durations() {
        for (value, seconds) in [(json!(30), 30), (json!("45"), 45), (json!("1h30m"), 5400)] {
            assert_eq!(pause(&value), Some(Duration::from_secs(seconds)), "{value}");
        }
        assert!([json!("soon"), json!(-1), json!(1e20), json!([])].iter().all(|value| pause(value).is_none()));
    }
}
