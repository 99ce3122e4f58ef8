//! `cutover why`: what a rollout waits for, what users see of it, how it ends, and what a person can do.

mod choices;
mod sections;

#[cfg(test)]
mod tests;

use clap_complete::ArgValueCompleter;
use serde::Serialize;

use super::{
    CliError, Exit, Format, Output,
    cluster::Connection,
    complete, connection, sentences,
    text::{Page, clock, escape, wrap},
    view::View,
};
use crate::api::status::Phase;

/// Explain why a rollout is in its state, what would end that, and what you can do now.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  cutover why shop -n shop

Exit status: 0 succeeded or nothing to do, 1 error, 2 failed or rolled back, 3 held or waiting for a person,
or unfinished while the hub is silent, 4 in progress.")]
pub(super) struct Why {
    /// The rollout.
    #[arg(value_parser = connection::rollout_name, add = ArgValueCompleter::new(complete::rollouts))]
    name: String,
    /// Output format.
    #[arg(long, short, value_enum, default_value_t)]
    output: Format,
    #[command(flatten)]
    connection: Connection,
}

impl Why {
    pub(super) fn run(self, out: &mut Output) -> Result<Exit, CliError> {
        let Self { name, output, connection } = self;
        connection.run(async |cluster| {
            let view = cluster.view(cluster.rollout(&name).await?).await?;
            match output {
                Format::Text => out.screen(&render(&view, out.page()))?,
                Format::Json => out.json(&Answer::of(&view))?,
            }
            Ok(view.exit())
        })
    }
}

/// What is printed for people.
pub(super) fn render(view: &View, page: Page) -> String {
    Answer::of(view).render(view, page)
}

/// The whole output, for text and JSON.
#[derive(Debug, Serialize)]
struct Answer {
    state: String,
    sections: Vec<Section>,
    choices: Vec<Choice>,
}

/// One numbered point.
#[derive(Debug, Serialize)]
struct Section {
    title: &'static str,
    lines: Vec<String>,
}

/// A command, and its immediate effect.
#[derive(Debug, Serialize)]
struct Choice {
    command: String,
    effect: String,
}

impl Answer {
    fn of(view: &View) -> Self {
        let state = state(view);
        Self { state, sections: sections::all(view), choices: choices::all(view) }
    }

    fn render(&self, view: &View, page: Page) -> String {
        let state = wrap(&escape(&self.state), page.width, 0);
        // The number, the longest title, and a space after each.
        let number = self.sections.len().to_string().len() + 1;
        let titles = self.sections.iter().map(|section| section.title.chars().count() + number + 1);
        let indent = titles.max().unwrap_or(0);
        let sections = self.sections.iter().zip(1..).map(|(section, number)| section.render(number, indent, page));
        let (sections, exit) = (sections.collect::<Vec<_>>().concat(), view.exit());
        let choices = table(&self.choices, page);
        format!("{state}\n\n{sections}\n{choices}exit status {} = {}\n", exit.status(), meaning(exit))
    }
}

impl Section {
    fn render(&self, number: usize, indent: usize, page: Page) -> String {
        let label = |line: usize| if line == 0 { format!("{number} {}", self.title) } else { String::new() };
        let line = |(line, words): (usize, &String)| {
            let text = format!("{:<indent$}{}", label(line), escape(words));
            format!("{}\n", wrap(&text, page.width, indent))
        };
        self.lines.iter().enumerate().map(line).collect::<Vec<_>>().concat()
    }
}

/// Each command, and beside it what it does; below it where the page is narrow.
fn table(choices: &[Choice], page: Page) -> String {
    let commands = choices.iter().map(|choice| escape(&choice.command));
    let widest = commands.clone().map(|command| command.chars().count() + 5).max().unwrap_or(0);
    let beside = widest + EFFECT <= page.width;
    let width = if beside { widest } else { 6 };
    let mut text =
        if beside { format!("{:<width$}Effect now\n", "You can") } else { "You can   Effect now\n".to_owned() };
    for (command, choice) in commands.zip(choices) {
        let command = format!("  {command}");
        let command = if beside { format!("{command:<width$}") } else { format!("{command}\n{:width$}", "") };
        let effect = wrap(&format!("{:width$}{}", "", escape(&choice.effect)), page.width, width);
        text.extend([command.as_str(), effect.trim_start(), "\n"]);
    }
    text
}

/// The narrowest column of effects.
const EFFECT: usize = 30;

fn state(view: &View) -> String {
    let status = &view.status;
    if let Some(alarm) = view.hub().alarm() {
        return format!("{alarm}. Last known: {}", sentences::standing(view).trim_start_matches("last known "));
    }
    let what = match status.phase {
        Phase::Held => "HELD, not failing",
        phase => sentences::state(phase),
    };
    let moved = match status.desired.as_ref().and_then(|desired| desired.confirmed_at) {
        Some(at) => format!("Weights last moved {} UTC.", clock(at)),
        None if status.desired.is_some() => "Weights are moving: not every route has confirmed.".to_owned(),
        None => "The hub has moved no weight yet.".to_owned(),
    };
    let drifted = if view.drifts().is_empty() { "" } else { ", DRIFTED" };
    match status.since {
        Some(_) => format!("{what}{drifted}. {moved} {}: {}", status.reason, status.reason.meaning()),
        None => format!("{what}{drifted}. {moved} No hub has seen it yet."),
    }
}

const fn meaning(exit: Exit) -> &'static str {
    match exit {
        Exit::Done => "succeeded or nothing to do",
        Exit::Error => "error",
        Exit::Failed => "failed or rolled back",
        Exit::Held => "held or waiting for a person",
        Exit::Progressing => "in progress",
    }
}
