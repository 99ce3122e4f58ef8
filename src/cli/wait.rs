//! `cutover wait`: waits until a rollout has reached a phase, a condition or a step.

use std::str::FromStr;

use clap_complete::ArgValueCompleter;
use jiff::Timestamp;
use kube::runtime::watcher;
use tokio::time::interval;

use super::{
    CliError, Exit, Output, access,
    cluster::{Cluster, Connection},
    complete, connection, sentences,
    text::{clock, escape},
    view::View,
};
use crate::{
    api::{
        Duration, FleetRollout, Reason,
        status::{ConditionStatus, Outcome, Phase},
    },
    rollout::CONDITIONS,
};

/// Wait until a rollout has reached a phase, a condition or a step; prints a line at each change of its state.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  cutover wait shop --for=phase=Succeeded --timeout 2h
  cutover wait shop --for=condition=Ready
  cutover wait shop --for=step=2

Exit status: 0 reached, 1 error, or done without having reached it, 2 failed or rolled back, 3 still held or
waiting for a person, or unfinished while the hub is silent, 4 still in progress.")]
pub(super) struct Wait {
    /// The rollout.
    #[arg(value_parser = connection::rollout_name, add = ArgValueCompleter::new(complete::rollouts))]
    name: String,
    /// `phase=NAME`, `condition=TYPE`, `condition=TYPE=False` or `step=NUMBER`.
    #[arg(long = "for", value_name = "WHAT")]
    goal: Goal,
    /// Longest time to wait.
    #[arg(long, default_value = "5m")]
    timeout: Duration,
    #[command(flatten)]
    connection: Connection,
}

/// How often the hub's Lease is read.
const LOOK_EVERY: std::time::Duration = std::time::Duration::from_secs(5);

/// The goal of the wait.
#[derive(Clone, Debug, PartialEq)]
enum Goal {
    Phase(Phase),
    Condition(String, ConditionStatus),
    Step(u32),
}

/// State of the wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Reached,
    /// It cannot be reached without a person or a new target.
    Lost,
    NotYet,
}

impl Wait {
    pub(super) fn run(self, out: &mut Output) -> Result<Exit, CliError> {
        let Self { name, goal, timeout, connection } = self;
        connection.run(async |cluster| {
            let mut last = seen(&cluster, cluster.rollout(&name).await?).await;
            let mut teller = Teller { out, last: None };
            let following = follow(&cluster, &name, &goal, &mut last, &mut teller);
            match tokio::time::timeout(timeout.to_std(), following).await {
                Ok(result) => result?,
                Err(_) => teller.say(&format!("not reached within {timeout}"))?,
            }
            let last = seen(&cluster, last.rollout).await;
            teller.tell(&last)?;
            Ok(exit(&last, &goal))
        })
    }
}

/// A rollout, and whether a hub runs.
async fn seen(cluster: &Cluster, rollout: FleetRollout) -> View {
    View::new(rollout, cluster.lease().await, Timestamp::now())
}

/// Follows the rollout until the goal is reached or lost, and tells each transition; a hub that falls silent is one.
async fn follow(
    cluster: &Cluster,
    name: &str,
    goal: &Goal,
    last: &mut View,
    teller: &mut Teller<'_>,
) -> Result<(), CliError> {
    let mut changes = Box::pin(watcher::watch_object(cluster.api::<FleetRollout>(), name));
    let mut looks = interval(LOOK_EVERY);
    teller.tell(last)?;
    while goal.standing(last) == Standing::NotYet {
        tokio::select! {
            next = cluster.next(access::READ, &mut changes) => {
                let Some(rollout) = next? else {
                    return Err(CliError::Said(format!("fleetrollout {name} was deleted while it was waited for")));
                };
                *last = View::new(rollout, last.lease.clone(), Timestamp::now());
            }
            _ = looks.tick() => *last = seen(cluster, last.rollout.clone()).await,
        }
        teller.tell(last)?;
    }
    Ok(())
}

/// What makes one transition: the phase, why, the step, and whether a hub runs.
type State = (Phase, Reason, String, bool);

/// Prints each transition once.
struct Teller<'o> {
    out: &'o mut Output,
    last: Option<State>,
}

impl Teller<'_> {
    fn tell(&mut self, view: &View) -> Result<(), CliError> {
        let status = &view.status;
        let state = (status.phase, status.reason, status.summary.step.clone(), view.hub().is_silent());
        if self.last.as_ref() == Some(&state) {
            return Ok(());
        }
        self.last = Some(state);
        self.say(&said(view))
    }

    /// At once: what waits may be read by another program.
    fn say(&mut self, line: &str) -> Result<(), CliError> {
        self.out.screen(&format!("{line}\n"))?;
        self.out.flush()
    }
}

/// The state; a silent hub first.
fn said(view: &View) -> String {
    let standing = sentences::standing(view);
    escape(&match view.hub().alarm() {
        Some(alarm) => format!("{alarm}   {standing}"),
        None => format!("{}   {standing}", clock(view.now)),
    })
}

fn exit(view: &View, goal: &Goal) -> Exit {
    match (goal.standing(view), view.exit()) {
        (Standing::Reached, _) => Exit::Done,
        (Standing::Lost | Standing::NotYet, Exit::Done) => Exit::Error,
        (Standing::Lost | Standing::NotYet, other) => other,
    }
}

