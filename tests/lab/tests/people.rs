//! The command line as a person uses it: with the operator's role and nothing more, or without a running hub.

use crate::{
    apiserver::{ADMIN, OPERATOR, TENANTS},
    rollout::{PATIENCE, promoted_steps, to_eu_3},
    runner::{Place, Scene, Test},
    shares::assert_shares,
    stage::Stage,
    wait::{eventually, seconds},
};
use anyhow::{Context, Result, ensure};
use cutover::api::{Phase, Reason, RolloutRequest, WRITE_ANNOTATION, request::RequestState};
use kube::{
    Api, ResourceExt,
    api::{ListParams, Patch, PatchParams},
};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::{Value, json};
use std::{
    fs::{File, OpenOptions},
    io::Read,
    process::Stdio,
    sync::mpsc,
};
use tokio::process::Command;

pub const TESTS: &[Test] = &[
    Test { name: "a_person_uses_every_verb", place: Place::Shared, run: |scene| Box::pin(verbs(scene)) },
    Test {
        name: "four_eyes_with_the_real_admission_policy",
        place: Place::Shared,
        run: |scene| Box::pin(four_eyes(scene)),
    },
    Test { name: "abort_direct_needs_no_hub", place: Place::Alone, run: |scene| Box::pin(direct(scene)) },
    Test { name: "get_on_a_terminal_is_drawn_anew", place: Place::Shared, run: |scene| Box::pin(watched(scene)) },
];

/// Runs `cutover VERB NAME` as a user of the hub's cluster: its exit status and what it printed.
async fn cutover(scene: &Scene, user: &str, words: &[&str]) -> Result<(i32, String)> {
    let name = &scene.namespace;
    let mut command = Command::new(env!("CARGO_BIN_EXE_cutover"));
    command.env("KUBECONFIG", scene.hub.kubeconfig_file(user)?);
    command.arg(words[0]).arg(name).args(["-n", name]).args(&words[1..]).kill_on_drop(true);
    let output = tokio::time::timeout(seconds(70), command.output()).await.context("no end")??;
    let text = [output.stdout, output.stderr].concat();
    Ok((output.status.code().context("it was killed")?, String::from_utf8(text)?))
}

async fn expect(scene: &Scene, words: &[&str], status: i32, said: &str) -> Result<()> {
    expect_as(OPERATOR, scene, words, status, said).await
}

async fn expect_as(user: &str, scene: &Scene, words: &[&str], status: i32, said: &str) -> Result<()> {
    let (code, text) = cutover(scene, user, words).await?;
    ensure!(code == status && text.contains(said), "{words:?} ended with {code}, not {status} and {said:?}:\n{text}");
    Ok(())
}

/// Exit statuses: 0 done, 1 error, 2 failed or rolled back, 3 held or waiting for a person, 4 in progress.
async fn verbs(scene: Scene) -> Result<()> {
    let stage = Stage::begin(&scene, json!({"strategy": {"steps": promoted_steps(&[50, 100])}})).await?;
    expect(&scene, &["get"], 0, "READY").await?;
    stage.first_step().await?;
    expect(&scene, &["wait", "--for=phase=WaitingPromotion", "--timeout", "60s"], 0, "").await?;
    expect(&scene, &["get"], 3, "cutover promote").await?;
    expect(&scene, &["why"], 3, "").await?;
    expect(&scene, &["pause", "--reason", "a look"], 0, "").await?;
    stage.rollout.stands(Phase::Paused, Reason::PausedByRequest).await?;
    expect(&scene, &["resume"], 0, "").await?;
    stage.rollout.phase(Phase::WaitingPromotion).await?;
    expect(&scene, &["promote", "--reason", "looks good"], 0, "").await?;
    expect(&scene, &["wait", "--for=step=2", "--timeout", "60s"], 0, "").await?;
    expect(&scene, &["abort", "--reason", "a rehearsal"], 0, "").await?;
    stage.rollout.stands(Phase::RolledBack, Reason::Aborted).await?;
    expect(&scene, &["get"], 2, "").await?;
    expect(&scene, &["abort"], 1, "").await?;
    stage.expect_weights(&[0, 50, 100, 0])?;
    expect(&scene, &["retry"], 0, "").await?;
    stage.rollout.applied(1).await?;
    expect(&scene, &["rollback"], 0, "").await?;
    stage.rollout.phase(Phase::RolledBack).await?;
    stage.load.stop().await.assert_all_ok()
}

