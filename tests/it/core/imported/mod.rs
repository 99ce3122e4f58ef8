//! Imported Canaries, run through the core beside a model of Flagger's scheduler: the same weights tick by tick, and where they are
//! not, docs/coming-from-flagger.md says so.

mod failures;
mod flagger;
mod run;

use flagger::ticks;
use run::{Imported, weights};

use crate::command::root;

/// A Canary of a fixture, what Flagger does, and what the rollout does: a weight of the canary per tick or step, with what is steered
/// to it; behind the bar what follows the promotion.
struct Case {
    fixture: &'static str,
    canary: &'static str,
    flagger: &'static str,
    cutover: &'static str,
    /// A sentence of the page that says why they differ.
    because: Option<&'static str>,
}

const CHANGES: &str = "While the primary changes, the canary has all traffic.";
const BACK: &str = "With `stepWeightPromotion` the return to the primary begins with the canary at 100";
const SWITCHED: &str = "Blue/green without `mirror`: all traffic is switched first";
const NAMES: &str = "An A/B test of a Service of type ExternalName sends all traffic to the canary after the test, before the primary changes.";
const MIRRORS: &str = "`mirror` with weights works with Contour and Gateway API, where Flagger's run never advances.";

const CASES: &[Case] = &[
    Case {
        fixture: "contour-steps",
        canary: "orders",
        flagger: "15 30 45 60 | 0",
        cutover: "15 30 45 60 | 100 0",
        because: Some(CHANGES),
    },
    Case {
        fixture: "gateway-step-weights",
        canary: "catalog",
        flagger: "1 2 10 80 | 60 40 20 0",
        cutover: "1 2 10 80 | 100 80 60 40 20 0",
        because: Some(BACK),
    },
    Case { fixture: "odd-values", canary: "slow", flagger: "10 90 100 | 0", cutover: "10 90 100 | 0", because: None },
    Case { fixture: "gateway-rewrite", canary: "catalog", flagger: "50 100 | 0", cutover: "50 100 | 0", because: None },
    Case { fixture: "promotion-steps", canary: "orders", flagger: "100 | 50 0", cutover: "100 | 50 0", because: None },
    Case {
        fixture: "contour-mirror",
        canary: "orders",
        flagger: "copies copies copies …",
        cutover: "copies 20 40 | 100 0",
        because: Some(MIRRORS),
    },
    Case {
        fixture: "gateway-blue-green-mirror",
        canary: "catalog",
        flagger: "copies copies copies copies copies 100 | 0",
        cutover: "copies 100 | 0",
        because: None,
    },
    Case {
        fixture: "kubernetes-blue-green",
        canary: "mail",
        flagger: "0 0 0 0 100 | 0",
        cutover: "100 | 0",
        because: Some(SWITCHED),
    },
    Case {
        fixture: "contour-a-b",
        canary: "orders",
        flagger: "test test test test test test test test | 0",
        cutover: "test | 0",
        because: None,
    },
    Case {
        fixture: "gateway-a-b",
        canary: "catalog",
        flagger: "test test test test test test | 0",
        cutover: "test 100 | 0",
        because: Some(NAMES),
    },
    Case {
        fixture: "gates",
        canary: "orders",
        flagger: "20 40 60 | 35 10 0",
        cutover: "20 40 60 | 100 75 50 25 0",
        because: Some(BACK),
    },
    Case { fixture: "skip-analysis", canary: "orders", flagger: "| 0", cutover: "| 0", because: None },
];

#[test]
fn flagger_and_the_imported_rollout_show_the_same_weights_or_the_page_says_why_not() {
    let page = std::fs::read_to_string(root().join("docs/coming-from-flagger.md")).unwrap();
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    for case in CASES {
        let imported = Imported::of(case.fixture, case.canary);
        let name = format!("{}/{}", case.fixture, case.canary);
        assert_eq!(ticks(&imported.canary), case.flagger, "{name}: Flagger");
        assert_eq!(weights(imported.world()), case.cutover, "{name}: cutover");
        let same = without_repeats(case.flagger) == case.cutover;
        assert_eq!(same, case.because.is_none(), "{name}");
        assert!(case.because.is_none_or(|because| page.contains(because)), "{name}: the page does not say why");
    }
}

/// Ticks in which nothing changes are one step.
fn without_repeats(ticks: &str) -> String {
    let mut words: Vec<&str> = ticks.split(' ').collect();
    words.dedup();
    words.join(" ")
}
