//! Merging what several members counted, exactly: counts are added first, and divided or interpolated once.
//!
//! Averages of ratios and averages of quantiles are never formed: a member with 1 % of the traffic would weigh as
//! much as all the others.

/// Upper bound and cumulative count of each bucket, by rising bound; the last bound is infinite.
pub type Buckets = Vec<(f64, f64)>;

/// A quantile of a histogram, in the unit of its bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Quantile {
    /// Interpolated within its bucket, as Prometheus does.
    Value(f64),
    /// It lies beyond the last finite bound, which is all that is known.
    AtLeast(f64),
    /// Nothing was counted.
    NoData,
}

/// Why the histograms of several members cannot be added.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MergeProblem {
    /// No finite bound is common to all.
    #[error("the members' histograms have no common bucket bound ({}); give them the same le bounds", list(.0))]
    NoCommonBound(Vec<Vec<f64>>),
    /// One has no infinite bucket, so its total is not known.
    #[error("a member's histogram has no le=\"+Inf\" bucket, only {}; keep every bucket in the query", bounds(.0))]
    NoInfiniteBucket(Vec<f64>),
}

/// Sum of numerators over sum of denominators, in percent; none where nothing was counted.
#[must_use]
pub fn ratio(counted: &[(f64, f64)]) -> Option<f64> {
    let numerator: f64 = counted.iter().map(|(numerator, _)| numerator).sum();
    let denominator: f64 = counted.iter().map(|(_, denominator)| denominator).sum();
    (denominator > 0.0).then(|| numerator / denominator * 100.0)
}

/// Adds histograms bound by bound. Cumulative counts stay exact where layouts differ, as long as only common bounds are
/// kept. Empty histograms count nothing and are passed over.
///
/// # Errors
/// When no finite bound is common to all, or a total is missing.
pub fn merge_buckets(members: &[Buckets]) -> Result<Buckets, MergeProblem> {
    let counted: Vec<&Buckets> = members.iter().filter(|buckets| !buckets.is_empty()).collect();
    let Some(first) = counted.first() else { return Ok(Vec::new()) };
    for buckets in &counted {
        if !buckets.iter().any(|(bound, _)| *bound == f64::INFINITY) {
            return Err(MergeProblem::NoInfiniteBucket(bounds_of(buckets)));
        }
    }
    let merged: Buckets = first.iter().filter_map(|(bound, _)| Some((*bound, sum_at(&counted, *bound)?))).collect();
    if merged.len() < 2 {
        return Err(MergeProblem::NoCommonBound(counted.iter().map(|buckets| bounds_of(buckets)).collect()));
    }
    Ok(monotone(merged))
}

/// The quantile `q` (0 to 1) of cumulative buckets, interpolated linearly as Prometheus does.
#[must_use]
pub fn quantile(buckets: &[(f64, f64)], q: f64) -> Quantile {
    let total = buckets.last().map_or(0.0, |(_, count)| *count);
    if total <= 0.0 {
        return Quantile::NoData;
    }
    let rank = q * total;
    let at = buckets.iter().position(|(_, count)| *count >= rank).unwrap_or(buckets.len() - 1);
    let (end, count) = buckets[at];
    let (start, below) = at.checked_sub(1).map_or((0.0, 0.0), |before| buckets[before]);
    if end == f64::INFINITY {
        return Quantile::AtLeast(start);
    }
    if at == 0 && end <= 0.0 {
        return Quantile::Value(end); // nothing says where a first bucket below zero begins
    }
    if count <= below {
        return Quantile::Value(end);
    }
    Quantile::Value(start + (end - start) * ((rank - below) / (count - below)))
}

/// The sum of all counts at a bound, if every histogram has it. Bounds are compared exactly: they are labels.
#[allow(clippy::float_cmp)]
fn sum_at(members: &[&Buckets], bound: f64) -> Option<f64> {
    members.iter().map(|buckets| buckets.iter().find(|(at, _)| *at == bound).map(|(_, count)| count)).sum()
}

/// Cumulative counts never fall; `increase` extrapolates each bucket by itself and leaves such noise.
fn monotone(mut buckets: Buckets) -> Buckets {
    let mut highest = 0.0_f64;
    for (_, count) in &mut buckets {
        highest = highest.max(*count);
        *count = highest;
    }
    buckets
}

fn bounds_of(buckets: &[(f64, f64)]) -> Vec<f64> {
    buckets.iter().map(|(bound, _)| *bound).collect()
}

fn list(layouts: &[Vec<f64>]) -> String {
    layouts.iter().map(|layout| bounds(layout)).collect::<Vec<_>>().join("; ")
}

