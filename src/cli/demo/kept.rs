//! What can be tried in a demo that was kept: commands, and what each is for.

use std::fmt;

use serde::Serialize;

use super::declared::{NAMESPACE, ROLLOUT};

/// How the story left the rollout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Left {
    /// In mid-run.
    Paused,
    /// After a failure.
    RolledBack,
    /// At its target.
    Succeeded,
}

/// A command line for another terminal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Command {
    line: String,
    remark: &'static str,
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, remark } = self;
        if remark.is_empty() { f.write_str(line) } else { write!(f, "{line:<40}  # {remark}") }
    }
}

/// Commands that work now, in this order. `example` says whether examples/first-rollout can be applied.
pub(super) fn commands(left: Left, example: bool) -> Vec<Command> {
    let verb = |verb: &str, remark| command(&format!("cutover {verb} {ROLLOUT} -n {NAMESPACE}"), remark);
    let mut commands = vec![
        command("kubectl get fleetrollouts,memberclusters,httproutes -A", ""),
        command(&format!("kubectl describe fleetrollout {ROLLOUT} -n {NAMESPACE}"), ""),
        verb("get", "also with --watch"),
        verb("why", ""),
    ];
    commands.extend(match left {
        Left::Paused => {
            vec![verb("resume", ""), verb("promote", "to the next step"), verb("rollback", "all traffic back")]
        }
        Left::RolledBack => vec![verb("history", ""), verb("retry", "then promote, pause or rollback")],
        Left::Succeeded => {
            vec![
                verb("history", ""),
                command(&format!("kubectl edit fleetrollout {ROLLOUT} -n {NAMESPACE}"), "other weights: a new run"),
            ]
        }
    });
    if example {
        commands.push(command("kubectl apply -f examples/first-rollout", "your own rollout"));
        commands.push(command("cutover get storefront -n shop", ""));
    }
    commands
}

fn command(line: &str, remark: &'static str) -> Command {
    Command { line: line.to_owned(), remark }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_fit_the_state_in_which_the_rollout_is_left() {
        let verbs = |left, example| {
            let all = commands(left, example).into_iter().skip(2).map(|command| command.line);
            all.filter_map(|line| line.split(' ').nth(1).map(str::to_owned)).collect::<Vec<_>>()
        };
        assert_eq!(verbs(Left::Paused, true), ["get", "why", "resume", "promote", "rollback", "apply", "get"]);
        assert_eq!(verbs(Left::RolledBack, false), ["get", "why", "history", "retry"]);
        assert_eq!(verbs(Left::Succeeded, false), ["get", "why", "history", "edit"]);
    }

    #[test]
    fn a_remark_is_a_comment_of_the_shell() {
        let shown = commands(Left::Paused, false)[5].to_string();
        assert_eq!(shown, "cutover promote shop -n shop              # to the next step");
    }
}
