use kube::core::DynamicObject;

use super::{list::Rollouts, render};
use crate::cli::{
    Exit, fixtures,
    text::{Page, WIDTH},
    view::View,
};
use crate::{
    api::{FleetRollout, Reason, status::Outcome},
    rollout::input::Mark,
};

const PAGE: Page = Page { width: WIDTH, wide: false };

const HEAD_OF_RUN: &str =
    "  run       7 of rev 3f9c, began Fri 2026-01-02 23:40:00 UTC; deadline clock at 1h7m of 4h; last
            check 21 s ago
";

#[test]
fn a_run_in_progress_shows_desired_applied_observed_and_verdicts() {
    let view =
        fixtures::view(&fixtures::status("Progressing", "Baking", "step 2: 6m of bake 10m left", &fixtures::run()));
    let expected = format!(
        "\
Sat 2026-01-03 03:01:00 UTC, hub active 4 s ago
shop/shop   PROGRESSING 2h14m at step 2/4   Baking: step 2: 6m of bake 10m left
  users     endpoint of eu-3 answers; primary members at worst: errors 0.07 %, p99 0.21 s
  step      25% of the way: eu-3 at 12.5 % of all traffic (end: 50.0 %)
  next      6m of bake left, then promotion of step 2, then step 3/4: eu-1 25.0 %, eu-2 50.0 %, eu-3
            25.0 %
  rollback  READY: back to eu-1 50.0 %, eu-2 50.0 %
{HEAD_OF_RUN}
                     DESIRED  APPLIED  OBSERVED %  ERRORS <= 1 %  P99 <= 0.5 s  SAMPLES  VERDICT
                           %        %
├─ storefront  HTTPRoute/public   confirmed 00:41:07
│  ├─ eu-1  leaving     37.5     37.5        37.4           0.07          0.21    91204  not judged
│  ├─ eu-2  stays       50.0     50.0        50.1              ?             ?        ?  not judged
│  └─ eu-3  canary      12.5     12.5        12.5           0.06           0.2    29911  Pass
└─ gates  bake 4m/10m   promotion (step 2) not reached yet
more: cutover why shop -n shop
"
    );
    assert_eq!(render(&view, PAGE), expected);
    assert_eq!(view.exit(), Exit::Progressing);
}

#[test]
fn values_and_verdicts_of_other_weights_than_the_desired_ones_are_not_shown() {
    let mut status = fixtures::status("Progressing", "Settling", "step 2: 30s to settle", &fixtures::run());
    assert_eq!(cells(&fixtures::view(&status), "eu-3"), "canary 12.5 12.5 12.5 0.06 0.2 29911 Pass");
    fixtures::set_sequence(&mut status, 10);
    assert_eq!(cells(&fixtures::view(&status), "eu-3"), "canary 12.5 12.5 - - - - check due");
    assert!(!render(&fixtures::view(&status), PAGE).contains("primary members at worst"));
}

#[test]
fn where_no_metric_is_declared_nothing_passes() {
    let view = fixtures::unmeasured();
    assert_eq!(cells(&view, "eu-3"), "canary 12.5 12.5 - - not measured");
    assert!(!render(&view, PAGE).to_lowercase().contains("pass"), "{}", render(&view, PAGE));
}

/// The cells of the first row of a member, without its branch and name.
fn cells(view: &View, member: &str) -> String {
    let shown = render(view, PAGE);
    let row = shown.lines().find(|line| line.contains(&format!("─ {member} "))).unwrap();
    row.split_whitespace().skip(3).collect::<Vec<_>>().join(" ")
}

fn lines(view: &View, expected: &[&str]) {
    let shown = render(view, PAGE);
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
            "?              ?             ?        ?  UNKNOWN 2h14m\n",
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
    assert!(!render(&view, PAGE).contains("rollback"));
    assert_eq!(view.exit(), Exit::Failed);
}

#[test]
fn after_a_failure_it_stays_known_who_began_the_run_when_it_ended_and_what_decided() {
    let shown = unwrapped(&fixtures::failed());
    let expected = "  run       7 of rev 3f9c, failed, began Fri 2026-01-02 23:40:00 UTC by argocd-controller; ended 2h14m \
                    ago at 2/4 by the hub; decided by errors of storefront: eu-3: 31 % of 29911 requests is beyond the guard \
                    (max 20)\n";
    assert!(shown.contains(expected), "{shown}");
}

