//! Tells the story as it happens: drawn anew on a terminal, line by line elsewhere, or as JSON.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::{
    sync::mpsc::UnboundedReceiver,
    time::{MissedTickBehavior, interval},
};

use super::{
    declared::Plan,
    event::{Event, tenths},
    screen::Screen,
    world::World,
};
use crate::cli::{CliError, Format, Output, text};

/// How often the screen is drawn.
const FRAME: Duration = Duration::from_millis(200);

pub(super) struct Teller<'t> {
    out: &'t mut Output,
    format: Format,
    began: Instant,
    screen: Option<Screen<'t>>,
    /// Lines of the last frame.
    drawn: usize,
}

impl<'t> Teller<'t> {
    pub(super) fn new(out: &'t mut Output, format: Format, began: Instant, world: &'t World, plan: &'t Plan) -> Self {
        let live = out.terminal() && format == Format::Text;
        let screen = live.then(|| Screen::new(world, plan, out.colour()));
        Self { out, format, began, screen, drawn: 0 }
    }

    /// Tells events until there are no more.
    pub(super) async fn follow(&mut self, events: &mut UnboundedReceiver<Event>) -> Result<(), CliError> {
        let mut frames = interval(FRAME);
        frames.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                event = events.recv() => match event {
                    Some(event) => self.say(&event)?,
                    None => return self.erase(),
                },
                _ = frames.tick(), if self.screen.is_some() => self.draw().await?,
            }
        }
    }

    /// Tells one event; what is drawn stands below it.
    pub(super) fn say(&mut self, event: &Event) -> Result<(), CliError> {
        self.erase()?;
        let elapsed = tenths(self.began.elapsed());
        match self.format {
            Format::Json => self.out.line(stamped(event, elapsed)?.to_string()),
            Format::Text => {
                for (index, line) in event.lines().into_iter().enumerate() {
                    let time =
                        if index == 0 && !line.is_empty() { format!("{elapsed:>5.1} s  ") } else { " ".repeat(9) };
                    self.out.line(text::wrap(&format!("{time}{}", text::escape(&line)), size().0, 9).trim_end())?;
                }
                Ok(())
            }
        }
    }

    async fn draw(&mut self) -> Result<(), CliError> {
        let Some(screen) = &mut self.screen else { return Ok(()) };
        let (width, height) = size();
        let lines = fitting(screen.frame(self.began.elapsed(), width).await, height);
        let frame = lines.join("\n");
        let up = above(self.drawn);
        self.drawn = lines.len();
        self.out.line(format!("{up}{frame}"))
    }

    fn erase(&mut self) -> Result<(), CliError> {
        let up = above(std::mem::take(&mut self.drawn));
        self.out.text(&up)
    }
}

/// Goes up so many lines, and clears what is below.
fn above(lines: usize) -> String {
    if lines == 0 { String::new() } else { format!("\u{1b}[{lines}A\u{1b}[J") }
}

/// Columns and lines; 80 by 24 where nobody knows.
fn size() -> (usize, usize) {
    terminal_size::terminal_size()
        .map_or((80, 24), |(width, height)| (usize::from(width.0).clamp(40, text::WIDTH), usize::from(height.0)))
}

/// As many lines as can be drawn anew: what has left the screen at its top cannot, and some terminals keep a whole screen
/// that is cleared. The last two stay.
fn fitting(mut lines: Vec<String>, height: usize) -> Vec<String> {
    let most = height.saturating_sub(2).max(4);
    if lines.len() > most {
        lines.splice(most - 3..lines.len() - 2, ["│  …".to_owned()]);
    }
    lines
}

fn stamped(event: &Event, elapsed: f64) -> Result<Value, CliError> {
    let mut value = serde_json::to_value(event).map_err(CliError::said)?;
    value["elapsed"] = json!(elapsed);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_is_never_higher_than_the_terminal() {
        let lines: Vec<String> = (1..=9).map(|line: u8| line.to_string()).collect();
        assert_eq!(fitting(lines.clone(), 11), lines);
        assert_eq!(fitting(lines, 8), ["1", "2", "3", "│  …", "8", "9"]);
    }

    #[test]
    fn what_was_drawn_is_drawn_over() {
        assert_eq!((above(0), above(3)), (String::new(), "\u{1b}[3A\u{1b}[J".to_owned()));
    }
}
