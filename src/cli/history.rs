//! `cutover history`: the runs of a rollout: who began and ended each, what people requested, how the weights moved and
//! what the checks said of them.

use clap_complete::ArgValueCompleter;
use jiff::Timestamp;
use serde::Serialize;

use super::{
    CliError, Exit, Format, Output,
    cluster::Connection,
    complete, connection, past,
    text::{Page, between, clock, day_and_clock, escape, shares, span, wrap},
    view::View,
};
use crate::api::{
    Reason,
    status::{MetricCheck, Move, Outcome, Requested, Run, RunRecord, Verdict},
};

/// Width of the labels.
const INDENT: usize = 12;

/// List the runs of a rollout, the newest first: who, what, why, weights, verdicts and outcome.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  cutover history shop -n shop
  cutover history shop -n shop -o json

The last ten runs that ended are kept, with the last sixteen moves and eight requests of each.
Exit status: 0 listed, 1 error.")]
pub(super) struct History {
    /// The rollout.
    #[arg(value_parser = connection::rollout_name, add = ArgValueCompleter::new(complete::rollouts))]
    name: String,
    /// Output format.
    #[arg(long, short, value_enum, default_value_t)]
    output: Format,
    #[command(flatten)]
    connection: Connection,
}

impl History {
    pub(super) fn run(self, out: &mut Output) -> Result<Exit, CliError> {
        let Self { name, output, connection } = self;
        connection.run(async |cluster| {
            let view = View::new(cluster.rollout(&name).await?, cluster.lease().await, Timestamp::now());
            match output {
                Format::Text => out.screen(&render(&view, out.page()))?,
                Format::Json => out.json(&Runs { runs: runs(&view) })?,
            }
            Ok(Exit::Done)
        })
    }
}

/// The whole output as JSON.
#[derive(Debug, Serialize)]
struct Runs<'v> {
    /// The newest first.
    runs: Vec<Entry<'v>>,
}

/// A run that ended, or the live one.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'v> {
    number: u64,
    revision: &'v str,
    /// Nothing while it is in progress.
    outcome: Option<Outcome>,
    reason: Reason,
    message: &'v str,
    started_at: Timestamp,
    started_by: Option<&'v str>,
    ended_at: Option<Timestamp>,
    /// Nothing where checks ended it.
    ended_by: Option<&'v str>,
    step: u32,
    steps: usize,
    requests: &'v [Requested],
    moves: &'v [Move],
    /// The metric that ended it, where one did.
    decided: Option<&'v MetricCheck>,
}

fn runs(view: &View) -> Vec<Entry<'_>> {
    let live = view.live().map(|run| of_live(view, run));
    live.into_iter().chain(view.status.history.iter().rev().map(of_record)).collect()
}

fn of_live<'v>(view: &'v View, run: &'v Run) -> Entry<'v> {
    Entry {
        number: run.number,
        revision: &run.revision,
        outcome: None,
        reason: view.status.reason,
        message: &view.status.message,
        started_at: run.started_at,
        started_by: run.started_by.as_deref(),
        ended_at: None,
        ended_by: None,
        step: run.step(),
        steps: run.plan.len(),
        requests: &run.requests,
        moves: &run.moves,
        decided: None,
    }
}

fn of_record(record: &RunRecord) -> Entry<'_> {
    Entry {
        number: record.number,
        revision: &record.revision,
        outcome: Some(record.outcome),
        reason: record.reason,
        message: &record.message,
        started_at: record.started_at,
        started_by: record.started_by.as_deref(),
        ended_at: Some(record.ended_at),
        ended_by: record.ended_by.as_deref(),
        step: record.step,
        steps: usize::try_from(record.steps).unwrap_or(usize::MAX),
        requests: &record.requests,
        moves: &record.moves,
        decided: past::decisive(record),
    }
}

pub(super) fn render(view: &View, page: Page) -> String {
    let runs = runs(view);
    let number = match runs.len() {
        0 => "no run yet".to_owned(),
        1 => "1 run".to_owned(),
        more => format!("{more} runs, the newest first"),
    };
    let alarm = view.hub().alarm().map(|alarm| format!("{alarm}   ")).unwrap_or_default();
    let (namespace, name) = (view.namespace(), view.name());
    let head = format!("{alarm}{namespace}/{name}   {number}   {}", day_and_clock(view.now));
    let runs = runs.iter().map(|run| run.render(view.now, page));
    format!("{}\n{}", wrap(&escape(&head), page.width, 4), runs.collect::<Vec<_>>().concat())
}

