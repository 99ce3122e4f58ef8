//! What each kind of route can do, as data. Whoever refuses a combination, and the page docs/routes.md, read it here.

use std::time::Duration;

use super::cookie_pattern::cookie_pattern;
use super::istio::re2;
use crate::api::matches::{FieldMatch, Value};
use crate::api::steering::Mirrored;
use crate::api::{Affinity, Backend, Distribution, RequestMatch, Split, Steering};

/// What one kind of route can do.
#[derive(Debug)]
pub struct Capability {
    /// Its key under `spec.services[].routes`, with its form where it has several.
    pub route: &'static str,
    /// The objects that hold the weights.
    pub object: &'static str,
    /// How traffic is divided.
    pub weighting: Weighting,
    /// Members behind ExternalName Services.
    pub external_name: BackendSupport,
    /// Members behind Services with addresses that exist already.
    pub cluster_ip: BackendSupport,
    /// Members behind Services with addresses that the hub resolves.
    pub endpoint_slice: BackendSupport,
    /// Members behind entries of Istio's registry.
    pub service_entry: BackendSupport,
    /// Members behind subsets of one Service.
    pub subset: BackendSupport,
    /// Each member may have its own Host header.
    pub own_host: bool,
    /// Members may be reached by TLS, each with its own server name.
    pub own_tls: bool,
    /// Which requests it can send elsewhere than by weight.
    pub matches: Matching,
    /// Whether it can send copies of requests.
    pub mirrors: Mirroring,
    /// Whether it supports session affinity.
    pub affinity: AffinitySupport,
    /// How many objects one split takes.
    pub shape: Shape,
    /// When a write counts as applied.
    pub applied: Applied,
    /// How it is known that the data plane obeys a write, and how long that takes.
    pub obeyed: &'static str,
    /// How it was seen to be so.
    pub verified: Verified,
    /// What a person should know beyond that.
    pub note: &'static str,
}

/// How traffic is divided among members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weighting {
    /// By weights.
    Weights {
        /// Members that may carry traffic at once, where that is bounded.
        members: Option<usize>,
        /// Equal parts into which all traffic can be divided, where that is bounded.
        parts: Option<u32>,
    },
    /// One member has everything.
    Switch,
}

/// Whether a route can hold true weights for a kind of backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackendSupport {
    /// It can.
    Yes,
    /// It can in service mode, between primary and canary, but not between members.
    InServiceMode {
        /// What is wrong with members.
        why: &'static str,
        /// What to say instead.
        remedy: &'static str,
    },
    /// It cannot.
    No {
        /// What is wrong.
        why: &'static str,
        /// What to say instead.
        remedy: &'static str,
    },
}

/// What only Istio knows.
pub(super) const ISTIO_ONLY: BackendSupport = BackendSupport::No {
    why: "only Istio knows this kind of backend",
    remedy: "use route istio, or another kind of backend",
};

/// Which requests a kind can send elsewhere than by weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Matching {
    /// By a header.
    pub headers: Values,
    /// By a cookie.
    pub cookies: Values,
    /// By a query parameter.
    pub query: Values,
    /// By how much at once.
    pub extent: Extent,
}

/// How much one step may say about the requests that it chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Alternatives, each of several conditions.
    Alternatives,
    /// Several conditions that must all hold.
    OneMatch,
    /// Alternatives, each with at most one condition for each name; all cookies count as one.
    EachNameOnce,
    /// One condition.
    OneCondition,
}

/// How a kind can look at a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Values {
    /// The whole value.
    pub exact: bool,
    /// Its beginning.
    pub prefix: bool,
    /// A regular expression.
    pub regex: Regexes,
    /// No other value than this one.
    pub only: Option<&'static str>,
}

/// The regular expressions that a kind takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Regexes {
    /// None.
    None,
    /// Any; whoever reads it says so if he cannot.
    Any,
    /// What RE2 reads.
    Re2,
    /// What can be read here: a data plane that cannot read it leaves the requests to the weights without a word.
    Readable,
}

impl Values {
    /// Not at all.
    pub const NONE: Self = Self { exact: false, prefix: false, regex: Regexes::None, only: None };
    /// The whole value.
    pub const EXACT: Self = Self { exact: true, ..Self::NONE };
    /// The whole value, or a regular expression.
    pub const EXACT_OR_REGEX: Self = Self { regex: Regexes::Any, ..Self::EXACT };
    /// A regular expression; whole values and beginnings are written as one.
    pub const ANY: Self = Self { exact: true, prefix: true, regex: Regexes::Any, only: None };

