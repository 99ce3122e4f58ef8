//! `cutover demo`: a promotion and a rollback on this machine, with real HTTP traffic and the real hub.

mod breakage;
mod declared;
mod event;
mod folder;
mod gate;
mod hub;
mod kept;
mod objects;
mod pace;
mod rollout;
mod screen;
mod shares;
mod story;
mod teller;
mod world;
mod wrong;

use std::{pin::pin, time::Instant};

use tokio::sync::mpsc;

use self::{
    breakage::{Break, Ending},
    declared::Plan,
    event::Event,
    kept::Left,
    pace::Pace,
    story::Story,
    teller::Teller,
    world::World,
};
use super::{CliError, Exit, Format, Output, signals};
use crate::http;

/// Show on this machine how traffic moves to a new cluster, and back when it fails.
///
/// Starts an API server in memory, member clusters that answer and count, a proxy that obeys the routes, clients, a
/// hook's gate, and the hub itself. Needs no cluster, no root and no network beyond loopback; ends by itself in half a minute.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  cutover demo
  cutover demo --break hub       kill the hub in mid-run
  cutover demo --services 2 --members 4
  cutover demo --keep            leave it running, to look around with kubectl and cutover
  cutover demo --pause-at 2 --keep    leave it in the middle of a run, at 25 %

Exit status: 0 every share was right and what broke was handled, 1 it was not.")]
pub(super) struct Demo {
    /// What goes wrong.
    #[arg(long = "break", value_enum, default_value_t)]
    breaks: Break,
    /// Services that move in lockstep.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=4), value_name = "N")]
    services: u8,
    /// Member clusters; the last one is new.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(2..=8), value_name = "N")]
    members: u8,
    /// How fast time goes, from 0.1 to 2: 0.5 takes about twice as long, and counts twice as many requests for each share.
    #[arg(long, default_value = "1", value_name = "FACTOR")]
    speed: Pace,
    /// Leave everything running at the end, until ^C, and print commands to try.
    #[arg(long)]
    keep: bool,
    /// Pause the promotion at this step, from 1 to 3, and end the story there: nothing breaks. Needs --keep.
    #[arg(long, value_name = "STEP", requires = "keep", conflicts_with = "breaks", value_parser = clap::value_parser!(u32).range(1..=3))]
    pause_at: Option<u32>,
    /// `json` prints one line per event.
    #[arg(long, short, value_enum, default_value_t)]
    output: Format,
}

impl Demo {
    pub(super) fn run(self, out: &mut Output) -> Result<Exit, CliError> {
        http::install_crypto();
        let runtime = tokio::runtime::Runtime::new()?;
        let ended = runtime.block_on(self.play(out));
        runtime.shutdown_background();
        ended
    }

    /// Plays the story, unless it is interrupted. Whatever was started ends with this.
    async fn play(&self, out: &mut Output) -> Result<Exit, CliError> {
        let (plan, began) = (self.plan(), Instant::now());
        let mut interrupted = pin!(signals::interrupted()?);
        let stopped = || CliError::Said("interrupted; everything it started has ended".to_owned());
        let world = tokio::select! {
            world = World::start(&plan) => world.map_err(CliError::said)?,
            () = &mut interrupted => return Err(stopped()),
        };
        let (tell, mut events) = mpsc::unbounded_channel();
        let story = Story { world: &world, plan: &plan, pause_at: self.pause_at, tell };
        let mut teller = Teller::new(out, self.output, began, &world, &plan);
        let outcome = tokio::select! {
            (outcome, printed) = async { tokio::join!(story.tell(self.breaks), teller.follow(&mut events)) } => printed.map(|()| outcome)?,
            () = &mut interrupted => return Err(stopped()),
        };
        teller.say(&Event::ended(&world, outcome.as_ref().err(), began.elapsed()))?;
        if self.keep {
            let clients = world.clients_of_example();
            teller.say(&Event::kept(&world, kept::commands(self.left(), clients.is_some())))?;
            interrupted.await;
        }
        Ok(if outcome.is_ok() { Exit::Done } else { Exit::Error })
    }

    /// How the rollout is left at the end.
    const fn left(&self) -> Left {
        match (self.pause_at, self.breaks.ending()) {
            (Some(_), _) => Left::Paused,
            (None, Ending::Rollback) => Left::RolledBack,
            (None, Ending::Hold) => Left::Succeeded,
        }
    }

    fn plan(&self) -> Plan {
        let members = (1..=self.members).map(|number| format!("eu-{number}")).collect();
        let names = ["catalog", "checkout", "search", "account"];
        let services = names.iter().take(self.services.into()).map(|name| (*name).to_owned()).collect();
        Plan { members, services, pace: self.speed, elects: self.breaks != Break::Hub }
    }
}
