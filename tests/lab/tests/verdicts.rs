//! What checks and probes do to a run.

use crate::{
    lab::{MEMBERS, member_address},
    load::{Load, Plan, Totals},
    rollout::promoted_steps,
    runner::{Place, Scene, Test},
    shares::percent,
    stage::{Stage, all_at, clients, host},
    wait::seconds,
};
use anyhow::{Context, Result, ensure};
use cutover::api::{Phase, Reason, Verb};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

pub const TESTS: &[Test] = &[
    Test {
        name: "a_share_that_is_elsewhere_stops_the_run",
        place: Place::Shared,
        run: |scene| Box::pin(elsewhere(scene)),
    },
    Test { name: "five_percent_errors_roll_back", place: Place::Shared, run: |scene| Box::pin(errors(scene)) },
    Test { name: "forty_failing_requests_trip_the_guard", place: Place::Shared, run: |scene| Box::pin(guard(scene)) },
    Test { name: "a_shared_incident_holds", place: Place::Shared, run: |scene| Box::pin(shared_incident(scene)) },
    Test { name: "a_silent_prometheus_holds", place: Place::Alone, run: |scene| Box::pin(silence(scene)) },
    Test {
        name: "a_canary_endpoint_that_is_down_rolls_back",
        place: Place::Alone,
        run: |scene| Box::pin(canary_down(scene)),
    },
    Test { name: "gateways_that_are_all_down_hold", place: Place::Alone, run: |scene| Box::pin(all_down(scene)) },
];

/// Two steps, each until a person promotes.
fn two_steps() -> Value {
    json!({"strategy": {"steps": promoted_steps(&[30, 100])}})
}

/// Every request was answered, and of all of them at most this share (percent) with an error.
fn failed_at_most(totals: &Totals, share: f64) -> Result<()> {
    let [ok, failed] = [200, 500].map(|status| totals.by_status.get(&status).copied().unwrap_or_default());
    ensure!(ok + failed == totals.sent, "some requests were not answered by a member: {totals:?}");
    let found = percent(failed, totals.sent);
    ensure!(failed > 0 && found <= share, "{found:.2} % of all requests failed, at most {share} % should: {totals:?}");
    Ok(())
}

/// eu-3's name leads to eu-1's gateway: the route obeys, the requests do not arrive.
async fn elsewhere(scene: Scene) -> Result<()> {
    let name = format!("{}.eu-3.lab", scene.namespace);
    scene.dns.point(&name, Some(member_address("eu-1")));
    let mut more = two_steps();
    more["analysis"] = json!({"share": {"within": 5}});
    let stage = Stage::begin(&scene, more).await?;
    stage.first_step().await?;
    let status = stage.rollout.stands(Phase::Held, Reason::WeightNotObserved).await?;
    let said = format!("eu-1 was observed at 100 % of {}, not 70 %", stage.service());
    ensure!(status.message.starts_with(&said), "{}", status.message);
    stage.load.goes_on_for(seconds(5)).await?;
    stage.expect_weights(&[0, 30])?;
    scene.dns.restore(&name);
    stage.rollout.phase(Phase::WaitingPromotion).await?;
    stage.load.stop().await.assert_all_ok()
}

/// From a passing step on 5 % of eu-3's answers are errors; one failed check is enough here.
async fn errors(scene: Scene) -> Result<()> {
    let mut more = two_steps();
    more["analysis"] = json!({"failures": {"limit": 1, "within": 1}});
    let stage = Stage::begin(&scene, more).await?;
    stage.first_step().await?;
    stage.rollout.phase(Phase::WaitingPromotion).await?;
    stage.behave("eu-3", Some(20));
    let status = stage.rollout.stands(Phase::Failed, Reason::ChecksFailed).await?;
    stage.expect_weights(&[0, 30, 0])?;
    let sampled = status.history.last().and_then(|run| run.check.as_ref()).context("no check")?.at;
    let written = stage.weights().last().context("no write")?.0;
    let took = written.duration_since(sampled);
    ensure!(took <= SignedDuration::from_secs(1), "{took:?} from the sample to the route write");
    all_at(&scene, &stage.load, "eu-1").await?;
    stage.load.goes_on_for(seconds(3)).await?;
    stage.expect_weights(&[0, 30, 0])?;
    failed_at_most(&stage.load.stop().await, 30.0 / 20.0)
}

