//! Values exactly at their limits, and values that say nothing.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    metric::Round,
    observed::{ObservedShares, observed, share_off},
    reading::read_ratio,
};
use crate::{
    api::{
        Analysis, Distribution, Mirrored, Reason, Steering,
        status::{Desired, MetricCheck, Verdict},
    },
    rollout::input::{Measured, Sample, Sampled},
};

fn ratio(numerator: f64, denominator: f64) -> Sample {
    Sample::Ratio { numerator: Some(numerator), denominator: Some(denominator) }
}

fn sampled(member: &str, sample: Sample) -> Sampled {
    let (service, metric) = ("shop".to_owned(), "errors".to_owned());
    Sampled { service, metric, member: member.to_owned(), whole: true, sample }
}

/// An analysis of one metric, `errors`, of a kind and with limits.
fn analysis(kind: &Value, limits: &Value) -> Analysis {
    let mut metric = json!({"name": "errors"});
    for fields in [kind, limits] {
        metric.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    }
    let failures = json!({"limit": 2, "within": 3});
    serde_json::from_value(json!({"metrics": [metric], "failures": failures})).unwrap()
}

/// The check of one round, in which eu-1 is the primary and all others are canaries.
fn check(analysis: &Analysis, samples: &[Sampled], before: &str) -> MetricCheck {
    let canaries: Vec<String> =
        samples.iter().map(|sampled| sampled.member.clone()).filter(|member| member != "eu-1").collect();
    let samples: Vec<&Sampled> = samples.iter().collect();
    Round { analysis, metric: &analysis.metrics[0], canaries: &canaries, idle: false, samples: &samples }
        .check("shop", before)
}

fn verdict(kind: &Value, limits: &Value, samples: &[(&str, Sample)]) -> (Verdict, Reason) {
    let samples: Vec<Sampled> = samples.iter().map(|(member, sample)| sampled(member, sample.clone())).collect();
    let check = check(&analysis(kind, limits), &samples, "");
    (check.verdict, check.reason)
}

const PASS: (Verdict, Reason) = (Verdict::Pass, Reason::ChecksPass);
const FAIL: (Verdict, Reason) = (Verdict::Fail, Reason::ChecksFailed);
const GUARD: (Verdict, Reason) = (Verdict::Fail, Reason::GuardBreached);
const SHARED: (Verdict, Reason) = (Verdict::Unknown, Reason::PrimaryFailsToo);
const TOO_FEW: (Verdict, Reason) = (Verdict::Unknown, Reason::TooFewSamples);
const UNKNOWN: (Verdict, Reason) = (Verdict::Unknown, Reason::MetricsUnknown);

fn shares() -> Value {
    json!({"ratio": {"numerator": "n", "denominator": "d"}})
}

#[test]
fn a_ratio_at_its_limit_is_within_it() {
    for (limits, failures, expected) in [
        (json!({"max": 1}), 10.0, PASS),
        (json!({"max": 1}), 11.0, FAIL),
        (json!({"min": 1}), 10.0, PASS),
        (json!({"min": 1}), 9.0, FAIL),
        (json!({"max": 1, "guard": {"max": 5, "minSamples": 1}}), 50.0, FAIL),
        (json!({"max": 1, "guard": {"max": 5, "minSamples": 1}}), 51.0, GUARD),
        (json!({"min": 10, "guard": {"min": 5, "minSamples": 1}}), 50.0, FAIL),
        (json!({"min": 10, "guard": {"min": 5, "minSamples": 1}}), 49.0, GUARD),
        (json!({"max": 9, "perMember": {"max": 1}}), 10.0, PASS),
        (json!({"max": 9, "perMember": {"max": 1}}), 11.0, FAIL),
    ] {
        let good = if limits.get("max").is_some() { 0.0 } else { 1000.0 };
        let samples = [("eu-1", ratio(good, 1000.0)), ("eu-3", ratio(failures, 1000.0))];
        assert_eq!(verdict(&shares(), &limits, &samples), expected, "{limits}: {failures} of 1000");
    }
}