/// Two people approve the first step; the one who declared the change is none of them, and cannot pretend to be another.
async fn four_eyes(scene: Scene) -> Result<()> {
    let name = &scene.namespace;
    let stage = Stage::begin(&scene, json!({"strategy": {"steps": promoted_steps(&[50, 100])}})).await?;
    let rollouts = scene.hub.api("cutover.dev/v1alpha1", "FleetRollout", name).await?;
    let change = async |spec: Value, author: &str| {
        let patch = json!({"metadata": {"annotations": {"cutover.dev/declared-by": author}}, "spec": spec});
        rollouts.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await
    };
    let first = json!({"progress": "50%", "wait": "Promotion", "approval": {"min": 2, "notAuthor": true}});
    let declared = json!({"members": to_eu_3(), "strategy": {"steps": [first, {"progress": "100%"}]}});
    for author in ["", OPERATOR] {
        let said = change(declared.clone(), author).await.err().context("it was taken")?.to_string();
        ensure!(said.contains(&format!("is not you, who declare this; write {ADMIN}")), "{said}");
    }
    change(declared, ADMIN).await?;
    let said = change(json!({}), OPERATOR).await.err().context("it was taken")?.to_string();
    ensure!(said.contains(&format!("{ADMIN} declared this, and that stays so")), "{said}");
    stage.rollout.applied(1).await?;
    stage.rollout.phase(Phase::WaitingPromotion).await?;

    let second = TENANTS[0];
    scene.hub.create(name, &may_operate(second).to_string()).await?;
    expect(&scene, &["why"], 3, "0 of 2 approvals").await?;
    expect_as(ADMIN, &scene, &["promote"], 1, "declared this change; somebody else must approve it").await?;
    expect(&scene, &["promote", "--reason", "errors are low"], 0, "1 of 2 approvals").await?;
    expect(&scene, &["promote"], 0, "1 of 2 approvals").await?;
    stage.expect_weights(&[0, 50])?;
    expect_as(second, &scene, &["promote"], 0, "the wait of step 1 is open").await?;
    stage.rollout.phase(Phase::Succeeded).await?;
    expect(&scene, &["history"], 0, "errors are low").await?;
    stage.load.stop().await.assert_all_ok()
}

/// What the role for the verbs allows, in the test's namespace.
fn may_operate(user: &str) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "operates"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cutover-operator"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
    })
}

/// One who may write the route takes the canary out while no hub lives; the next hub understands what was done.
async fn direct(scene: Scene) -> Result<()> {
    let stage = Stage::begin(&scene, json!({"strategy": {"steps": promoted_steps(&[50, 100])}})).await?;
    stage.first_step().await?;
    scene.process.kill().await?;
    let outcome = abort_without_hub(&stage).await;
    scene.process.open().await?;
    outcome?;

    stage.rollout.stands(Phase::RolledBack, Reason::Aborted).await?;
    the_only_request_is_applied(&scene).await?;
    receive(&stage, &[("eu-1", 100)]).await?;
    stage.load.goes_on_for(seconds(5)).await?;
    stage.expect_weights(&[0, 50, 0])?;
    stage.load.stop().await.assert_all_ok()
}

