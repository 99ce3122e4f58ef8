//! Texts that are not YAML, as people write them, and the words for each; written by hand.

use cutover::validate::{Found, file};

use crate::bad_rollouts::RIGHT;

/// What is changed, to what; the line and the column; the parser's reason; the remedy.
type Case = (&'static str, &'static str, (u64, Option<u64>), &'static str, &'static str);

const CASES: &[Case] = &[
    (
        "      port: 80\n",
        "\tport: 80\n",
        (7, None),
        "while scanning a plain scalar, found a tab",
        "a tab is in the indentation; use spaces",
    ),
    (
        "    - {name: eu-3, weight: 100}\n",
        "\t- {name: eu-3, weight: 100}\n",
        (13, Some(2)),
        "tabs disallowed within this context (block indentation)",
        "a tab is in the indentation; use spaces",
    ),
    (
        "kind: FleetRollout",
        "kind:FleetRollout",
        (2, Some(1)),
        "simple key expected ':'",
        "put a space after the colon: kind: FleetRollout",
    ),
    (
        "      port: 80\n",
        "      port:80\n",
        (7, Some(7)),
        "simple key expected ':'",
        "put a space after the colon: port: 80",
    ),
    (
        "name: shop, namespace: shop}",
        "name: {{ .Values.name }}, namespace: shop}",
        (3, Some(19)),
        "the structure is wrong",
        "{{ }} is of a chart; render it first: helm template … | cutover validate -",
    ),
    (
        "      port: 80\n",
        "      {{- if .Values.port }}\n      port: 80\n      {{- end }}\n",
        (7, Some(9)),
        "\"-\" is only valid inside a block",
        "{{ }} is of a chart; render it first: helm template … | cutover validate -",
    ),
    (
        "numerator: 'sum(",
        "numerator: {{ window }} * sum('",
        (23, Some(23)),
        "the structure is wrong",
        "put the query in single quotes, for it begins with {{",
    ),
    (
        "name: eu-3",
        "name: *eu3",
        (13, Some(14)),
        "an alias without its anchor",
        "no anchor &eu3 stands above it; a text that begins with * must be in quotes",
    ),
    (
        "name: storefront",
        "name: \"storefront",
        (6, None),
        "invalid indentation in multiline quoted scalar",
        "close the quote; a ' inside of single quotes is written ''",
    ),
    (
        "service=\"{{ service }}\"}[{{ window }}]))'\n        max",
        "service='shop'}[{{ window }}]))'\n        max",
        (24, Some(67)),
        "invalid trailing content after single-quoted scalar",
        "close the quote; a ' inside of single quotes is written ''",
    ),
    (
        "{name: public}",
        "{name: public",
        (11, Some(10)),
        "while parsing a flow mapping, did not find expected ',' or '}'",
        "close every [ and { that is opened, and put a comma between two entries",
    ),
    (
        "initialWeight: 100}",
        "initialWeight: 100]",
        (12, Some(7)),
        "mismatched bracket '{' closed by ']'",
        "close every [ and { that is opened, and put a comma between two entries",
    ),
    (
        "{name: eu-1, weight",
        "{name: eu-1 weight",
        (12, Some(25)),
        "while parsing a flow mapping, did not find expected ',' or '}'",
        "close every [ and { that is opened, and put a comma between two entries",
    ),
    (
        "      port: 80\n",
        "       port: 80\n",
        (7, Some(12)),
        "mapping values are not allowed in this context",
        "indent it like its neighbours, with spaces, at or just before this line",
    ),
    (
        "  members:\n",
        " members:\n",
        (11, Some(2)),
        "while parsing a block mapping, did not find expected key",
        "indent it like its neighbours, with spaces, at or just before this line",
    ),
    (
        "    - {name: eu-3",
        "    -{name: eu-3",
        (13, Some(5)),
        "while parsing a block collection, did not find expected '-' indicator",
        "put a space after the dash of a list's entry",
    ),
    (
        "name: storefront",
        "name: @storefront",
        (6, Some(13)),
        "unexpected character: `@'",
        "a value that begins with @, ` or % must be in quotes",
    ),
    (
        "progress: 10%",
        "progress: %10",
        (16, Some(20)),
        "unexpected character: `%'",
        "a value that begins with @, ` or % must be in quotes",
    ),
    (
        "      - name: errors\n",
        "      - name: errors: all\n",
        (21, Some(21)),
        "mapping values are not allowed in this context",
        "a value with a colon and a space must be in quotes",
    ),
    (
        "name: storefront",
        "name: !name storefront",
        (6, Some(19)),
        "a tag that is not known",
        "leave out the word that begins with !, or put it in quotes",
    ),
];

#[test]
fn what_is_not_yaml_is_said_with_line_column_reason_and_the_usual_mistake() {
    let mut wrong = Vec::new();
    for (from, to, place, reason, remedy) in CASES {
        assert!(RIGHT.contains(from), "{from}");
        let problems = file(&RIGHT.replacen(from, to, 1)).problems;
        let found: Vec<_> = problems.iter().map(|one| ((one.line, one.column), one.problem.to_string())).collect();
        let expected = vec![(*place, format!("file: not readable as YAML: {reason}; {remedy}"))];
        if found != expected {
            wrong.push(format!("{to}\n  found    {found:?}\n  expected {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_line_itself_is_shown_unless_it_may_be_of_a_secret() {
    let source = |text: &str| -> Vec<Option<String>> {
        file(text).problems.into_iter().map(|Found { source, .. }| source).collect()
    };
    assert_eq!(source("kind: A\nb: [1, \u{202e}2\n"), [Some("b: [1, \\u{202e}2".to_owned())]);
    assert_eq!(source("kind: Secret\nstringData: {token: \"s3cret\n"), [None]);
    assert_eq!(source("{\"kind\": \"Secret\", \"data\": s3cret: }\n"), [None]);
}