/// Every answer is an error, so the counter of good ones has no series yet.
#[test]
fn a_numerator_that_is_missing_beside_enough_requests_is_zero() {
    let nothing = |denominator| Sample::Ratio { numerator: None, denominator: Some(denominator) };
    for (limits, counted, expected) in [
        (json!({"min": 99, "minSamples": 100}), 1000.0, FAIL),
        (json!({"min": 99, "minSamples": 100}), 99.0, TOO_FEW),
        (json!({"min": 99, "minSamples": 100, "guard": {"min": 50, "minSamples": 20}}), 40.0, GUARD),
        (json!({"max": 1, "minSamples": 100}), 1000.0, PASS),
    ] {
        let samples = [
            ("eu-1", ratio(if limits.get("min").is_some() { 1000.0 } else { 0.0 }, 1000.0)),
            ("eu-3", nothing(counted)),
        ];
        assert_eq!(verdict(&shares(), &limits, &samples), expected, "{limits}: none of {counted}");
    }
}

#[test]
fn no_samples_are_zero_and_not_minus_zero() {
    let samples = read_ratio(&[]).samples.unwrap();
    assert_eq!(samples.to_string(), "0");
}

#[test]
fn the_least_number_of_samples_is_enough() {
    let limits = json!({"max": 1, "minSamples": 100});
    let guard = json!({"max": 1, "minSamples": 100, "guard": {"max": 50, "minSamples": 10}});
    let single = json!({"max": 100, "minSamples": 1, "perMember": {"max": 1, "minSamples": 10}});
    for (limits, counted, expected) in [
        (&limits, 100.0, FAIL),
        (&limits, 99.0, TOO_FEW),
        (&guard, 10.0, GUARD),
        (&guard, 9.0, TOO_FEW),
        (&single, 10.0, FAIL),
        (&single, 9.0, PASS),
    ] {
        let samples = [("eu-1", ratio(0.0, 1000.0)), ("eu-3", ratio(counted, counted))];
        assert_eq!(verdict(&shares(), limits, &samples), expected, "{limits}: {counted}");
    }
}

#[test]
fn a_primary_excuses_a_canary_only_by_enough_requests_that_fail_as_well() {
    let (limits, guard) = (json!({"max": 1, "minSamples": 100}), json!({"guard": {"max": 50, "minSamples": 100}}));
    let mut guarded = limits.clone();
    guarded.as_object_mut().unwrap().extend(guard.as_object().unwrap().clone());
    for (limits, primary, expected) in [
        (&limits, ratio(2.0, 100.0), SHARED),
        (&limits, ratio(1.0, 100.0), FAIL),
        (&limits, ratio(99.0, 99.0), FAIL),
        (&guarded, ratio(51.0, 100.0), SHARED),
        (&guarded, ratio(50.0, 100.0), GUARD),
        (&guarded, ratio(99.0, 99.0), GUARD),
    ] {
        let samples = [("eu-1", primary.clone()), ("eu-3", ratio(100.0, 100.0))];
        assert_eq!(verdict(&shares(), limits, &samples), expected, "{limits}: {primary:?}");
    }
}

#[test]
fn one_bad_canary_among_good_ones_fails_by_its_own_limit_and_is_named() {
    let analysis = analysis(&shares(), &json!({"max": 1, "perMember": {"max": 5}}));
    let samples = [
        sampled("eu-1", ratio(0.0, 1000.0)),
        sampled("eu-2", ratio(0.0, 100_000.0)),
        sampled("eu-3", ratio(60.0, 1000.0)),
    ];
    let check = check(&analysis, &samples, "");
    assert_eq!((check.verdict, check.reason), FAIL);
    assert_eq!(check.message, "errors of shop: eu-3: 6 % of 1000 requests is beyond max 5");
    let canaries: Vec<bool> = check.members.iter().map(|member| member.canary).collect();
    assert_eq!(canaries, [false, true, true]);
}

