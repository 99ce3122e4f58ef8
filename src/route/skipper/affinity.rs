//! Users who stay where they are: a route a member for those with the cookie of one of its bins, and a segment a bin, whose
//! answers give its cookie, for all others.

use kube::core::DynamicObject;
use serde_json::Value;

use super::groups::{Group, append};
use super::segments::Segment;
use crate::api::Affinity;
use crate::api::affinity::Bin;
use crate::object::Context;
use crate::route::json::{items, put};

/// Skipper tries the route with more predicates first: this one and that on a cookie come before one `TrafficSegment`.
const BEFORE: &str = "Weight(1)";

impl Group {
    /// A route for each bin.
    pub(super) fn bin_routes(&self, context: &Context<'_>, affinity: &Affinity) -> Vec<Value> {
        let units: Vec<u32> = affinity.bins.iter().map(|bin| bin.weight).collect();
        let giving = |(bin, cookie): (&Bin, String), segment| {
            let mut route = self.route(context, &bin.member, Some(segment));
            append(&mut route, "filters", [format!("{}\")", set_cookie_filter(&cookie))]);
            route
        };
        affinity.cookies().zip(Segment::cut(&units, context.total)).map(|(bin, segment)| giving(bin, segment)).collect()
    }

    /// A route for each member, for those who have the cookie of one of its bins.
    pub(super) fn cookie_routes(&self, context: &Context<'_>, affinity: &Affinity) -> Vec<Value> {
        let keeping = |member| {
            let cookie = format!("Cookie(\"{}\", \"^{}$\")", affinity.cookie_name, affinity.values(member));
            self.narrowed(vec![cookie, BEFORE.to_owned()]).route(context, member, None)
        };
        affinity.members().map(keeping).collect()
    }
}

/// The object without the routes that keep users; the others give no cookie.
pub(super) fn without(object: &DynamicObject, affinity: &Affinity) -> DynamicObject {
    let mut free = object.clone();
    let Some(routes) = free.data.pointer_mut("/spec/routes").and_then(Value::as_array_mut) else { return free };
    routes.retain(|route| !has_item(route, "predicates", &cookie_predicate(affinity)));
    for route in routes {
        let filter_start = set_cookie_filter(&affinity.beginning());
        let filters = items(route.get("filters")).iter();
        let kept: Vec<Value> = filters.filter(|filter| !begins(filter, &filter_start)).cloned().collect();
        if kept.is_empty() {
            route.as_object_mut().into_iter().for_each(|fields| drop(fields.remove("filters")));
        } else {
            put(route, "filters", kept);
        }
    }
    free
}

/// A route that keeps users, or gives them a cookie.
pub(super) fn has_affinity(route: &Value, affinity: &Affinity) -> bool {
    has_item(route, "predicates", &cookie_predicate(affinity))
        || has_item(route, "filters", &set_cookie_filter(&affinity.beginning()))
}

fn has_item(route: &Value, key: &str, beginning: &str) -> bool {
    items(route.get(key)).iter().any(|text| begins(text, beginning))
}

fn begins(text: &Value, beginning: &str) -> bool {
    text.as_str().is_some_and(|text| text.starts_with(beginning))
}

fn cookie_predicate(affinity: &Affinity) -> String {
    format!("Cookie(\"{}\", \"^{}-", affinity.cookie_name, affinity.run)
}

fn set_cookie_filter(beginning: &str) -> String {
    format!("appendResponseHeader(\"Set-Cookie\", \"{beginning}")
}