impl Entry<'_> {
    fn render(&self, now: Timestamp, page: Page) -> String {
        let lasted = span(between(self.started_at, self.ended_at.unwrap_or(now)));
        let how = self.outcome.map_or("in progress", past::outcome);
        let Self { number, revision, step, steps, reason, message, .. } = self;
        let title =
            format!("run {number} of rev {revision}   {how} at {step}/{steps} after {lasted}   {reason}: {message}");
        let began = format!("{}{}", day_and_clock(self.started_at), past::by(self.started_by));
        let ended = self
            .ended_at
            .zip(self.outcome)
            .map(|(at, outcome)| format!("{}{}", day_and_clock(at), past::ended_by(self.ended_by, outcome)));
        let single = [
            ("began", Some(began)),
            ("ended", ended),
            ("decided", self.decided.map(|metric| format!("by {}", metric.message))),
        ];
        let single = single.into_iter().filter_map(|(label, words)| Some((label, vec![words?])));
        let moved = self.moves.iter().map(|moved| weights(moved, *steps)).collect();
        let lists = [("requests", self.requests.iter().map(request).collect()), ("weights", moved)];
        let lines = single.chain(lists).map(|(label, words)| labelled(label, &words, page));
        format!("\n{}\n{}", wrap(&escape(&title), page.width, 4), lines.collect::<Vec<_>>().concat())
    }
}

/// Each text on lines of its own, the label before the first.
fn labelled(label: &str, texts: &[String], page: Page) -> String {
    let line = |(index, text): (usize, &String)| {
        let label = if index == 0 { label } else { "" };
        format!("{}\n", wrap(&escape(&format!("  {label:<10}{text}")), page.width, INDENT))
    };
    texts.iter().enumerate().map(line).collect::<Vec<_>>().concat()
}

/// `Fri 23:50:00  Pause by ada: traffic peak`.
fn request(request: &Requested) -> String {
    let why = request.reason.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
    format!("{}  {} by {}{why}", day_of(request.at), request.verb, request.by)
}

/// `Fri 23:41:00  1/4  Pass     eu-1 47.5 %, eu-2 50.0 %, eu-3 2.5 %`.
fn weights(moved: &Move, steps: usize) -> String {
    let verdict = match moved.verdict {
        Some(Verdict::Pass) => "Pass",
        Some(Verdict::Unknown) => "UNKNOWN",
        Some(Verdict::Fail) => "FAIL",
        None => "-",
    };
    let shares = shares(&moved.weights, moved.weights.total());
    format!("{}  {}/{steps}  {verdict:<7}  {shares}", day_of(moved.at), moved.step)
}

fn day_of(at: Timestamp) -> String {
    format!("{} {}", at.strftime("%a"), clock(at))
}

#[cfg(test)]
mod tests {
    use super::{Page, Runs, render, runs};
    use crate::cli::{fixtures, text::WIDTH};

    const PAGE: Page = Page { width: WIDTH, wide: false };

    #[test]
    fn a_run_that_failed_says_who_what_why_and_how_its_weights_moved() {
        let expected = "\
shop/shop   1 run   Sat 2026-01-03 03:01:00 UTC

run 7 of rev 3f9c   failed at 2/4 after 1h07m   GuardBreached: errors 31 % (guard 20)
  began     Fri 2026-01-02 23:40:00 UTC by argocd-controller
  ended     Sat 2026-01-03 00:47:00 UTC by the hub
  decided   by errors of storefront: eu-3: 31 % of 29911 requests is beyond the guard (max 20)
  requests  Fri 23:50:00  Pause by ada: traffic peak
            Sat 00:10:00  Resume by ada
  weights   Fri 23:41:00  1/4  Pass     eu-1 47.5 %, eu-2 50.0 %, eu-3 2.5 %
            Sat 00:41:06  2/4  FAIL     eu-1 37.5 %, eu-2 50.0 %, eu-3 12.5 %
            Sat 00:46:59  2/4  -        eu-1 50.0 %, eu-2 50.0 %
";
        assert_eq!(render(&fixtures::failed(), PAGE), expected);
    }

    #[test]
    fn the_live_run_comes_first_and_has_no_end() {
        let mut view = fixtures::in_the_middle();
        view.status.history = fixtures::failed().status.history;
        let shown = render(&view, PAGE);
        let live = "run 7 of rev 3f9c   in progress at 2/4 after 3h21m   Baking: step 2: 6m of bake 10m left\n";
        assert!(shown.starts_with("shop/shop   2 runs, the newest first") && shown.contains(live), "{shown}");
        let json = serde_json::to_value(Runs { runs: runs(&view) }).unwrap();
        assert_eq!((&json["runs"][0]["outcome"], &json["runs"][1]["outcome"]), (&().into(), &"Failed".into()));
        assert_eq!(json["runs"][1]["requests"][0]["reason"], "traffic peak");
        assert_eq!(json["runs"][1]["moves"][1]["weights"]["eu-3"], 125);
    }
}