    /// Whether it supports this condition; a cookie's is written as this expression for the whole header.
    fn supports(self, field: &FieldMatch, of_header: Option<&str>) -> bool {
        if self.regex == Regexes::Re2 && of_header.is_some_and(|pattern| re2::refusal(pattern).is_some()) {
            return false;
        }
        match field.value() {
            Some(Value::Exact(text)) => self.exact && self.only.is_none_or(|only| only == text),
            Some(Value::Prefix(_)) => self.prefix,
            Some(Value::Regex(text)) => match self.regex {
                Regexes::None => false,
                Regexes::Any => true,
                Regexes::Re2 => re2::refusal(text).is_none(),
                Regexes::Readable => regex::Regex::new(text).is_ok(),
            },
            // A condition that says nothing is refused for itself.
            None => true,
        }
    }
}

impl Matching {
    /// No requests at all.
    pub const NONE: Self =
        Self { headers: Values::NONE, cookies: Values::NONE, query: Values::NONE, extent: Extent::Alternatives };

    /// The first condition that this kind cannot hold, in words.
    fn refusal(self, matches: &[RequestMatch]) -> Option<String> {
        let fields = |request: &RequestMatch| request.headers.len() + request.cookies.len() + request.query.len();
        let count: usize = matches.iter().map(fields).sum();
        match self.extent {
            Extent::OneCondition if count > 1 => return Some("more than one condition".to_owned()),
            Extent::OneMatch if matches.len() > 1 => return Some("more than one match".to_owned()),
            Extent::EachNameOnce => {
                if let Some(twice) = matches.iter().find_map(named_twice) {
                    return Some(twice);
                }
            }
            Extent::Alternatives | Extent::OneMatch | Extent::OneCondition => {}
        }
        matches.iter().find_map(|request| {
            let conditions = [
                ("header", &request.headers, self.headers),
                ("cookie", &request.cookies, self.cookies),
                ("query", &request.query, self.query),
            ];
            conditions.into_iter().find_map(|(name, fields, values)| {
                let pattern = |field: &FieldMatch| (name == "cookie").then(|| cookie_pattern(field));
                let unsupported = |field: &&FieldMatch| !values.supports(field, pattern(field).as_deref());
                fields.iter().find(unsupported).map(|field| format!("{name} {field}"))
            })
        })
    }
}

/// Two conditions of one match on the same name, in words.
fn named_twice(request: &RequestMatch) -> Option<String> {
    let repeats = |fields: &[FieldMatch], is_same: fn(&str, &str) -> bool| {
        let earlier = |(index, field): (usize, &FieldMatch)| {
            let before = fields.iter().take(index).any(|other| is_same(&other.name, &field.name));
            before.then(|| field.name.clone())
        };
        fields.iter().enumerate().find_map(earlier)
    };
    let header = repeats(&request.headers, str::eq_ignore_ascii_case).map(|name| format!("header {name} twice"));
    let cookie = || {
        let of_header = request.headers.iter().any(|field| field.name.eq_ignore_ascii_case("cookie"));
        (request.cookies.len() + usize::from(of_header) > 1).then(|| "more than one cookie".to_owned())
    };
    let query = || repeats(&request.query, |one, other| one == other).map(|name| format!("query {name} twice"));
    header.or_else(cookie).or_else(query)
}

/// Whether a kind can send copies of requests to members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mirroring {
    /// It cannot.
    No,
    /// It can.
    Yes {
        /// Members that may get copies at once, where that is bounded.
        members: Option<usize>,
        /// Of which parts of all requests.
        parts: Parts,
    },
}

/// Of which parts of all requests a kind can send copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parts {
    /// Of any.
    Any,
    /// Of any where this controller serves the route, as its status says; elsewhere of all only.
    AnyUnder(&'static str),
}

impl Mirroring {
    /// What this kind cannot do of it, and what would help.
    fn refusal(self, route: &str, mirrored: &Mirrored) -> Option<(String, String)> {
        let count = mirrored.members.len();
        match self {
            Self::No => Some((
                "a step mirrors requests".to_owned(),
                format!("{route} cannot mirror; leave mirror out, or use gatewayAPI or contour"),
            )),
            Self::Yes { members: Some(most), .. } if count > most => Some((
                format!("a step mirrors requests to {count} members"),
                format!("{route} mirrors to {most} at once; put the members into different stages"),
            )),
            Self::Yes { .. } => None,
        }
    }
}

/// Session affinity: whether a kind can keep users at the member that answered them first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AffinitySupport {
    /// It cannot.
    No,
    /// It can.
    Yes {
        /// Bins into which all users may be divided.
        bins: usize,
    },
}

