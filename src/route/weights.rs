//! From what a route says of its backends to a distribution over members.

use std::collections::BTreeMap;

use super::RouteError;
use crate::api::distribution::greatest_common_divisor;
use crate::api::{Distribution, PRIMARY};
use crate::backend;
use crate::object::Context;

/// Larger raw weights than any data plane takes are refused, so that no sum overflows.
const MAX_RAW: u64 = 1_000_000;

/// One backend and its raw weight, in whatever the route counts.
pub(super) type Raw = (String, u64);

/// Brings a route's raw weights to members and to the rollout's total, exactly.
pub(super) fn distribution(context: &Context<'_>, object: &str, raw: &[Raw]) -> Result<Distribution, RouteError> {
    let (members, twice) = members(context, object, raw)?;
    let scaled = scale(object, &members, context.total);
    let Some(backend) = twice else { return scaled };
    let message = format!("{object}: backend {backend} stands twice in one rule: keep one of them");
    match scaled {
        Ok(nearly) | Err(RouteError::Uneven { nearly, .. }) => Err(RouteError::Uneven { message, nearly }),
        other => other,
    }
}

/// The one distribution that all rules of a route show.
pub(super) fn agreed(object: &str, rules: impl IntoIterator<Item = Distribution>) -> Result<Distribution, RouteError> {
    let mut rules = rules.into_iter();
    let first =
        rules.next().ok_or_else(|| RouteError::Unreadable(format!("{object}: no rule to read weights from")))?;
    match rules.find(|other| !other.same_as(&first)) {
        Some(other) => Err(RouteError::Differs(format!(
            "{object}: its rules show {first} and {other}: bring them to one distribution, or give each its own rollout"
        ))),
        None => Ok(first),
    }
}

/// Raw weights by member, and a backend with weight whose member has some already: the same backend, or in service mode the user's own
/// Service beside the primary.
fn members<'r>(
    context: &Context<'_>,
    object: &str,
    raw: &'r [Raw],
) -> Result<(BTreeMap<String, u64>, Option<&'r str>), RouteError> {
    let (mut weights, mut twice) = (BTreeMap::<String, u64>::new(), None);
    for (backend, weight) in raw {
        if *weight > MAX_RAW {
            return Err(RouteError::Unreadable(format!(
                "{object}: backend {backend} has weight {weight}; at most {MAX_RAW}"
            )));
        }
        match backend::member(context, backend) {
            Some(member) => {
                let known = weights.entry(member.to_owned()).or_default();
                let both = *known > 0 && *weight > 0;
                *known += *weight;
                twice = twice.or(both.then_some(backend.as_str()));
            }
            None if *weight == 0 => {}
            None => return Err(unknown(context, object, backend)),
        }
    }
    Ok((weights, twice))
}

/// The error for a backend with traffic that is no declared member's.
pub(super) fn unknown(context: &Context<'_>, object: &str, backend: &str) -> RouteError {
    let object = object.to_owned();
    if !context.copies.is_empty() {
        let primary = backend::name(context.service, PRIMARY);
        return RouteError::NotPrimaryOrCanary { object, backend: backend.to_owned(), primary };
    }
    match backend.strip_prefix(&context.service.name).and_then(|rest| rest.strip_prefix('-')) {
        Some(member) if !member.is_empty() => RouteError::NotDeclared { object, member: member.to_owned() },
        Some(_) | None => RouteError::NeedsMapping { object, backend: backend.to_owned() },
    }
}

/// Scales to the total without rounding; what does not fit is an error that names a total that would do.
fn scale(object: &str, raw: &BTreeMap<String, u64>, total: u32) -> Result<Distribution, RouteError> {
    let sum: u64 = raw.values().sum();
    if sum == 0 {
        let message = format!("{object}: all weights are 0: give its backends the weights that hold today");
        return Err(RouteError::Uneven { message, nearly: Distribution::new() });
    }
    let units = sum / raw.values().fold(sum, |divisor, weight| greatest_common_divisor(divisor, *weight));
    if !u64::from(total).is_multiple_of(units) {
        let remedy = remedy(units);
        let message = format!("{object}: its weights do not fit into weightTotal: {total} without rounding: {remedy}");
        let whole = raw.iter().filter_map(|(member, weight)| Some((member.clone(), u32::try_from(*weight).ok()?)));
        return Err(RouteError::Uneven { message, nearly: whole.collect::<Distribution>().apportion(total) });
    }
    let scaled = raw
        .iter()
        .filter_map(|(member, weight)| Some((member.clone(), u32::try_from(weight * u64::from(total) / sum).ok()?)));
    Ok(scaled.collect())
}

fn remedy(units: u64) -> String {
    let smallest = units * 100_u64.div_ceil(units);
    if smallest <= 10_000 {
        format!("say weightTotal: {smallest}")
    } else {
        "bring them to a sum of 100, 1000 or 10000".to_owned()
    }
}
