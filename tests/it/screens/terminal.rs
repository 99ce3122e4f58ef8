//! A terminal: what is written on it, and how large it is.

use std::{
    fs::{File, OpenOptions},
    io::Read,
    process::Stdio,
    sync::mpsc,
};

use rustix::{
    process::{Pid, Signal, kill_process},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{Winsize, tcgetattr, tcsetwinsize},
};
use tokio::process::{Child, Command};

/// A verb on a terminal of its own.
pub struct Terminal {
    ours: File,
    child: Child,
    arrives: mpsc::Receiver<String>,
    seen: String,
}

/// The second screen, no cursor and no lines that the terminal breaks; and back.
pub const ENTER: &str = "\u{1b}[?1049h\u{1b}[?25l\u{1b}[?7l";
pub const LEAVE: &str = "\u{1b}[?7h\u{1b}[?25h\u{1b}[?1049l";
const HOME: &str = "\u{1b}[H";

impl Terminal {
    pub fn start(command: std::process::Command, columns: u16, lines: u16) -> Self {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let name = ptsname(&ours, Vec::new()).unwrap().into_string().unwrap();
        let ours = File::from(ours);
        let theirs = OpenOptions::new().read(true).write(true).open(name).unwrap();
        let mut command = Command::from(command);
        command.stdin(Stdio::null()).stdout(theirs.try_clone().unwrap()).stderr(theirs).kill_on_drop(true);
        resize(&ours, columns, lines);
        let child = command.spawn().unwrap();
        let arrives = arrives(ours.try_clone().unwrap());
        Self { ours, child, arrives, seen: String::new() }
    }

    /// Everything that was written so far.
    pub fn all(&mut self) -> &str {
        self.seen.extend(self.arrives.try_iter());
        &self.seen
    }

    /// The last whole picture, line by line.
    pub fn picture(&mut self) -> Vec<String> {
        let pictures: Vec<&str> = self.all().split(HOME).collect();
        let whole = pictures.iter().rev().find(|picture| picture.ends_with("\u{1b}[J"));
        let text = whole.map(|picture| picture.trim_end_matches("\u{1b}[J").replace("\u{1b}[K", ""));
        text.unwrap_or_default().lines().map(|line| line.trim_end_matches('\r').to_owned()).collect()
    }

    pub fn resize(&self, columns: u16, lines: u16) {
        resize(&self.ours, columns, lines);
    }

    /// As the terminal does it for Ctrl-C; the exit status, and whether the terminal's modes are as they were.
    pub async fn interrupt(&mut self) -> (Option<i32>, bool) {
        let before = format!("{:?}", tcgetattr(&self.ours).unwrap());
        let id = Pid::from_raw(self.child.id().unwrap().try_into().unwrap()).unwrap();
        kill_process(id, Signal::INT).unwrap();
        let status = self.child.wait().await.unwrap();
        (status.code(), format!("{:?}", tcgetattr(&self.ours).unwrap()) == before)
    }
}

fn resize(terminal: &File, columns: u16, lines: u16) {
    let size = Winsize { ws_row: lines, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(terminal, size).unwrap();
}

/// What arrives on a terminal. The thread ends with the last writer.
fn arrives(mut terminal: File) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut buffer = vec![0; 65_536];
        let mut rest = Vec::new();
        while let Ok(read @ 1..) = terminal.read(&mut buffer) {
            rest.extend_from_slice(&buffer[..read]);
            // A letter may arrive in two parts.
            let whole = std::str::from_utf8(&rest).map_or_else(|error| error.valid_up_to(), str::len);
            let text: Vec<u8> = rest.drain(..whole).collect();
            if sender.send(String::from_utf8(text).unwrap()).is_err() {
                return;
            }
        }
    });
    receiver
}
