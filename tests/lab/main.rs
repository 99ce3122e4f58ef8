//! The lab: one hub and three members made of real parts, in a network of their own.
//!
//! `cargo test --test lab` makes sure that the parts are there, enters private user, network, mount and process
//! namespaces, brings the lab up and runs the tests. README.md beside this file says what is in it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, unreachable_pub)]

mod apiserver;
mod audit;
mod bench;
mod cluster;
mod conformance;
mod contour;
mod demo;
mod dns;
mod endpoint_slices;
mod fleet;
mod gateway;
mod history;
mod hub;
mod istio;
mod lab;
mod load;
mod net;
mod parts;
mod pki;
mod process;
mod prometheus;
mod requirements;
mod rollout;
mod runner;
mod sample;
mod shares;
mod shown;
mod simulator;
mod skipper;
mod stage;
mod tally;
mod tests;
mod trail;
mod typist;
mod usage;
mod users;
mod wait;

use anyhow::{Context, Result, bail};
use parts::Parts;
use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};
use tokio::task::LocalSet;

/// What the command line requests.
enum Command {
    /// Make sure that the parts exist, nothing more.
    Parts,
    /// Names of the tests, as `cargo test -- --list` wants them.
    List,
    /// Whatever needs a running lab; carries the words for the inner process.
    Enter(Vec<String>),
    /// We are the inner process: the lab's folder, then the words.
    Inside(PathBuf, Vec<String>),
}

impl Command {
    fn parse(args: impl Iterator<Item = String>) -> Result<Self> {
        let (flags, words): (Vec<_>, Vec<_>) = args.partition(|arg| arg.starts_with("--"));
        if flags.iter().any(|flag| flag == "--list") {
            return Ok(Self::List);
        }
        match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            ["parts"] => Ok(Self::Parts),
            [net::INSIDE, folder, rest @ ..] => {
                Ok(Self::Inside(PathBuf::from(folder), rest.iter().map(ToString::to_string).collect()))
            }
            [] | [_] => Ok(Self::Enter(words)),
            _ => bail!("at most one word: `parts`, `up`, `demo`, `bench`, or a part of a test's name; got {words:?}"),
        }
    }
}

fn main() -> ExitCode {
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let outcome = Command::parse(std::env::args().skip(1)).and_then(|command| {
        tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .context("cannot start the async runtime")?
            .block_on(run(command))
    });
    outcome.unwrap_or_else(|error| {
        eprintln!("lab: {error:#}");
        ExitCode::FAILURE
    })
}

async fn run(command: Command) -> Result<ExitCode> {
    match command {
        Command::List => {
            for test in tests::all() {
                println!("{}: test", test.name);
            }
            Ok(ExitCode::SUCCESS)
        }
        Command::Parts => {
            requirements::check_build_tools()?;
            Parts::ensure(true).await?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Enter(words) => {
            requirements::check_namespaces()?;
            Parts::ensure(need_istiod(&words)).await?;
            net::enter(&words).await
        }
        Command::Inside(folder, words) => {
            net::settle_in(&folder)?;
            inside(&folder, &words).await
        }
    }
}

/// Building istiod takes as long as half of the other parts: only the tests that use it wait for it.
fn need_istiod(words: &[String]) -> bool {
    match words {
        [] => true,
        [word, ..] => tests::istio::all().iter().any(|test| runner::is_chosen(test, word)),
    }
}

async fn inside(folder: &Path, words: &[String]) -> Result<ExitCode> {
    let parts = Parts::ensure(need_istiod(words)).await?;
    if words.first().is_some_and(|word| word == "bench") {
        bench::run(&parts, folder).await?;
        return Ok(ExitCode::SUCCESS);
    }
    let lab = Arc::new(lab::Lab::up(parts, folder).await?);
    match words.first().map(String::as_str) {
        Some("up") => {
            lab.describe();
            std::future::pending().await
        }
        Some("demo") => {
            lab.hub.create_namespace("shop").await?;
            let say = |line: &str| println!("{line}");
            demo::Demo { lab: &lab, namespace: "shop", service: "storefront", say }.tell().await?;
            Ok(ExitCode::SUCCESS)
        }
        filter => {
            let tests = runner::run_all(&lab, filter.unwrap_or_default());
            Ok(LocalSet::new().run_until(tests).await)
        }
    }
}