impl AffinitySupport {
    /// What this kind cannot do of it, and what would help.
    fn refusal(self, route: &str, affinity: &Affinity) -> Option<(String, String)> {
        let count = affinity.bins.len();
        match self {
            Self::No => Some((
                "strategy.sessionAffinity is declared".to_owned(),
                format!("{route} does not support it; docs/routes.md says what each route supports"),
            )),
            Self::Yes { bins } if count > bins => Some((
                format!("strategy.sessionAffinity would divide users into {count} bins"),
                format!("{route} supports {bins}: declare fewer steps, or move fewer members in one run"),
            )),
            Self::Yes { .. } => None,
        }
    }
}

/// How many objects one split takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// It changes at once.
    OneObject,
    /// One that is there, and one that the hub makes beside it.
    StableAndCanary,
    /// One a member.
    ObjectPerMember,
}

/// When a write counts as applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    /// When the data plane says that it took it.
    Accepted,
    /// When it is read back; the data plane says nothing.
    ReadBack,
    /// This time after it is read back; the data plane says nothing, and reads at intervals.
    Polled {
        /// In which it has read what was written.
        within: Duration,
    },
}

/// How a kind of route was tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verified {
    /// Requests that went through the real data plane were counted at the members.
    Traffic,
    /// The objects were written to a real API server; what the data plane does with them is taken from its documentation.
    Objects,
}

impl Capability {
    /// Whether this kind supports a kind of backend.
    #[must_use]
    pub(crate) const fn supports(&self, backend: &Backend) -> BackendSupport {
        match backend {
            Backend::ExternalName(_) => self.external_name,
            Backend::ClusterIp(_) => self.cluster_ip,
            Backend::EndpointSlice(_) => self.endpoint_slice,
            Backend::ServiceEntry(_) => self.service_entry,
            Backend::Subset(_) => self.subset,
        }
    }

    /// Why this kind cannot hold this: what is wrong, and what would help.
    #[must_use]
    pub(crate) fn refusal(&self, wanted: &Split) -> Option<(String, String)> {
        let carrying = wanted.reached().len();
        let affinity = wanted.affinity.as_ref().and_then(|affinity| self.affinity.refusal(self.route, affinity));
        if let Some(refusal) =
            affinity.or_else(|| wanted.steering.as_ref().and_then(|steering| self.steering_refusal(steering)))
        {
            return Some(refusal);
        }
        if wanted.affinity.as_ref().is_some() && wanted.matched().is_some() {
            return Some((
                "strategy.sessionAffinity keeps users on one member, and a step with matches sends their requests to another".to_owned(),
                "leave one of them out".to_owned(),
            ));
        }
        match self.weighting {
            Weighting::Switch if carrying > 1 => Some((
                format!("{carrying} members would carry traffic at once, but {} has no weights", self.route),
                "give one member all the weight, and use strategy.steps: [{progress: 100%}]; or use a route with weights"
                    .to_owned(),
            )),
            Weighting::Weights { members: Some(most), .. } if carrying > most => Some((
                format!("{carrying} members would carry traffic at once"),
                format!("{} supports {most}; move fewer members at once, or use contour or skipper", self.route),
            )),
            Weighting::Weights { parts: Some(parts), .. } => uneven(&wanted.weights, parts).map(|(member, weight, total)| {
                (
                    format!("{member} would have {weight} of {total}, which is not a whole {parts}th of all traffic"),
                    format!("{} divides traffic into {parts} parts: choose weights and steps that fit them", self.route),
                )
            }),
            Weighting::Weights { parts: None, .. } | Weighting::Switch => None,
        }
    }

    fn steering_refusal(&self, steering: &Steering) -> Option<(String, String)> {
        match steering {
            Steering::Matched(matched) => self.matches.refusal(&matched.matches).map(|found| {
                let remedy = "cannot match these requests; docs/routes.md says what each route supports";
                (format!("a step matches requests by {found}"), format!("{} {remedy}", self.route))
            }),
            Steering::Mirrored(mirrored) => self.mirrors.refusal(self.route, mirrored),
        }
    }
}

/// A weight that does not fit into so many equal parts.
fn uneven(weights: &Distribution, parts: u32) -> Option<(&str, u32, u32)> {
    let total = weights.total();
    let is_uneven = |weight: u32| !(u64::from(weight) * u64::from(parts)).is_multiple_of(u64::from(total.max(1)));
    weights.iter().find(|(_, weight)| is_uneven(*weight)).map(|(member, weight)| (member, weight, total))
}
