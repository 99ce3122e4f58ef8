//! What the documents tell people to type works, word for word: in the sandbox, or on real clusters.

use crate::{
    parts::Parts,
    runner::{Place, Scene, Test},
    typist::{Line, Typist, documents, lines},
    wait::seconds,
};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::{path::PathBuf, process::Stdio};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
};

pub const TESTS: &[Test] = &[
    Test {
        name: "what_the_documents_say_can_be_typed_in_the_sandbox",
        place: Place::Shared,
        run: |scene| Box::pin(typed(scene)),
    },
    Test { name: "the_tutorial_begins_in_the_sandbox", place: Place::Shared, run: |scene| Box::pin(tutorial(scene)) },
];

/// Its first part is about the sandbox; another test types the others, on real clusters.
pub const TUTORIAL: &str = "docs/tutorial.md";

/// How lines begin that cannot be typed in the sandbox, and why.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("make ", "builds cutover; tests/it/demo.rs runs the demo, and this is make lab"),
    ("docker build", "needs docker and a registry"),
    ("cargo install", "builds cutover"),
    ("cutover install", "server-side apply of roles and admission policies"),
    ("cutover doctor", "the sandbox has neither roles nor a Deployment; doctor.rs runs it"),
    ("kubectl --context eu-3", "another cluster"),
    (
        "kubectl apply --server-side -k deploy/monitoring",
        "kinds of the Prometheus Operator; monitoring.rs tries what is in them",
    ),
    ("kubectl apply -f config/rbac/hub-hooks.yaml", "a role, which the sandbox does not have; hooks.rs applies it"),
    ("cutover member kubeconfig", "another cluster"),
    ("cutover uninstall | sh", "deletes roles and admission policies, which the sandbox does not have"),
];

/// What the documents take for granted: Secrets that somebody made, a file with a token, and objects of other tools.
const BEFORE: &[&str] = &[
    "kubectl -n cutover-system create secret generic eu-3-prometheus --from-literal=token=abc",
    "kubectl -n cutover-system create secret generic platform-ca --from-literal=ca.crt=abc",
    "echo abc > token",
    "cp tests/it/import/flagger/contour-steps.yaml canary.yaml",
    "cp tests/it/import/argo-rollouts/nginx-steps.yaml argo-rollout.yaml",
    "cp tests/it/import/kruise/nginx-steps.yaml kruise-rollout.yaml",
    "kubectl create service clusterip orders --tcp=8080 --dry-run=client -o yaml > service.yaml",
];

/// Every line of every document, in a demo that was left in the middle of a run; first what that prints.
async fn typed(scene: Scene) -> Result<()> {
    let (_demo, kept, typist) = sandbox(&scene).await?;
    let printed = kept["commands"].as_array().context("no commands")?.iter();
    let printed: Vec<&str> = printed.filter_map(|command| command["line"].as_str()).collect();
    ensure!(printed.iter().any(|line| line.contains("examples/first-rollout")), "{printed:?}");
    for line in printed.into_iter().chain(BEFORE.iter().copied()) {
        typist.types(line).await?;
    }
    let mut unused = EXCEPTIONS.to_vec();
    for Line { document, text, .. } in all_lines()? {
        match EXCEPTIONS.iter().find(|(begin, _)| text.starts_with(begin)) {
            Some(exception) => unused.retain(|other| other != exception),
            None => drop(typist.types(&text).await.with_context(|| document)?),
        }
    }
    ensure!(unused.is_empty(), "exceptions that nothing needs: {unused:?}");
    moves(&typist).await
}

/// The example moves real traffic: after the promotion that the documents give, its first step has passed on five percent.
async fn moves(typist: &Typist) -> Result<()> {
    let shown = typist.types("cutover get storefront -n shop -o json").await?;
    let shown: Value = serde_json::from_str(&shown)?;
    ensure!(shown.to_string().contains("\"eu-3\""), "{shown}");
    let events = typist.types("kubectl describe fleetrollout storefront -n shop").await?;
    ensure!(events.contains("step 1/4: eu-1:95 eu-3:5"), "{events}");
    Ok(())
}

/// The tutorial's reader begins as its first lines say, in a demo of his own.
async fn tutorial(scene: Scene) -> Result<()> {
    let (_demo, _, typist) = sandbox(&scene).await?;
    for line in part('1')? {
        typist.types(&line).await?;
    }
    Ok(())
}

/// The lines of a part of the tutorial.
pub fn part(number: char) -> Result<Vec<String>> {
    let all = lines(TUTORIAL)?.into_iter();
    let of_part: Vec<String> = all.filter(|line| line.part == Some(number)).map(|line| line.text).collect();
    ensure!(!of_part.is_empty(), "part {number} has no commands");
    Ok(of_part)
}

fn all_lines() -> Result<Vec<Line>> {
    let others = documents()?.into_iter().filter(|document| document != TUTORIAL);
    Ok(others.map(|document| lines(&document)).collect::<Result<Vec<_>>>()?.concat())
}

/// A demo in the middle of a run, what it says then, and one who types into it. It ends with the process.
async fn sandbox(scene: &Scene) -> Result<(Child, Value, Typist)> {
    let (demo, kept) = kept(scene).await?;
    let kubeconfig = PathBuf::from(kept["kubeconfig"].as_str().context("no kubeconfig")?);
    let folder = scene.folder.join("typists").join(&scene.namespace);
    let typist = Typist::new(folder, kubeconfig, &Parts::ensure(false).await?, Vec::new())?;
    Ok((demo, kept, typist))
}

async fn kept(scene: &Scene) -> Result<(Child, Value)> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cutover"));
    command.args(["demo", "--speed", "2", "--pause-at", "2", "--keep", "-o", "json"]).env("TMPDIR", &scene.folder);
    let mut demo = command.stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true).spawn()?;
    let mut said = BufReader::new(demo.stdout.take().context("no output")?).lines();
    let kept = tokio::time::timeout(seconds(90), async {
        while let Some(line) = said.next_line().await? {
            let event: Value = serde_json::from_str(&line)?;
            if event["event"] == "kept" {
                return Ok(event);
            }
        }
        anyhow::bail!("the demo ended")
    });
    let kept = kept.await.context("the demo is not kept")??;
    Ok((demo, kept))
}
