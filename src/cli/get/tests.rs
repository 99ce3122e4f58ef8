use kube::core::DynamicObject;

use super::render;
use crate::api::{FleetRollout, Reason, status::Outcome};
use crate::cli::{Exit, fixtures, hub_liveness::HubLiveness, text::WIDTH, view::View};

const HEAD_OF_RUN: &str =
    "  run       7 of rev 3f9c, began Fri 2026-01-02 23:40:00 UTC; deadline clock at 1h7m of 4h; last
            check 21s ago
";

#[test]
fn a_run_in_progress_shows_desired_applied_observed_and_verdicts() {
    let view =
        fixtures::view(&fixtures::status("Progressing", "Baking", "step 2: 6m of bake 10m left", &fixtures::run()));
    let expected = format!(
        "\
Sat 2026-01-03 03:01:00 UTC, hub active 4 s ago
shop/shop   PROGRESSING 2h14m at step 2/4   Baking: step 2: 6m of bake 10m left
  users     endpoint of eu-3 answers; primary members at most: errors 0.07, p99 0.21
  step      25% of the way: eu-3 at 12.5 % of all traffic (end: 50.0 %)
  next      6m of bake left, then promotion of step 2, then step 3/4: eu-1 25.0 %, eu-2 50.0 %, eu-3
            25.0 %
  rollback  READY: back to eu-1 50.0 %, eu-2 50.0 %
{HEAD_OF_RUN}
                    DESIRED  APPLIED  OBSERVED  ERRORS<=1  P99<=0.5   SAMPLES  VERDICT
├─ storefront  HTTPRoute/public   confirmed 00:41:07
│  ├─ eu-1  leaving    37.5     37.5      37.4       0.07      0.21     91204  not judged
│  ├─ eu-2  stays      50.0     50.0      50.1          ?         ?         ?  not judged
│  └─ eu-3  canary     12.5     12.5      12.5       0.06       0.2     29911  Pass
└─ gates  bake 4m/10m   promotion (step 2) not reached yet
more: cutover why shop -n shop
"
    );
    assert_eq!(render(&view, false), expected);
    assert_eq!(view.exit(), Exit::Progressing);
}

#[test]
fn shares_of_other_weights_than_the_desired_ones_are_not_shown() {
    let mut status = fixtures::status("Progressing", "Settling", "step 2: 30s to settle", &fixtures::run());
    lines(&fixtures::view(&status), &["│  ├─ eu-1  leaving    37.5     37.5      37.4 "]);
    fixtures::set_sequence(&mut status, 10);
    lines(&fixtures::view(&status), &["│  ├─ eu-1  leaving    37.5     37.5         ? "]);
}

fn lines(view: &View, expected: &[&str]) {
    let shown = render(view, false);
    for line in expected {
        assert!(shown.contains(line), "{line:?} is not in\n{shown}");
    }
    assert!(shown.lines().all(|line| line.chars().count() <= WIDTH), "{shown}");
}

#[test]
fn held_on_missing_metrics_says_which_and_since_when() {
    let view = fixtures::held();
    lines(
        &view,
        &[
            "shop/shop   HELD 2h14m at step 2/4   MetricsUnknown: eu-3: storefront: errors, p99: 503 from the",
            "  next      no more MetricsUnknown, then 6m of bake left, then promotion of step 2, then step 3/4:",
            "         ?          ?         ?         ?  UNKNOWN 2h14m\n",
        ],
    );
    assert_eq!(view.exit(), Exit::Held);
}

#[test]
fn a_step_of_so_many_checks_counts_them() {
    let mut run = fixtures::run();
    let more = serde_json::json!({"iterations": 3, "bake": "0s"});
    json_patch::merge(&mut run["plan"][1], &more);
    run["state"]["stepping"]["bake"]["passes"] = 1.into();
    let view = fixtures::view(&fixtures::status("Progressing", "Baking", "step 2: 1 of 3 checks passed", &run));
    lines(
        &view,
        &[
            "  next      2 passing checks, then promotion of step 2, then step 3/4: eu-1 25.0 %",
            "└─ gates  checks 1/3   promotion (step 2) not reached yet\n",
        ],
    );
}

