//! docs/routes.md says what every kind of route can do; it is made of what the kinds declare.

use std::fmt::Write;

use cutover::route::{
    capabilities,
    capability::{
        AffinitySupport, Applied, BackendSupport, Capability, Extent, Matching, Mirroring, Parts, Regexes, Shape,
        Values, Verified, Weighting,
    },
};

use crate::command::root;

const HEAD: &str = "\
# Routes

<!-- Made by `UPDATE=1 cargo test --test it routes_page`; what it says is declared in src/route/, one file a kind. -->

A route holds the weights. `cutover validate` and the hub refuse a plan that needs more than its route supports, and say why.
They also refuse a backend whose weight a route would ignore: a weight is true, or it is not written.

";

const FOOT: &str = "\
- **members**: the number of members that can carry traffic at once. **switch**: no weights, one member has all traffic.
- **ExternalName** to **subset**: the kinds of `backend`. Only Istio knows a ServiceEntry and a subset.
- **own Host, own TLS**: each member can get the Host header and the TLS server name that its MemberCluster declares.
- **matches**: what a step's `matches` can contain. All conditions of one match must hold; several matches are alternatives,
  where a route supports more than one. **each name once**: a match has at most one condition on a header or parameter, and for
  `istio` on all cookies. A regex has the syntax of the data plane. One for Skipper must also be valid here, because Skipper
  would silently ignore the route otherwise; one for Istio must be valid for RE2, because Envoy would refuse the whole port.
- **mirrors**: what a step's `mirror` can contain. Users never wait for the answer to a copy. Each member gets its own copy.
- **session affinity**: whether `strategy.sessionAffinity` is supported, and the maximum number of bins
  ([example](../examples/session-affinity)).
- **objects**: the objects that hold the weights.
- **applied**: a write counts as applied once the data plane has accepted it or, if that cannot be observed, once it is read
  back; for a data plane that reads at intervals, once it must have read it.
- **verified: traffic**: requests through the real data plane were counted at the members (`make lab-tests`).
  **objects**: the objects were written to a real API server; the behaviour of the data plane is taken from its
  documentation and source.
- In service mode an adopted route may name the user's own Service by its declared port. It then counts as the primary, and
  the first write points it to `<service>-primary`. In a RouteGroup that is a backend of type `service`. With `skipper`, form
  CanaryIngress, the user's Ingress is not written: point it to `<service>-primary` yourself ([example](../examples/apex-ingress)).
";

const OBEYED: &str = "\
## When a write has taken effect
After a write counts as applied, `analysis.settle` goes by before a sample counts, and where `analysis.share` is declared, no step
ends before the members observe its shares.

| route | applied | how it is known that the data plane obeys |
|---|---|---|";

#[test]
fn the_page_about_routes_says_what_the_routes_declare() {
    let path = root().join("docs/routes.md");
    let page = page();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == page, "docs/routes.md differs: UPDATE=1 cargo test --test it routes_page");
}

fn page() -> String {
    let mut page = HEAD.to_owned();
    let columns = [
        "route",
        "weights",
        "members",
        "ExternalName",
        "ClusterIP",
        "EndpointSlice",
        "ServiceEntry",
        "subset",
        "own Host",
        "own TLS",
        "matches",
        "mirrors",
        "session affinity",
        "objects",
        "applied",
        "verified",
    ];
    writeln!(page, "| {} |\n|{}", columns.join(" | "), "---|".repeat(columns.len())).unwrap();
    for route in capabilities() {
        writeln!(page, "| {} |", row(route).join(" | ")).unwrap();
    }
    writeln!(page, "\n{FOOT}").unwrap();
    writeln!(page, "{OBEYED}").unwrap();
    for route in capabilities() {
        let waits = waits(route);
        writeln!(page, "| `{}` | {waits} | {} |", route.route, route.obeyed).unwrap();
    }
    page.push('\n');
    for route in capabilities() {
        writeln!(page, "## {}\n{}. {}{}\n", route.route, route.object, route.note, refusals(route)).unwrap();
    }
    format!("{}\n", page.trim_end())
}

