//! `cutover why`: what a rollout waits for, what users see of it, how it ends, and what a person can do.

mod choices;
mod sections;

#[cfg(test)]
mod tests;

use serde::Serialize;

use super::{
    CliError, Exit, Format, Output,
    cluster::Connection,
    sentences,
    text::{WIDTH, clock, escape, wrap},
    view::View,
};
use crate::api::status::Phase;

/// Explain why a rollout is in its state, what would end that, and what you can do now.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  cutover why shop -n shop

Exit status: 0 succeeded or nothing to do, 1 error, 2 failed or rolled back, 3 held or waiting for a person,
4 in progress.")]
pub(super) struct Why {
    /// The rollout.
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
            let answer = Answer::of(&view);
            match output {
                Format::Text => out.text(&answer.render(&view))?,
                Format::Json => out.json(&answer)?,
            }
            Ok(view.exit())
        })
    }
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

    fn render(&self, view: &View) -> String {
        let state = wrap(&escape(&self.state), WIDTH, 0);
        let sections = self.sections.iter().zip(1..).map(|(section, number)| section.render(number));
        let (sections, exit) = (sections.collect::<Vec<_>>().concat(), view.exit());
        let choices = table(&self.choices);
        format!("{state}\n\n{sections}\n{choices}exit status {} = {}\n", exit.status(), meaning(exit))
    }
}

impl Section {
    fn render(&self, number: usize) -> String {
        let label = |line: usize| if line == 0 { format!("{number} {}", self.title) } else { String::new() };
        let line = |(line, words): (usize, &String)| {
            format!("{}\n", wrap(&format!("{:<14}{}", label(line), escape(words)), WIDTH, 14))
        };
        self.lines.iter().enumerate().map(line).collect::<Vec<_>>().concat()
    }
}

fn table(choices: &[Choice]) -> String {
    let commands = choices.iter().map(|choice| escape(&choice.command));
    let width = commands.clone().map(|command| command.chars().count() + 5).max().unwrap_or(0);
    let mut text = format!("{:<width$}Effect now\n", "You can");
    for (command, choice) in commands.zip(choices) {
        let row = format!("{:<width$}{}", format!("  {command}"), escape(&choice.effect));
        text.push_str(&wrap(&row, WIDTH, width));
        text.push('\n');
    }
    text
}

fn state(view: &View) -> String {
    let status = &view.status;
    let what = match status.phase {
        Phase::Held => "HELD, not failing",
        phase => sentences::state(phase),
    };
    let moved = match status.desired.as_ref().and_then(|desired| desired.confirmed_at) {
        Some(at) => format!("Weights last moved {} UTC.", clock(at)),
        None if status.desired.is_some() => "Weights are moving: not every route has confirmed.".to_owned(),
        None => "The hub has moved no weight yet.".to_owned(),
    };
    match status.since {
        Some(_) => format!("{what}. {moved} {}: {}", status.reason, status.reason.meaning()),
        None => format!("{what}. {moved} No hub has seen it yet."),
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
