use super::render;
use crate::cli::{
    fixtures,
    text::{Page, WIDTH},
    view::View,
};

fn shown(view: &View) -> String {
    let shown = render(view, Page { width: WIDTH, wide: false });
    assert!(shown.lines().all(|line| line.chars().count() <= WIDTH), "{shown}");
    shown
}

#[test]
fn held_on_missing_metrics_tells_cause_users_ends_and_choices() {
    let expected = "\
HELD, not failing. Weights last moved 00:41:07 UTC. MetricsUnknown: Metrics of a member are missing,
stale or unusable.

1 Waits for   eu-3: storefront: errors, p99: 503 from the service proxy
2 Missing     metrics of eu-3 (storefront)
              134 checks in a row Unknown, since 00:47:00 (2h14m)
3 Cause       eu-3: 503 from the service proxy
4 User impact endpoint of eu-3 answers; primary members at worst: errors 0.07 %, p99 0.21 s
              UNKNOWN: whatever only the metrics of eu-3 show
5 Last pass   00:46:40 (2h14m ago)
6 Ends when   a) no more MetricsUnknown, then 6m of bake left, then promotion of step 2, then step
              3/4: eu-1 25.0 %, eu-2 50.0 %, eu-3 25.0 %
              b) automatic rollback: 3 failed checks of the last 10, or one beyond the guard of
              errors, or 3 failed endpoint probes of eu-3
7 Rollback    READY: back to eu-1 50.0 %, eu-2 50.0 %
8 Run         7 of rev 3f9c, began Fri 2026-01-02 23:40:00 UTC; deadline clock at 1h7m of 4h; last
              check 21 s ago
9 Ruled out   routes (all confirmed), foreign edits, endpoints of the members, hub

You can                                 Effect now
  nothing                               stays eu-1 37.5 %, eu-2 50.0 %, eu-3 12.5 %
  cutover promote shop -n shop          when checks and bake are done: eu-1 25.0 %, eu-2 50.0 %,
                                        eu-3 25.0 %
  cutover pause shop -n shop            stops advancing; checks and rollback stay active
  cutover abort shop -n shop            at once: eu-1 50.0 %, eu-2 50.0 %
  cutover abort shop -n shop --direct   the same with your own credentials, if the hub is down
exit status 3 = held or waiting for a person
";
    assert_eq!(shown(&fixtures::held()), expected);
}

#[test]
fn where_no_metric_is_declared_only_probes_roll_back() {
    let shown = shown(&fixtures::unmeasured());
    assert!(shown.contains("b) automatic rollback: 3 failed endpoint probes of eu-3\n"), "{shown}");
    assert!(!shown.to_lowercase().contains("pass") && !shown.contains("failed checks"), "{shown}");
}

#[test]
fn waiting_for_a_person_says_what_promotion_does_at_once() {
    let shown = shown(&fixtures::waiting());
    assert!(
        shown.contains("cutover promote shop -n shop          at once: eu-1 25.0 %, eu-2 50.0 %, eu-3 25.0 %"),
        "{shown}"
    );
    assert!(
        shown.contains("Last pass   03:00:39 (21 s ago): storefront errors 0.06 %, storefront p99 0.2 s"),
        "{shown}"
    );
}

#[test]
fn a_failed_run_offers_retry_and_no_abort() {
    let shown = shown(&fixtures::failed());
    assert!(
        shown.contains("cutover retry shop -n shop   tries the same revision again, from the first step"),
        "{shown}"
    );
    assert!(!shown.contains("abort"), "{shown}");
    assert!(shown.ends_with("exit status 2 = failed or rolled back\n"), "{shown}");
}

#[test]
fn initialization_that_needs_a_mapping_says_what_is_missing() {
    let shown = shown(&fixtures::needs_mapping());
    assert!(
        shown.starts_with(
            "INITIALIZING. The hub has moved no weight yet. AdoptionNeedsMapping: A live route has a backend that\nbelongs to no member."
        ),
        "{shown}"
    );
    assert!(
        shown.contains("1 Waits for HTTPRoute public: backend legacy-shop carries traffic but belongs to no member")
    );
}

#[test]
fn nothing_is_missing_once_the_run_is_over() {
    let shown = shown(&fixtures::aborted_while_unknown());
    assert!(!shown.contains("Missing") && !shown.contains("in a row"), "{shown}");
}