fn row(route: &Capability) -> [String; 16] {
    let yes = |yes: bool| if yes { "yes" } else { "no" }.to_owned();
    let supported = |support: BackendSupport| match support {
        BackendSupport::InServiceMode { .. } => "service mode".to_owned(),
        BackendSupport::Yes | BackendSupport::No { .. } => yes(support == BackendSupport::Yes),
    };
    let (weights, members) = match route.weighting {
        Weighting::Weights { members, parts } => (
            parts.map_or_else(|| "whole units".to_owned(), |parts| format!("whole {parts}ths")),
            members.map_or_else(|| "any".to_owned(), |most| most.to_string()),
        ),
        Weighting::Switch => ("switch".to_owned(), "1".to_owned()),
    };
    let shape = match route.shape {
        Shape::OneObject => "one",
        Shape::StableAndCanary => "a stable one and a canary",
        Shape::ObjectPerMember => "one per member",
    };
    let verified = match route.verified {
        Verified::Traffic => "traffic",
        Verified::Objects => "objects",
    };
    [
        format!("`{}`", route.route),
        weights,
        members,
        supported(route.external_name),
        supported(route.cluster_ip),
        supported(route.endpoint_slice),
        supported(route.service_entry),
        supported(route.subset),
        yes(route.own_host),
        yes(route.own_tls),
        chooses(route.matches),
        mirrors(route.mirrors),
        affinity(route.affinity),
        shape.to_owned(),
        waits(route),
        verified.to_owned(),
    ]
}

/// When a write counts as applied.
fn waits(route: &Capability) -> String {
    match route.applied {
        Applied::Accepted => "accepted".to_owned(),
        Applied::ReadBack => "read back".to_owned(),
        Applied::Polled { within } => format!("read back, after {} s", within.as_secs()),
    }
}

/// By what a route can tell requests apart.
fn chooses(can: Matching) -> String {
    let ways = |values: Values| {
        let ways = [(values.exact, "exact"), (values.prefix, "prefix"), (values.regex != Regexes::None, "regex")];
        let ways: Vec<&str> = ways.into_iter().filter(|(can, _)| *can).map(|(_, way)| way).collect();
        values.only.map_or_else(|| ways.join(", "), |only| format!("`{only}`"))
    };
    let sorts = [("header", can.headers), ("cookie", can.cookies), ("query", can.query)];
    let sorts = sorts.into_iter().filter(|(_, values)| *values != Values::NONE);
    let sorts: Vec<String> = sorts.map(|(sort, values)| format!("{sort} ({})", ways(values))).collect();
    match can.extent {
        _ if sorts.is_empty() => "no".to_owned(),
        Extent::Alternatives => sorts.join(", "),
        Extent::EachNameOnce => format!("{}; each name once", sorts.join(", ")),
        Extent::OneMatch => format!("one match: {}", sorts.join(", ")),
        Extent::OneCondition => format!("one condition: {}", sorts.join(" or ")),
    }
}

fn mirrors(can: Mirroring) -> String {
    let (members, parts) = match can {
        Mirroring::No => return "no".to_owned(),
        Mirroring::Yes { members, parts } => (members, parts),
    };
    let members = members.map_or_else(|| "any member".to_owned(), |most| format!("{most} member"));
    let part = match parts {
        Parts::Any => "any part",
        Parts::AnyUnder(controller) => &format!("any part by `{controller}`, else all requests"),
    };
    format!("{part}, to {members}")
}

fn affinity(can: AffinitySupport) -> String {
    match can {
        AffinitySupport::No => "no".to_owned(),
        AffinitySupport::Yes { bins } => format!("{bins} bins"),
    }
}

fn refusals(route: &Capability) -> String {
    let backends = [
        ("ExternalName", route.external_name),
        ("ClusterIP", route.cluster_ip),
        ("EndpointSlice", route.endpoint_slice),
    ];
    let refusal = |(backend, leads)| match leads {
        BackendSupport::Yes => None,
        BackendSupport::No { why, remedy } => Some(format!("\n\nRefused with {backend}: {why}; {remedy}.")),
        BackendSupport::InServiceMode { why, remedy } => {
            Some(format!("\n\nRefused with {backend} in member mode: {why}; {remedy}."))
        }
    };
    backends.into_iter().filter_map(refusal).collect()
}
