//! Runs the tests, each in its own namespace.

use crate::{lab::Lab, process::tail, tests, wait::seconds};
use anyhow::{Context, Result, anyhow};
use futures::{StreamExt, future::LocalBoxFuture, stream};
use kube::api::{DeleteParams, ListParams};
use std::{
    fs,
    ops::Deref,
    path::Path,
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};

const AT_A_TIME: usize = 6;
#[derive(Clone, Copy)]
pub struct Test {
    pub name: &'static str,
    pub place: Place,
    pub run: fn(Scene) -> LocalBoxFuture<'static, Result<()>>,
}

/// What else may run at the same time.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The others of this kind.
    Shared,
    /// None that uses the lab's hub and members: it stops something of theirs, or counts all that they do.
    Alone,
    /// Those that must be alone, for it has an API server and members of its own.
    Apart,
}

impl Place {
    /// The longest that a test takes, on a machine that does other things too. The sample of plans, which stands apart, takes
    /// seven minutes by itself.
    const fn deadline(self) -> Duration {
        match self {
            Self::Shared | Self::Alone => seconds(600),
            Self::Apart => seconds(900),
        }
    }
}

/// The lab as one test has it: with a namespace in the hub that nobody else uses. A test that sends requests uses the
/// namespace's name (or one that begins with it) for its service, since members count by the Host's first label.
pub struct Scene {
    lab: Arc<Lab>,
    pub namespace: String,
}

impl Deref for Scene {
    type Target = Lab;

    fn deref(&self) -> &Lab {
        &self.lab
    }
}

/// A test that failed: its name and why.
struct Failure(&'static str, String);

/// Runs the tests whose name contains one of the words of `filter`, separated by commas; the last lines name what failed,
/// the very last says how many passed and failed.
pub async fn run_all(lab: &Arc<Lab>, filter: &str) -> ExitCode {
    let tests: Vec<Test> = tests::all().into_iter().filter(|test| is_chosen(test, filter)).collect();
    let side_by_side = async |place: Place, most: usize| {
        let there = tests.iter().copied().filter(|test| test.place == place);
        stream::iter(there).map(|test| run(lab, test)).buffer_unordered(most).collect::<Vec<_>>().await
    };
    let mut outcomes = side_by_side(Place::Shared, AT_A_TIME).await;
    let (alone, apart) = futures::join!(side_by_side(Place::Alone, 1), side_by_side(Place::Apart, 1));
    outcomes.extend(alone.into_iter().chain(apart));
    // What all tests together did is known after the last one.
    if filter.is_empty() {
        outcomes.push(run(lab, tests::rights::LAST).await);
    }
    let tried = outcomes.len();
    let failures: Vec<_> = outcomes.into_iter().filter_map(Result::err).collect();
    for Failure(name, why) in &failures {
        println!("lab: {name} FAILED: {why}");
    }
    println!("lab: {} passed, {} failed", tried - failures.len(), failures.len());
    if failures.is_empty() && tried > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The name of the test contains one of the words.
pub fn is_chosen(test: &Test, filter: &str) -> bool {
    filter.split(',').any(|word| test.name.contains(word))
}

async fn run(lab: &Arc<Lab>, test: Test) -> Result<(), Failure> {
    let since = Instant::now();
    let outcome = attempt(lab.clone(), test).await;
    let took = since.elapsed();
    match &outcome {
        Ok(()) => println!("lab: {} … ok ({took:.1?})", test.name),
        Err(error) => println!("lab: {} … FAILED ({took:.1?})\n  {error:#}\n{}", test.name, logs(lab, test.name)),
    }
    outcome.map_err(|error| Failure(test.name, format!("{error:#}")))
}

/// A local task of its own (what a test awaits need not be `Send`), so that a panic fails one test and not the run.
async fn attempt(lab: Arc<Lab>, test: Test) -> Result<()> {
    let namespace = namespace(test.name);
    lab.hub.create_namespace(&namespace).await?;
    let scene = Scene { lab: lab.clone(), namespace: namespace.clone() };
    let task = tokio::task::spawn_local((test.run)(scene));
    let abort = task.abort_handle();
    let deadline = test.place.deadline();
    let outcome = tokio::time::timeout(deadline, task).await;
    abort.abort();
    // A run that nobody looks at any more would be measured and probed for ever.
    let rollouts = lab.hub.api("cutover.dev/v1alpha1", "FleetRollout", &namespace).await?;
    rollouts.delete_collection(&DeleteParams::default(), &ListParams::default()).await?;
    outcome.with_context(|| format!("not done within {deadline:?}"))?.map_err(|panic| anyhow!("{panic}"))?
}

fn namespace(test: &str) -> String {
    test.replace('_', "-")
}

/// What the hub processes said of this test's namespace last, and the ends of the data planes' logs.
fn logs(lab: &Lab, test: &str) -> String {
    let folder = lab.folder.join("logs");
    let planes =
        ["skipper.log", "contour.log", "envoy.log", "istiod.log", "istio-gateway.log"].map(|name| folder.join(name));
    let planes = planes.iter().map(|path| format!("{}:\n{}", path.display(), tail(path, 2)));
    let hubs = fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let hubs = hubs.filter(|path| path.to_string_lossy().contains("/hub-"));
    let said = hubs.map(|path| format!("{}:\n{}", path.display(), about(&path, &namespace(test), 15)));
    said.chain(planes).collect::<Vec<_>>().join("\n")
}

/// The last lines of a log that contain a word, each cut to a length that can be read.
fn about(log: &Path, word: &str, lines: usize) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let said: Vec<String> =
        text.lines().filter(|line| line.contains(word)).map(|line| line.chars().take(600).collect()).collect();
    said[said.len().saturating_sub(lines)..].join("\n")
}