#[test]
fn a_run_that_no_check_ended_names_no_metric() {
    let mut view = fixtures::failed();
    let record = &mut view.status.history[0];
    (record.reason, record.check) = (Reason::EndpointDown, fixtures::waiting().status.run.unwrap().check);
    let shown = unwrapped(&view);
    assert!(shown.contains("ago at 2/4 by the hub\n") && !shown.contains("decided"), "{shown}");
    let record = &mut view.status.history[0];
    (record.outcome, record.reason, record.ended_by) = (Outcome::RolledBack, Reason::Aborted, Some("ada".to_owned()));
    let shown = unwrapped(&view);
    assert!(shown.contains("7 of rev 3f9c, rolled back, began"), "{shown}");
    assert!(shown.contains("ago at 2/4 by ada\n") && !shown.contains("decided"), "{shown}");
}

/// Each sentence of the head in one line.
fn unwrapped(view: &View) -> String {
    render(view, PAGE).replace(&format!("\n{:12}", ""), " ")
}

#[test]
fn in_service_mode_the_canary_is_judged_and_the_primary_is_not() {
    let view = fixtures::service_mode();
    lines(
        &view,
        &[
            "│  ├─ canary  canary     20.0     20.0        20.2           0.06           0.2    29911  Pass\n",
            "│  └─ primary  stays     80.0     80.0        79.8           0.07          0.21    91204  not judged\n",
            "  users     primary members at worst: errors 0.07 %, p99 0.21 s\n",
        ],
    );
}

#[test]
fn a_member_of_a_later_stage_is_not_judged_by_what_another_one_proves() {
    let view = fixtures::staged();
    lines(
        &view,
        &[
            "│  ├─ eu-3  canary      12.5     12.5      12.5    0.06           0.2    29911  Pass\n",
            "│  └─ eu-4  gaining      0.0      0.0         ?       ?             ?        ?  not judged yet\n",
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
            "shop/shop   INITIALIZING 60 s   AdoptionNeedsMapping: HTTPRoute public: backend legacy-shop carries",
            "  next      the problem above must be fixed\n",
        ],
    );
    assert_eq!(view.exit(), Exit::Held);
}

#[test]
fn a_silent_hub_and_a_lost_primary_member_are_said() {
    let mut view = fixtures::waiting();
    view.lease = fixtures::silent();
    lines(
        &view,
        &["HUB SILENT for 12m", "  rollback  BY HAND: cutover abort shop -n shop --direct; back to eu-1 50.0 %"],
    );
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
    lines(&view, &["no room for 12 columns: -o wide\n"]);
    assert_eq!(render(&view, Page { wide: true, ..PAGE }).matches("ERRORS <= 1 %").count(), 16);
}

/// What the list shows of these objects.
fn listed(objects: Vec<DynamicObject>, everywhere: bool) -> String {
    let now = fixtures::NOW.parse().unwrap();
    let lease = fixtures::lease("2026-01-03T03:00:56.000000Z");
    super::list::render(&Rollouts { objects, lease, everywhere, now }, PAGE)
}

#[test]
fn the_list_has_a_row_for_each_rollout() {
    assert_eq!(
        listed(vec![stored(&fixtures::waiting().rollout)], true),
        "\
Sat 2026-01-03 03:01:00 UTC, hub active 4 s ago   1 rollout: 1 held or waiting for a person
NAMESPACE  NAME  PHASE             STEP  WEIGHTS                     REASON               SINCE
shop       shop  WaitingPromotion  2/4   eu-1:375 eu-2:500 eu-3:125  WaitingForPromotion  2h14m
"
    );
    assert_eq!(listed(Vec::new(), true), "Sat 2026-01-03 03:01:00 UTC, hub active 4 s ago   no rollouts\n");
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
    let shown = listed(vec![bad.clone(), good], false);
    let [_, header, row, unreadable, ..] = shown.lines().collect::<Vec<_>>()[..] else { panic!("{shown}") };
    assert!(header.starts_with("NAME ") && row.starts_with("shop "), "{shown}");
    let said = "shop/old\\u{1b}[2J cannot be read by this version of cutover: invalid type: string";
    assert!(unreadable.starts_with(said), "{unreadable}");
    assert!(listed(vec![bad], false).lines().nth(1).unwrap().starts_with(said), "no header without a row");
}