/// The members' own counts tell that it helped, and the mark is still the hub's.
async fn abort_without_hub(stage: &Stage<'_>) -> Result<()> {
    receive(stage, &[("eu-1", 50), ("eu-3", 50)]).await?;
    let before = stage.routes.get("public").await?;
    let words = ["abort", "--direct", "--reason", "the hub is down"];
    expect_as(ADMIN, stage.scene, &words, 0, "requested: rolloutrequest").await?;
    eventually("no more requests at eu-3", PATIENCE, async || receive(stage, &[("eu-1", 100)]).await).await?;
    let after = stage.routes.get("public").await?;
    let [was, is] = [&before, &after].map(|route| route.annotations().get(WRITE_ANNOTATION));
    ensure!(was.is_some() && was == is, "the mark was {was:?} and is {is:?}");
    Ok(())
}

/// From now on 2,000 requests arrive at the members in these shares.
async fn receive(stage: &Stage<'_>, expected: &[(&str, u32)]) -> Result<()> {
    let before = stage.scene.observed(stage.service());
    stage.load.sends(2_100).await?;
    assert_shares(&before, &stage.scene.observed(stage.service()), expected)
}

async fn the_only_request_is_applied(scene: &Scene) -> Result<()> {
    let requests = Api::<RolloutRequest>::namespaced(scene.hub.client.clone(), &scene.namespace);
    eventually("the request", PATIENCE, async || {
        let found = requests.list(&ListParams::default()).await?.items;
        let states: Vec<_> = found.into_iter().map(|request| request.status.unwrap_or_default().state).collect();
        ensure!(states == [Some(RequestState::Applied)], "{states:?}");
        Ok(())
    })
    .await
}

/// On a terminal each picture begins at the top of the second screen.
async fn watched(scene: Scene) -> Result<()> {
    let stage = Stage::begin(&scene, json!({"strategy": {"steps": promoted_steps(&[50, 100])}})).await?;
    let (ours, theirs) = terminal()?;
    let name = &scene.namespace;
    let mut command = Command::new(env!("CARGO_BIN_EXE_cutover"));
    command.env("KUBECONFIG", scene.hub.kubeconfig_file(OPERATOR)?).env("NO_COLOR", "1");
    command.args(["get", name, "-n", name, "--watch"]).kill_on_drop(true);
    command.stdin(Stdio::null()).stdout(theirs.try_clone()?).stderr(theirs);
    let mut child = command.spawn()?;
    drop(command);
    let shown = screens(ours);
    let mut seen = String::new();
    let mut screen = async |what: &str| {
        eventually(what, PATIENCE, async || {
            seen.extend(shown.try_iter());
            let last = seen.rsplit(HOME).next().unwrap_or_default();
            // A headline that is longer than the terminal is wide goes on in the next line.
            let words = last.replace("\u{1b}[K", " ").split_whitespace().collect::<Vec<_>>().join(" ");
            ensure!(words.contains(what) && words.contains("more: cutover why"), "{seen}");
            Ok(seen.matches(HOME).count())
        })
        .await
    };
    let first = screen("READY").await?;
    stage.first_step().await?;
    let second = screen("WAITING FOR PROMOTION").await?;
    ensure!(first >= 1 && second > first, "{first} screens, then {second}");
    child.kill().await?;
    stage.load.stop().await.assert_all_ok()
}

/// To the top of the screen.
const HOME: &str = "\u{1b}[H";

/// Both ends of a new terminal.
fn terminal() -> Result<(File, File)> {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
    grantpt(&ours)?;
    unlockpt(&ours)?;
    let name = ptsname(&ours, Vec::new())?.into_string()?;
    Ok((File::from(ours), OpenOptions::new().read(true).write(true).open(name)?))
}

/// What arrives on a terminal. The thread ends with the last writer.
fn screens(mut terminal: File) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(read @ 1..) = terminal.read(&mut buffer) {
            if sender.send(String::from_utf8_lossy(&buffer[..read]).into_owned()).is_err() {
                return;
            }
        }
    });
    receiver
}
