//! The output of verbs, and their exit status.

use std::{
    io::{self, IsTerminal, Write},
    process::ExitCode,
};

use serde::Serialize;
use terminal_size::terminal_size;

use super::{
    colour,
    text::{self, Page, WIDTH},
};
use crate::yaml;

/// Columns of the narrowest terminal for which a text is laid out.
const NARROWEST: usize = 40;

/// How a verb ended: its exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// 0: done, succeeded, or nothing to do.
    Done,
    /// 1: an error, or a file with mistakes.
    Error,
    /// 2: the rollout failed or was rolled back.
    Failed,
    /// 3: the rollout is held or waits for a person.
    Held,
    /// 4: the rollout is in progress.
    Progressing,
}

impl Exit {
    /// The number.
    pub const fn status(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Error => 1,
            Self::Failed => 2,
            Self::Held => 3,
            Self::Progressing => 4,
        }
    }
}

/// Why a verb could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// The output cannot be written.
    #[error("cannot write the output: {0}")]
    Output(#[from] io::Error),
    /// A file cannot be read.
    #[error("{file}: {source}")]
    File {
        /// As it was named.
        file: String,
        /// Why.
        source: io::Error,
    },
    /// Any other error: what failed, where, and the remedy.
    #[error("{0}")]
    Said(String),
}

impl CliError {
    /// Any other error, with its own message.
    pub fn said(error: impl std::fmt::Display) -> Self {
        Self::Said(error.to_string())
    }
}

/// Where a verb prints to.
pub struct Output {
    to: Box<dyn Write>,
    errors: Box<dyn Write>,
    colour: bool,
    terminal: bool,
}

impl Output {
    /// The standard streams; in colour on a terminal unless `NO_COLOR` is set.
    pub fn standard() -> Self {
        let terminal = io::stdout().is_terminal();
        let colour = terminal && std::env::var_os("NO_COLOR").is_none_or(|no| no.is_empty());
        Self { to: Box::new(io::stdout()), errors: Box::new(io::stderr()), colour, terminal }
    }

    /// Any other place, without colour.
    pub fn to(to: impl Write + 'static) -> Self {
        Self { to: Box::new(to), errors: Box::new(io::sink()), colour: false, terminal: false }
    }

    /// Whether to use colours; they never carry information of their own.
    pub const fn colour(&self) -> bool {
        self.colour
    }

    /// Whether the output is a terminal, which can be redrawn.
    pub const fn terminal(&self) -> bool {
        self.terminal
    }

    /// The columns of the terminal; elsewhere those of a usual page.
    pub fn width(&self) -> usize {
        let size = terminal_size::terminal_size().filter(|_| self.terminal);
        size.map_or(text::WIDTH, |(width, _)| usize::from(width.0).max(40))
    }

    /// Prints a text as it is.
    pub fn text(&mut self, text: &str) -> Result<(), CliError> {
        Ok(self.to.write_all(text.as_bytes())?)
    }

    /// Prints a text for people, with the words of states in colour where colours are used.
    pub(super) fn screen(&mut self, text: &str) -> Result<(), CliError> {
        if self.colour { self.text(&colour::paint(text)) } else { self.text(text) }
    }

    /// Prints one line.
    pub fn line(&mut self, line: impl AsRef<str>) -> Result<(), CliError> {
        Ok(writeln!(self.to, "{}", line.as_ref())?)
    }

    /// Prints one line to the error stream; if that is closed, there is nowhere to report it.
    pub(super) fn remark(&mut self, line: &str) {
        let _ = writeln!(self.errors, "{line}");
    }

    /// Columns and lines of the terminal, as they are now; nothing elsewhere.
    pub(super) fn size(&self) -> Option<(usize, usize)> {
        let unknown = || (80, 24);
        let now = || terminal_size().map_or_else(unknown, |(width, height)| (width.0.into(), height.0.into()));
        self.terminal.then(now)
    }

    /// What a text is laid out for.
    pub(super) fn page(&self) -> Page {
        Page { width: self.size().map_or(WIDTH, |(width, _)| width.max(NARROWEST)), wide: false }
    }

    /// Hands on what was printed.
    pub(super) fn flush(&mut self) -> Result<(), CliError> {
        Ok(self.to.flush()?)
    }

    /// Prints a value as indented JSON.
    pub fn json(&mut self, value: &impl Serialize) -> Result<(), CliError> {
        let text = serde_json::to_string_pretty(value).map_err(CliError::said)?;
        self.line(text)
    }

    /// Prints a value as YAML.
    pub fn yaml(&mut self, value: &impl Serialize) -> Result<(), CliError> {
        self.text(&yaml::print(value).map_err(CliError::said)?)
    }

    /// Prints the error, if any, and returns the exit status. A closed pipe is not an error.
    pub(super) fn finish(&mut self, result: Result<Exit, CliError>) -> ExitCode {
        let result = result.and_then(|exit| Ok(self.to.flush().map(|()| exit)?));
        match result {
            Ok(exit) => exit.status().into(),
            Err(CliError::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Done.status().into(),
            Err(error) => {
                // If the error stream is closed as well, there is nowhere to report it.
                let _ = writeln!(self.errors, "cutover: {error}");
                Exit::Error.status().into()
            }
        }
    }

    /// Prints clap's help, version or usage error. Wrong usage ends with status 1, because 2 means a failed rollout.
    pub(super) fn usage(&mut self, usage: &clap::Error) -> ExitCode {
        let printed = usage.print();
        let requested =
            matches!(usage.kind(), clap::error::ErrorKind::DisplayHelp | clap::error::ErrorKind::DisplayVersion);
        self.finish(printed.map(|()| if requested { Exit::Done } else { Exit::Error }).map_err(CliError::Output))
    }
}