#[test]
fn a_quantile_in_the_last_bucket_fails_passes_or_says_nothing() {
    let kind = json!({"histogram": {"buckets": "b", "quantile": 0.5}});
    let slow = Sample::Buckets(vec![(1.0, 0.0), (f64::INFINITY, 1000.0)]);
    let quick = Sample::Buckets(vec![(1.0, 1000.0), (f64::INFINITY, 1000.0)]);
    for (limits, expected) in [
        (json!({"max": 0.9}), FAIL),
        (json!({"max": 1}), UNKNOWN),
        (json!({"min": 1}), PASS),
        (json!({"min": 1.1}), UNKNOWN),
        (json!({"min": 0.5, "max": 2}), UNKNOWN),
    ] {
        let samples = [("eu-1", quick.clone()), ("eu-3", slow.clone())];
        assert_eq!(verdict(&kind, &limits, &samples), expected, "{limits}");
    }
}

#[test]
fn a_query_is_judged_by_each_canary_and_by_the_primary_beside_it() {
    let kind = json!({"query": "load"});
    for (primary, canary, expected) in [(1.0, 2.0, PASS), (2.0, 2.1, FAIL), (2.1, 2.1, SHARED)] {
        let samples = [("eu-1", Sample::Value(primary)), ("eu-2", Sample::Value(0.0)), ("eu-3", Sample::Value(canary))];
        assert_eq!(verdict(&kind, &json!({"perMember": {"max": 2}}), &samples), expected, "{primary} {canary}");
    }
}

#[test]
fn a_canary_without_a_number_leaves_the_check_unknown_and_hides_no_failure() {
    let gone = || Sample::Missing("no series".to_owned());
    let limits = json!({"max": 1});
    for (two, expected) in [(ratio(0.0, 1000.0), UNKNOWN), (ratio(500.0, 1000.0), FAIL)] {
        let samples = [("eu-1", ratio(0.0, 1000.0)), ("eu-2", two), ("eu-3", gone())];
        assert_eq!(verdict(&shares(), &limits, &samples), expected);
    }
    let samples = [("eu-1", gone()), ("eu-3", ratio(0.0, 1000.0))];
    assert_eq!(verdict(&shares(), &limits, &samples), PASS, "a primary is no canary");
    let canaries = ["eu-2".to_owned(), "eu-3".to_owned()];
    let (analysis, sample) = (analysis(&shares(), &limits), sampled("eu-3", ratio(0.0, 1000.0)));
    let round = Round {
        analysis: &analysis,
        metric: &analysis.metrics[0],
        canaries: &canaries,
        idle: false,
        samples: &[&sample],
    };
    assert_eq!(round.check("shop", "").message, "errors of shop: eu-2: not measured");
}

#[test]
fn a_canary_that_counted_nothing_is_not_proven_by_the_requests_of_another() {
    let limits = json!({"max": 1});
    let none = || Sample::Ratio { numerator: None, denominator: None };
    for (three, expected) in [(none(), TOO_FEW), (ratio(0.0, 0.0), TOO_FEW), (ratio(0.0, 1.0), PASS)] {
        let samples = [("eu-1", ratio(0.0, 1000.0)), ("eu-2", ratio(0.0, 1000.0)), ("eu-3", three)];
        assert_eq!(verdict(&shares(), &limits, &samples), expected);
    }
    let samples = [("eu-1", ratio(0.0, 1000.0)), ("eu-2", ratio(500.0, 1000.0)), ("eu-3", none())];
    assert_eq!(verdict(&shares(), &limits, &samples), FAIL, "it hides no failure");
}

