//! The command line: one file per verb.
//!
//! A verb is a clap struct with `run(self, &mut Output) -> Result<Exit, CliError>`. To add one: a `mod` line, a variant
//! of `Command`, and its arm in `Command::run`.

use std::{ffi::OsString, process::ExitCode};

use clap::{CommandFactory, Parser, Subcommand, ValueEnum};
use clap_complete::env::{CompleteEnv, Shells};

mod access;
mod adoption;
mod cluster;
mod colour;
mod complete;
mod connection;
mod crd;
#[cfg(feature = "demo")]
mod demo;
mod direct;
mod doctor;
mod files;
mod get;
mod history;
mod hooks;
mod hub;
mod hub_deployment;
mod hub_liveness;
mod import;
mod install;
mod judged;
mod live;
mod member;
mod metrics;
mod output;
mod past;
mod plan;
mod routes;
mod screen;
mod sentences;
mod signals;
mod table;
mod text;
mod validate;
mod verbs;
mod version;
mod view;
mod wait;
mod watch;
mod why;

#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod scenes;

pub use output::{CliError, Exit, Output};

use crate::api::Verb;

/// Moves production traffic between whole Kubernetes clusters, step by step, on evidence.
#[derive(Debug, Parser)]
#[command(name = "cutover", version, max_term_width = 100, arg_required_else_help = true)]
#[command(after_help = examples())]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

fn examples() -> String {
    let demo = if cfg!(feature = "demo") {
        "\n  cutover demo                                 see it on this machine; needs no cluster"
    } else {
        ""
    };
    format!(
        "Examples:{demo}
  cutover validate rollout.yaml members.yaml   every mistake at once, with its line; needs no cluster
  cutover plan rollout.yaml                    the weights of every member at every step
  cutover install --image IMAGE | kubectl apply --server-side -f -

Installed as kubectl-cutover it is also `kubectl cutover`."
    )
}

#[derive(Debug, Subcommand)]
enum Command {
    Validate(validate::Validate),
    Plan(plan::Plan),
    Import(import::Import),
    #[cfg(feature = "demo")]
    Demo(demo::Demo),
    Hub(hub::Hub),
    Crd(crd::Crd),
    Install(install::Install),
    Uninstall(install::Uninstall),
    Doctor(doctor::Doctor),
    Get(get::Get),
    Why(why::Why),
    History(history::History),
    Wait(wait::Wait),
    /// Approve this step; it goes on once bake and checks are done.
    #[command(after_help = verbs::help("  cutover promote shop -n shop --reason 'dashboards look good'"))]
    Promote(verbs::RequestArgs),
    /// Stop advancing; checks and rollback stay active.
    #[command(after_help = verbs::help("  cutover pause shop -n shop --reason 'traffic peak'"))]
    Pause(verbs::RequestArgs),
    /// End a pause.
    #[command(after_help = verbs::help("  cutover resume shop -n shop"))]
    Resume(verbs::RequestArgs),
    Abort(verbs::Abort),
    /// Try a failed or held run again; where somebody edited a route outside a run, write that again instead.
    #[command(after_help = verbs::help("  cutover retry shop -n shop"))]
    Retry(verbs::RequestArgs),
    /// Send traffic back to the last good distribution: a run that works, but is not wanted.
    ///
    /// It can be requested in a run, and after its last step while `keepPrevious` lasts. The weights move as with abort; it is
    /// recorded as `RollbackRequested`. In an emergency use abort: it is applied before every other request, and with --direct it
    /// works without the hub.
    #[command(after_help = verbs::help("  cutover rollback shop -n shop --reason 'complaints'"))]
    Rollback(verbs::RequestArgs),
    Adopt(verbs::Adopt),
    Hooks(hooks::Hooks),
    Member(member::Member),
    Version(version::Version),
    /// Print shell completions; they know the names of contexts, namespaces, rollouts and members.
    #[command(after_help = "Example:\n  source <(cutover completions bash)\n\nExit status: 0 done, 1 an error.")]
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
}

impl Command {
    fn run(self, out: &mut Output) -> Result<Exit, CliError> {
        match self {
            Self::Validate(validate) => validate.run(out),
            Self::Plan(plan) => plan.run(out),
            Self::Import(import) => import.run(out),
            #[cfg(feature = "demo")]
            Self::Demo(demo) => demo.run(out),
            Self::Hub(hub) => hub.run(out),
            Self::Crd(crd) => crd.run(out),
            Self::Install(install) => install.run(out),
            Self::Uninstall(uninstall) => uninstall.run(out),
            Self::Doctor(doctor) => doctor.run(out),
            Self::Get(get) => get.run(out),
            Self::Why(why) => why.run(out),
            Self::History(history) => history.run(out),
            Self::Wait(wait) => wait.run(out),
            Self::Promote(request) => request.run(Verb::Promote, out),
            Self::Pause(request) => request.run(Verb::Pause, out),
            Self::Resume(request) => request.run(Verb::Resume, out),
            Self::Abort(abort) => abort.run(out),
            Self::Retry(request) => request.run(Verb::Retry, out),
            Self::Rollback(request) => request.run(Verb::Rollback, out),
            Self::Adopt(adopt) => adopt.run(out),
            Self::Hooks(hooks) => hooks.run(out),
            Self::Member(member) => member.run(out),
            Self::Version(version) => version.run(out),
            Self::Completions { shell } => completions(shell, out),
        }
    }
}

/// Output format of the verbs that only read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// For programs.
    Json,
}

/// Runs the verb that the arguments name, prints to the standard streams, and tells how it ended.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut out = Output::standard();
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let completed = CompleteEnv::with_factory(Cli::command).var(COMPLETE).try_complete(arguments.clone(), None);
    if completed.unwrap_or(true) {
        return out.finish(Ok(Exit::Done));
    }
    match Cli::try_parse_from(arguments) {
        Ok(cli) => {
            let ended = cli.command.run(&mut out);
            out.finish(ended)
        }
        Err(usage) => out.usage(&usage),
    }
}

/// The variable in which a shell's script says that something is to be completed.
const COMPLETE: &str = "CUTOVER_COMPLETE";

fn completions(shell: clap_complete::Shell, out: &mut Output) -> Result<Exit, CliError> {
    let mut script = Vec::new();
    let shell = shell.to_string();
    let found = Shells::builtins();
    let found = found.completer(&shell).ok_or_else(|| CliError::Said(format!("{shell} is not known")))?;
    found.write_registration(COMPLETE, "cutover", "cutover", "cutover", &mut script)?;
    out.text(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}