/// At most eight bounds, so that a message stays a sentence.
fn bounds(layout: &[f64]) -> String {
    let shown: Vec<String> = layout.iter().filter(|bound| bound.is_finite()).take(8).map(f64::to_string).collect();
    if shown.is_empty() { "none".to_owned() } else { shown.join(" ") }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BOUNDS: [f64; 6] = [0.1, 0.25, 0.5, 1.0, 2.5, f64::INFINITY];

    fn buckets(counts: [f64; 6]) -> Buckets {
        BOUNDS.into_iter().zip(counts).collect()
    }

    fn busy() -> Buckets {
        buckets([9000.0, 9800.0, 9950.0, 9990.0, 10000.0, 10000.0])
    }

    fn slow() -> Buckets {
        buckets([100.0, 300.0, 500.0, 800.0, 990.0, 1000.0])
    }

    fn value(quantile: Quantile) -> f64 {
        match quantile {
            Quantile::Value(value) => value,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_small_broken_member_weighs_what_it_served() {
        let merged = ratio(&[(5.0, 10.0), (1.0, 1000.0)]).unwrap();
        assert!((merged - 0.594).abs() < 0.001, "{merged}");
        assert_eq!(ratio(&[(5.0, 10.0)]), Some(50.0));
    }

    #[test]
    fn nothing_counted_is_no_ratio() {
        assert_eq!((ratio(&[]), ratio(&[(0.0, 0.0)])), (None, None));
    }

    #[test]
    fn the_p99_of_all_requests_is_neither_members_nor_their_average() {
        assert!((value(quantile(&busy(), 0.99)) - 0.42).abs() < 0.005);
        assert_eq!(quantile(&slow(), 0.99), Quantile::Value(2.5));
        let merged = merge_buckets(&[busy(), slow()]).unwrap();
        assert!((value(quantile(&merged, 0.99)) - 1.75).abs() < 1e-9);
        let slower = (merged[5].1 - merged[2].1) / merged[5].1;
        assert!((slower - 0.05).abs() < 1e-12, "slower than 0.5 s: {slower}");
    }

    #[test]
    fn a_quantile_in_the_last_bucket_is_at_least_the_last_finite_bound() {
        assert_eq!(quantile(&slow(), 0.995), Quantile::AtLeast(2.5));
        assert_eq!(quantile(&[(f64::INFINITY, 3.0)], 0.5), Quantile::AtLeast(0.0));
    }

    #[test]
    fn empty_histograms_have_no_quantile() {
        assert_eq!(quantile(&[], 0.5), Quantile::NoData);
        assert_eq!(quantile(&buckets([0.0; 6]), 0.5), Quantile::NoData);
        assert_eq!(merge_buckets(&[]), Ok(Vec::new()));
        assert_eq!(merge_buckets(&[Vec::new(), slow()]), Ok(slow()));
    }

    #[test]
    fn different_layouts_are_added_at_common_bounds() {
        let other = vec![(0.2, 3.0), (0.5, 4.0), (f64::INFINITY, 5.0)];
        assert_eq!(merge_buckets(&[slow(), other]), Ok(vec![(0.5, 504.0), (f64::INFINITY, 1005.0)]));
    }

    #[test]
    fn layouts_without_a_common_bound_are_refused_with_their_bounds() {
        let one = vec![(0.1, 3.0), (f64::INFINITY, 5.0)];
        let other = vec![(0.2, 3.0), (0.4, 4.0), (f64::INFINITY, 5.0)];
        assert_eq!(
            merge_buckets(&[one, other]).unwrap_err().to_string(),
            "the members' histograms have no common bucket bound (0.1; 0.2 0.4); give them the same le bounds"
        );
        assert_eq!(
            merge_buckets(&[vec![(0.1, 3.0), (0.2, 4.0)]]).unwrap_err().to_string(),
            "a member's histogram has no le=\"+Inf\" bucket, only 0.1 0.2; keep every bucket in the query"
        );
    }

    #[test]
    fn noise_never_makes_a_cumulative_count_fall() {
        let noisy = vec![(0.1, 10.0), (0.2, 9.999), (f64::INFINITY, 10.0)];
        assert_eq!(merge_buckets(&[noisy]), Ok(vec![(0.1, 10.0), (0.2, 10.0), (f64::INFINITY, 10.0)]));
    }

    proptest! {
        #[test]
        fn a_merged_quantile_lies_between_those_of_the_members(a in counts(), b in counts(), q in 0.01_f64..0.99) {
            let merged = merge_buckets(&[a.clone(), b.clone()]).unwrap();
            let (low, high) = (at_least(quantile(&a, q)), at_least(quantile(&b, q)));
            let all = at_least(quantile(&merged, q));
            prop_assert!(all >= low.min(high) - 1e-9 && all <= low.max(high) + 1e-9, "{low} {high}: {all}");
        }
    }

    fn at_least(quantile: Quantile) -> f64 {
        match quantile {
            Quantile::Value(value) | Quantile::AtLeast(value) => value,
            Quantile::NoData => 0.0,
        }
    }

    fn counts() -> impl Strategy<Value = Buckets> {
        prop::array::uniform6(1_u16..1000).prop_map(|parts| {
            let mut total = 0.0;
            buckets(parts.map(|part| {
                total += f64::from(part);
                total
            }))
        })
    }
}