/// Far too few requests for a verdict, but every one of them fails.
async fn guard(scene: Scene) -> Result<()> {
    let stage = Stage::begin(&scene, two_steps()).await?;
    let mut metric = serde_json::to_value(&stage.rollout.get().await?.spec.analysis.metrics[0])?;
    json_patch::merge(&mut metric, &json!({"minSamples": 100_000, "guard": {"max": 20}}));
    stage.rollout.edit(json!({"analysis": {"metrics": [metric]}})).await?;
    stage.behave("eu-3", Some(1));
    stage.load.end();
    stage.first_step().await?;
    let few = Plan { rate: 70, ..Plan::new(scene.contour.address, &host(stage.service()), 140) };
    let load = Load::start(few);
    let status = stage.rollout.stands(Phase::Failed, Reason::GuardBreached).await?;
    ensure!(status.message.contains("is beyond the guard (max 20)"), "{}", status.message);
    stage.expect_weights(&[0, 30, 0])?;
    let failed = load.finish().await.by_status.get(&500).copied().unwrap_or_default();
    ensure!((20..80).contains(&failed), "{failed} requests failed; about forty were meant");
    let after = clients(&scene, stage.service()).await?;
    all_at(&scene, &after, "eu-1").await?;
    after.stop().await.assert_all_ok()
}

/// Both answer with errors: nothing moves, nobody is blamed, and it goes on when the incident is over.
async fn shared_incident(scene: Scene) -> Result<()> {
    let stage = Stage::begin(&scene, two_steps()).await?;
    stage.first_step().await?;
    stage.behave("eu-1", Some(10));
    stage.behave("eu-3", Some(10));
    let status = stage.rollout.stands(Phase::Held, Reason::PrimaryFailsToo).await?;
    ensure!(status.message.ends_with("is beyond max 1, but so are the primary members"), "{}", status.message);
    stage.load.goes_on_for(seconds(5)).await?;
    stage.expect_weights(&[0, 30])?;
    stage.behave("eu-1", None);
    stage.behave("eu-3", None);
    stage.rollout.phase(Phase::WaitingPromotion).await?;
    stage.expect_weights(&[0, 30])?;
    failed_at_most(&stage.load.stop().await, 10.0)
}

async fn silence(scene: Scene) -> Result<()> {
    let stage = Stage::begin(&scene, two_steps()).await?;
    stage.first_step().await?;
    stage.rollout.phase(Phase::WaitingPromotion).await?;
    let prometheus = &scene.member("eu-3").prometheus;
    prometheus.close().await?;
    let held = stage.rollout.stands(Phase::Held, Reason::MetricsUnknown).await;
    stage.load.goes_on_for(seconds(3)).await?;
    prometheus.open().await?;
    let message = held?.message;
    ensure!(message.contains("eu-3: source down: Connection refused"), "{message}");
    stage.expect_weights(&[0, 30])?;
    stage.rollout.phase(Phase::WaitingPromotion).await?;
    stage.rollout.ask(Verb::Promote).await?;
    stage.rollout.applied(2).await?;
    stage.load.stop().await.assert_all_ok()
}

/// Three probes, one a second, and no more.
async fn canary_down(scene: Scene) -> Result<()> {
    let stage = Stage::begin(&scene, two_steps()).await?;
    stage.first_step().await?;
    let gateway = &scene.member("eu-3").gateway;
    let died = Timestamp::now();
    gateway.close().await;
    let ended = stage.rollout.stands(Phase::Failed, Reason::EndpointDown).await;
    gateway.open().await?;
    let said =
        format!("the endpoint of eu-3 for {} did not answer 3 probes in a row while that of eu-1 did", stage.service());
    ensure!(ended?.message.starts_with(&said), "the message is another one");
    stage.expect_weights(&[0, 30, 0])?;
    let took = stage.weights()[2].0.duration_since(died);
    ensure!(took < SignedDuration::from_secs(5), "{took:?} from the death to the rollback");
    all_at(&scene, &stage.load, "eu-1").await?;
    let totals = stage.load.stop().await;
    let unanswered = totals.sent - totals.by_status.get(&200).copied().unwrap_or_default();
    let lost = percent(unanswered, totals.sent);
    ensure!(
        unanswered > 0 && lost <= 30.0,
        "{lost:.1} % of all requests were lost with the gateway of eu-3, which had 30 %"
    );
    Ok(())
}

async fn all_down(scene: Scene) -> Result<()> {
    let stage = Stage::begin(&scene, two_steps()).await?;
    stage.first_step().await?;
    for member in MEMBERS {
        scene.member(member).gateway.close().await;
    }
    let held = stage.rollout.stands(Phase::Held, Reason::PrimaryFailsToo).await;
    let weights = stage.expect_weights(&[0, 30]);
    for member in MEMBERS {
        scene.member(member).gateway.open().await?;
    }
    held?;
    weights?;
    stage.rollout.phase(Phase::WaitingPromotion).await?;
    stage.expect_weights(&[0, 30])
}