#[test]
fn waiting_for_a_person_names_the_promotion() {
    let view = fixtures::waiting();
    lines(
        &view,
        &[
            "shop/shop   WAITING FOR PROMOTION 2h14m at step 2/4   WaitingForPromotion: step 2 passed and waits",
            "  next      promotion of step 2, then step 3/4: eu-1 25.0 %, eu-2 50.0 %, eu-3 25.0 %\n",
            "└─ gates  bake 10m/10m   promotion (step 2) since 00:47:00\n",
        ],
    );
    assert_eq!(view.exit(), Exit::Held);
}

#[test]
fn a_failed_run_shows_no_rollback_but_what_to_do() {
    let view = fixtures::failed();
    lines(
        &view,
        &[
            "shop/shop   FAILED, rolled back 2h14m   GuardBreached: errors 31 % (guard 20); not tried again",
            "  next      nothing until a new target is declared, or cutover retry\n",
            "7 of rev 3f9c, failed, began",
        ],
    );
    assert!(!render(&view, false).contains("rollback"));
    assert_eq!(view.exit(), Exit::Failed);
}

#[test]
fn after_a_failure_it_stays_known_who_began_the_run_when_it_ended_and_what_decided() {
    let shown = unwrapped(&fixtures::failed());
    let expected = "  run       7 of rev 3f9c, failed, began Fri 2026-01-02 23:40:00 UTC by argocd-controller; ended 2h14m \
                    ago at 2/4; decided by errors of storefront: eu-3: 31 % of 29911 requests is beyond the guard \
                    (max 20)\n";
    assert!(shown.contains(expected), "{shown}");
}

#[test]
fn a_run_that_no_check_ended_names_no_metric() {
    let mut view = fixtures::failed();
    let record = &mut view.status.history[0];
    (record.reason, record.check) = (Reason::EndpointDown, fixtures::waiting().status.run.unwrap().check);
    let shown = unwrapped(&view);
    assert!(shown.contains("ago at 2/4\n") && !shown.contains("decided"), "{shown}");
    let record = &mut view.status.history[0];
    (record.outcome, record.reason, record.ended_by) = (Outcome::RolledBack, Reason::Aborted, Some("ada".to_owned()));
    let shown = unwrapped(&view);
    assert!(shown.contains("7 of rev 3f9c, rolled back, began"), "{shown}");
    assert!(shown.contains("ago at 2/4 by ada\n") && !shown.contains("decided"), "{shown}");
}

/// Each sentence of the head in one line.
fn unwrapped(view: &View) -> String {
    render(view, false).replace(&format!("\n{:12}", ""), " ")
}

#[test]
fn in_service_mode_the_canary_is_judged_and_the_primary_is_not() {
    let view = fixtures::service_mode();
    lines(
        &view,
        &[
            "│  ├─ canary  canary    20.0     20.0      20.2       0.06       0.2     29911  Pass\n",
            "│  └─ primary  stays    80.0     80.0      79.8       0.07      0.21     91204  not judged\n",
            "  users     primary members at most: errors 0.07, p99 0.21\n",
        ],
    );
}

#[test]
fn a_member_of_a_later_stage_is_not_judged_by_what_another_one_proves() {
    let view = fixtures::staged();
    lines(
        &view,
        &[
            "│  ├─ eu-3  canary     12.5     12.5      12.5       0.06       0.2     29911  Pass\n",
            "│  └─ eu-4  gaining     0.0      0.0         ?          ?         ?         ?  not judged yet\n",
        ],
    );
}

#[test]
fn a_soak_keeps_rollback_possible() {
    let view = fixtures::soaking();
    lines(
        &view,
        &[
            "shop/shop   SOAKING 2h14m at step 4/4   KeepingPrevious: ",
            "  next      success when keepPrevious is over (24h since Sat 2026-01-03 00:47:00 UTC)\n",
            "  rollback  READY: back to eu-1 50.0 %, eu-2 50.0 %\n",
            "└─ gates  none\n",
        ],
    );
    assert_eq!(view.exit(), Exit::Progressing);
}