impl Goal {
    fn standing(&self, view: &View) -> Standing {
        if view.is_behind() {
            return Standing::NotYet;
        }
        let status = &view.status;
        let over = matches!(status.phase, Phase::Failed | Phase::RolledBack);
        let reached = match self {
            Self::Phase(phase) => status.phase == *phase,
            Self::Condition(type_, expected) => {
                status.conditions.iter().any(|known| known.type_ == *type_ && known.status == *expected)
            }
            Self::Step(number) => match (view.live(), view.ended()) {
                (Some(run), _) => run.step() >= *number && !run.is_rolling_back(),
                (None, Some(ended)) => ended.outcome == Outcome::Succeeded,
                (None, None) => false,
            },
        };
        match (reached, over) {
            (true, _) => Standing::Reached,
            (false, true) => Standing::Lost,
            (false, false) => Standing::NotYet,
        }
    }
}

impl FromStr for Goal {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts: Vec<&str> = text.split('=').collect();
        let read = |value: &str| serde_json::Value::String(value.to_owned());
        let status = |value: &str| {
            serde_json::from_value(read(value)).map_err(|_| format!("{value:?} is not True, False or Unknown"))
        };
        match parts.as_slice() {
            ["phase", phase] => serde_json::from_value(read(phase)).map(Self::Phase).map_err(|_| {
                format!("{phase:?} is not a phase; phases are such as Progressing, WaitingPromotion, Soaking, Succeeded, Failed")
            }),
            ["condition", type_, ..] if !CONDITIONS.contains(type_) => {
                Err(format!("{type_:?} is not a condition; conditions are {}", CONDITIONS.join(", ")))
            }
            ["condition", type_] => Ok(Self::Condition((*type_).to_owned(), ConditionStatus::True)),
            ["condition", type_, value] => Ok(Self::Condition((*type_).to_owned(), status(value)?)),
            ["step", number] => match number.parse() {
                Ok(number @ 1..) => Ok(Self::Step(number)),
                Ok(0) | Err(_) => Err(format!("{number:?} is not the number of a step; the first one is 1")),
            },
            _ => Err("write phase=NAME, condition=TYPE, condition=TYPE=False or step=NUMBER".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{self, Write},
        sync::{Arc, Mutex},
    };

    use super::*;
    use crate::cli::fixtures;

    fn ends(text: &str, view: &View) -> (Standing, Exit) {
        let goal: Goal = text.parse().unwrap();
        (goal.standing(view), exit(view, &goal))
    }

    #[test]
    fn reads_what_to_wait_for_and_refuses_the_rest() {
        assert_eq!("condition=Ready=False".parse(), Ok(Goal::Condition("Ready".to_owned(), ConditionStatus::False)));
        for wrong in ["", "phase", "phase=Done", "phase=Held=True", "step=0", "step=x", "condition=Ready=yes", "x=y"] {
            assert!(wrong.parse::<Goal>().is_err(), "{wrong}");
        }
        let unknown = "condition=Redy".parse::<Goal>();
        let expected = "\"Redy\" is not a condition; conditions are Accepted, Applied, Progressing, Stalled, Ready";
        assert_eq!(unknown, Err(expected.to_owned()));
    }

    #[test]
    fn a_goal_that_is_reached_ends_with_status_0() {
        assert_eq!(ends("phase=WaitingPromotion", &fixtures::waiting()), (Standing::Reached, Exit::Done));
        assert_eq!(ends("step=2", &fixtures::waiting()), (Standing::Reached, Exit::Done));
    }

    #[test]
    fn a_goal_that_is_not_reached_tells_the_state_by_its_status() {
        assert_eq!(ends("step=3", &fixtures::held()), (Standing::NotYet, Exit::Held));
        assert_eq!(ends("phase=Succeeded", &fixtures::soaking()), (Standing::NotYet, Exit::Progressing));
        assert_eq!(ends("phase=Succeeded", &fixtures::failed()), (Standing::Lost, Exit::Failed));
        assert_eq!(ends("step=2", &fixtures::failed()), (Standing::Lost, Exit::Failed));
    }

    /// What was printed, to be read while the output still exists.
    #[derive(Clone, Default)]
    struct Printed(Arc<Mutex<Vec<u8>>>);

    impl Write for Printed {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn each_transition_is_printed_once() {
        let printed = Printed::default();
        let mut out = Output::to(printed.clone());
        let mut teller = Teller { out: &mut out, last: None };
        let views = [fixtures::in_the_middle, fixtures::in_the_middle, fixtures::held, fixtures::silent_hub];
        for view in views {
            teller.tell(&view()).unwrap();
        }
        let text = String::from_utf8(printed.0.lock().unwrap().clone()).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert!(lines[0].starts_with("03:01:00   PROGRESSING 2h14m at step 2/4   Baking: "), "{text}");
        assert!(lines[1].starts_with("03:01:00   HELD 2h14m at step 2/4   MetricsUnknown: "), "{text}");
        assert!(lines[2].starts_with("HUB SILENT for "), "{text}");
    }

    #[test]
    fn what_is_known_of_an_older_declaration_does_not_count() {
        let mut view = fixtures::waiting();
        view.rollout.metadata.generation = Some(5);
        assert_eq!(ends("phase=WaitingPromotion", &view), (Standing::NotYet, Exit::Progressing));
    }
}
