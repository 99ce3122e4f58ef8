//! Queries of tenants, well meant and not, and what becomes of them.

use proptest::prelude::*;

use super::*;

fn shop(query: &str) -> Result<String, Unlimited> {
    limited(query, "namespace", "shop")
}

#[test]
fn every_selector_gets_the_matcher() {
    for (query, expected) in [
        ("up", r#"up{namespace="shop"}"#),
        ("up{}", r#"up{namespace="shop"}"#),
        (r#"{__name__="up"}"#, r#"{__name__="up",namespace="shop"}"#),
        (r#"{__name__=~".+"}"#, r#"{__name__=~".+",namespace="shop"}"#),
        (r#"{"http.requests"}"#, r#"{__name__="http.requests",namespace="shop"}"#),
        (r#"up{job='a"b'}"#, r#"up{job="a\"b",namespace="shop"}"#),
        (
            "sum by (le) (rate(x_bucket[5m] offset 1m))",
            r#"sum by (le) (rate(x_bucket{namespace="shop"}[5m] offset 1m))"#,
        ),
        ("max_over_time(sum(rate(x[1m]))[5m:30s])", r#"max_over_time(sum(rate(x{namespace="shop"}[1m]))[5m:30s])"#),
        ("a / on (pod) group_left (node) b", r#"a{namespace="shop"} / on (pod) group_left (node) b{namespace="shop"}"#),
        ("-a > bool 0 or vector(1)", r#"-a{namespace="shop"} > bool 0 or vector(1)"#),
        ("topk(scalar(secret), x)", r#"topk(scalar(secret{namespace="shop"}), x{namespace="shop"})"#),
        ("quantile(scalar(q), x @ end())", r#"quantile(scalar(q{namespace="shop"}), x{namespace="shop"} @ end())"#),
        ("absent(x) unless (((y)))", r#"absent(x{namespace="shop"}) unless (((y{namespace="shop"})))"#),
        ("x # {namespace=\"shop\"}\n + y", r#"x{namespace="shop"} + y{namespace="shop"}"#),
        ("vector(1)", "vector(1)"),
    ] {
        assert_eq!(shop(query), Ok(expected.to_owned()), "{query}");
    }
}

#[test]
fn a_matcher_on_another_namespace_stays_and_selects_nothing_beside_the_forced_one() {
    for (query, expected) in [
        (r#"up{namespace="bank"}"#, r#"up{namespace="bank",namespace="shop"}"#),
        (r#"up{namespace=~".*"}"#, r#"up{namespace="shop",namespace=~".*"}"#),
        (r#"up{namespace!="shop"}"#, r#"up{namespace!="shop",namespace="shop"}"#),
        (r#"up{namespace="shop"}"#, r#"up{namespace="shop",namespace="shop"}"#),
        (r#"up{"namespace"="bank"}"#, r#"up{namespace="bank",namespace="shop"}"#),
    ] {
        assert_eq!(shop(query), Ok(expected.to_owned()), "{query}");
    }
}

#[test]
fn what_cannot_be_limited_for_certain_is_refused() {
    let said = |query: &str| shop(query).unwrap_err().to_string();
    assert_eq!(said(r#"up{a="b" or c="d"}"#), "a selector has alternatives (or); write one selector for each");
    assert_eq!(said("info(up)"), "info() reads series that no selector names; join them with group_left");
    assert_eq!(said("sum by () (up)"), "its expression cannot be printed faithfully; write it more simply");
    assert_eq!(
        said(&"x".repeat(8193)),
        "it has 8193 bytes with its variables filled in, of which at most 8192 are parsed; shorten it"
    );
    for nested in
        [format!("{}1{}", "(".repeat(256), ")".repeat(256)), format!("{}x", "-".repeat(256)), vec!["x"; 300].join("+")]
    {
        assert_eq!(said(&nested), "it is nested more than 256 deep; split it");
    }
    for query in ["sum(up", "up} or bank{", "up or", "", "WITH (x = up) x", "up{namespace=\"shop\"}}"] {
        assert!(said(query).starts_with("it is not PromQL: "), "{query}: {}", said(query));
    }
    assert_eq!(limited("up", "__name__", "shop"), Err(Unlimited::Unprintable), "two names of a series");
}

/// Two MiB are the stack of a thread of the hub.
#[test]
fn the_deepest_query_that_is_parsed_fits_a_thread() {
    for query in [
        format!("{}1{}", "(".repeat(4095), ")".repeat(4095)),
        format!("{}x", "-".repeat(8191)),
        vec!["x"; 4096].join("+"),
    ] {
        let checked = std::thread::Builder::new().stack_size(2 << 20).spawn(move || shop(&query)).unwrap();
        assert_eq!(checked.join().unwrap(), Err(Unlimited::TooDeep));
    }
}

/// Whatever a tree shows of itself, without the matcher; the order of matchers is that of their text.
fn without(matcher: &str, tree: &Expr) -> String {
    let shown = format!("{tree:?}");
    [format!("{matcher}, "), format!(", {matcher}"), matcher.to_owned()]
        .iter()
        .fold(shown, |shown, one| shown.replace(one, ""))
}

/// A selector whose matchers are in the order of their text, perhaps one on the namespace among them.
fn selector() -> impl Strategy<Value = String> {
    let value = "[a-z\"\\\\\n{}#,é]{0,6}".prop_map(|text| format!("{text:?}"));
    let pattern =
        prop::sample::select(vec![r#""""#, r#""a.*|b""#, r#""[0-9]{2}\\d""#, r#"".+\\.eu""#]).prop_map(str::to_owned);
    let matchers = (prop::option::of(value), prop::option::of("bank|shop"), prop::option::of(pattern));
    ("[a-z][a-z_:]{0,8}[0-9]", matchers).prop_map(|(name, (a, namespace, z))| {
        let one = |label: &str, op: &str, value: Option<String>| value.map(|value| format!("{label}{op}{value}"));
        let namespace = namespace.map(|value| format!("{value:?}"));
        let all = [one("a", "=", a), one("namespace", "!=", namespace), one("z", "=~", z)];
        format!("{name}{{{}}}", all.into_iter().flatten().collect::<Vec<_>>().join(","))
    })
}

fn expression() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        4 => selector(),
        1 => "[1-9][0-9]{0,3}".prop_map(|number| format!("vector({number})")),
        1 => (selector(), 1_u32..90).prop_map(|(selector, seconds)| format!("rate({selector}[{seconds}m])")),
    ];
    leaf.prop_recursive(5, 40, 3, |inner| {
        let (one, two) = (inner.clone(), (inner.clone(), inner.clone()));
        prop_oneof![
            one.clone().prop_map(|one| format!("({one})")),
            one.clone().prop_map(|one| format!("sum without (pod, le) ({one})")),
            one.clone().prop_map(|one| format!("-({one})")),
            one.clone().prop_map(|one| format!("max_over_time(({one})[10m:1m] offset 5m)")),
            two.clone().prop_map(|(one, other)| format!("topk(scalar({one}), {other})")),
            two.clone().prop_map(|(one, other)| format!("{one} and ignoring (pod) {other}")),
            two.clone().prop_map(|(one, other)| format!(
                "({one}) / on (a) group_left ({other_label}) ({other})",
                other_label = "b"
            )),
            two.prop_map(|(one, other)| format!("label_replace({one}, \"a\", \"$1\", \"b\", \"(.*)\") + {other}")),
        ]
    })
}

proptest! {
    /// The tree is the same but for one more matcher in every selector, and none is left out.
    #[test]
    fn a_limited_query_is_the_same_query_with_a_matcher_in_every_selector(query in expression()) {
        let before = parser::parse(&query).unwrap_or_else(|why| panic!("{query}: {why}"));
        let text = shop(&query).unwrap_or_else(|why| panic!("{query}: {why}"));
        let after = parser::parse(&text).unwrap_or_else(|why| panic!("{text}: {why}"));
        let matcher = format!("{:?}", Matcher::new(MatchOp::Equal, "namespace", "shop"));
        prop_assert_eq!(without(&matcher, &after), without(&matcher, &before));
        let (shown, selectors) = (format!("{after:?}"), format!("{before:?}").matches("VectorSelector {").count());
        prop_assert_eq!(shown.matches(&matcher).count(), selectors, "{}", text);
        let again = limited(&text, "namespace", "shop").unwrap();
        prop_assert_eq!(parser::parse(&again).unwrap().to_string(), again);
    }
}
