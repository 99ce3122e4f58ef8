//! `cutover why`: what stands in the way, what it does to users, how it ends, and what a person can do about it.

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

/// Say why a rollout is where it is, what would end that, and what you can do now.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  cutover why shop -n shop

Exit status: 0 succeeded or nothing to do, 1 error, 2 failed or rolled back, 3 held or waiting for a person,
4 in progress.")]
pub(super) struct Why {
    /// The rollout.
    name: String,
    /// How it is printed.
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

/// The answer to "why?".
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

/// One thing a person can do.
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
        let mut text = format!("{}\n\n", wrap(&escape(&self.state), WIDTH, 0));
        for (index, section) in self.sections.iter().enumerate() {
            for (line, words) in section.lines.iter().enumerate() {
                let label = if line == 0 { format!("{} {}", index + 1, section.title) } else { String::new() };
                text.push_str(&wrap(&format!("{label:<14}{}", escape(words)), WIDTH, 14));
                text.push('\n');
            }
        }
        text.push_str(&format!("\n{}", table(&self.choices)));
        let exit = view.exit();
        format!("{text}exit status {} = {}\n", exit.status(), meaning(exit))
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
    let moved = match status.asked.as_ref().and_then(|asked| asked.confirmed_at) {
        Some(at) => format!("Weights last moved {} UTC.", clock(at)),
        None if status.asked.is_some() => "Weights are moving: not every route has confirmed.".to_owned(),
        None => "The hub has moved no weight yet.".to_owned(),
    };
    format!("{what}. {moved} {}: {}", status.reason, status.reason.meaning())
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
