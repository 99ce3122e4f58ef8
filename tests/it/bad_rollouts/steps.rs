//! Steps.

use super::Case;

pub const CASES: &[Case] = &[
    (
        "{progress: 50%}",
        "{progress: 50%, wait: 10m, approval: {min: 2}}",
        &[
            "17: spec.strategy.steps[1].approval: belongs to a step that waits for people; add wait: Promotion, or leave it out",
        ],
    ),
    (
        "      - {progress: 10%}\n      - {progress: 50%}\n      - {progress: 100%}\n",
        "      - {progress: 50%}\n      - {matches: [{headers: [{name: a, exact: b}]}]}\n      - {progress: 10%}\n      - {progress: 100%}\n",
        &["18: spec.strategy.steps[2].progress: 10 is not more than the step before it (50); steps must rise"],
    ),
    (
        "      - {progress: 10%}\n      - {progress: 50%}\n      - {progress: 100%}\n",
        "      []\n",
        &["15: spec.strategy.steps: 0 entries given; write at least 1 entry, or leave it out for the default"],
    ),
    (
        "{progress: 50%}",
        "{progress: 50%, matches: [{headers: [{name: a, exact: b}]}]}",
        &["17: spec.strategy.steps[1]: progress and matches are given; give exactly one of them"],
    ),
    (
        "{progress: 50%}",
        "{iterations: 3}",
        &["17: spec.strategy.steps[1]: none of progress, matches and mirror is given; give exactly one of them"],
    ),
    (
        "{progress: 50%}",
        "{matches: [{headers: [{name: a, exact: b, regex: c}]}]}",
        &[
            "17: spec.strategy.steps[1].matches[0].headers[0]: has none or several of exact, prefix and regex; give exactly one of exact, prefix and regex",
        ],
    ),
    (
        "{progress: 50%}",
        "{matches: [{cookies: [{name: a, exact: b}]}]}",
        &[
            "10: spec.services[0].routes[0]: a step matches requests by cookie a: b; gatewayAPI cannot match these requests; docs/routes.md says what each route supports",
        ],
    ),
    (
        "{progress: 50%}",
        "{mirror: {}, matches: [{headers: [{name: a, exact: b}]}]}",
        &["17: spec.strategy.steps[1]: matches and mirror are given; give exactly one of them"],
    ),
    (
        "{progress: 50%}",
        "{mirror: {percent: 0}}",
        &["17: spec.strategy.steps[1].mirror.percent: 0 is not allowed; write a whole number from 1 to 100"],
    ),
    (
        "      - {progress: 100%}\n",
        "      - {mirror: {}}\n",
        &["18: spec.strategy.steps[2].progress: the last step moves no weight; the last step must be 100%"],
    ),
    (
        "      - {progress: 100%}\n",
        "      - {matches: [{headers: [{name: a, exact: b}]}]}\n",
        &["18: spec.strategy.steps[2].progress: the last step moves no weight; the last step must be 100%"],
    ),
    (
        "progress: 50%",
        "progress: 5%",
        &["17: spec.strategy.steps[1].progress: 5 is not more than the step before it (10); steps must rise"],
    ),
    (
        "progress: 50%",
        "progress: 10%",
        &["17: spec.strategy.steps[1].progress: 10 is not more than the step before it (10); steps must rise"],
    ),
    (
        "      - {progress: 100%}\n",
        "",
        &["17: spec.strategy.steps[1].progress: the last step has only progress 50%; the last step must be 100%"],
    ),
    (
        "progress: 10%",
        "progress: 0%",
        &["16: spec.strategy.steps[0].progress: \"0%\" is not allowed; write a percentage, such as 25% or 12.5%"],
    ),
    (
        "progress: 10%",
        "progress: 10",
        &["16: spec.strategy.steps[0].progress: 10 is not allowed; write a percentage, such as 25% or 12.5%"],
    ),
    (
        "{progress: 10%}",
        "{progress: 10%, wait: forever}",
        &["16: spec.strategy.steps[0].wait: \"forever\" is not allowed; write Promotion, or a time such as 10m"],
    ),
    (
        "{progress: 10%}",
        "{progress: 10%, wait: }",
        &[
            "16: spec.strategy.steps[0].wait: is null, which an API server drops silently; give it a value, or leave it out if it is optional",
        ],
    ),
    (
        "progress: 10%",
        "progress: 0.5%",
        &[
            "16: spec.strategy.steps[0].progress: progress 0.5% leaves \"eu-3\" at 0 of 100; scale the weights to weightTotal 200, or take a larger step",
        ],
    ),
];