#[test]
fn initialization_that_needs_a_mapping_waits_for_a_person() {
    let view = fixtures::needs_mapping();
    lines(
        &view,
        &[
            "shop/shop   INITIALIZING 60s   AdoptionNeedsMapping: HTTPRoute public: backend legacy-shop carries",
            "  next      the problem above must be fixed\n",
        ],
    );
    assert_eq!(view.exit(), Exit::Held);
}

#[test]
fn a_silent_hub_and_a_lost_primary_member_are_said() {
    let mut view = fixtures::waiting();
    view.hub = HubLiveness::Silent(crate::api::Duration::from_secs(720));
    lines(&view, &["HUB SILENT for 12m", "  rollback  BY HAND: cutover abort shop --direct; back to eu-1 50.0 %"]);
    view.status.run.as_mut().unwrap().unavailable.push("eu-1".to_owned());
    lines(&view, &["  rollback  AT RISK: eu-1 is unavailable; back to eu-1 50.0 %"]);
}

#[test]
fn an_unconfirmed_write_is_not_shown_as_applied() {
    let mut view = fixtures::waiting();
    let desired = view.status.desired.as_mut().unwrap();
    (desired.sequence, desired.confirmed_at) = (10, None);
    lines(
        &view,
        &[
            "├─ storefront  HTTPRoute/public   NOT CONFIRMED, desired since 00:41:06\n",
            "every route confirms the write",
        ],
    );
}

#[test]
fn texts_from_objects_cannot_steer_the_terminal() {
    let mut view = fixtures::held();
    view.status.message = "a\u{1b}[2J\u{202e}b".to_owned();
    lines(&view, &["MetricsUnknown: a\\u{1b}[2J\\u{202e}b"]);
}

#[test]
fn many_metrics_leave_the_table_within_its_width() {
    let mut view = fixtures::waiting();
    let metric = view.rollout.spec.analysis.metrics[0].clone();
    view.rollout.spec.analysis.metrics = vec![metric; 16];
    lines(&view, &["14 more metrics: -o wide\n"]);
    assert_eq!(render(&view, true).matches("ERRORS<=1").count(), 16);
}

#[test]
fn the_list_has_a_row_for_each_rollout() {
    let view = fixtures::waiting();
    assert_eq!(
        super::list::render(&[stored(&view.rollout)], true, false, view.now),
        "NAMESPACE   NAME   PHASE              STEP   WEIGHTS                      VERDICT   REASON                SINCE\n\
         shop        shop   WaitingPromotion   2/4    eu-1:375 eu-2:500 eu-3:125   Pass      WaitingForPromotion   2h14m\n"
    );
    assert_eq!(super::list::render(&[], true, false, view.now), "no rollouts\n");
}

fn stored(rollout: &FleetRollout) -> DynamicObject {
    serde_json::from_value(serde_json::to_value(rollout).unwrap()).unwrap()
}

#[test]
fn a_rollout_that_cannot_be_read_hides_no_other() {
    let view = fixtures::waiting();
    let good = stored(&view.rollout);
    let mut bad = stored(&view.rollout);
    bad.metadata.name = Some("old\u{1b}[2J".to_owned());
    bad.data["spec"]["members"] = "eu-1".into();
    let listed = super::list::render(&[bad.clone(), good], false, false, view.now);
    let [header, row, unreadable] = listed.lines().collect::<Vec<_>>()[..] else { panic!("{listed}") };
    assert!(header.starts_with("NAME ") && row.starts_with("shop "), "{listed}");
    let said = "shop/old\\u{1b}[2J cannot be read by this version of cutover: invalid type: string \"eu-1\"";
    assert!(unreadable.starts_with(said), "{unreadable}");
    assert!(super::list::render(&[bad], false, false, view.now).starts_with(said), "no header without a row");
}
