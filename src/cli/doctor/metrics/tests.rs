//! What is said of a sample; no Prometheus is needed.

use super::*;
use crate::cli::fixtures;

fn said(view: &View, metric: &str, member: &str, sample: Sample) -> Outcome {
    let analysis = &view.rollout.spec.analysis;
    let resolved = Resolved { analysis: analysis.clone(), unusable: BTreeMap::new() };
    let (service, metric, member) = ("storefront".to_owned(), metric.to_owned(), member.to_owned());
    judge(view, &resolved, &Sampled { service, metric, member, whole: true, sample }, view.now)
}

#[test]
fn a_number_is_shown_with_its_unit_and_what_was_counted() {
    let view = fixtures::in_the_middle();
    let ratio = |numerator, denominator| Sample::Ratio { numerator, denominator };
    let of = |metric, sample| said(&view, metric, "eu-3", sample);
    assert_eq!(of("errors", ratio(Some(3.0), Some(400.0))), Outcome::good("0.75 % of 400 requests now"));
    assert_eq!(of("errors", ratio(None, Some(400.0))), Outcome::good("0 % of 400 requests now"));
    let buckets = |last| Sample::Buckets(vec![(0.1, 0.0), (0.2, last), (f64::INFINITY, 100.0)]);
    assert_eq!(of("p99", buckets(100.0)), Outcome::good("0.199 s of 100 requests now"));
    assert_eq!(of("p99", buckets(50.0)), Outcome::good("at least 0.2 s of 100 requests now"));
}

#[test]
fn that_nothing_is_counted_is_bad_where_the_member_has_weight() {
    let view = fixtures::in_the_middle();
    let nothing = || Sample::Missing("no series".to_owned());
    assert!(matches!(said(&view, "p99", "eu-3", nothing()), Outcome::Bad { .. }));
    assert!(matches!(said(&view, "p99", "eu-9", nothing()), Outcome::NotKnown { .. }));
    let mut new = fixtures::in_the_middle();
    (new.status.desired, new.status.primary) = (None, None);
    let outcome = said(&new, "p99", "eu-3", nothing());
    assert!(
        matches!(&outcome, Outcome::NotKnown { why, .. } if why.ends_with("has not read the weights yet")),
        "{outcome:?}"
    );
    let idle = Sample::Ratio { numerator: None, denominator: Some(0.0) };
    assert!(matches!(said(&view, "errors", "eu-3", idle), Outcome::Bad { .. }));
}

#[test]
fn a_query_that_is_refused_is_bad_with_the_words_of_prometheus() {
    let refused = "Prometheus refused the query (bad_data: parse error); correct the query";
    let outcome = said(&fixtures::in_the_middle(), "errors", "eu-3", Sample::Missing(refused.to_owned()));
    assert!(matches!(outcome, Outcome::Bad { what, .. } if what == refused));
}

#[test]
fn where_it_cannot_be_queried_from_here_what_the_hub_saw_is_shown_with_its_age() {
    let down = || Sample::Missing("source down: x does not resolve".to_owned());
    let outcome = said(&fixtures::in_the_middle(), "errors", "eu-3", down());
    let expected = "not queried from here: source down: x does not resolve; the hub saw 0.06 % 21 s ago";
    assert!(matches!(&outcome, Outcome::NotKnown { why, .. } if why == expected), "{outcome:?}");
    let outcome = said(&fixtures::held(), "errors", "eu-3", down());
    assert!(
        matches!(&outcome, Outcome::NotKnown { why, .. } if why.ends_with("503 from the service proxy")),
        "{outcome:?}"
    );
}