#[test]
fn verdicts_are_remembered_as_far_as_failures_are_counted() {
    let analysis = analysis(&shares(), &json!({"max": 1}));
    for (failures, whole, before, recent) in [
        (0.0, true, "", "P"),
        (500.0, true, "PP", "PPF"),
        (500.0, true, "FPP", "PPF"),
        (0.0, true, "FFFF", "FFP"),
        (0.0, false, "FP", "FP"),
        (500.0, false, "FP", "FPF"),
    ] {
        let mut samples = [sampled("eu-1", ratio(0.0, 1000.0)), sampled("eu-3", ratio(failures, 1000.0))];
        for sampled in &mut samples {
            sampled.whole = whole;
        }
        assert_eq!(check(&analysis, &samples, before).recent, recent, "{before} and {failures} of 1000");
    }
}

fn desired() -> Desired {
    let split = Distribution::from([("eu-1", 75), ("eu-3", 25)]).into();
    Desired { split, sequence: 1, at: Timestamp::UNIX_EPOCH, confirmed_at: None }
}

#[test]
fn shares_are_of_the_requests_that_were_counted_in_whole_windows() {
    let analysis = analysis(&shares(), &json!({"max": 1}));
    let of = |samples: &[Sampled]| {
        let measured = Measured { at: Timestamp::UNIX_EPOCH, sequence: 1, samples: samples.to_vec() };
        observed(&desired(), &analysis, &measured)
    };
    let (one, three) = (sampled("eu-1", ratio(0.0, 600.0)), sampled("eu-3", ratio(0.0, 300.0)));
    let shown = |shares: &[(&str, f64)]| -> ObservedShares {
        let shares: BTreeMap<String, f64> = shares.iter().map(|(name, share)| ((*name).to_owned(), *share)).collect();
        [("shop".to_owned(), shares)].into()
    };
    assert_eq!(of(&[one.clone(), three.clone()]), shown(&[("eu-1", 66.7), ("eu-3", 33.3)]));
    let partial = Sampled { whole: false, ..three.clone() };
    assert_eq!(of(&[one.clone(), partial]), shown(&[("eu-1", 100.0)]));
    let gone = |member| sampled(member, Sample::Missing("no series".to_owned()));
    assert_eq!(of(&[one.clone(), gone("eu-3")]), ObservedShares::new(), "who carries traffic and is not counted");
    assert_eq!(of(&[one.clone(), three.clone(), gone("eu-2")]), of(&[one, three]), "whose weight is 0");
    assert_eq!(of(&[sampled("eu-1", ratio(0.0, 0.0)), sampled("eu-3", ratio(0.0, 0.0))]), ObservedShares::new());
}

#[test]
fn a_share_as_far_from_its_weight_as_allowed_is_not_off() {
    let mut analysis = analysis(&shares(), &json!({"max": 1}));
    analysis.share = serde_json::from_value(json!({"within": 5})).unwrap();
    for (share, off) in [(75.0, false), (80.0, false), (70.0, false), (80.1, true), (69.9, true)] {
        let observed = [("shop".to_owned(), [("eu-1".to_owned(), share)].into())].into();
        assert_eq!(share_off(&desired(), &analysis, &observed).is_some(), off, "{share}");
    }
}

#[test]
fn shares_say_nothing_while_requests_are_steered() {
    let mut analysis = analysis(&shares(), &json!({"max": 1}));
    analysis.share = serde_json::from_value(json!({"within": 5})).unwrap();
    let mut desired = desired();
    desired.split.steering = Some(Steering::Mirrored(Mirrored { members: vec!["eu-3".to_owned()], percent: 100 }));
    let samples = vec![sampled("eu-1", ratio(0.0, 500.0)), sampled("eu-3", ratio(0.0, 500.0))];
    let measured = Measured { at: Timestamp::UNIX_EPOCH, sequence: 1, samples };
    assert_eq!(observed(&desired, &analysis, &measured), ObservedShares::new(), "copies are counted like requests");
    let off = [("shop".to_owned(), [("eu-1".to_owned(), 50.0)].into())].into();
    assert_eq!(share_off(&desired, &analysis, &off), None);
}
