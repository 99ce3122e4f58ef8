//! The live picture: every member with its desired, applied and observed share.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use super::{
    declared::Plan,
    rollout,
    shares::{Counted, MemberShare, Shares, between},
    world::{Counts, World},
};
use crate::{
    api::FleetRolloutStatus,
    cli::{
        text::{cut, escape},
        view::Part,
    },
};

/// The observed share is that of this time.
const RECENT: Duration = Duration::from_millis(1500);
/// Columns left of the bars.
const FIXED: usize = 50;

pub(super) struct Screen<'w> {
    world: &'w World,
    plan: &'w Plan,
    colour: bool,
    counts: VecDeque<(Instant, Counts)>,
}

impl<'w> Screen<'w> {
    pub(super) fn new(world: &'w World, plan: &'w Plan, colour: bool) -> Self {
        Self { world, plan, colour, counts: VecDeque::new() }
    }

    /// The lines of the present moment, none wider than `width`.
    pub(super) async fn frame(&mut self, elapsed: Duration, width: usize) -> Vec<String> {
        let recent = self.recent();
        let status = rollout::status(&self.world.client).await.unwrap_or_default();
        let first = self.plan.first();
        let desired =
            status.desired.as_ref().map(|desired| &desired.split.weights).or(status.primary.as_ref()).unwrap_or(&first);
        let mut lines = vec![String::new(), header(width)];
        for service in &self.plan.services {
            let applied = rollout::applied(&self.world.client, service).await.unwrap_or_default();
            let counted = recent.get(service).cloned().unwrap_or_else(Counted::new);
            lines.push(format!("├─ {service}"));
            let shares = Shares::new(service, desired, &applied, &counted);
            lines.extend(rows(&shares, &status, width, self.colour));
        }
        let totals = self.world.seen_by_clients();
        lines.push(cut(&format!("└─ {}", state(&status)), width));
        lines.push(format!(
            "{:>5.1} s  {} requests, {} failed",
            elapsed.as_secs_f64(),
            totals.ended(),
            totals.failed()
        ));
        lines
    }

    /// What arrived lately.
    fn recent(&mut self) -> std::collections::BTreeMap<String, Counted> {
        let (now, counts) = (Instant::now(), self.world.observed());
        while self.counts.get(1).is_some_and(|(at, _)| now.duration_since(*at) >= RECENT) {
            self.counts.pop_front();
        }
        let recent =
            self.counts.front().map_or_else(|| between(&counts, &counts), |(_, before)| between(before, &counts));
        self.counts.push_back((now, counts));
        recent
    }
}

fn header(width: usize) -> String {
    cut(&format!("{:<22}{:>7}{:>9}{:>10}", "", "DESIRED", "APPLIED", "OBSERVED"), width)
}

fn rows(shares: &Shares, status: &FleetRolloutStatus, width: usize, colour: bool) -> Vec<String> {
    let last = shares.members.len().saturating_sub(1);
    let row = |(index, one): (usize, &MemberShare)| {
        let MemberShare { member, desired, applied, observed, .. } = one;
        let run = status.run.as_ref();
        let part = run.map(|run| Part::of(run, member));
        let branch = if index == last { "└─" } else { "├─" };
        let name = cut(&format!("│  {branch} {member}  {}", part.map_or("", Part::word)), 22);
        let bar = bar(*observed, width.saturating_sub(FIXED));
        let bar = if colour && part == Some(Part::Canary) { format!("\u{1b}[36m{bar}\u{1b}[0m") } else { bar };
        format!("{name:<22}{desired:>7}{applied:>9}{observed:>10.1}  {bar}")
    };
    shares.members.iter().enumerate().map(row).collect()
}

/// What the rollout says of itself.
fn state(status: &FleetRolloutStatus) -> String {
    if status.since.is_none() {
        return "nothing is declared yet".to_owned();
    }
    let step = if status.summary.step.is_empty() { String::new() } else { format!(" {}", status.summary.step) };
    format!("{:?}{step}  {}", status.phase, escape(&status.message))
}

/// A share as a bar; `room` columns are 100 %.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to eight times the columns")]
fn bar(percent: f64, room: usize) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths =
        (percent.clamp(0.0, 100.0) / 100.0 * 8.0 * f64::from(u16::try_from(room).unwrap_or(0))).round() as usize;
    format!("{}{}", "█".repeat(eighths / 8), PARTS[eighths % 8])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Distribution;

    #[test]
    fn bars_grow_by_eighths_of_a_column() {
        let bars = [0.0, 2.5, 50.0, 97.5, 100.0].map(|percent| bar(percent, 5));
        assert_eq!(bars, ["", "▏", "██▌", "████▉", "█████"]);
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        let both = Distribution::from([("eu-1".to_owned(), 75), ("eu-3".to_owned(), 25)]);
        let counted = Counted::from([("eu-1".to_owned(), 0), ("eu-3".to_owned(), 2000)]);
        let shares = Shares::new("catalog", &both, &both, &counted);
        for width in [60, 80, 100] {
            let mut lines = rows(&shares, &FleetRolloutStatus::default(), width, false);
            lines.push(header(width));
            assert!(lines.iter().all(|line| line.chars().count() <= width), "{lines:?}");
        }
        let lines = rows(&shares, &FleetRolloutStatus::default(), 60, false);
        assert_eq!(lines[0], "│  ├─ eu-1                 75       75       0.0  ");
        assert_eq!(lines[1], "│  └─ eu-3                 25       25     100.0  ██████████");
    }
}