#[test]
fn after_a_step_the_verdict_is_what_the_first_check_of_it_waits_for() {
    let mut status = fixtures::status("Progressing", "Settling", "step 2: 30s to settle", &fixtures::run());
    fixtures::set_sequence(&mut status, 10);
    status["desired"]["confirmedAt"] = "2026-01-03T03:00:42Z".into();
    let mut view = fixtures::view(&status);
    assert_eq!(cells(&view, "eu-3"), "canary 12.5 12.5 - - - - settling 12 s");
    view.now = "2026-01-03T03:01:12Z".parse().unwrap();
    view.lease = fixtures::lease("2026-01-03T03:01:10.000000Z");
    // Settled at 03:01:12; a window of 60 s, read 15 s late, is full at 03:02:27.
    assert_eq!(cells(&view, "eu-3"), "canary 12.5 12.5 - - - - filling 75 s");
    view.status.desired.as_mut().unwrap().confirmed_at = None;
    assert_eq!(cells(&view, "eu-3"), "canary 12.5 12.5 - - - - not confirmed");
}

#[test]
fn a_window_that_is_not_full_yet_is_not_unknown() {
    let mut run = fixtures::run();
    let filling =
        serde_json::json!({"verdict": "Unknown", "reason": "Settling", "message": "the window is not full yet"});
    json_patch::merge(&mut run["check"], &filling);
    for metric in run["check"]["metrics"].as_array_mut().unwrap() {
        json_patch::merge(metric, &filling);
    }
    let mut status = fixtures::status("Progressing", "Settling", "step 2: the window is not full yet", &run);
    status["desired"]["confirmedAt"] = "2026-01-03T02:59:55Z".into();
    let view = fixtures::view(&status);
    assert_eq!(cells(&view, "eu-3"), "canary 12.5 12.5 12.5 0.06 0.2 29911 filling 40 s");
    assert!(!render(&view, PAGE).contains("UNKNOWN"));
}

#[test]
fn ages_run_although_nothing_new_was_read() {
    let view = fixtures::in_the_middle();
    let later = view.at("2026-01-03T03:01:35Z".parse().unwrap());
    lines(&later, &["HUB SILENT for 39 s: nothing moves, nothing rolls back   Sat 2026-01-03 03:01:35 UTC\n"]);
    assert_eq!((view.exit(), later.exit()), (Exit::Progressing, Exit::Held));
}

#[test]
fn applied_is_what_the_routes_show_now_and_drift_is_in_the_headline_of_every_phase() {
    for view in [fixtures::failed, fixtures::in_the_middle, fixtures::waiting, fixtures::soaking] {
        let mut view = view();
        fixtures::edit(&mut view, "kubectl-edit", &[("eu-1", 300), ("eu-3", 700)]);
        let shown = unwrapped(&view).replace("\n    ", " ");
        let title = shown.lines().nth(1).unwrap();
        let drift = "HTTPRoute/public (storefront) shows eu-1 30.0 %, eu-3 70.0 %, not eu-";
        assert!(title.contains(", DRIFTED   ") && title.contains(drift), "{shown}");
        assert!(title.contains(", changed by kubectl-edit"), "{shown}");
        let row = shown.lines().find(|line| line.starts_with("│  ├─ eu-1")).unwrap();
        assert!(row.contains("30.0"), "{shown}");
        assert!(shown.contains("HTTPRoute/public   DRIFTED: changed by kubectl-edit\n"), "{shown}");
    }
}

#[test]
fn a_write_under_way_is_no_drift_nor_is_one_that_the_status_did_not_know_yet() {
    let mut view = fixtures::in_the_middle();
    fixtures::edit(&mut view, "cutover", &[("eu-1", 250), ("eu-2", 500), ("eu-3", 250)]);
    let mark = Mark { hub: "h".to_owned(), rollout: "u-1".to_owned(), run: 7, sequence: 10 };
    view.routes[0].live.as_mut().unwrap().mark = Some(mark);
    assert!(!render(&view, PAGE).contains("DRIFTED"));
    view.routes[0].live.as_mut().unwrap().mark = None;
    assert!(render(&view, PAGE).contains("DRIFTED"));
    view.status.desired.as_mut().unwrap().confirmed_at = None;
    assert!(!render(&view, PAGE).contains("DRIFTED"));
}

