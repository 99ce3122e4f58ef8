//! A terminal's second screen, on which a picture is drawn again and again; the first one comes back at the end.

use super::{CliError, Output};

/// The second screen, no cursor, and no lines that the terminal breaks.
const ENTER: &str = "\u{1b}[?1049h\u{1b}[?25l\u{1b}[?7l";
const LEAVE: &str = "\u{1b}[?7h\u{1b}[?25h\u{1b}[?1049l";

/// However the verb ends, the terminal is as it was.
pub(super) struct Screen<'o> {
    out: &'o mut Output,
    /// What was printed last where the output is no terminal.
    printed: Option<String>,
}

impl<'o> Screen<'o> {
    pub(super) fn enter(out: &'o mut Output) -> Result<Self, CliError> {
        if out.terminal() {
            out.text(ENTER)?;
        }
        Ok(Self { out, printed: None })
    }

    pub(super) const fn out(&self) -> &Output {
        self.out
    }

    /// On a terminal draws over the picture before; elsewhere prints it, if `state` is another one than the last time.
    pub(super) fn draw(&mut self, picture: &str, state: String) -> Result<(), CliError> {
        if let Some((_, height)) = self.out.size() {
            self.out.screen(&frame(picture, height))?;
            return self.out.flush();
        }
        if self.printed.as_ref() != Some(&state) {
            self.printed = Some(state);
            self.out.screen(picture)?;
        }
        self.out.flush()
    }
}

impl Drop for Screen<'_> {
    fn drop(&mut self) {
        if self.out.terminal() {
            // A terminal that is gone needs nothing back.
            let _ = self.out.text(LEAVE).and_then(|()| self.out.flush());
        }
    }
}

/// The picture from the top of the screen; what does not fit is cut off at its end.
fn frame(picture: &str, height: usize) -> String {
    let lines: Vec<&str> = picture.lines().collect();
    let shown = clip(&lines, height.max(1));
    let lines: Vec<String> = shown.iter().map(|line| format!("{line}\u{1b}[K")).collect();
    format!("\u{1b}[H{}\u{1b}[J", lines.join("\n"))
}

fn clip(lines: &[&str], height: usize) -> Vec<String> {
    if lines.len() <= height {
        return lines.iter().map(|line| (*line).to_owned()).collect();
    }
    let kept = lines.iter().take(height - 1).map(|line| (*line).to_owned());
    kept.chain([format!("… {} more lines", lines.len() + 1 - height)]).collect()
}

#[cfg(test)]
mod tests {
    use super::{clip, frame};

    #[test]
    fn a_short_terminal_keeps_the_first_lines() {
        assert_eq!(clip(&["a", "b", "c"], 3), ["a", "b", "c"]);
        assert_eq!(clip(&["a", "b", "c", "d"], 3), ["a", "b", "… 2 more lines"]);
        assert_eq!(clip(&["a", "b"], 1), ["… 2 more lines"]);
    }

    #[test]
    fn a_picture_is_drawn_over_the_one_before_and_scrolls_nothing() {
        assert_eq!(frame("a\nb\n", 24), "\u{1b}[Ha\u{1b}[K\nb\u{1b}[K\u{1b}[J");
    }
}