#[test]
fn a_silent_hub_promises_nothing_and_the_way_without_it_comes_first() {
    let shown = shown(&fixtures::silent_hub());
    assert!(
        shown.starts_with("HUB SILENT for 12m: nothing moves, nothing rolls back. Last known: PROGRESSING"),
        "{shown}"
    );
    let choices: Vec<&str> = shown.lines().skip_while(|line| !line.starts_with("You can")).skip(1).collect();
    assert!(
        choices[0].starts_with("  cutover abort shop -n shop --direct   at once, with your own credentials"),
        "{shown}"
    );
    let others = choices.iter().filter(|line| line.starts_with("  cutover")).skip(1);
    assert!(others.clone().count() > 0 && others.clone().all(|line| line.contains("   when a hub runs: ")), "{shown}");
    assert!(!shown.contains("automatic rollback") && !shown.contains("READY"), "{shown}");
}

#[test]
fn a_failure_is_said_with_its_cause_its_users_and_its_people() {
    let shown = shown(&fixtures::failed());
    for words in
        ["1 Failed because errors 31 %", "User impact    HURT until 2h14m ago: errors 31 %", "by argocd-controller"]
    {
        assert!(shown.contains(words), "{words}\n{shown}");
    }
    assert!(!shown.contains("Waits for"), "{shown}");
}

#[test]
fn drift_after_a_failure_can_be_kept_or_put_back_and_each_says_what_it_does() {
    let shown = shown(&fixtures::drift_after_failure());
    for words in [
        "cutover retry shop -n shop   puts it back at once: eu-1 50.0 %, eu-2 50.0 %\n",
        "cutover adopt shop -n shop   keeps it: eu-1 30.0 %, eu-3 70.0 % becomes the primary\n",
    ] {
        assert!(shown.contains(words), "{words}\n{shown}");
    }
    assert!(shown.starts_with("HELD, not failing, DRIFTED. "), "{shown}");
}

#[test]
fn an_alert_names_the_same_commands() {
    for view in [fixtures::held(), fixtures::waiting(), fixtures::unmeasured()] {
        let shown = shown(&view);
        for verb in crate::rollout::verbs(&view.rollout.spec, &view.status) {
            let command = format!("  cutover {} shop -n shop ", format!("{verb:?}").to_lowercase());
            assert!(shown.contains(&command), "{command}: {shown}");
        }
        let commands = shown.lines().filter(|line| line.starts_with("  cutover ") && !line.contains("--direct"));
        assert_eq!(commands.count(), crate::rollout::verbs(&view.rollout.spec, &view.status).len(), "{shown}");
    }
}

#[test]
fn an_alert_that_nobody_gets_is_said_with_the_cause() {
    let mut view = fixtures::held();
    assert!(!shown(&view).contains("Alerts"));
    let message = "HTTP 404: there is no such place; correct the URL";
    let failing = serde_json::json!([{"name": "team", "since": view.now, "message": message}]);
    let alerts = serde_json::from_value(serde_json::json!({"failing": failing, "dropped": 3})).unwrap();
    view.status.alerts = Some(alerts);
    let shown = shown(&view);
    assert!(shown.contains("Alerts ") && shown.contains(" team: NOT DELIVERED for "), "{shown}");
    assert!(shown.contains("3 were dropped, for too many waited\n"), "{shown}");
}

#[test]
fn hooks_are_among_what_ends_a_state_and_what_can_roll_back() {
    let mut view = fixtures::held();
    let hook = |kind: &str| serde_json::json!({"name": kind.to_lowercase(), "type": kind, "url": "https://hooks.example.com/"});
    view.rollout.spec.hooks = ["PreRollout", "Rollout", "ConfirmPromotion", "Rollback", "Event"]
        .map(|kind| serde_json::from_value(hook(kind)).unwrap())
        .into();
    view.status.run.as_mut().unwrap().check = None;
    view.status.reason = crate::api::Reason::WaitingForHook;
    view.status.message = "waiting for hook confirmpromotion (ConfirmPromotion) to say yes: it answered 403".to_owned();
    let shown = shown(&view);
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("waiting for hook confirmpromotion (ConfirmPromotion) to say yes: it answered 403"),
        "{shown}"
    );
    assert!(words.contains("then the hook above says yes, then step 3/4"), "{shown}");
    assert!(words.contains("or 3 times no from hook rollout, or a yes of hook rollback"), "{shown}");
    assert!(!words.contains("hook prerollout") && !words.contains("hook event"), "{shown}");
}