#[test]
fn a_route_that_cannot_be_read_shows_in_brackets_what_it_was_confirmed_to_show() {
    let mut view = fixtures::waiting();
    view.routes[0].live = Err("httproutes is forbidden".to_owned());
    lines(
        &view,
        &[
            "HTTPRoute/public   confirmed 00:41:07, as in brackets; not read now: httproutes is",
            "│  ├─ eu-1  leaving     37.5   (37.5)  ",
        ],
    );
}

#[test]
fn after_a_failure_the_failed_member_keeps_its_row_and_its_value() {
    let shown = unwrapped(&fixtures::failed());
    assert_eq!(cells(&fixtures::failed(), "eu-3"), "0.0 0.0 - 31 0.2 29911 FAIL at 00:46:58");
    let users = "  users     HURT until 2h14m ago: errors 31 % of 29911 requests at eu-3 (storefront); primary members at \
                 worst: errors 0.07 %, p99 0.21 s\n";
    assert!(shown.contains(users), "{shown}");
}

#[test]
fn after_an_abort_without_the_hub_the_screen_shows_what_the_routes_hold() {
    let view = fixtures::silent_hub_after_direct();
    lines(
        &view,
        &[
            "  step      25% of the way: eu-3 at 0.0 % of all traffic (end: 50.0 %)\n",
            "  next      nothing until a hub runs\n",
            "  rollback  DONE BY HAND: every route shows eu-1 50.0 %, eu-2 50.0 %\n",
            "│  └─ eu-3  canary      12.5      0.0  ",
        ],
    );
}

#[test]
fn samples_are_whole() {
    let mut view = fixtures::in_the_middle();
    for metric in &mut view.status.run.as_mut().unwrap().check.as_mut().unwrap().metrics {
        metric.members[1].samples = Some(46.428_571);
    }
    lines(&view, &["           0.2       46  Pass\n"]);
}

#[test]
fn what_people_requested_and_nobody_answered_is_shown() {
    let mut view = fixtures::silent_hub();
    let request = serde_json::json!({
        "apiVersion": "cutover.dev/v1alpha1", "kind": "RolloutRequest",
        "metadata": {"name": "shop-abort-1", "namespace": "shop", "creationTimestamp": "2026-01-03T03:00:30Z"},
        "spec": {"rollout": {"name": "shop", "uid": "u-1"}, "verb": "Abort", "run": 7, "reason": "errors", "requestedBy": "ada"}
    });
    view.open = vec![serde_json::from_value(request).unwrap()];
    lines(&view, &["  requests  not answered yet: Abort by ada 30 s ago (errors)\n"]);
}

#[test]
fn while_traffic_goes_back_the_check_that_failed_and_its_users_stay_on_the_screen() {
    let mut run = fixtures::run();
    run["state"] = serde_json::json!({"rollingBack": {
        "step": 2, "reason": "GuardBreached", "message": "errors 31 %", "at": "2026-01-03T03:00:40Z"
    }});
    run["check"] = serde_json::to_value(&fixtures::failed().status.history[0].check).unwrap();
    let mut status = fixtures::status("Progressing", "GuardBreached", "going back", &run);
    fixtures::set_sequence(&mut status, 10);
    let view = fixtures::view(&status);
    assert_eq!(cells(&view, "eu-3"), "canary 12.5 12.5 - 31 0.2 29911 FAIL at 00:46:58");
    let shown = unwrapped(&view);
    assert!(
        shown.contains("  users     HURT until every route is back: errors 31 % of 29911 requests at eu-3"),
        "{shown}"
    );
}

#[test]
fn of_two_canaries_only_the_one_beyond_the_limit_hurt_its_users() {
    let mut view = fixtures::failed();
    let errors = &mut view.status.history[0].check.as_mut().unwrap().metrics[0];
    let mut healthy = errors.members[1].clone();
    (healthy.member, healthy.value) = ("eu-4".to_owned(), Some(0.1));
    errors.members.push(healthy);
    let shown = unwrapped(&view);
    let users = shown.lines().find(|line| line.starts_with("  users")).unwrap();
    assert!(users.contains("at eu-3") && !users.contains("at eu-4"), "{shown}");
}
